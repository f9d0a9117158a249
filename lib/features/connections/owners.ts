import type { EventRecord } from '../../storage/repositories/index.ts'
import { eventText, stepsOf } from './steps.ts'

/** Seconds between two events of one person at one address. */
const nearby = 900

/** Types of events that begin in a browser whose user is not known yet. */
const openings: ReadonlySet<string> = new Set(['authorization.requested', 'device.requested'])

/** Events after which a user does something in a browser. */
const acts: ReadonlySet<string> = new Set([
  'login.succeeded',
  'login.failed',
  'login.locked',
  'second_factor.failed',
  'consent.shown',
  'consent.allowed',
  'consent.denied',
  'device.authorized',
  'device.denied',
  'authorization.issued',
])

/** Events that the program of a client causes; anyone who has the link opens pages. */
const ofPrograms: ReadonlySet<string> = new Set(['api.refused', 'call.refused', 'call.accepted'])

export const addressOf = (event: EventRecord): string =>
  eventText(event, 'address') ?? eventText(event, 'api') ?? ''

/** The items by key, each list in the order of the items. */
export const groupBy = <Item>(items: readonly Item[], keyOf: (item: Item) => string): Map<string, Item[]> => {
  const groups = new Map<string, Item[]>()
  for (const item of items) {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group) group.push(item)
    else groups.set(key, [item])
  }
  return groups
}

/** A user, or a login name that was typed and that no event shows to be one of a user. */
type Owner = string
const userOwner = (subject: string): Owner => `user ${subject}`
const nameOwner = (account: string): Owner => `name ${account}`
const noOwner: Owner = 'unknown'

/** Who an event names: its user, or the user who has signed in by the login name that was typed. */
const namedOwners = (events: readonly EventRecord[]): ((event: EventRecord) => Owner | undefined) => {
  const subjects = new Map<string, string>()
  for (const event of events) {
    const account = eventText(event, 'account')
    if (account !== undefined && event.subject !== undefined) subjects.set(account, event.subject)
  }
  return (event) => {
    const account = eventText(event, 'account')
    const subject = event.subject ?? subjects.get(account ?? '')
    if (subject !== undefined) return userOwner(subject)
    return account === undefined ? undefined : nameOwner(account)
  }
}

/** Openings of an address that wait for their owner. */
const mostOpen = 20

/**
 * The sign-ins that were opened, with the one who went on next at the same address and had done nothing since. An opening that no one
 * followed has no owner: it may be of anyone.
 *
 * @param events oldest first
 */
const ownersOfOpenings = (
  events: readonly EventRecord[],
  ownerOf: (event: EventRecord) => Owner | undefined,
): Map<EventRecord, Owner> => {
  const owners = new Map<EventRecord, Owner>()
  const open = new Map<string, EventRecord[]>()
  const lastActs = new Map<Owner, number>()
  for (const event of events) {
    const [owner, address] = [ownerOf(event), addressOf(event)]
    const waiting = open.get(address) ?? []
    if (owner === undefined && openings.has(event.type)) {
      open.set(address, [...waiting.slice(1 - mostOpen), event])
    } else if (owner !== undefined && acts.has(event.type)) {
      const since = Math.max(event.time - nearby, (lastActs.get(owner) ?? Number.NEGATIVE_INFINITY) + 1)
      const opening = waiting.at(-1)
      if (opening && opening.time >= since) {
        owners.set(opening, owner)
        waiting.pop()
      }
      lastActs.set(owner, event.time)
    }
  }
  return owners
}

/** The only one of these at an address around a time; undefined if there are several or none. */
const onlyOwnerAt = (
  events: readonly EventRecord[],
  ownerOf: (event: EventRecord) => Owner | undefined,
): ((event: EventRecord) => Owner | undefined) => {
  const byAddress = groupBy(
    events.filter((event) => ownerOf(event) !== undefined),
    (event) => JSON.stringify([addressOf(event), Math.floor(event.time / nearby)]),
  )
  const owners = new Map(
    [...byAddress].map(([key, some]) => [key, new Set(some.flatMap((event) => ownerOf(event) ?? []))]),
  )
  return (event) => {
    const window = Math.floor(event.time / nearby)
    const found = new Set<Owner>()
    for (const each of [window - 1, window, window + 1]) {
      for (const owner of owners.get(JSON.stringify([addressOf(event), each])) ?? []) {
        found.add(owner)
        if (found.size > 1) return undefined
      }
    }
    return [...found][0]
  }
}

/** Events of a client that belong together. */
export interface OwnedEvents {
  readonly events: readonly EventRecord[]
  /** Whether the client has users, and nothing shows which of them this is. */
  readonly isUnknownUser: boolean
}

/** Changes of the client, which concern each of its users; the newest ones are enough. */
const mostChanges = 20

/**
 * The events of a client by its users. An event belongs to a user who is named in it, by id or by a login name with which the user
 * has signed in. What names no user is theirs only if no other user was at the address; else it stands alone.
 */
export const byOwner = (given: readonly EventRecord[]): OwnedEvents[] => {
  const subjects = new Set(given.flatMap(({ subject }) => subject ?? []))
  const [only, another] = subjects
  const names = new Set(given.flatMap((event) => eventText(event, 'account') ?? []))
  if (only === undefined && names.size < 2) return [{ events: given, isUnknownUser: false }]
  const events = stepsOf(given).map(({ event }) => event)
  const isChange = ({ subject, type }: EventRecord): boolean =>
    subject === undefined && type.startsWith('client.')
  const own = events.filter((event) => !isChange(event))
  const named = namedOwners(given)
  const opened = ownersOfOpenings(own, named)
  const present = onlyOwnerAt(own, named)
  const ownerOf = (event: EventRecord): Owner => {
    const owner = named(event) ?? opened.get(event)
    if (owner !== undefined) return owner
    if (openings.has(event.type)) return noOwner
    const isOfOnly = only !== undefined && another === undefined && ofPrograms.has(event.type)
    return present(event) ?? (isOfOnly ? userOwner(only) : noOwner)
  }
  const changes = events.filter(isChange).slice(-mostChanges)
  return [...groupBy(own, ownerOf)].map(([owner, each]) => {
    const isUser = owner.startsWith('user ')
    const isConcerned = isUser || only === undefined
    return { events: isConcerned ? [...changes, ...each] : each, isUnknownUser: !isUser }
  })
}
