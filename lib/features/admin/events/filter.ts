import type { EventDescription } from '../../../events/description.ts'
import type { Parameters } from '../../../protocol/parameters.ts'
import { refusal } from '../../../protocol/refusal.ts'
import type { EventPlace, EventRecord } from '../../../storage/repositories/index.ts'

/** A filter of the events on the page; empty strings stand for everything. */
export interface EventFilter {
  readonly user: string
  /** The id of a user, as links name it: unlike `user` it is never looked up as a login name. */
  readonly subject: string
  readonly client: string
  /** A type, the words with which types begin, or a group. */
  readonly type: string
  readonly errorId: string
  /** As a `datetime-local` input sends it. */
  readonly from: string
  readonly to: string
  /** Until now, instead of `from`. */
  readonly span: TimeSpan | ''
}

/** The spans that can be chosen, in seconds. */
export const spans = { hour: 3600, day: 86_400, week: 604_800 } as const
export type TimeSpan = keyof typeof spans

const isTimeSpan = (value: string): value is TimeSpan => Object.hasOwn(spans, value)

/** Whom events are about: the id of the user, and the hash of what they type as their login name, if it is known. */
export interface EventsOfUser {
  readonly subject: string
  readonly account: string | undefined
  /** The login name. */
  readonly username?: string | undefined
}

const minute = 60
const localTime = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?$/

/**
 * The epoch seconds of a `datetime-local` input in UTC; undefined if it is empty.
 *
 * @throws OAuthError `invalid_request` if it is no time
 */
export const secondsOf = (name: string, value: string): number | undefined => {
  if (value === '') return undefined
  const milliseconds = localTime.test(value) ? Date.parse(`${value}Z`) : Number.NaN
  if (!Number.isNaN(milliseconds)) return Math.floor(milliseconds / 1000)
  throw refusal('parameter_invalid', {
    values: { parameter: name, problem: 'must be a time such as 2026-11-22T18:04' },
  })
}

/** @throws OAuthError `invalid_request` if a value is no text or no time */
export const filterOf = (parameters: Parameters): EventFilter => {
  const span = parameters.optional('span', 8) ?? ''
  const filter: EventFilter = {
    user: parameters.optional('user', 255)?.trim() ?? '',
    subject: parameters.optional('subject', 255) ?? '',
    client: parameters.optional('client', 255)?.trim() ?? '',
    type: parameters.optional('type', 64)?.trim() ?? '',
    errorId: parameters.optional('error_id', 32)?.trim().toUpperCase() ?? '',
    from: parameters.optional('from', 32) ?? '',
    to: parameters.optional('to', 32) ?? '',
    span: isTimeSpan(span) ? span : '',
  }
  secondsOf('from', filter.from)
  secondsOf('to', filter.to)
  return filter
}

/** The parameters of a URL with this filter. */
export const filterParameters = ({ errorId, ...filter }: EventFilter): Record<string, string> =>
  Object.fromEntries(Object.entries({ ...filter, error_id: errorId }).filter(([, value]) => value !== ''))

/** The place after the minute in which a search ends; undefined if it begins with the newest event. */
export const endOf = ({ to }: EventFilter): EventPlace | undefined => {
  const seconds = secondsOf('to', to)
  return seconds === undefined ? undefined : { time: seconds - (seconds % minute) + minute, id: '' }
}

/** The epoch seconds in which a search ends. */
export const startOf = ({ from, span }: EventFilter, now: number): number =>
  Math.max(secondsOf('from', from) ?? 0, span === '' ? 0 : now - spans[span])

/** Whether a filter finds an event. `login` finds all events whose type begins with `login.`. */
export const matchesFilter = (
  filter: EventFilter,
  user: EventsOfUser | undefined,
  describe: (type: string) => EventDescription | undefined,
  now: number,
) => {
  const { client, type } = filter
  const start = startOf(filter, now)
  return (event: EventRecord): boolean => {
    const { details } = event
    const isOfUser =
      user === undefined ||
      event.subject === user.subject ||
      (user.account !== undefined && details.account === user.account)
    const isOfType =
      type === '' ||
      event.type === type ||
      event.type.startsWith(`${type}.`) ||
      describe(event.type)?.group === type
    return isOfUser && isOfType && (client === '' || details.clientId === client) && event.time >= start
  }
}
