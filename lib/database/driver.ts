import { createHash } from 'node:crypto'
import type { Knex } from 'knex'
import { createPgRun, type PgResult, type PgStatement } from './pg-query.ts'
import type { Driver, DriverOptions, Result, Row, Statement, Value } from './types.ts'

/** The parts of better-sqlite3 that are used. Types of drivers that the host may not have cannot be imported. */
interface SqliteStatement {
  readonly reader: boolean
  all(...bindings: Value[]): Row[]
  run(...bindings: Value[]): { changes: number }
}
interface SqliteConnection {
  prepare(sql: string): SqliteStatement
}

const sqlite = (): Driver => {
  const statements = new WeakMap<object, Map<string, SqliteStatement>>()
  const statementsOf = (connection: SqliteConnection): Map<string, SqliteStatement> => {
    const known = statements.get(connection) ?? new Map<string, SqliteStatement>()
    if (known.size === 0) statements.set(connection, known)
    return known
  }
  const prepareOnce = (connection: SqliteConnection, sql: string): SqliteStatement => {
    const known = statementsOf(connection)
    const prepared = known.get(sql) ?? connection.prepare(sql)
    known.set(sql, prepared)
    return prepared
  }
  const executeNow = (connection: unknown, sql: string, bindings: readonly Value[]): Result => {
    const prepared = prepareOnce(connection as SqliteConnection, sql)
    if (!prepared.reader) return { rows: [], count: prepared.run(...bindings).changes }
    const rows = prepared.all(...bindings)
    return { rows, count: rows.length }
  }
  return {
    dialect: 'sqlite',
    prepares: true,
    begin: 'BEGIN IMMEDIATE',
    execute: async (connection, sql, bindings) => executeNow(connection, sql, bindings),
    executeNow,
    destroy: () => {},
  }
}

interface PostgresConnection {
  query(query: PgStatement): Promise<PgResult>
}

/** A name of at most 63 bytes for a prepared statement. */
const statementName = (sql: string): string =>
  `latchkey_${createHash('sha256').update(sql).digest('base64url')}`

/** Statements that are never prepared: a pooler in front of the server must always understand them. */
const control = /^(BEGIN|START TRANSACTION|COMMIT|ROLLBACK)$/

/**
 * Whether a prepared statement may have failed because its table was changed: `feature_not_supported` for another list
 * of columns, and class 42 for what no longer exists (https://www.postgresql.org/docs/current/errcodes-appendix.html).
 */
const mayBeOutdated = (error: unknown): boolean =>
  /^(0A000|42...)$/.test(String((error as { code?: unknown }).code))

/** A form of a statement that fails if it touches no row, because these words are not a number. The server logs them. */
const failing = (sql: string): string =>
  `with "touched" as (${sql} returning 1) select (case count(*) when 0 then 'latchkey: it is used or gone' else '1' end)::integer as "count" from "touched"`

/** Invalid text representation: no row was touched. */
const isUnmet = (error: unknown): boolean => (error as { code?: unknown } | undefined)?.code === '22P02'

const postgresql = ({
  preparedStatements: prepared = true,
  tablesMayChange = false,
}: DriverOptions): Driver => {
  const names = new Map<string, string>()
  const nameOf = (sql: string): string => {
    const name = names.get(sql) ?? statementName(sql)
    names.set(sql, name)
    return name
  }
  const guards = new Map<string, string>()
  const guarded = (sql: string): string => {
    const text = guards.get(sql) ?? failing(sql)
    guards.set(sql, text)
    return text
  }
  const run = createPgRun()
  const statementOf = ({ sql: text, bindings: values }: Statement): PgStatement =>
    prepared && !control.test(text) ? { name: nameOf(text), text, values } : { text, values }
  const resultOf = (answer: PgResult | undefined): Result => ({
    rows: answer?.rows ?? [],
    count: answer?.rowCount ?? 0,
  })
  const runAlone = async (connection: unknown, statement: PgStatement): Promise<Result> => {
    const answers = run(connection, [statement])
    return resultOf(answers ? (await answers)[0] : await (connection as PostgresConnection).query(statement))
  }
  return {
    dialect: 'postgresql',
    begin: 'BEGIN',
    prepares: prepared,
    execute: (connection, sql, bindings) => {
      const answer = runAlone(connection, statementOf({ sql, bindings }))
      if (!prepared || !tablesMayChange) return answer
      return answer.catch((error: unknown) => {
        if (!mayBeOutdated(error)) throw error
        // Each connection prepares a statement with another name anew.
        names.set(sql, statementName(`${nameOf(sql)} ${sql}`))
        return runAlone(connection, statementOf({ sql, bindings }))
      })
    },
    executeTogether: (connection, statements, first) =>
      run(connection, statements.map(statementOf), first)?.then((answers) => answers.map(resultOf)),
    guard: { guarded, isUnmet },
    destroy: destroySocket,
  }
}

type MysqlStatement = (
  query: { sql: string; values: readonly Value[] },
  done: (error: Error | null, result: Row[] | { affectedRows: number }) => void,
) => void

interface MysqlConnection {
  execute: MysqlStatement
  query: MysqlStatement
}

const mysql = ({ preparedStatements: prepared = true }: DriverOptions): Driver => ({
  dialect: 'mysql',
  prepares: prepared,
  begin: 'START TRANSACTION',
  execute: (connection, sql, values) =>
    new Promise((resolve, reject) => {
      const method = prepared && !control.test(sql) ? 'execute' : 'query'
      ;(connection as MysqlConnection)[method]({ sql, values }, (error, result) => {
        if (error) reject(error)
        else if (Array.isArray(result)) resolve({ rows: result, count: result.length })
        else resolve({ rows: [], count: result.affectedRows })
      })
    }),
  destroy: destroySocket,
})

/**
 * The driver behind a Knex handle, with the statements that it has prepared.
 *
 * @throws Error naming the drivers that are supported
 */
export const driverOf = (knex: Knex, options: DriverOptions = {}): Driver => {
  const name = driverName(knex)
  if (name === 'better-sqlite3') return sqlite()
  if (name === 'pg') return postgresql(options)
  if (name === 'mysql2') return mysql(options)
  const remedy =
    name === 'sqlite3'
      ? 'use better-sqlite3 in your whole app. Never open one file with both in one process: their locks do not see each other, and the process can crash'
      : 'use better-sqlite3, pg or mysql2'
  throw new Error(`latchkey: database client ${name} is not supported; ${remedy}`)
}

// What follows relies on what Knex and the drivers do not document; for queries of pg see pg-query.ts. A test in
// test/repositories/driver.test.ts checks each name against the installed versions.

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
