import type { EventDescription } from '../../../events/description.ts'
import {
  type EventPlace,
  type EventRecord,
  type EventsAbout,
  eventWindow,
  listEventsOfRequest,
  listNewestEvents,
  type PlacedEvent,
} from '../../../storage/repositories/index.ts'
import { isLookup } from '../../../users/users.ts'
import type { OperatorContext } from '../../../web/endpoints/operator-page.ts'
import { accountOf } from '../../../web/sessions/device-cookie.ts'
import { type EventFilter, type EventsOfUser, endOf, matchesFilter, startOf } from './filter.ts'

/** Events on one page: with the details of each it weighs less than 30 kB. */
const pageSize = 24

/** Events that a search finds. */
export interface FoundEvents {
  readonly events: readonly EventRecord[]
  /** Where the search goes on. */
  readonly next?: EventPlace | undefined
  /** Whether the page is not full because the search stopped there. */
  readonly isCut?: boolean
  /** The user that was searched for. */
  readonly user?: EventsOfUser | undefined
}

/** A user by id or, if one was typed, by login name. What no one has still finds the events about it. */
const userOf = async (
  { server }: OperatorContext,
  { subject, user: typed }: EventFilter,
): Promise<EventsOfUser | undefined> => {
  const asked = subject || typed
  if (!isLookup(asked)) return undefined
  const byId = await server.users.find(asked)
  const user = byId ?? (subject === '' ? await server.users.findByUsername?.(asked) : undefined)
  const username = user?.username ?? (subject === '' ? asked : undefined)
  return {
    subject: user?.subject ?? asked,
    account: username === undefined ? undefined : accountOf(server, username),
    username,
  }
}

/** The types that a filter names: one, those that begin alike, or those of a group. One that is unknown is read, too. */
const typesOf = (
  { type }: EventFilter,
  descriptions: ReadonlyMap<string, EventDescription>,
): readonly string[] => {
  if (descriptions.has(type)) return [type]
  const named = [...descriptions].filter(([name, { group }]) => group === type || name.startsWith(`${type}.`))
  return named.length === 0 ? [type] : named.map(([name]) => name)
}

/** The reads of a search, each by its index. */
const readsFor = (
  { client, type }: EventFilter,
  user: EventsOfUser | undefined,
  types: readonly string[],
): readonly EventsAbout[] => {
  if (user !== undefined) {
    const { subject, account } = user
    return [{ subject }, ...(account === undefined ? [] : [{ account }])]
  }
  if (client !== '') return [{ clientId: client }]
  return type === '' ? [{}] : types.map((each) => ({ type: each }))
}

const newestFirst = (one: PlacedEvent, other: PlacedEvent): number =>
  other.place.time - one.place.time || (other.place.id < one.place.id ? -1 : 1)

const isAtLeast = (place: EventPlace, horizon: EventPlace): boolean =>
  place.time > horizon.time || (place.time === horizon.time && place.id >= horizon.id)

/** The newest place before which one of the lists was not read; undefined if all were read to their end. */
const horizonOf = (lists: readonly (readonly PlacedEvent[])[]): EventPlace | undefined =>
  lists
    .filter((list) => list.length >= eventWindow)
    .flatMap((list) => list.at(-1)?.place ?? [])
    .reduce<EventPlace | undefined>(
      (newest, place) => (newest === undefined || isAtLeast(place, newest) ? place : newest),
      undefined,
    )

/**
 * Searches events, newest first. It reads a thousand at most of each index, so that a filter that finds few does not read the
 * whole table.
 *
 * @param descriptions what is known about each type
 * @param before the last event that was seen
 */
export const searchEvents = async (
  context: OperatorContext,
  filter: EventFilter,
  descriptions: ReadonlyMap<string, EventDescription>,
  before: EventPlace | undefined,
): Promise<FoundEvents> => {
  const { database } = context.server
  const user = await userOf(context, filter)
  const now = context.server.now()
  const isFound = matchesFilter(filter, user, (type) => descriptions.get(type), now)
  if (filter.errorId !== '') {
    const events = await listEventsOfRequest(database, { requestId: filter.errorId })
    return { events: events.filter(isFound), user }
  }
  const lists: (readonly PlacedEvent[])[] = []
  for (const about of readsFor(filter, user, typesOf(filter, descriptions)))
    lists.push(await listNewestEvents(database, { before: before ?? endOf(filter), ...about }))
  const horizon = horizonOf(lists)
  const read = new Map(lists.flat().map((event) => [event.place.id, event]))
  const found = [...read.values()]
    .filter((event) => isFound(event) && (horizon === undefined || isAtLeast(event.place, horizon)))
    .sort(newestFirst)
  const events = found.slice(0, pageSize)
  if (found.length > pageSize) return { events, next: events.at(-1)?.place, user }
  const isPast = horizon !== undefined && horizon.time < startOf(filter, now)
  return { events, next: isPast ? undefined : horizon, isCut: !isPast, user }
}
