import type { Knex } from 'knex'
import type { Database } from './types.ts'

/** A unique index of a table. */
export interface UniqueIndex {
  /** Whether it keeps the values of a column unique: the column itself, or an expression of it alone. */
  isOf(column: string): boolean
}

/** `create unique index i on t (lower(email)) where …` is an index of `lower(email)`. */
const expressionOf = (definition: string): string => {
  const from = definition.indexOf('(')
  let depth = 0
  for (let place = from; place < definition.length; place += 1) {
    if (definition[place] === '(') depth += 1
    if (definition[place] === ')') depth -= 1
    if (depth === 0) return definition.slice(from + 1, place)
  }
  return ''
}

const byDefinition = (definition: string): UniqueIndex => {
  const expression = expressionOf(definition.replace(/^.*?\bon\b/is, ''))
  const names = new Set<string>(expression.match(/[\w$]+/g))
  return { isOf: (column) => !expression.includes(',') && names.has(column) }
}

const byColumns = (columns: readonly unknown[]): UniqueIndex => ({
  isOf: (column) => columns.length === 1 && columns[0] === column,
})

const grouped = (rows: readonly { readonly name: string; readonly column: unknown }[]): UniqueIndex[] =>
  [...new Set(rows.map(({ name }) => name))].map((name) =>
    byColumns(rows.filter((row) => row.name === name).map(({ column }) => column)),
  )

const inSqlite = async (knex: Knex, table: string): Promise<UniqueIndex[] | undefined> => {
  const [found] = await knex.raw('select type from sqlite_master where name = ?', [table])
  if (found?.type !== 'table') return undefined
  const rows = await knex.raw(
    `select i.name as name, c.name as "column", m.sql as definition
     from pragma_index_list(?) i join pragma_index_info(i.name) c
     left join sqlite_master m on m.name = i.name
     where i."unique" = 1`,
    [table],
  )
  const defined = rows.flatMap(({ definition }: { definition: string | null }) =>
    definition === null ? [] : [byDefinition(definition)],
  )
  return [...defined, ...grouped(rows)]
}

const inPostgres = async (knex: Knex, table: string): Promise<UniqueIndex[] | undefined> => {
  const { rows: kinds } = await knex.raw(
    `select c.relkind as kind from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relname = ? and n.nspname = any(current_schemas(false))`,
    [table],
  )
  if (!['r', 'p'].includes(String(kinds[0]?.kind))) return undefined
  const { rows } = await knex.raw(
    `select indexdef as definition from pg_indexes
     where tablename = ? and schemaname = any(current_schemas(false)) and indexdef like 'CREATE UNIQUE%'`,
    [table],
  )
  return rows.map(({ definition }: { definition: string }) =>
    byDefinition(definition.replace(/^.*? USING /, ' on ')),
  )
}

const inMysql = async (knex: Knex, table: string): Promise<UniqueIndex[] | undefined> => {
  const [kinds] = await knex.raw(
    'select table_type as kind from information_schema.tables where table_schema = database() and table_name = ?',
    [table],
  )
  if (kinds[0]?.kind !== 'BASE TABLE') return undefined
  const [rows] = await knex.raw(
    `select index_name as name, column_name as \`column\` from information_schema.statistics
     where table_schema = database() and table_name = ? and non_unique = 0 order by index_name, seq_in_index`,
    [table],
  )
  return grouped(rows)
}

/**
 * The unique indexes of a table of the host.
 *
 * @returns undefined if they cannot be known: it is a view, or in another schema
 */
export const uniqueIndexes = (
  knex: Knex,
  dialect: Database['driver']['dialect'],
  table: string,
): Promise<UniqueIndex[] | undefined> =>
  ({ sqlite: inSqlite, postgresql: inPostgres, mysql: inMysql })[dialect](knex, table)
