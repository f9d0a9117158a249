import { randomBytes } from 'node:crypto'
import knex, { type Knex } from 'knex'
import { rollback } from '../../lib/database/migrate.ts'
import { closedAfterFile } from './told.ts'

/** A database for one test file: SQLite in memory, or the server that DATABASE_URL names, under a prefix of its own. */
export interface TestDatabase {
  readonly knex: Knex
  readonly tablePrefix: string
  close(): Promise<void>
}

const clientOf = (url: string): string => (url.startsWith('postgres') ? 'pg' : 'mysql2')

/** A connection as the kit opens one by itself: PostgreSQL is sent statements without waiting. */
export const connectionTo = (url: string): string | Knex.PgConnectionConfig =>
  url.startsWith('postgres') ? Object.assign({ connectionString: url }, { pipeline: true }) : url

/**
 * @param url where, instead of there
 * @param content of a database in memory, as SQLite serializes it
 */
export const openTestDatabase = (url = process.env.DATABASE_URL, content?: Buffer): TestDatabase => {
  if (url === undefined) {
    const memory = knex({
      client: 'better-sqlite3',
      // better-sqlite3 takes the content of a database in place of its name.
      connection: { filename: (content as unknown as string) ?? ':memory:' },
      useNullAsDefault: true,
    })
    const close = (): Promise<void> => memory.destroy()
    closedAfterFile.push({ close })
    return { knex: memory, tablePrefix: 'oauth_', close }
  }
  const tablePrefix = `t${randomBytes(4).toString('hex')}_`
  const server = knex({ client: clientOf(url), connection: connectionTo(url), pool: { min: 0, max: 8 } })
  return {
    knex: server,
    tablePrefix,
    close: async () => {
      await rollback(server, { tablePrefix })
      await server.schema.dropTableIfExists(`${tablePrefix}migrations`)
      await server.schema.dropTableIfExists(`${tablePrefix}migrations_lock`)
      await server.destroy()
    },
  }
}

/** From now on every statement borrows a connection, as on a server; SQLite otherwise uses one that lies idle. */
export const withoutIdleConnections = ({ client }: Knex): void => {
  client.pool.free.at = () => undefined
  // Once a second the pool puts a new list in the place of that one.
  client.pool.check = () => {}
}
