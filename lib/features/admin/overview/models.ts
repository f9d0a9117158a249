import type { OperatorTrouble } from '../../../web/endpoints/operator-page.ts'
import type { OperatorPageModel } from '../../../web/pages/operator-page-model.ts'

/** One of the last 24 hours, and the same of a week ago. */
export interface ShownHour {
  /** From `00` to `23`, in UTC. */
  hour: string
  signIns: number
  failures: number
  /** Sign-ins a week ago. */
  before: number
}

/** Something that goes wrong again and again. */
export interface ShownTrouble {
  /** `people` saw an error page, `requests` of a program were refused, or the server `failed`. */
  kind: 'people' | 'requests' | 'failed'
  /** How many people, requests or failures. */
  count: number
  /** Whether there may have been more. */
  isMore: boolean
  /** ISO 8601, of the first one that was counted. */
  since: string
  /** Absent if no registered client is named. */
  client?: { name: string; url: string }
  reason: string
  /** What was expected, and what came; the first part of that is also expected. */
  difference?: { expected: string; received: readonly [same: string, other: string] } | undefined
  /** Where the client is changed, and which field of it. */
  mend?: { url: string; field?: string }
  /** Begins a letter to those who run the client; absent if no address is known. */
  letterUrl?: string
  eventsUrl: string
  /** The id of the newest one, for `latchkey explain`. */
  errorId: string
}

declare module '../../../web/pages/page-models.ts' {
  // Names and reasons may come from strangers. Times are ISO 8601.
  interface PageModels {
    'operator-overview': OperatorPageModel & {
      /** The activity of the last 24 hours; absent if events are not stored. */
      now?: {
        /** The present one comes last. */
        hours: readonly ShownHour[]
        /** Whether a day had more events than are counted. */
        isMore: boolean
        /** Login names that are locked. */
        locks: number
        locksUrl: string
        /** Of the last 24 hours. */
        tokens: number
        tokensUrl: string
        /** Whether there were more tokens than are counted. */
        isMoreTokens: boolean
        /** What is wrong in the sections of other features, until someone looks after it. */
        alarms: readonly (OperatorTrouble & { url: string })[]
        /** Those that hurt most people first, of the last 24 hours. */
        troubles: readonly ShownTrouble[]
        /** When more was refused than is stored, in the last 24 hours; absent if all was stored. */
        limitedAt?: string
        /** Of the last 24 hours; `share` is a percentage of the greatest. */
        clients: readonly { name: string; url: string; count: number; share: number }[]
      }
      /** The next key of any algorithm that signs; absent if none is published. */
      nextKey?: { days: number; time: string }
      keysUrl: string
    }
  }
}
