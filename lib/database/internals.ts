import type { Knex } from 'knex'
import type { Value } from './types.ts'

// Everything that Knex and the drivers do not document. A test in test/repositories/internals.test.ts checks each name
// against the installed versions.

/** @returns Knex's name of the driver */
export const driverName = (knex: Knex): string => String(knex.client.driverName)

export const acquireConnection = (knex: Knex): Promise<unknown> => knex.client.acquireConnection()

export const releaseConnection = (knex: Knex, connection: unknown): Promise<void> =>
  knex.client.releaseConnection(connection)

interface Pool {
  readonly free?: readonly { readonly resource: unknown }[]
}

/** A connection that lies idle in the pool and may be used until the next `await`; undefined if there is none. */
export const idleConnection = (knex: Knex): unknown => {
  const pool: Pool | undefined = knex.client.pool
  const connection = pool?.free?.at(-1)?.resource
  return connection === undefined || isDisposed(connection) ? undefined : connection
}

/** Makes the pool close this connection instead of lending it again. */
export const dispose = (connection: unknown, error: unknown): void => {
  Object.assign(connection as object, { __knex__disposed: error })
}

export const isDisposed = (connection: unknown): boolean => '__knex__disposed' in (connection as object)

/** The settings that Knex read from a configuration, also if it was a URL; undefined if a function returns them. */
export const connectionSettings = (knex: Knex): object | undefined => knex.client.connectionSettings

const silent = { warn: () => {}, error: () => {}, debug: () => {}, deprecate: () => {} }

/** Silences one handle. Knex logs each failed connection with its stack; the error that it throws says the same. */
export const silence = (knex: Knex): void => {
  knex.client.logger = silent
}

/** Silences an instance and all handles on it, which share its logger. */
export const silenceAll = (knex: Knex): void => {
  Object.assign(knex.client.logger, silent)
}

/** Applies the host's row mapper. */
export const mapResponse = <T>(knex: Knex, response: T): T =>
  knex.client.postProcessResponse(response, undefined)

const withoutMappers = { wrapIdentifier: undefined, postProcessResponse: undefined }

/**
 * A handle on the same pool without the host's mappers, which would rename our columns and reshape our rows.
 * Its configuration is a copy.
 */
export const privateHandle = (knex: Knex): Knex => {
  const handle = knex.withUserParams({})
  Object.assign(handle.client.config, withoutMappers)
  return handle
}

/** The client of a handle or of a transaction, without the mappers. A transaction cannot be copied as a handle can. */
export const privateClient = (knex: Knex): Knex.Client =>
  Object.create(knex.client, {
    config: { value: { ...knex.client.config, ...withoutMappers } },
  })

export const privateSchema = (knex: Knex): Knex.SchemaBuilder => privateClient(knex).schemaBuilder()

interface Socket {
  destroy(): void
}

/** Closes the socket of a connection to PostgreSQL (pg) or to MariaDB and MySQL (mysql2). */
export const destroySocket = (connection: unknown): void => {
  const { stream, connection: inner } = connection as { stream?: Socket; connection?: { stream: Socket } }
  const socket = inner?.stream ?? stream
  socket?.destroy()
}

/** A statement of pg. */
interface PgQuery {
  readonly name?: string
  readonly text: string
  readonly values: readonly Value[]
}

/** The messages of PostgreSQL's extended protocol that a query of pg sends. */
interface PgMessages {
  parse(message: object): void
  bind(message: object): void
  execute(message: object): void
}

interface PgResult {
  readonly rows: Readonly<Record<string, unknown>>[]
  readonly rowCount: number | null
}

type QueryClass = new (
  query: PgQuery,
) => PgQuery & { prepare(messages: PgMessages): void; requiresPreparation(): boolean }

interface PgConnection {
  query(
    query: PgQuery,
    done: (error: Error | null, results: PgResult | PgResult[] | undefined) => void,
  ): unknown
}

/** pg's class of queries; undefined for pg-native, whose queries are made otherwise. */
const queryClassOf = (connection: unknown): QueryClass | undefined => {
  const { Query } = (connection as object).constructor as { Query?: QueryClass }
  return typeof Query?.prototype.prepare === 'function' ? Query : undefined
}

/**
 * Sends a statement without parameters and then a query to PostgreSQL, before one Sync message: if the first fails,
 * the server skips the query.
 *
 * @returns the result of the query; undefined if the driver cannot do this
 */
export const pgQueryAfter = (
  connection: unknown,
  first: string,
  query: PgQuery,
): Promise<PgResult> | undefined => {
  const Query = queryClassOf(connection)
  if (Query === undefined) return undefined
  // pg takes the first ParseComplete for that of a named query, so the query's own Parse message goes first; an
  // unnamed query shares the unnamed statement with `first`, so there it goes second.
  const place = query.name === undefined ? 'parse' : 'bind'
  class QueryAfter extends Query {
    override requiresPreparation(): boolean {
      return true
    }
    override prepare(messages: PgMessages): void {
      const insert = (message: object): void => {
        messages.parse({ text: first })
        messages.bind({})
        messages.execute({})
        messages[place](message)
      }
      super.prepare(Object.create(messages, { [place]: { value: insert } }))
    }
  }
  return new Promise((resolve, reject) => {
    ;(connection as PgConnection).query(new QueryAfter(query), (error, results) => {
      const result = Array.isArray(results) ? results.at(-1) : results
      if (error) reject(error)
      else if (result === undefined) reject(new Error('pg returned no result'))
      else resolve(result)
    })
  })
}
