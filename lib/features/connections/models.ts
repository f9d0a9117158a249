import type { SentencePart } from '../../events/description.ts'
import type { OperatorPageModel } from '../../web/pages/operator-page-model.ts'
import type { StepName } from './steps.ts'

/** A step on the page. */
export interface ShownStep {
  step: StepName
  /**
   * `done`; `failed` or `missing`: the connection stopped here; `unseen`: not needed or not seen, and it went on; `later`: it did not
   * get here.
   */
  state: 'done' | 'failed' | 'missing' | 'unseen' | 'later'
  /** ISO 8601, of the last time; absent if it was not seen. */
  time?: string
  /** Hours, minutes and seconds in UTC. */
  clock?: string
  /** How often it was seen in the last attempt. */
  count: number
}

/** A connection on the page. */
export interface ShownConnection {
  /** Absent before registration. */
  client?: { name: string; id: string; url?: string }
  user?: { name: string; url: string }
  /** Whether the client has users, and nothing shows which of them this is. */
  isUnknownUser?: boolean
  address?: string
  agent?: string
  /** ISO 8601. */
  time: string
  steps: readonly ShownStep[]
  stop?: {
    step: StepName
    sentence: readonly SentencePart[]
    remedy: readonly SentencePart[]
    /** The request that shows it, for `latchkey explain`. */
    requestId: string
    eventsUrl: string
    /** Whether it ended as someone meant it. */
    isEnd: boolean
  }
}

declare module '../../web/pages/page-models.ts' {
  // Names, ids and values may come from strangers.
  interface PageModels {
    'operator-connections': OperatorPageModel & {
      action: string
      /** What was searched for; empty strings stand for everything. */
      filter: { client: string; user: string; stopped: boolean }
      /** Newest first. */
      connections: readonly ShownConnection[]
      /** Of how many the page shows the newest. */
      total: number
      /** Whether older events were not read. */
      isWindow: boolean
      /** ISO 8601: when more was caused than is stored, the last time; absent if all was stored. */
      limitedAt?: string
    }
  }
}
