import { randomBytes } from 'node:crypto'
import knex, { type Knex } from 'knex'
import { closedAfterFile } from './told.ts'

/** A database for tests, with the tables of ours that have this prefix. */
export const databaseOn = (
  knex: Knex,
  tablePrefix = 'latchkey_',
  close = (): Promise<void> => knex.destroy(),
) => ({
  knex,
  tablePrefix,
  /** A query on a table of ours, by its name without the prefix. */
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

/**
 * A database for one test file: SQLite in memory, or the server that DATABASE_URL names, under a prefix of its own.
 *
 * @param url where, instead of there
 * @param content of a database in memory, as SQLite serializes it
 */
export const openTestDatabase = (url = process.env.DATABASE_URL, content?: Buffer): TestDatabase => {
  if (url === undefined) {
    const memory = knex({
      client: 'better-sqlite3',
      // better-sqlite3 also takes the content of a database instead of its name.
      connection: { filename: (content as unknown as string) ?? ':memory:' },
      useNullAsDefault: true,
    })
    const database = databaseOn(memory)
    closedAfterFile.push(database)
    return database
  }
  const tablePrefix = `t${randomBytes(4).toString('hex')}_`
  const server = knex({ client: clientOf(url), connection: url, pool: { min: 0, max: 8 } })
  let closed: Promise<void> | undefined
  const drop = async (): Promise<void> => {
    await dropTables(server, tablePrefix)
    await server.destroy()
  }
  const close = (): Promise<void> => {
    closed ??= drop()
    return closed
  }
  return databaseOn(server, tablePrefix, close)
}

/** From now on every statement borrows a connection, as on a server; SQLite otherwise uses one that lies idle. */
export const withoutIdleConnections = ({ client }: Knex): void => {
  client.pool.free.at = () => undefined
  // Once a second the pool puts a new list in the place of that one.
  client.pool.check = () => {}
}
