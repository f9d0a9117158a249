import { createHash } from 'node:crypto'
import type { Knex } from 'knex'

export type Dialect = 'sqlite' | 'postgresql' | 'mysql'

/** What may be bound to a statement; flags are 0 and 1, times are epoch seconds. */
export type Value = string | number | null

/** A row as the driver returns it. */
export type Row = Readonly<Record<string, unknown>>

export interface Result {
  readonly rows: readonly Row[]
  /** Rows that an UPDATE, DELETE or INSERT touched. */
  readonly count: number
}

/** How one database driver runs a statement, on a connection of Knex's own pool. */
export interface Driver {
  readonly dialect: Dialect
  /** A write transaction: SQLite takes its lock at once instead of failing to upgrade it later. */
  readonly begin: string
  /** Whether a statement is done when `execute` returns; with a server it has only been sent then. */
  readonly isSynchronous: boolean
  /** Whether statements may be sent on this connection before the answer to the one before is there. */
  supportsPipelining(connection: unknown): boolean
  execute(connection: unknown, sql: string, bindings: readonly Value[]): Promise<Result>
  /** Drops a connection that is silent; a farewell would only wait behind the statement that hangs. */
  destroy(connection: unknown): void
}

export interface DriverOptions {
  /** Whether statements are prepared on the server; SQLite has no server and prepares them anyway. @default true */
  readonly preparedStatements?: boolean
}

/** The parts of better-sqlite3 that are used; types ship with none of the drivers we may not depend on. */
interface SqliteStatement {
  readonly reader: boolean
  all(...bindings: Value[]): Row[]
  run(...bindings: Value[]): { changes: number }
}
interface SqliteConnection {
  prepare(sql: string): SqliteStatement
}

const sqliteStatements = new WeakMap<object, Map<string, SqliteStatement>>()

const prepareOnce = (connection: SqliteConnection, sql: string): SqliteStatement => {
  const known = sqliteStatements.get(connection) ?? new Map<string, SqliteStatement>()
  if (known.size === 0) sqliteStatements.set(connection, known)
  const prepared = known.get(sql) ?? connection.prepare(sql)
  known.set(sql, prepared)
  return prepared
}

const sqlite: Driver = {
  dialect: 'sqlite',
  begin: 'BEGIN IMMEDIATE',
  isSynchronous: true,
  supportsPipelining: () => false,
  async execute(connection, sql, bindings) {
    const prepared = prepareOnce(connection as SqliteConnection, sql)
    if (prepared.reader) return { rows: prepared.all(...bindings), count: 0 }
    return { rows: [], count: prepared.run(...bindings).changes }
  },
  // It answers before anybody could wait.
  destroy: () => {},
}

/** What lies under a connection over the network. */
interface Socket {
  destroy(): void
}

interface PostgresConnection {
  query(query: {
    name?: string
    text: string
    values: readonly Value[]
  }): Promise<{ rows: Row[]; rowCount: number | null }>
  /** As the pool was configured: `connection: { pipeline: true }`. */
  readonly pipeline?: boolean
  readonly connection: { readonly stream: Socket }
}

/** PostgreSQL knows a prepared statement by a name of at most 63 bytes. */
const statementName = (sql: string): string =>
  `latchkey_${createHash('sha256').update(sql).digest('base64url')}`

const postgresql = (prepared: boolean): Driver => {
  const names = new Map<string, string>()
  const nameOf = (sql: string): string => {
    const name = names.get(sql) ?? statementName(sql)
    names.set(sql, name)
    return name
  }
  return {
    dialect: 'postgresql',
    begin: 'BEGIN',
    isSynchronous: false,
    supportsPipelining: (connection) => (connection as PostgresConnection).pipeline === true,
    async execute(connection, sql, bindings) {
      const unnamed = { text: sql, values: bindings }
      const query = prepared ? { name: nameOf(sql), ...unnamed } : unnamed
      const { rows, rowCount } = await (connection as PostgresConnection).query(query)
      return { rows, count: rowCount ?? 0 }
    },
    destroy: (connection) => (connection as PostgresConnection).connection.stream.destroy(),
  }
}

type MysqlStatement = (
  query: { sql: string; values: readonly Value[] },
  done: (error: Error | null, result: Row[] | { affectedRows: number }) => void,
) => void

interface MysqlConnection {
  execute: MysqlStatement
  query: MysqlStatement
  readonly stream: Socket
}

/** The prepared protocol of MySQL does not take these. */
const mysqlUnprepared = /^(START TRANSACTION|COMMIT|ROLLBACK)$/

const mysql = (prepared: boolean): Driver => ({
  dialect: 'mysql',
  begin: 'START TRANSACTION',
  isSynchronous: false,
  supportsPipelining: () => false,
  execute: (connection, sql, values) =>
    new Promise((resolve, reject) => {
      const driver = connection as MysqlConnection
      const way = prepared && !mysqlUnprepared.test(sql) ? 'execute' : 'query'
      driver[way]({ sql, values }, (error, result) => {
        if (error) reject(error)
        else if (Array.isArray(result)) resolve({ rows: result, count: 0 })
        else resolve({ rows: [], count: result.affectedRows })
      })
    }),
  destroy: (connection) => (connection as MysqlConnection).stream.destroy(),
})

/**
 * The driver behind a Knex handle.
 *
 * @throws Error naming the drivers that are supported
 */
export const driverOf = (knex: Knex, { preparedStatements = true }: DriverOptions = {}): Driver => {
  const name: unknown = knex.client.driverName
  if (name === 'better-sqlite3') return sqlite
  if (name === 'pg') return postgresql(preparedStatements)
  if (name === 'mysql2') return mysql(preparedStatements)
  throw new Error(
    `latchkey: database client ${String(name)} is not supported; use better-sqlite3, pg or mysql2`,
  )
}
