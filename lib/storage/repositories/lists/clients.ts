import type { Knex } from 'knex'
import { numberOf, query, textOf } from '../../database/statement.ts'
import type { Database, Row } from '../../database/types.ts'
import { type ClientRecord, findClientRecords, patternOf, sortNameOf } from '../clients.ts'
import { batchParams, batchSize, keysIn } from '../pruning/batch.ts'
import type { FullName, Places, Table } from '../statements.ts'

// Clients by name, with what a list is filtered by. The index `clients_sorted` has all of it, so that only a search reads rows.

/** A selection of clients for a list. `unused`: users allowed it nothing, and it has no token of its own. */
export type ClientFilter = 'all' | 'disabled' | 'self-described' | 'first-party' | 'unused'

/** The search of a list. */
export interface ClientSearch {
  /** Part of the id, the name, a host or a contact, in any case; '' for all clients. */
  readonly search: string
  /** Further clients that the search finds, such as those of one user; at most 100. */
  readonly also: readonly string[]
}

/** Clients on one page of a list. */
export const clientsPerPage = 50

/** The most clients that are looked at for unused ones: for each of them, three tables are asked. */
export const maxLookedAt = 10_000

interface Tools {
  readonly table: Table
  readonly name: FullName
  readonly raw: Knex.RawBuilder
}

/** Holds if the table has no row of the client: a range in the order of the index, as in pruning. */
const hasNone = ({ table, raw, name }: Tools, of: string): Knex.Raw => {
  const rows = table(of)
    .select(raw('1'))
    .whereRaw(raw('?? between ?? and ??', [`${name(of)}.client_id`, 'listed.client_id', 'listed.client_id']))
    .orderBy(`${name(of)}.client_id`)
    .limit(1, { skipBinding: true })
  return raw('(?) is null', [of === 'access_tokens' ? rows.whereNull('authorization_id') : rows])
}

/** The clients that a search finds, or all. */
const found = ({ table, raw }: Tools, v: Places, isSearch: boolean): Knex.QueryBuilder => {
  const rows: Knex.QueryBuilder = table('clients as listed')
  if (!isSearch) return rows
  const matches = raw("?? like ? escape '!'", ['search_text', v.pattern ?? null])
  return rows.where((either) => either.whereRaw(matches).orWhereIn('client_id', keysIn(v)))
}

/** The unused ones among the first of them by name. */
const lookedAt = (tools: Tools, v: Places, isSearch: boolean): Knex.QueryBuilder => {
  const { table, raw } = tools
  const first = found(tools, v, isSearch)
    .select(['client_id', 'sort_name'])
    .orderBy(['sort_name', 'client_id'])
    .limit(maxLookedAt, { skipBinding: true })
  const rows: Knex.QueryBuilder = table('clients')
  return rows
    .from(raw('(?) as ??', [first, 'listed']) as unknown as string)
    .where(hasNone(tools, 'authorizations'))
    .where(hasNone(tools, 'consents'))
    .where(hasNone(tools, 'access_tokens'))
}

const narrowed = (tools: Tools, v: Places, filter: ClientFilter, isSearch: boolean): Knex.QueryBuilder => {
  if (filter === 'unused') return lookedAt(tools, v, isSearch)
  const rows = found(tools, v, isSearch)
  if (filter === 'disabled') return rows.whereNotNull('disabled_at')
  if (filter === 'self-described') return rows.where({ self_described: 1 })
  return filter === 'first-party' ? rows.where({ first_party: 1 }) : rows
}

type Statement = ReturnType<typeof query<Record<string, string | number | null>>>

/** The statement for all clients, and the one for a search. */
type Both = readonly [all: Statement, search: Statement]

const both = (build: (tools: Tools, v: Places, isSearch: boolean) => Knex.QueryBuilder | Knex.Raw): Both => {
  const statement = (isSearch: boolean): Statement =>
    query((table, v, name, raw) => build({ table, name, raw }, v as Places, isSearch))
  return [statement(false), statement(true)]
}

const run = (
  [all, search]: Both,
  db: Database,
  values: ClientSearch,
  others: Readonly<Record<string, number>> = {},
): Promise<readonly Row[]> =>
  values.search === ''
    ? all(db, others)
    : search(db, batchParams(values.also, { ...others, pattern: patternOf(values.search) }) as never)

const pageOf = (filter: ClientFilter): Both =>
  both((tools, v, isSearch) => {
    const rows = narrowed(tools, v, filter, isSearch).select('client_id').orderBy(['sort_name', 'client_id'])
    // Its type knows only numbers.
    const offset = tools.raw('?', [v.offset ?? null]) as unknown as number
    return rows.limit(clientsPerPage, { skipBinding: true }).offset(offset)
  })

const pages: Readonly<Record<ClientFilter, Both>> = {
  all: pageOf('all'),
  disabled: pageOf('disabled'),
  'self-described': pageOf('self-described'),
  'first-party': pageOf('first-party'),
  unused: pageOf('unused'),
}

/**
 * A page of clients, by name: {@link clientsPerPage} of them.
 *
 * @param values.offset after how many clients the page begins
 */
export const listClientsByName = async (
  db: Database,
  values: ClientSearch & {
    readonly filter: ClientFilter
    readonly offset: number
    readonly now: number
  },
): Promise<ClientRecord[]> => {
  const { filter, offset, now } = values
  const rows = await run(pages[filter], db, values, { offset })
  const clientIds = rows.map((row) => textOf(row, 'client_id'))
  if (clientIds.length === 0) return []
  const records = new Map(
    (await findClientRecords(db, { clientIds, now })).map((record) => [record.clientId, record]),
  )
  return clientIds.map((clientId) => records.get(clientId)).filter((record) => record !== undefined)
}

const count = both((tools, v, isSearch) =>
  found(tools, v, isSearch).select([
    tools.raw('count(*) as every_client'),
    tools.raw('count(disabled_at) as disabled'),
    tools.raw('coalesce(sum(self_described), 0) as self_described'),
    tools.raw('coalesce(sum(first_party), 0) as first_party'),
  ]),
)

const countUnused = both((tools, v, isSearch) =>
  lookedAt(tools, v, isSearch).select(tools.raw('count(*) as unused')),
)

/** The number of clients of each list; of the unused ones, only those among the first {@link maxLookedAt} by name. */
export const countClients = async (
  db: Database,
  values: ClientSearch,
): Promise<Readonly<Record<ClientFilter, number>>> => {
  const [[row], [unused]] = [await run(count, db, values), await run(countUnused, db, values)]
  return {
    all: row ? numberOf(row, 'every_client') : 0,
    disabled: row ? numberOf(row, 'disabled') : 0,
    'self-described': row ? numberOf(row, 'self_described') : 0,
    'first-party': row ? numberOf(row, 'first_party') : 0,
    unused: unused ? numberOf(unused, 'unused') : 0,
  }
}

const among = query<Record<string, string | null>>((table, v) =>
  table('clients')
    .select(['client_id', 'search_text'])
    .whereIn('client_id', keysIn(v as never))
    .orderBy(['sort_name', 'client_id']),
)

/** Those of at most 100 clients that a search finds, by name. */
export const findAmong = async (
  db: Database,
  { clientIds, search, also }: ClientSearch & { readonly clientIds: readonly string[] },
): Promise<string[]> => {
  if (clientIds.length === 0) return []
  const rows = await among(db, batchParams(clientIds.slice(0, batchSize)) as never)
  const sought = search.toLowerCase()
  return rows
    .filter((row) => textOf(row, 'search_text').includes(sought) || also.includes(textOf(row, 'client_id')))
    .map((row) => textOf(row, 'client_id'))
}

const named = query<{ name: string; clientId: string }>((table, v, _name, raw) =>
  raw('select count(*) as count from (?) as counted', [
    table('clients')
      .select('client_id')
      .where({ sort_name: v.name })
      .whereNot({ client_id: v.clientId })
      .limit(batchSize, { skipBinding: true }),
  ]),
)

/** The number of other clients with the same name, in any case; up to 100. Only the beginning of a long name counts. */
export const countOthersNamed = async (
  db: Database,
  { name, clientId }: { readonly name: string; readonly clientId: string },
): Promise<number> => {
  const [row] = await named(db, { name: sortNameOf(name), clientId })
  return row ? numberOf(row, 'count') : 0
}
