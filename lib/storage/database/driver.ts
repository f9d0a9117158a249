import { createHash, randomBytes } from 'node:crypto'
import type { Knex } from 'knex'
import { HostError } from '../../protocol/problem.ts'
import type { Driver, DriverOptions, Row, Value } from './types.ts'

/** The parts of better-sqlite3 that are used. Types of drivers that the host may not have cannot be imported. */
interface SqliteStatement {
  readonly reader: boolean
  all(...bindings: Value[]): Row[]
  run(...bindings: Value[]): { changes: number }
}
interface SqliteConnection {
  readonly inTransaction: boolean
  exec(sql: string): unknown
  prepare(sql: string): SqliteStatement
}

const sqlite = (): Driver => {
  const prepared = new WeakMap<SqliteConnection, Map<string, SqliteStatement>>()
  const statementOf = (connection: SqliteConnection, sql: string): SqliteStatement => {
    const known = prepared.get(connection) ?? new Map<string, SqliteStatement>()
    if (known.size === 0) prepared.set(connection, known)
    const statement = known.get(sql) ?? connection.prepare(sql)
    known.set(sql, statement)
    return statement
  }
  return {
    dialect: 'sqlite',
    prepares: true,
    begin: 'BEGIN IMMEDIATE',
    execute: async (connection, sql, bindings) => {
      const statement = statementOf(connection as SqliteConnection, sql)
      if (!statement.reader) return { rows: [], count: statement.run(...bindings).changes }
      const rows = statement.all(...bindings)
      return { rows, count: rows.length }
    },
    isInTransaction: (connection) => (connection as SqliteConnection).inTransaction,
    // A database in memory has no other connection. Whatever is left open would swallow the next writes.
    close: async (connection) => {
      const { inTransaction } = connection as SqliteConnection
      if (inTransaction) (connection as SqliteConnection).exec('ROLLBACK')
    },
  }
}

interface PostgresConnection {
  query(query: {
    name?: string
    text: string
    values: readonly Value[]
  }): Promise<{ rows: Row[]; rowCount: number | null }>
  end(): Promise<void>
}

/** A name for a prepared statement; the salt of its connection makes it one of at most 63 bytes. */
const statementName = (sql: string): string =>
  `latchkey_${createHash('sha256').update(sql).digest('base64url')}`

/** Statements that are never prepared: a pooler in front of the server must always understand them. */
const control = /^(BEGIN|START TRANSACTION|COMMIT|ROLLBACK)$/

const codeOf = (error: unknown): string => String((error as { code?: unknown }).code)

/**
 * Whether a prepared statement may have failed because its table was changed: `feature_not_supported` for another list
 * of columns, and class 42 for what no longer exists (https://www.postgresql.org/docs/current/errcodes-appendix.html).
 */
const mayBeOutdated = (error: unknown): boolean => /^(0A000|42...)$/.test(codeOf(error))

/** Whether a session does not have the statement that we prepared, or has another one of that name. */
const isForgotten = (error: unknown): boolean => /^(26000|42P05)$/.test(codeOf(error))

const isAborted = (error: unknown): boolean => codeOf(error) === '25P02'

const postgresql = ({ preparedStatements: prepared = true, ofHost = false }: DriverOptions): Driver => {
  const names = new Map<string, string>()
  const nameOf = (sql: string): string => {
    const name = names.get(sql) ?? statementName(sql)
    names.set(sql, name)
    return name
  }
  // Behind a pooler a connection may get the session of another one, with its statements.
  const salts = new WeakMap<object, string>()
  const saltOf = (connection: object): string => {
    const salt = salts.get(connection) ?? randomBytes(6).toString('base64url')
    salts.set(connection, salt)
    return salt
  }
  const send = async (
    connection: PostgresConnection,
    text: string,
    values: readonly Value[],
  ): ReturnType<Driver['execute']> => {
    const name = prepared && !control.test(text) ? { name: nameOf(text) + saltOf(connection) } : {}
    const { rows, rowCount } = await connection.query({ ...name, text, values })
    return { rows, count: rowCount ?? 0 }
  }
  const run = async (
    connection: PostgresConnection,
    text: string,
    values: readonly Value[],
  ): ReturnType<Driver['execute']> => {
    try {
      return await send(connection, text, values)
    } catch (error) {
      if (!isForgotten(error)) throw error
      // A pooler has run DISCARD ALL: this connection prepares all of its statements again.
      salts.delete(connection)
      return send(connection, text, values).catch((again: unknown) => {
        // A transaction must begin again.
        throw isAborted(again) ? error : again
      })
    }
  }
  return {
    dialect: 'postgresql',
    begin: 'BEGIN',
    prepares: prepared,
    execute: async (given, sql, bindings) => {
      const connection = given as PostgresConnection
      if (!prepared || !ofHost) return run(connection, sql, bindings)
      try {
        return await run(connection, sql, bindings)
      } catch (error) {
        if (!mayBeOutdated(error)) throw error
        // Each connection prepares a statement again if its name is new.
        names.set(sql, statementName(`${nameOf(sql)} ${sql}`))
        return run(connection, sql, bindings)
      }
    },
    close: (connection) => (connection as PostgresConnection).end(),
  }
}

type TypeCast = (column: unknown, next: () => unknown) => unknown

type MysqlStatement = (
  query: { sql: string; values: readonly Value[]; typeCast?: TypeCast },
  done: (error: Error | null, result: Row[] | { affectedRows: number }) => void,
) => void

interface MysqlConnection {
  readonly config: { readonly typeCast?: unknown }
  execute: MysqlStatement
  query: MysqlStatement
  readonly stream: { destroy(): void }
  destroy(): void
}

/** As the driver reads it without a function of the host's. */
const uncast: TypeCast = (_column, next) => next()

const mysql = ({ preparedStatements: prepared = true, ofHost = false }: DriverOptions): Driver => ({
  dialect: 'mysql',
  prepares: prepared,
  begin: 'START TRANSACTION',
  execute: (given, sql, values) =>
    new Promise((resolve, reject) => {
      const connection = given as MysqlConnection
      // The host has written it for text, as Knex gets it. The binary form of a prepared statement would be misread.
      const isCast = typeof connection.config.typeCast === 'function'
      const method = prepared && !control.test(sql) && !(isCast && ofHost) ? 'execute' : 'query'
      connection[method]({ sql, values, ...(isCast && !ofHost && { typeCast: uncast }) }, (error, result) => {
        if (error) reject(error)
        else if (Array.isArray(result)) resolve({ rows: result, count: result.length })
        else resolve({ rows: [], count: result.affectedRows })
      })
    }),
  close: async (given) => {
    const connection = given as MysqlConnection
    connection.destroy()
    // It waits until the server closes too, and a server that is silent does not.
    connection.stream.destroy()
  },
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
  throw new HostError(`database client ${name} is not supported`, { fix: remedy })
}

/** @returns Knex's name of the driver */
export const driverName = (knex: Knex): string => String(knex.client.driverName)

/** The settings that Knex read from a configuration or a URL; undefined if a function returns them. */
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
