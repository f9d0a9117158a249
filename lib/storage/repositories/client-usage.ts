import type { Knex } from 'knex'
import { json, numberOf, numberOrNull, query, textOf } from '../database/statement.ts'
import type { Database, Row } from '../database/types.ts'
import { clientsPerPage } from './lists/clients.ts'
import { keyPlaces } from './pruning/batch.ts'
import type { Places, Table } from './statements.ts'

/** The most that is counted: ten thousand take some milliseconds, a million take seconds. */
export const maxCounted = 10_000

/** So many rows of a client: a range in the order of the index, as in pruning. MariaDB would sort all of them. */
interface Some {
  readonly isOrdered: boolean
  readonly most: number
}

const some = (
  rows: Knex.QueryBuilder,
  clientId: Knex.Value,
  { isOrdered, most }: Some,
): Knex.QueryBuilder => {
  const found = rows.whereBetween('client_id', [clientId, clientId]).limit(most, { skipBinding: true })
  return isOrdered ? found.orderBy('client_id') : found
}

type Rows = (table: Table) => Knex.QueryBuilder

/** Who allows a client something. */
const allowing: Rows = (table) => table('consents').select('subject')
/** Who was signed in to a client. One that needs no consent has only these. */
const signedIn: Rows = (table) => table('authorizations').select('subject').whereNull('revoked_at')
const granted: Rows = (table) => table('authorizations').select('id').whereNull('revoked_at')

type Read = ReturnType<typeof query<Record<string, string | null>>>

const byDialect = (build: (isOrdered: boolean) => Read): Read => {
  const [ordered, unordered] = [build(true), build(false)]
  return (db, values) => (db.driver.dialect === 'mysql' ? unordered : ordered)(db, values)
}

const counted = (rows: Rows, what: string): Read =>
  byDialect((isOrdered) =>
    query((table, v, _name, raw) =>
      raw(`select count(${what}) as count from (?) as counted`, [
        some(rows(table), v.clientId ?? null, { isOrdered, most: maxCounted }),
      ]),
    ),
  )

const usersAllowing = counted(allowing, 'distinct subject')
const usersSignedIn = counted(signedIn, 'distinct subject')
const authorizations = counted(granted, '*')

/**
 * Counts what ends with a client, each up to {@link maxCounted}: its users, and the authorizations that were not ended. Some of
 * these may have expired.
 */
export const countUsageOfClient = async (db: Database, values: { clientId: string }) => {
  const counts = [usersAllowing, usersSignedIn, authorizations].map(async (count) => {
    const [row] = await count(db, values)
    return row ? numberOf(row, 'count') : 0
  })
  const [allowed = 0, wereSignedIn = 0, granted = 0] = await Promise.all(counts)
  return { users: Math.max(allowed, wereSignedIn), authorizations: granted }
}

const consented = query<{ clientId: string }>((table, v) =>
  table('consents').select('client_id').where({ client_id: v.clientId }).limit(1, { skipBinding: true }),
)

const holding = query<{ clientId: string }>((table, v) =>
  table('authorizations')
    .select('client_id')
    .where({ client_id: v.clientId })
    .limit(1, { skipBinding: true }),
)

/** Whether any user has allowed a client something that is still stored. */
export const isClientAllowed = async (db: Database, values: { clientId: string }): Promise<boolean> =>
  (await consented(db, values)).length > 0 || (await holding(db, values)).length > 0

/** The most rows of each client that a list reads to count its users. */
const maxCountedInList = 1000

/** The most of the newest events of a client in which its last tokens are looked for. */
const eventsLookedAt = 100

const { keysIn } = keyPlaces(clientsPerPage)

/** One statement about each client of a page, because one after the other would take longer. */
const ofEach = (select: string, of: (table: Table, clientId: Knex.Value) => Knex.QueryBuilder): Read =>
  query((table, v, _name, raw) => {
    const places = keysIn(v as Places)
    return raw(
      places.map((_, place) => `select ${place} as place, ${select}`).join(' union all '),
      places.map((clientId) => of(table, clientId)),
    )
  })

const usersOfEach = (rows: Rows): Read =>
  byDialect((isOrdered) =>
    ofEach('count(distinct subject) as users, count(*) as looked_at from (?) as counted', (table, clientId) =>
      some(rows(table), clientId, { isOrdered, most: maxCountedInList }),
    ),
  )
const allowingOfEach = usersOfEach(allowing)
const signedInOfEach = usersOfEach(signedIn)

const lastTokensOfEach = ofEach(
  "max(time) as last_used from (?) as newest where type = 'tokens.issued'",
  (table, clientId) =>
    table('events')
      .select(['type', 'time'])
      .where({ client_id: clientId })
      .orderBy('time', 'desc')
      .limit(eventsLookedAt, { skipBinding: true }),
)

/** The rows about each client of a page, in their order. */
const rowsOfEach = async (db: Database, read: Read, clientIds: readonly string[]): Promise<Row[]> => {
  // The places that are left have no rows.
  const places = Array.from({ length: clientsPerPage }, (_, place) => [
    `key${place}`,
    clientIds[place] ?? null,
  ])
  const rows = await read(db, Object.fromEntries(places))
  const placed = new Map(rows.map((row) => [numberOf(row, 'place'), row] as const))
  return clientIds.map((_, place) => placed.get(place)).filter((row) => row !== undefined)
}

/** The number of users of a client, for a list. */
export interface ListedUsers {
  readonly users: number
  /** Not all rows were read, so there may be more. */
  readonly isMore: boolean
}

/** The number of users of each client of a page, in their order. */
export const countUsersOfClients = async (
  db: Database,
  clientIds: readonly string[],
): Promise<ListedUsers[]> => {
  const [allowed, signed] = [
    await rowsOfEach(db, allowingOfEach, clientIds),
    await rowsOfEach(db, signedInOfEach, clientIds),
  ]
  return clientIds.map((_, place) => {
    const counted = [allowed[place], signed[place]].filter((row) => row !== undefined)
    return {
      users: Math.max(...counted.map((row) => numberOf(row, 'users'))),
      isMore: counted.some((row) => numberOf(row, 'looked_at') >= maxCountedInList),
    }
  })
}

/**
 * When each client of a page last got tokens, in epoch seconds, in their order; undefined if that is not among its newest stored
 * events.
 */
export const listLastTokens = async (
  db: Database,
  clientIds: readonly string[],
): Promise<(number | undefined)[]> =>
  (await rowsOfEach(db, lastTokensOfEach, clientIds)).map(
    (row) => numberOrNull(row, 'last_used') ?? undefined,
  )

/** How many of the newest authorizations are looked at. */
const requestsLookedAt = 1000

const newestRequests = query<Record<never, never>>((table) =>
  table('authorizations')
    .select(['client_id', 'request'])
    .orderBy('expires_at', 'desc')
    .limit(requestsLookedAt, { skipBinding: true }),
)

/** The ids of the clients that sent a PKCE challenge with the method plain, in the newest thousand authorizations. */
export const listClientsWithPlain = async (db: Database): Promise<ReadonlySet<string>> => {
  const rows = await newestRequests(db, {})
  const sent = rows.filter((row) => {
    const { codeChallenge }: { codeChallenge?: { method?: string } } = json(row, 'request')
    return codeChallenge?.method === 'plain'
  })
  return new Set(sent.map((row) => textOf(row, 'client_id')))
}
