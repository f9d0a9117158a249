import knexModule, { type Knex } from 'knex'
import { HostError } from '../../protocol/problem.ts'
import { connectionSettings, driverName, driverOf, privateHandle } from './driver.ts'
import { writesSettled } from './group-commit.ts'
import { assertSqliteRuns } from './sqlite-version.ts'
import { query } from './statement.ts'
import { boundStatements, type DriverConnection } from './statement-bound.ts'
import type { Database, DriverOptions } from './types.ts'

/** A database that is open. */
export interface OpenedDatabase {
  readonly database: Database
  /** The pool as the host sees it, for the host's own tables. */
  readonly hostKnex: Knex
  /** Closes the pool if Latchkey opened it, and leaves the host's pool open. */
  close(): Promise<void>
}

/** Whether this is a Knex instance and not a configuration for one. */
const isInstance = (database: Knex | Knex.Config): database is Knex => typeof database === 'function'

// For several processes, safe against power failure; after `busy_timeout` milliseconds Latchkey waits asynchronously.
const sqlitePragmas = ['journal_mode = WAL', 'synchronous = FULL', 'foreign_keys = ON', 'busy_timeout = 250']

interface Pragmas {
  pragma(text: string): unknown
}

const isSqlite = (config: Knex.Config): boolean => config.client === 'better-sqlite3'

// Shorter than the timeout of the pool, so that the error names the right one of the two.
const connectMilliseconds = 4000

/** Settings of a pool that Latchkey opens, by Knex's name of the driver. */
const connectTimeouts: Readonly<Record<string, object>> = {
  pg: { connectionTimeoutMillis: connectMilliseconds },
  mysql2: { connectTimeout: connectMilliseconds },
}

type AfterCreate = (
  connection: DriverConnection,
  done: (error: Error | null, connection: DriverConnection) => void,
) => void

const openServer = (config: Knex.Config): Knex => {
  const { connection, pool: { afterCreate } = {} } = config
  const afterCreated: AfterCreate = (created, done) =>
    boundStatements(driverName(knex), created, (error) => {
      if (!error && afterCreate) afterCreate(created, done)
      else done(error, created)
    })
  const bounded = (settings: object): object => ({ ...connectTimeouts[driverName(knex)], ...settings })
  const knex = knexModule({
    ...config,
    ...(typeof connection === 'function' && { connection: async () => bounded(await connection()) }),
    pool: { ...config.pool, afterCreate: afterCreated },
  })
  const settings = connectionSettings(knex)
  if (settings) Object.assign(settings, bounded(settings))
  return knex
}

const open = (config: Knex.Config): Knex => {
  const settings: Knex.Config = { acquireConnectionTimeout: 5000, ...config }
  if (!isSqlite(config)) return openServer(settings)
  return openSqlite({
    ...settings,
    useNullAsDefault: true,
    pool: {
      min: 1,
      max: 1,
      afterCreate: (connection: Pragmas, done: (error: Error | null, connection: unknown) => void) => {
        for (const pragma of sqlitePragmas) connection.pragma(pragma)
        done(null, connection)
      },
      ...config.pool,
    },
  })
}

const openSqlite = (config: Knex.Config): Knex => {
  try {
    return knexModule(config)
  } catch (error) {
    throw new HostError('the embedded database needs better-sqlite3', {
      fix: 'run: npm install better-sqlite3',
      cause: error,
    })
  }
}

/**
 * Opens a database for Latchkey's tables: the host's Knex instance, or a new one from a configuration.
 *
 * @throws Error when the driver is missing or not supported, or cannot run on this version of Node
 */
export const openDatabase = (
  given: Knex | Knex.Config,
  prefix: string,
  options: DriverOptions = {},
): OpenedDatabase => {
  const client = isInstance(given) ? driverName(given) : given.client
  if (client === 'better-sqlite3') assertSqliteRuns()
  const hostKnex = isInstance(given) ? given : open(given)
  const handle = privateHandle(hostKnex)
  const driver = driverOf(handle, options)
  const database: Database = {
    knex: handle,
    driver,
    prefix,
    compiled: new Map(),
    learned: {},
    ...(driver.dialect === 'sqlite' ? { writes: [] } : {}),
  }
  return {
    hostKnex,
    database,
    close: async () => {
      await writesSettled(database)
      if (!isInstance(given)) await hostKnex.destroy()
    },
  }
}

const anyKey = query<Record<never, never>>((table) =>
  table('signing_keys').select('kid').limit(1, { skipBinding: true }),
)

/** The database for the host's own tables, with the names that the host uses. The host may change them. */
export const hostTables = (database: Database, hostKnex: Knex): Database => ({
  knex: hostKnex,
  driver: driverOf(hostKnex, { preparedStatements: database.driver.prepares, ofHost: true }),
  prefix: '',
  compiled: new Map(),
  learned: database.learned,
})

/** @throws OAuthError `temporarily_unavailable` unless the database answers and has Latchkey's tables */
export const assertDatabaseAnswers = async (db: Database): Promise<void> => {
  await anyKey(db, {})
}
