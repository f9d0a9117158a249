import type { Knex } from 'knex'

// What Knex and the drivers do not document; that of pg's queries is in pg-query.ts. A test in test/repositories/internals.test.ts checks each name
// against the installed versions.

/** @returns Knex's name of the driver */
export const driverName = (knex: Knex): string => String(knex.client.driverName)

export const acquireConnection = (knex: Knex): Promise<unknown> => knex.client.acquireConnection()

export const releaseConnection = (knex: Knex, connection: unknown): Promise<void> =>
  knex.client.releaseConnection(connection)

interface Pool {
  readonly free?: readonly { readonly resource: unknown }[]
  numPendingAcquires?(): number
}

/** Whether the pool lets others wait for a connection. It is unknown of a pool that is not Knex's own. */
export const othersMayWait = ({ client: { pool } }: Knex): boolean =>
  ((pool as Pool | undefined)?.numPendingAcquires?.() ?? 1) > 0

/** Whether the pool would lend this connection again. */
export const isUsable = ({ client }: Knex, connection: unknown): boolean =>
  !isDisposed(connection) && Boolean(client.validateConnection(connection))

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
