import knex, { type Knex } from 'knex'
import { databaseLocation } from '../../storage/database/location.ts'
import type { ClientTable } from './map.ts'
import type { SourceRow } from './source.ts'

/** The rows of a table, with all of its columns. */
interface Rows extends Pick<ClientTable, 'table' | 'where' | 'join'> {
  readonly key: string
  /** Columns that must not be null. */
  readonly filled: readonly string[]
}

/** The open database of another server, which is only read. */
export interface Source {
  /** Without its password. */
  readonly location: string
  /** The names of the columns of a table; empty if there is no such table. */
  columnsOf(table: string): Promise<readonly string[]>
  /**
   * The rows in the order of their keys, at most 1,000 at a time.
   *
   * @throws Error if a key occurs twice: rows would be lost
   */
  rows(wanted: Rows): AsyncIterable<readonly SourceRow[]>
  close(): Promise<void>
}

/** The most rows that are in memory at once. */
const pageSize = 1000

interface Connection {
  query(sql: string, done: (error: Error | null) => void): void
}

/** Every connection can only read. Times that MariaDB converts are in UTC. */
const readOnly: Readonly<Record<string, readonly string[]>> = {
  pg: ['SET default_transaction_read_only = on'],
  mysql2: ['SET SESSION TRANSACTION READ ONLY', "SET SESSION time_zone = '+00:00'"],
}

/** MariaDB and MySQL, with dates as text: a Date would be in the time zone of this process. */
const mysqlConnection = (uri: string): Knex.MySql2ConnectionConfig => {
  const { hostname: host, port, pathname } = new URL(uri)
  const named = { uri, host, port: Number(port || 3306), database: pathname.slice(1) }
  return Object.assign(named, { dateStrings: true, supportBigNumbers: true })
}

const run = (raw: Connection, sql: string): Promise<void> =>
  new Promise((resolve, reject) => raw.query(sql, (error) => (error ? reject(error) : resolve())))

const settingsFor = ({ client, connection }: Knex.Config): Knex.Config => {
  if (client === 'better-sqlite3') {
    const file = Object(connection)
    return { client, connection: { ...file, options: { readonly: true } }, useNullAsDefault: true }
  }
  const uri = String(connection)
  const prepare = async (raw: Connection): Promise<void> => {
    for (const sql of readOnly[String(client)] ?? []) await run(raw, sql)
  }
  return {
    client: String(client),
    connection: client === 'mysql2' ? mysqlConnection(uri) : uri,
    acquireConnectionTimeout: 5000,
    pool: {
      min: 0,
      max: 1,
      afterCreate: (raw: Connection, done: (error: Error | null, raw: Connection) => void) => {
        prepare(raw).then(
          () => done(null, raw),
          (error: Error) => done(error, raw),
        )
      },
    },
  }
}

type ColumnTypes = Readonly<Record<string, { readonly type: string }>>

const page = async (
  db: Knex,
  { table, key, where = {}, join, filled }: Rows,
  typesOf: (table: string) => Promise<ColumnTypes>,
  after: unknown,
): Promise<SourceRow[]> => {
  const at = (column: string): string => `${table}.${column}`
  // The driver would read times without a zone in that of this process.
  const selected = async (from: string, columns?: Readonly<Record<string, string>>) => {
    const types = await typesOf(from)
    const names = columns ? Object.entries(columns) : Object.keys(types).map((name) => [name, name])
    return names.map(([as = '', name = '']) => {
      const isLocal = types[name]?.type === 'timestamp without time zone'
      return db.raw(isLocal ? '??::text as ??' : '?? as ??', [`${from}.${name}`, as])
    })
  }
  const rows = db(table)
    .select(await selected(table))
    .orderBy(at(key))
    .limit(pageSize + 1)
  if (join) {
    rows.leftJoin(join.table, `${join.table}.${join.key}`, at(join.on))
    rows.select(await selected(join.table, join.columns))
  }
  for (const [column, value] of Object.entries(where)) {
    const values = [value].flat().map(String)
    if (Array.isArray(value))
      rows.whereRaw(`cast(?? as char(64)) in (${values.map(() => '?')})`, [at(column), ...values])
    else rows.where(at(column), value as Knex.Value)
  }
  for (const column of filled) rows.whereNotNull(at(column))
  if (after !== undefined) rows.where(at(key), '>', after as Knex.Value)
  return rows
}

/**
 * Opens the database of another server to read it.
 *
 * @param settings the client and connection of Knex; other settings are ignored
 */
export const openSource = (settings: Knex.Config): Source => {
  const db = knex(settingsFor(settings))
  const known = new Map<string, ColumnTypes>()
  const typesOf = async (table: string): Promise<ColumnTypes> => {
    const types = known.get(table) ?? { ...(await db(table).columnInfo()) }
    known.set(table, types)
    return types
  }
  return {
    location: databaseLocation(db),
    columnsOf: async (table) => Object.keys(await typesOf(table)),
    rows: async function* (wanted) {
      const { table, key } = wanted
      let rows: SourceRow[]
      let after: unknown
      do {
        rows = await page(db, wanted, typesOf, after)
        const twice = rows.some(
          (row, place) => place > 0 && String(row[key]) === String(rows[place - 1]?.[key]),
        )
        if (twice) throw new Error(`the column ${key} of ${table} has a value twice; name another key`)
        after = rows.at(pageSize - 1)?.[key]
        if (rows.length > 0) yield rows.slice(0, pageSize)
      } while (rows.length > pageSize)
    },
    close: () => db.destroy(),
  }
}
