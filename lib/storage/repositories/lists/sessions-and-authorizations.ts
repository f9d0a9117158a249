import type { Knex } from 'knex'
import type { AuthorizationDetails } from '../../../protocol/requests/authorization.ts'
import { json, query, textOf } from '../../database/statement.ts'
import type { Database, Row } from '../../database/types.ts'
import { type AuthorizationRecord, recordOf, records } from '../authorization-records.ts'
import { historyColumns, historyOf, type LoginHistory } from '../logins.ts'
import { batchParams, batchSize, keysIn } from '../pruning/batch.ts'

// Pages in the order of the primary key, each with what follows the last key of the page before.

/** The owner of the rows of a page; without either, everybody's rows. */
export interface Whose {
  readonly subject?: string | undefined
  readonly clientId?: string | undefined
}

/** The most rows of a page. */
export const maxPage = batchSize

/** A page of rows that are active. */
export interface KeyPage extends Whose {
  /** The last key of the page before; '' for the first page. */
  readonly after: string
  /** Epoch seconds. */
  readonly now: number
}

type Statement = ReturnType<typeof query<Record<string, string | number | null>>>

/** One statement for each combination, so that each has a plan of its own. */
const each = (
  build: (whose: { subject: boolean; clientId: boolean }) => Statement,
  onPostgres?: Statement,
) => {
  const statements = {
    all: build({ subject: false, clientId: false }),
    ofSubject: build({ subject: true, clientId: false }),
    ofClient: build({ subject: false, clientId: true }),
    ofBoth: build({ subject: true, clientId: true }),
  }
  return async (db: Database, { subject, clientId, ...page }: KeyPage): Promise<readonly Row[]> => {
    if (subject !== undefined && clientId !== undefined)
      return statements.ofBoth(db, { ...page, subject, clientId })
    if (subject !== undefined) return statements.ofSubject(db, { ...page, subject })
    if (clientId === undefined) return statements.all(db, { ...page })
    const ofClient =
      db.driver.dialect === 'postgresql' ? (onPostgres ?? statements.ofClient) : statements.ofClient
    return ofClient(db, { ...page, clientId })
  }
}

/**
 * The rows of one client after a key, as a span of the index of both. With a plan for any client, PostgreSQL would walk through the
 * primary key instead.
 */
const ofOneClient = (
  rows: Knex.QueryBuilder,
  columns: readonly [clientId: string, key: string],
  v: { readonly clientId?: Knex.Value; readonly after?: Knex.Value },
): Knex.QueryBuilder =>
  rows
    .whereRaw('(??, ??) > (?, ?)', [...columns, v.clientId ?? null, v.after ?? null])
    .where(columns[0], '<=', v.clientId ?? null)
    .orderBy([...columns])

const logins = each(({ subject, clientId }) =>
  query((table, v) => {
    const rows = table('logins')
      .select(historyColumns)
      .where('sid', '>', v.after ?? '')
      .where('expires_at', '>', v.now ?? 0)
      .whereNull('ended_at')
      .orderBy('sid')
    if (subject) rows.where({ subject: v.subject })
    if (clientId)
      rows.whereIn(
        'sid',
        table('authorizations').select('sid').where({ client_id: v.clientId, subject: v.subject }),
      )
    return rows.limit(maxPage, { skipBinding: true })
  }),
)

const sidsOnPostgres = query<{ clientId: string; after: string }>((table, v) =>
  ofOneClient(table('authorizations').select('sid'), ['client_id', 'sid'], v)
    .groupBy(['client_id', 'sid'])
    .limit(maxPage, { skipBinding: true }),
)

const sidsOfClient = query<{ clientId: string; after: string }>((table, v) =>
  table('authorizations')
    .select('sid')
    .where({ client_id: v.clientId })
    .where('sid', '>', v.after)
    .groupBy('sid')
    .orderBy('sid')
    .limit(maxPage, { skipBinding: true }),
)

const activeLogins = query<Record<string, string | number | null>>((table, v) =>
  table('logins')
    .select(historyColumns)
    .whereIn('sid', keysIn(v))
    .where('expires_at', '>', v.now ?? 0)
    .whereNull('ended_at')
    .orderBy('sid'),
)

/** The rows of a page, and the last key that was looked at if others may follow. */
export interface FoundPage<Item> {
  readonly rows: readonly Item[]
  readonly last: string | undefined
}

const lastOf = (keys: readonly string[]): string | undefined =>
  keys.length === maxPage ? keys.at(-1) : undefined

const loginsOfClient = async (
  db: Database,
  clientId: string,
  { after, now }: KeyPage,
): Promise<FoundPage<LoginHistory>> => {
  const read = db.driver.dialect === 'postgresql' ? sidsOnPostgres : sidsOfClient
  const sids = (await read(db, { clientId, after })).map((row) => textOf(row, 'sid'))
  const rows = sids.length === 0 ? [] : await activeLogins(db, batchParams(sids, { now }) as never)
  return { rows: rows.map(historyOf), last: lastOf(sids) }
}

/** A page of active logins; with a client, those under which a user signed in to it. */
export const listLoginsPage = async (db: Database, page: KeyPage): Promise<FoundPage<LoginHistory>> => {
  const { subject, clientId } = page
  if (subject === undefined && clientId !== undefined) return loginsOfClient(db, clientId, page)
  const rows = (await logins(db, page)).map(historyOf)
  return { rows, last: lastOf(rows.map(({ sid }) => sid)) }
}

const active = (rows: Knex.QueryBuilder, now: Knex.Value | undefined): Knex.QueryBuilder =>
  rows
    .where('authorizations.expires_at', '>', now ?? 0)
    .whereNull('authorizations.revoked_at')
    .limit(maxPage, { skipBinding: true })

const authorizations = each(
  ({ subject, clientId }) =>
    query((table, v, name, raw) => {
      const rows = active(records(table, name, raw), v.now)
      if (subject) rows.where({ 'authorizations.subject': v.subject })
      if (clientId) rows.where({ 'authorizations.client_id': v.clientId })
      return rows.where('authorizations.id', '>', v.after ?? '').orderBy('authorizations.id')
    }),
  query((table, v, name, raw) =>
    ofOneClient(
      active(records(table, name, raw), v.now),
      ['authorizations.client_id', 'authorizations.id'],
      v,
    ),
  ),
)

/** A page of authorizations that are not revoked. Some may have no token left that can be used. */
export const listAuthorizationsPage = async (
  db: Database,
  page: KeyPage,
): Promise<FoundPage<AuthorizationRecord>> => {
  const rows = (await authorizations(db, page)).map(recordOf)
  return { rows, last: lastOf(rows.map(({ id }) => id)) }
}

/** The most authorizations that are read for one page of logins. */
const maxRead = 10_000

const clientsOf = query<Record<string, string | number | null>>((table, v) =>
  table('authorizations')
    .select(['sid', 'client_id', 'request'])
    .whereIn('sid', keysIn(v))
    .orderBy(['created_at', 'id'])
    .limit(maxRead, { skipBinding: true }),
)

/** A client to which a user signed in, in one organization if the host has any. */
export interface LoginClient {
  readonly clientId: string
  readonly organization: string | undefined
}

/**
 * The clients to which users signed in under these logins, by sid.
 *
 * @param sids at most 100
 */
export const loginClients = async (
  db: Database,
  sids: readonly string[],
): Promise<ReadonlyMap<string, readonly LoginClient[]>> => {
  const found = new Map<string, LoginClient[]>()
  if (sids.length === 0) return found
  for (const row of await clientsOf(db, batchParams(sids) as never)) {
    const sid = textOf(row, 'sid')
    const { organization } = json<AuthorizationDetails>(row, 'request')
    const others = found.get(sid) ?? []
    others.push({ clientId: textOf(row, 'client_id'), organization })
    found.set(sid, others)
  }
  return found
}
