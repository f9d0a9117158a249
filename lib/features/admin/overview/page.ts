import { withStates } from '../../../keys/key-schedule.ts'
import { splitAtDifference } from '../../../protocol/explanation.ts'
import {
  type ClientRecord,
  countEvents,
  countEventsByClient,
  countEventsByHour,
  eventWindow,
  findClientRecords,
  listNewestEvents,
  listSigningKeys,
  maxCountedEvents,
  type PlacedEvent,
  type SigningKeyRecord,
} from '../../../storage/repositories/index.ts'
import type { OperatorContext, OperatorPage } from '../../../web/endpoints/operator-page.ts'
import { clientParameter, iso } from '../../../web/endpoints/page-values.ts'
import { ownPath } from '../../../web/http/urls.ts'
import type { PageModels } from '../../../web/pages/page-models.ts'
import { letterAbout } from './letter.ts'
import type { ShownHour, ShownTrouble } from './models.ts'
import { lockedNames, type Trouble, troublesOf, troubleTypes } from './troubles.ts'

const hour = 3600
const day = 24 * hour
const eventsPath = '/admin/events'

/** The most troubles that the page lists, so that one can read them all. */
const maxTroubles = 6

type Overview = PageModels['operator-overview']
type Now = NonNullable<Overview['now']>

/** The key that signs next, of any algorithm. */
const nextKeyOf = (keys: readonly SigningKeyRecord[], now: number): Overview['nextKey'] => {
  const times = withStates(keys, now).flatMap(({ state, activeAt }) => (state === 'next' ? [activeAt] : []))
  if (times.length === 0) return undefined
  const next = Math.min(...times)
  return { days: Math.floor((next - now) / day), time: iso(next) }
}

const sum = (numbers: Iterable<number>): number => [...numbers].reduce((total, each) => total + each, 0)

/** The last 24 hours and the same of a week ago. The present hour has only begun. */
const hoursOf = async ({ server }: OperatorContext): Promise<Pick<Now, 'hours' | 'isMore'>> => {
  const { database } = server
  const now = server.now()
  const first = now - (now % hour) - 23 * hour
  const countedFrom = (type: string, from: number) =>
    countEventsByHour(database, { type, from, to: from + day })
  const signIns = await countedFrom('login.succeeded', first)
  const failures = await countedFrom('login.failed', first)
  const before = await countedFrom('login.succeeded', first - 7 * day)
  const hours = Array.from({ length: 24 }, (_, index): ShownHour => {
    const time = first + index * hour
    return {
      hour: iso(time).slice(11, 13),
      signIns: signIns.get(time) ?? 0,
      failures: failures.get(time) ?? 0,
      before: before.get(time - 7 * day) ?? 0,
    }
  })
  const isMore = [signIns, failures, before].some((counts) => sum(counts.values()) >= maxCountedEvents)
  return { hours, isMore }
}

/** The newest thousand events of a type, of the last 24 hours. */
const newestOf = async (
  { server }: OperatorContext,
  type: string,
  { isNamed = false } = {},
): Promise<PlacedEvent[]> => {
  const events = await listNewestEvents(server.database, { type, isNamed })
  return events.filter(({ time }) => time > server.now() - day)
}

const recordsOf = async (
  { server: { database, now } }: OperatorContext,
  clientIds: readonly string[],
): Promise<ReadonlyMap<string, ClientRecord>> => {
  const clients = await findClientRecords(database, { clientIds, now: now() })
  return new Map(clients.map((client) => [client.clientId, client]))
}

const nameOf = ({ clientId, metadata }: ClientRecord): string => metadata.client_name ?? clientId

const shownTrouble = async (
  context: OperatorContext,
  trouble: Trouble,
  records: ReadonlyMap<string, ClientRecord>,
  isMore: boolean,
): Promise<ShownTrouble> => {
  const { server, person } = context
  const { kind, count, since, reason, expected, received, errorId, type, clientId, field } = trouble
  const client = clientId === undefined ? undefined : records.get(clientId)
  const difference =
    expected === undefined || received === undefined
      ? undefined
      : { expected, received: splitAtDifference({ expected, received }) }
  const shown = { kind, count, isMore, since: iso(since), reason, difference, errorId }
  if (clientId === undefined || client === undefined)
    return { ...shown, eventsUrl: ownPath(server, eventsPath, { type }) }
  return {
    ...shown,
    client: { name: nameOf(client), url: person.clientUrl(clientId) },
    mend: {
      url: `${ownPath(server, '/admin/client', clientParameter(clientId))}${field ? `#field-${field}` : ''}`,
      field,
    },
    letterUrl: await letterAbout(context, client, trouble),
    eventsUrl: ownPath(server, eventsPath, { type, client: clientId }),
  }
}

const troubles = async (context: OperatorContext): Promise<ShownTrouble[]> => {
  const named = new Map<string, PlacedEvent[]>()
  const others = new Map<string, PlacedEvent[]>()
  // Clients apart, so that strangers hide no trouble of a client.
  for (const type of troubleTypes) {
    named.set(type, await newestOf(context, type, { isNamed: true }))
    others.set(type, await newestOf(context, type))
  }
  const unnamed = [...others.values()].flat().filter(({ details }) => details.clientId === undefined)
  const found = troublesOf([...[...named.values()].flat(), ...unnamed]).slice(0, maxTroubles)
  const isMore = ({ type, clientId }: Trouble): boolean =>
    ((clientId === undefined ? others : named).get(type)?.length ?? 0) >= eventWindow
  const records = await recordsOf(
    context,
    found.flatMap(({ clientId }) => clientId ?? []),
  )
  return Promise.all(found.map((trouble) => shownTrouble(context, trouble, records, isMore(trouble))))
}

const clients = async (context: OperatorContext): Promise<Now['clients']> => {
  const { server } = context
  const to = server.now() + 1
  const counts = await countEventsByClient(server.database, { type: 'login.succeeded', from: to - day, to })
  const records = await recordsOf(
    context,
    counts.map(({ clientId }) => clientId),
  )
  const greatest = Math.max(1, ...counts.map(({ count }) => count))
  return counts.map(({ clientId, count }) => ({
    name: records.get(clientId)?.metadata.client_name ?? clientId,
    url: ownPath(server, eventsPath, { type: 'login.succeeded', client: clientId }),
    count,
    share: Math.round((100 * count) / greatest),
  }))
}

/** Troubles in the sections of other features. */
const alarmsOf = async (
  context: OperatorContext,
  others: readonly OperatorPage[],
): Promise<Now['alarms']> => {
  const alarms = await Promise.all(
    others.map(async ({ path, troubles: read }) =>
      ((await read?.(context)) ?? []).map((trouble) => ({ ...trouble, url: ownPath(context.server, path) })),
    ),
  )
  return alarms.flat()
}

const nowOf = async (context: OperatorContext, others: readonly OperatorPage[]): Promise<Now> => {
  const { server } = context
  const now = server.now()
  const [limited] = await newestOf(context, 'events.limited')
  const tokens = await countEvents(server.database, { type: 'tokens.issued', from: now - day, to: now + 1 })
  return {
    ...(await hoursOf(context)),
    locks: lockedNames(
      await newestOf(context, 'login.locked'),
      await newestOf(context, 'login.unlocked'),
      now,
    ),
    locksUrl: ownPath(server, eventsPath, { type: 'login.locked' }),
    tokens,
    tokensUrl: ownPath(server, eventsPath, { type: 'tokens.issued' }),
    isMoreTokens: tokens >= maxCountedEvents,
    alarms: await alarmsOf(context, others),
    troubles: await troubles(context),
    ...(limited && { limitedAt: iso(limited.time) }),
    clients: await clients(context),
  }
}

/**
 * The first of the admin pages: the state of the server now.
 *
 * @param others the pages of other features
 */
export const overviewPage = (others: readonly OperatorPage[]): OperatorPage => ({
  path: '/admin',
  section: 'overview',
  async show(context) {
    const { server, person, send } = context
    const keys = await listSigningKeys(server.database)
    send('operator-overview', {
      ...(await person.header()),
      now: server.eventLog && (await nowOf(context, others)),
      nextKey: nextKeyOf(keys, server.now()),
      keysUrl: ownPath(server, '/admin/keys'),
    })
  },
})
