import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import knex, { type Knex } from 'knex'
import { closedAfterFile } from './told.ts'

/** A test database. The names of Latchkey's tables begin with the prefix. */
export const databaseOn = (
  knex: Knex,
  tablePrefix = 'latchkey_',
  close = (): Promise<void> => knex.destroy(),
) => ({
  knex,
  tablePrefix,
  /** A query on one of Latchkey's tables, named without the prefix. */
  table: (name: string) => knex(`${tablePrefix}${name}`),
  /** May be called more than once. */
  close,
})

export type TestDatabase = Readonly<ReturnType<typeof databaseOn>>

const clientOf = (url: string): string => (url.startsWith('postgres') ? 'pg' : 'mysql2')

/** Drops every table of a server that has this prefix, which takes a moment; undoing each migration takes seconds. */
export const dropTables = async (server: Knex, tablePrefix: string): Promise<void> => {
  const isPostgres = server.client.config.client === 'pg'
  const own = isPostgres ? 'current_schema()' : 'database()'
  const rows: { name: string }[] = await server('information_schema.tables')
    .whereRaw(`table_schema = ${own} AND substr(table_name, 1, ?) = ?`, [tablePrefix.length, tablePrefix])
    .select({ name: 'table_name' })
  const names = rows.map(({ name }) => name)
  if (names.length === 0) return
  const tables = names.map(() => '??').join(', ')
  if (isPostgres) return void (await server.raw(`DROP TABLE ${tables} CASCADE`, names))
  // Both statements on one connection.
  await server.transaction(async (connection) => {
    await connection.raw('SET SESSION foreign_key_checks = 0')
    await connection.raw(`DROP TABLE ${tables}`, names)
    await connection.raw('SET SESSION foreign_key_checks = 1')
  })
}

/** How Knex opens an SQLite file. */
export const sqliteAt = (filename: string) => ({
  client: 'better-sqlite3',
  connection: { filename },
  useNullAsDefault: true,
})

/** A database with what other processes open it with. */
export interface SharedDatabase extends TestDatabase {
  readonly config: Knex.Config
  /** The folder of an SQLite file. */
  readonly folder?: string
}

/** @param own changes what the test's own handle is opened with */
export const openOnFile = (own = (config: Knex.Config) => config): SharedDatabase => {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-test-'))
  const config = sqliteAt(join(folder, 'latchkey.sqlite'))
  const file = knex(own(config))
  const close = async (): Promise<void> => {
    await file.destroy()
    rmSync(folder, { recursive: true })
  }
  return { ...databaseOn(file, undefined, close), config, folder }
}

/** Tables of a test's own on a server, under a prefix of their own. @param own as for {@link openOnFile} */
export const openOnServer = (
  url: string,
  max: number,
  own = (config: Knex.Config) => config,
): SharedDatabase => {
  const config = { client: clientOf(url), connection: url, pool: { min: 0, max } }
  const tablePrefix = `t${randomBytes(4).toString('hex')}_`
  const server = knex(own(config))
  let closed: Promise<void> | undefined
  const drop = async (): Promise<void> => {
    await dropTables(server, tablePrefix)
    await server.destroy()
  }
  const close = (): Promise<void> => {
    closed ??= drop()
    return closed
  }
  return { ...databaseOn(server, tablePrefix, close), config }
}

/** A database that other processes can open too: an SQLite file, or the server that DATABASE_URL names. */
export const openSharedDatabase = (url = process.env.DATABASE_URL): SharedDatabase =>
  url === undefined ? openOnFile() : openOnServer(url, 5)

/**
 * A database for one test file: SQLite in memory, or the server that DATABASE_URL names.
 *
 * @param url where, instead of there
 * @param content of a database in memory, as SQLite serializes it
 */
export const openTestDatabase = (url = process.env.DATABASE_URL, content?: Buffer): TestDatabase => {
  if (url !== undefined) return openOnServer(url, 8)
  // better-sqlite3 also takes the content of a database instead of its name.
  const database = databaseOn(knex(sqliteAt((content as unknown as string) ?? ':memory:')))
  closedAfterFile.push(database)
  return database
}

/** From now on every statement borrows a connection, as on a server; SQLite otherwise uses one that lies idle. */
export const withoutIdleConnections = ({ client }: Knex): void => {
  client.pool.free.at = () => undefined
  // Once a second the pool puts a new list in the place of that one.
  client.pool.check = () => {}
}
