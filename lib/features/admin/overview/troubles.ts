import type { Reason } from '../../../protocol/refusal.ts'
import type { EventRecord } from '../../../storage/repositories/index.ts'
import type { ShownTrouble } from './models.ts'

/** Refusals of one client for one reason. */
export interface Trouble extends Pick<ShownTrouble, 'kind' | 'count' | 'reason'> {
  readonly clientId: string | undefined
  /** Epoch seconds of the oldest one. */
  readonly since: number
  readonly expected: string | undefined
  readonly received: string | undefined
  /** The id of the newest one. */
  readonly errorId: string
  readonly type: string
  /** The field of the client that the refusal is about. */
  readonly field: string | undefined
}

/** The kind of trouble that each type of event shows. */
const kinds: Readonly<Record<string, ShownTrouble['kind']>> = {
  'request.refused': 'people',
  'api.refused': 'requests',
  'request.failed': 'failed',
}

/** The types of events that tell what goes wrong. */
export const troubleTypes = Object.keys(kinds)

const textIn = ({ details }: EventRecord, name: string): string | undefined => {
  const value = details[name]
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** An administrator who is not let in, and a page that does not exist, are no trouble of a client. */
const isOfClients = (event: EventRecord): boolean => {
  const path = textIn(event, 'path') ?? ''
  return !path.startsWith('/admin') && event.details.status !== 404
}

const reasonOf = (event: EventRecord): string =>
  textIn(event, 'description') ?? textIn(event, 'code') ?? event.type

const keyOf = (event: EventRecord): string =>
  JSON.stringify([event.type, textIn(event, 'clientId'), reasonOf(event)])

/** The field of a client that a refusal for this reason is about. */
const fields: Partial<Readonly<Record<Reason, string>>> = {
  redirect_uri_unregistered: 'redirect_uris',
  redirect_uri_removed: 'redirect_uris',
  logout_uri_unregistered: 'post_logout_redirect_uris',
  scope_not_allowed: 'scope',
  scope_needs_user: 'scope',
  scope_removed: 'scope',
  grant_type_unregistered: 'grant_types',
  response_type_unregistered: 'response_types',
}

/** People by their addresses: several behind one address count once. */
const countOf = (kind: ShownTrouble['kind'], events: readonly EventRecord[]): number =>
  kind === 'people'
    ? new Set(events.map((event) => textIn(event, 'address') ?? event.requestId)).size
    : events.length

const troubleOf = (events: readonly [EventRecord, ...EventRecord[]]): Trouble => {
  const [newest] = events
  const kind = kinds[newest.type] ?? 'requests'
  return {
    kind,
    count: countOf(kind, events),
    type: newest.type,
    clientId: textIn(newest, 'clientId'),
    reason: reasonOf(newest),
    since: Math.min(...events.map(({ time }) => time)),
    expected: textIn(newest, 'expected'),
    received: textIn(newest, 'received'),
    errorId: newest.requestId,
    field: fields[textIn(newest, 'reason') as Reason],
  }
}

/** People are hurt by error pages; programs may only have tried. */
const rank = ({ kind, count }: Trouble): number => (kind === 'requests' ? count / 1000 : count)

/**
 * Troubles, by client and reason; those that hurt most people come first.
 *
 * @param events newest first
 */
export const troublesOf = (events: readonly EventRecord[]): Trouble[] => {
  const groups = new Map<string, [EventRecord, ...EventRecord[]]>()
  for (const event of events.filter(isOfClients)) {
    const key = keyOf(event)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [event])
    else group.push(event)
  }
  return [...groups.values()].map(troubleOf).sort((one, other) => rank(other) - rank(one))
}

/**
 * How many login names are locked.
 *
 * @param locked events of the type `login.locked`
 * @param unlocked events of the type `login.unlocked`
 * @param now epoch seconds
 */
export const lockedNames = (
  locked: readonly EventRecord[],
  unlocked: readonly EventRecord[],
  now: number,
): number => {
  const isOpen = ({ time, details: { account } }: EventRecord): boolean =>
    unlocked.some((event) => event.details.account === account && event.time >= time)
  const standing = locked.filter(
    (event) => event.time + Number(event.details.seconds ?? 0) > now && !isOpen(event),
  )
  return new Set(standing.map(({ details }) => details.account)).size
}
