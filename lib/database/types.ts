import type { Knex } from 'knex'

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

/** SQL with the values of its placeholders. */
export interface Statement {
  readonly sql: string
  readonly bindings: readonly Value[]
}

/** How one database driver runs a statement on a connection of Knex's pool. */
export interface Driver {
  readonly dialect: Dialect
  /** Whether the database prepares statements. */
  readonly prepares: boolean
  /** Begins a write transaction. SQLite takes its lock immediately, because it cannot upgrade one later. */
  readonly begin: string
  execute(connection: unknown, sql: string, bindings: readonly Value[]): Promise<Result>
  /** The same for a database in this process, which has the result when the call returns. Undefined for servers. */
  executeNow?(connection: unknown, sql: string, bindings: readonly Value[]): Result
  /**
   * Runs `first`, if it is given, and then at least one statement, in one round trip. After one that fails, the server
   * skips the others. Undefined if this connection cannot do that, or not with these statements yet.
   */
  executeTogether?(
    connection: unknown,
    statements: readonly Statement[],
    first?: string,
  ): Promise<readonly Result[]> | undefined
  /**
   * A form of a statement that fails unless it touches a row, and whether an error is that failure. For a database that
   * undoes the whole of a message when one of its statements fails.
   */
  readonly guard?: { guarded(sql: string): string; isUnmet(error: unknown): boolean }
  /** Destroys the socket; a clean close would queue behind the hung statement. */
  destroy(connection: unknown): void
}

export interface DriverOptions {
  /** Whether the server prepares statements; SQLite always does. @default true */
  readonly preparedStatements?: boolean
  /** Whether others may change the tables, so that a prepared `SELECT *` on PostgreSQL can fail. @default false */
  readonly tablesMayChange?: boolean
}

/** A statement that is about to be sent. */
export interface GatheredStatement extends Statement {
  resolve(result: Result): void
  reject(error: unknown): void
}

/** The connection and the progress of one transaction. */
export interface Transaction {
  readonly connection: unknown
  /** Settles when the transaction has begun; undefined before the first statement. */
  begun?: Promise<unknown>
  /** Settles when the statement that was sent last is answered; never rejects. */
  last?: Promise<unknown>
  /** Statements of this turn of the event loop, which are sent together. */
  readonly gathered: GatheredStatement[]
  /** Whether all of its statements are one message, which the database does or undoes as a whole, without BEGIN. */
  readonly isOneMessage?: boolean
  /** Whether no further statement may run. */
  isOver: boolean
  /** The error of the statement that failed, if one did. */
  failure?: unknown
}

/** A SQL statement that Knex has built, with placeholders for the values. */
export interface Compiled {
  readonly sql: string
  readonly bindings: readonly unknown[]
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
  /** Statements that are already built, by the function that builds them. */
  readonly compiled: Map<object, Compiled>
  /** What is known about the database server: whether it lacks RETURNING, like MySQL. */
  readonly learned: { lacksReturning?: boolean }
  /** Connections that were borrowed in this turn of the event loop and are not in use; they go back to the pool at its end. */
  readonly kept: unknown[]
  /** Statements outside transactions, of this turn of the event loop. */
  readonly gathered: GatheredStatement[]
  /** Writes to commit together, on SQLite, in order of arrival; undefined on servers, which do this themselves. */
  readonly writes?: PendingWrite[]
  readonly transaction?: Transaction
  /** Whether each statement has to touch a row; see `guard` of the driver. */
  readonly isGuarded?: boolean
  /** Discards writes: each statement that writes touches no row. For requests that only ask (RFC 9110 §9.2.1). */
  readonly isReadOnly?: boolean
}
