import knexModule, { type Knex } from 'knex'
import { type DriverOptions, driverOf } from './driver.ts'
import { type Database, query } from './statement.ts'
import { writesSettled } from './write-queue.ts'

/** A database together with what closing it means. */
export interface OpenedDatabase {
  readonly database: Database
  /** The host's own view of the same pool, for tables of the host's. */
  readonly hostKnex: Knex
  /** Closes the pool if the kit opened it; one that the host owns is left alone. */
  close(): Promise<void>
}

/** Whether this is a Knex instance and not a configuration for one. */
const isInstance = (database: Knex | Knex.Config): database is Knex => typeof database === 'function'

// SQLite for several processes, nothing lost on power failure; a busy writer is waited for asynchronously.
const sqlitePragmas = ['journal_mode = WAL', 'synchronous = FULL', 'foreign_keys = ON', 'busy_timeout = 250']

interface Pragmas {
  pragma(text: string): unknown
}

const isSqlite = (config: Knex.Config): boolean => config.client === 'better-sqlite3'

// Below the time in which the pool must have a connection, so that the error says which of the two it was.
const connectMilliseconds = 4000

/**
 * What a pool of ours has beyond Knex's defaults, by Knex's name of the driver: a time in which it must be connected,
 * and statements sent without waiting where that is safe. A pooler that takes no prepared ones may take no such either.
 */
const settingsOf = ({ preparedStatements = true }: DriverOptions): Readonly<Record<string, object>> => ({
  pg: { connectionTimeoutMillis: connectMilliseconds, pipeline: preparedStatements },
  mysql2: { connectTimeout: connectMilliseconds },
})

const openServer = (config: Knex.Config, options: DriverOptions): Knex => {
  const { connection } = config
  const ours = settingsOf(options)
  const bounded = (settings: object): object => ({ ...ours[knex.client.driverName], ...settings })
  const knex = knexModule(
    typeof connection === 'function'
      ? { ...config, connection: async () => bounded(await connection()) }
      : config,
  )
  // What may have been given as a URL, as Knex has read it.
  const settings: object | undefined = knex.client.connectionSettings
  if (settings) Object.assign(settings, bounded(settings))
  return knex
}

const open = (config: Knex.Config, options: DriverOptions): Knex => {
  const ours: Knex.Config = { acquireConnectionTimeout: 5000, ...config }
  if (!isSqlite(config)) return openServer(ours, options)
  return openSqlite({
    ...ours,
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
    throw new Error('latchkey: the embedded database needs better-sqlite3; run: npm install better-sqlite3', {
      cause: error,
    })
  }
}

const withoutMappers = { wrapIdentifier: undefined, postProcessResponse: undefined }

/**
 * The same pool without the host's mappers, which would rename our columns and reshape our rows.
 * The configuration of the handle is a copy of its own.
 */
const privateHandle = (knex: Knex): Knex => {
  const handle = knex.withUserParams({})
  Object.assign(handle.client.config, withoutMappers)
  return handle
}

/** A handle or a transaction without the mappers, likewise; a transaction cannot be copied as a handle can. */
export const privateClient = (knex: Knex): Knex.Client =>
  Object.create(knex.client, {
    config: { value: { ...knex.client.config, ...withoutMappers } },
  })

/** Its schema builder. */
export const privateSchema = (knex: Knex): Knex.SchemaBuilder => privateClient(knex).schemaBuilder()

/**
 * Opens the kit's view of a database: on the host's Knex instance, or on one of its own from a configuration.
 *
 * @throws Error when the driver is missing or not supported
 */
export const openDatabase = (
  given: Knex | Knex.Config,
  prefix: string,
  options: DriverOptions = {},
): OpenedDatabase => {
  const hostKnex = isInstance(given) ? given : open(given, options)
  const handle = privateHandle(hostKnex)
  const driver = driverOf(handle, options)
  const database: Database = {
    knex: handle,
    driver,
    prefix,
    compiled: new Map(),
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

/** @throws OAuthError `temporarily_unavailable` unless the database answers, and has the kit's tables */
export const assertDatabaseAnswers = async (db: Database): Promise<void> => {
  await anyKey(db, {})
}
