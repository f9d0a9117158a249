import { statSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import type { Knex } from 'knex'
import type { ServerSettings } from './serving.ts'

/** The pragmas that Latchkey sets, so that all servers are equally durable. */
const pragmas = ['journal_mode = WAL', 'synchronous = FULL', 'foreign_keys = ON', 'busy_timeout = 250']

export const sqliteFile = ({ directory }: ServerSettings): string => join(directory, 'app.sqlite')

/** Opens the server's database with the driver. */
export const openSqlite = (settings: ServerSettings): Database => {
  const database = new Database(sqliteFile(settings))
  for (const pragma of pragmas) database.pragma(pragma)
  return database
}

/** The Knex configuration of the server's database. */
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

/** The size of the database in bytes, after a checkpoint. */
export const sqliteSize = (settings: ServerSettings): number => {
  const database = new Database(sqliteFile(settings))
  database.pragma('wal_checkpoint(TRUNCATE)')
  database.close()
  return statSync(sqliteFile(settings)).size
}

/** A table to fill, and its columns with unique values. */
export interface Filling {
  readonly table: string
  /** Columns with the same number get the same values, so that they refer to each other. */
  readonly unique: Readonly<Record<string, number>>
  /** Which rows to copy. @default any */
  readonly where?: string
}

const columnsOf = (database: Database, table: string): string[] =>
  database
    .prepare(`SELECT name FROM pragma_table_info('${table}') ORDER BY cid`)
    .all()
    .map(({ name }) => String(name))

/** 43 characters, unique and unordered like a hash: multiplication by an odd number is a permutation. */
const keyOf = (kind: number): string => `printf('%01d%042d', ${kind}, n * 2654435761 % 4294967296)`

/** Copies an existing row many times, with new unique values. */
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

/** Copies an existing row many times, as expired rows. */
export const expireSqlite = (settings: ServerSettings, filling: Filling, rows: number): void => {
  fillSqlite(settings, [filling], rows)
  const database = openSqlite(settings)
  database.exec(`UPDATE "${filling.table}" SET expires_at = 1 WHERE ${filling.where ?? 'true'}`)
  database.pragma('wal_checkpoint(TRUNCATE)')
  database.close()
}
