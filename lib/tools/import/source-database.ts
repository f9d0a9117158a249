import knex, { type Knex } from 'knex'
import { databaseLocation } from '../../storage/database/location.ts'
import type { Rows, Source, SourceRow } from './source.ts'

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
  { table, key, columns, equal = {}, empty = [], filled = [], keys }: Rows,
  types: ColumnTypes,
  after: unknown,
): Promise<SourceRow[]> => {
  // The driver would read them in the time zone of this process.
  const selected = columns.map((name) =>
    types[name]?.type === 'timestamp without time zone' ? db.raw('??::text as ??', [name, name]) : name,
  )
  const wanted = db(table).select(selected).where(equal).orderBy(key).limit(pageSize)
  for (const name of empty) wanted.whereNull(name)
  for (const name of filled) wanted.whereNotNull(name)
  if (keys !== undefined) wanted.whereIn(key, keys as readonly Knex.Value[])
  if (after !== undefined) wanted.where(key, '>', after as Knex.Value)
  return wanted
}

/** A database of another server, which is open. */
export interface OpenedSource extends Source {
  /** Without its password. */
  readonly location: string
  close(): Promise<void>
}

/**
 * Opens the database of another server to read it.
 *
 * @param settings the client and connection of Knex; other settings are ignored
 */
export const openSource = (settings: Knex.Config): OpenedSource => {
  const db = knex(settingsFor(settings))
  const typesOf = async (table: string): Promise<ColumnTypes> => ({ ...(await db(table).columnInfo()) })
  return {
    location: databaseLocation(db),
    columnsOf: async (table) => Object.keys(await typesOf(table)),
    rows: async function* (wanted) {
      const types = await typesOf(wanted.table)
      let rows: SourceRow[]
      let after: unknown
      do {
        rows = await page(db, wanted, types, after)
        after = rows.at(-1)?.[wanted.key]
        if (rows.length > 0) yield rows
      } while (rows.length === pageSize)
    },
    close: () => db.destroy(),
  }
}
