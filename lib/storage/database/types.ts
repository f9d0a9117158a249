import type { Knex } from 'knex'
import type { Tracing } from '../../events/tracing.ts'

export type Dialect = 'sqlite' | 'postgresql' | 'mysql'

/** A value that can be bound to a statement. Flags are 0 and 1, times are epoch seconds. */
export type Value = string | number | null

/** A row as the driver returns it. */
export type Row = Readonly<Record<string, unknown>>

export interface Result {
  readonly rows: readonly Row[]
  /** Rows that an UPDATE, DELETE or INSERT touched. */
  readonly count: number
}

/** Runs statements of one database driver on a connection of Knex's pool. */
export interface Driver {
  readonly dialect: Dialect
  /** Whether the database prepares statements. */
  readonly prepares: boolean
  /** Begins a write transaction. SQLite takes its lock immediately, because it cannot upgrade one later. */
  readonly begin: string
  execute(connection: unknown, sql: string, bindings: readonly Value[]): Promise<Result>
  /** Whether a transaction is open on a connection; on SQLite only, where others commit together. */
  isInTransaction?(connection: unknown): boolean
  /** Closes a connection for good, also while a statement hangs on it. */
  close(connection: unknown): Promise<void>
}

export interface DriverOptions {
  /** Whether the server prepares statements; SQLite always does. @default true */
  readonly preparedStatements?: boolean
  /**
   * Whether the tables are the host's: others may change them, so that a prepared `SELECT *` on PostgreSQL can fail, and the
   * host's code says how their values are read (`typeCast` of mysql2). @default false
   */
  readonly ofHost?: boolean
}

/** The connection and the progress of one transaction. */
export interface Transaction {
  readonly connection: unknown
  /** Settles when the last statement is answered; never rejects. */
  last: Promise<unknown>
  /** Whether no further statement may run. */
  isOver: boolean
  /** The error of the statement that failed, if one did. */
  failure?: unknown
}

/** A SQL statement that Knex has built, with placeholders for the values. */
export interface Compiled {
  readonly sql: string
  readonly bindings: readonly unknown[]
  /** Its number among those of the database. */
  readonly id: number
}

/** A write that waits for the next transaction. */
export interface PendingWrite {
  readonly work: (tx: Database) => Promise<unknown>
  /** Whether it is one statement, which needs no transaction when nothing else waits. */
  readonly isStatement: boolean
  resolve(result: never): void
  reject(error: unknown): void
}

/** A database with its tables. Inside a transaction it is the same value plus the transaction. */
export interface Database {
  /** A private handle on the pool: the host's name and row mappers do not apply to our tables. */
  readonly knex: Knex
  readonly driver: Driver
  readonly prefix: string
  /** Statements that are already built: by the function that builds them, or by the numbers of their steps. */
  readonly compiled: Map<object | string, Compiled>
  /** Facts about the database server: whether it lacks RETURNING, like MySQL. */
  readonly learned: { lacksReturning?: boolean }
  /** Writes to commit together, on SQLite, in order of arrival; undefined on servers, which do this themselves. */
  readonly writes?: PendingWrite[]
  readonly transaction?: Transaction
  /** Spans of statements; undefined outside a server. */
  readonly tracing?: Tracing
}
