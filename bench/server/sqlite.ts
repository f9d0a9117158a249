import { statSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import type { Knex } from 'knex'
import type { ServerSettings } from './serving.ts'

/** What Latchkey sets on a database of its own, so that all are as durable. */
const pragmas = ['journal_mode = WAL', 'synchronous = FULL', 'foreign_keys = ON', 'busy_timeout = 250']

export const sqliteFile = ({ directory }: ServerSettings): string => join(directory, 'app.sqlite')

/** Opens the server's database directly. */
export const openSqlite = (settings: ServerSettings): Database => {
  const database = new Database(sqliteFile(settings))
  for (const pragma of pragmas) database.pragma(pragma)
  return database
}

/** Opens it through Knex. */
export const sqliteConfig = (settings: ServerSettings): Knex.Config => ({
  client: 'better-sqlite3',
  connection: { filename: sqliteFile(settings) },
  useNullAsDefault: true,
  pool: {
    min: 1,
    max: 1,
    afterCreate: (connection: Database, done: (error: Error | null, connection: Database) => void) => {
      for (const pragma of pragmas) connection.pragma(pragma)
      done(null, connection)
    },
  },
})

/** Bytes of the database after the log has been moved into it. */
export const sqliteSize = (settings: ServerSettings): number => {
  const database = new Database(sqliteFile(settings))
  database.pragma('wal_checkpoint(TRUNCATE)')
  database.close()
  return statSync(sqliteFile(settings)).size
}

/** A table that is filled, and the columns that get a value of their own in each row. */
export interface Filling {
  readonly table: string
  /** Columns with the same number refer to each other. */
  readonly unique: Readonly<Record<string, number>>
  /** Which rows to copy. @default any */
  readonly where?: string
}

const columnsOf = (database: Database, table: string): string[] =>
  database
    .prepare(`SELECT name FROM pragma_table_info('${table}') ORDER BY cid`)
    .all()
    .map(({ name }) => String(name))

/** 43 characters for each number, in no order, as hashes are: multiplying by an odd number leaves none out. */
const keyOf = (kind: number): string => `printf('%01d%042d', ${kind}, n * 2654435761 % 4294967296)`

/** Copies rows that are there, so that what it makes is shaped like them, and as much alive. */
export const fillSqlite = (settings: ServerSettings, fillings: readonly Filling[], rows: number): void => {
  const database = openSqlite(settings)
  for (const { table, unique, where = 'true' } of fillings) {
    const columns = columnsOf(database, table)
    const values = columns.map((column) =>
      unique[column] === undefined ? `"${column}"` : keyOf(unique[column]),
    )
    database.exec(`
      WITH RECURSIVE counting(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counting WHERE n < ${rows})
      INSERT INTO "${table}" (${columns.map((column) => `"${column}"`).join(', ')})
      SELECT ${values.join(', ')} FROM counting, (SELECT * FROM "${table}" WHERE ${where} LIMIT 1)`)
  }
  database.pragma('wal_checkpoint(TRUNCATE)')
  database.close()
}

/** Copies a row that is there, and lets the copies have expired long ago. */
export const expireSqlite = (settings: ServerSettings, filling: Filling, rows: number): void => {
  fillSqlite(settings, [filling], rows)
  const database = openSqlite(settings)
  database.exec(`UPDATE "${filling.table}" SET expires_at = 1 WHERE ${filling.where ?? 'true'}`)
  database.pragma('wal_checkpoint(TRUNCATE)')
  database.close()
}
