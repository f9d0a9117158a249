import type { SentencePart } from '../../events/description.ts'
import type { Explanation } from '../../protocol/explanation.ts'
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

/** Where a call was seen. */
interface CallFields {
  /** The resource of the guard. */
  readonly resource?: string
  /** The path of the request; absent for a guard in another process. */
  readonly path?: string
  /** The client that guards an API in another process. */
  readonly api?: string
}

declare module '../../web/pages/page-models.ts' {
  interface PageModels {
    // Names, ids and values may come from strangers.
    'operator-connections': OperatorPageModel & {
      action: string
      /** The filter of the search; empty strings stand for everything. */
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

declare module '../../events/event.ts' {
  interface EventDetails {
    /** A guard let a call through, for the first time with an access token. */
    'call.accepted': CallFields & {
      readonly clientId: string
      readonly subject?: string
      readonly authorizationId?: string
    }
    /** A guard refused a call. */
    'call.refused': CallFields & {
      readonly code: string
      readonly status: number
      readonly reason?: string
      readonly description: string
      readonly clientId?: string
      readonly subject?: string
    } & Partial<Explanation>
    /** A document about a resource or this server was asked for. */
    'document.requested': {
      readonly path: string
      readonly result: 'served' | 'not served'
      /** An authentication method that clients without a secret need, and that the metadata does not have. */
      readonly lacks?: 'none'
    }
    /** A client sent a browser with a valid authorization request. */
    'authorization.requested': { readonly clientId: string }
    /** A user who is signed in saw what the client asks for. */
    'consent.shown': { readonly clientId: string; readonly subject: string }
    /** A client was told why its authorization request was refused. */
    'authorization.refused': {
      readonly code: string
      readonly reason?: string
      readonly description: string
      readonly clientId?: string
    } & Partial<Explanation>
  }
}
