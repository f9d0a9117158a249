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
  /** The expected value, and the received one in two parts: the part that agrees, and the rest. */
  difference?: { expected: string; received: readonly [same: string, other: string] } | undefined
  /** Where the client is changed, and which field of it. */
  mend?: { url: string; field?: string }
  /** Begins a letter to those who run the client; absent if no address is known. */
  letterUrl?: string
  eventsUrl: string
  /** The id of the newest one, for `latchkey explain`. */
  errorId: string
}
