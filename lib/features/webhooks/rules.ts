// Rules for the events that a receiver gets, for its answers, and for the time of the next attempt.

const isWord = (text: string): boolean => /^[a-z_]+$/.test(text)

/** Whether a string selects types of events: a type, a word and `.*`, or `*`. */
export const isPattern = (pattern: string): boolean => {
  const words = pattern.split('.')
  const last = words.pop() ?? ''
  if (words.length === 0) return last === '*'
  return words.every(isWord) && (last === '*' || isWord(last))
}

/**
 * Whether a pattern selects a type of event.
 *
 * @example matches('login.*', 'login.failed') // true
 */
export const matchesPattern = (pattern: string, type: string): boolean =>
  pattern === '*' || pattern === type || (pattern.endsWith('.*') && type.startsWith(pattern.slice(0, -1)))

/** An event about webhooks is sent to no receiver: each failure would cause another one. */
export const isOwn = (type: string): boolean => type.startsWith('webhook.')

/**
 * The lane of an event: its events are sent in order. Each user has a lane and each client; other events stand alone.
 *
 * @returns at most 263 characters
 */
export const laneOf = (event: {
  readonly id: string
  readonly type: string
  readonly subject?: string
  readonly details: Readonly<Record<string, unknown>>
}): string => {
  if (event.subject !== undefined) return subjectLane(event.subject)
  const { clientId } = event.details
  if (event.type.startsWith('client.') && typeof clientId === 'string') return `client:${clientId}`
  return `event:${event.id}`
}

/** The lane of the events about a user. */
export const subjectLane = (subject: string): string => `subject:${subject}`

/** The priority of an event in its lane. Events that end access go first; all others go in order after them. */
export const priority = { endsAccess: 0, ordinary: 1 } as const

/** The place of an event in its lane. */
export type Priority = (typeof priority)[keyof typeof priority]

export const priorities: readonly Priority[] = Object.values(priority)

const minute = 60
const hour = 3600

/** Seconds before each further attempt: the schedule that Standard Webhooks suggests, about three days. */
export const retryPauses: readonly number[] = [
  5,
  5 * minute,
  30 * minute,
  2 * hour,
  5 * hour,
  10 * hour,
  14 * hour,
  20 * hour,
  24 * hour,
]

/**
 * Seconds until the next attempt.
 *
 * @param attempts that have failed
 * @param chance from 0 to 1; it makes the pause up to a fifth longer, so that attempts do not come together
 * @returns undefined if there is none
 */
export const pauseAfter = (attempts: number, chance: number): number | undefined => {
  const pause = retryPauses[attempts - 1]
  return pause === undefined ? undefined : Math.ceil(pause * (1 + chance / 5))
}

/** Seconds: the longest pause of a receiver that only fails. */
const longestRest = 300

/**
 * Seconds in which a receiver that is down is left alone.
 *
 * @param rests how often it was left alone before, without an answer since
 */
export const restAfter = (rests: number, chance: number): number =>
  Math.ceil(Math.min(longestRest, 2 ** (rests + 1)) * (1 + chance / 5))

/** The result of an attempt. */
export type DeliveryOutcome =
  | { readonly kind: 'delivered' }
  /** The receiver wants nothing any more. */
  | { readonly kind: 'gone' }
  /** The receiver does not take this event. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** The receiver takes nothing now. */
  | { readonly kind: 'down'; readonly reason: string; readonly retryAfter: number }

/** Seconds: a receiver can ask for a pause of a day at most. */
const longestRetryAfter = 86_400

/** Seconds: nothing waits longer for its next attempt, or for a receiver that rests. What does was stored by a wrong clock. */
export const longestWait = Math.ceil(Math.max(longestRetryAfter, ...retryPauses) * 1.2)

const isTooMuch = (status: number): boolean =>
  status === 429 || status === 502 || status === 503 || status === 504

/**
 * The meaning of an answer: any 2xx is a success, 410 ends the deliveries, 429 and 5xx say that the receiver is down, and with any
 * other, also a redirect, it refuses the event.
 *
 * @param retryAfter the header `Retry-After`, in seconds or as a date
 * @param now epoch seconds
 */
export const outcomeOf = (status: number, retryAfter: string | undefined, now: number): DeliveryOutcome => {
  if (status >= 200 && status < 300) return { kind: 'delivered' }
  if (status === 410) return { kind: 'gone' }
  const reason = `the receiver answered ${status}`
  if (status !== 429 && status < 500) return { kind: 'refused', reason }
  return { kind: 'down', reason, retryAfter: isTooMuch(status) ? secondsOf(retryAfter, now) : 0 }
}

const secondsOf = (retryAfter: string | undefined, now: number): number => {
  if (retryAfter === undefined) return 0
  const seconds = /^\d{1,9}$/.test(retryAfter)
    ? Number(retryAfter)
    : Math.ceil(Date.parse(retryAfter) / 1000) - now
  return Number.isFinite(seconds) ? Math.min(Math.max(0, seconds), longestRetryAfter) : 0
}
