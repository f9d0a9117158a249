import type { Knex } from 'knex'
import { OAuthError } from '../protocol/errors.ts'
import type { Driver, Result, Row, Value } from './driver.ts'
import { databaseUnavailable, isMisled, isRetryable, isUniqueViolation, retrying } from './faults.ts'

/** Where the kit's rows live. Inside a transaction it is the same value with the connection pinned. */
export interface Database {
  /** A private handle on the pool: the host's name and row mappers do not apply to our tables. */
  readonly knex: Knex
  readonly driver: Driver
  readonly prefix: string
  readonly compiled: Map<object, Compiled>
  readonly connection?: unknown
}

interface Compiled {
  readonly sql: string
  readonly bindings: readonly (Placeholder | Value)[]
}

/** Stands in a query where a value will be bound. */
class Placeholder {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
}

/** Knex takes any object as a value to bind; its types ask for one of its own kinds. */
type Placeholders<Values> = { readonly [Name in keyof Values]: Knex.Value }

type Build<Values> = (
  table: (name: string) => Knex.QueryBuilder,
  values: Placeholders<Values>,
  name: (table: string) => string,
) => Knex.QueryBuilder

const placeholders = <Values>(): Placeholders<Values> =>
  new Proxy({} as Placeholders<Values>, {
    get: (_target, name) => new Placeholder(String(name)),
  })

const compile = <Values>(db: Database, build: Build<Values>): Compiled => {
  const name = (table: string): string => tableName(db, table)
  const table = (given: string): Knex.QueryBuilder => db.knex(name(given))
  const { sql, bindings } = build(table, placeholders<Values>(), name).toSQL().toNative()
  return { sql, bindings: bindings as readonly (Placeholder | Value)[] }
}

const bind = (compiled: Compiled, values: Readonly<Record<string, Value>>): Value[] =>
  compiled.bindings.map((binding) =>
    binding instanceof Placeholder ? (values[binding.name] ?? null) : binding,
  )

/** The full name of a table of ours; `… as alias` stays as it is. */
export const tableName = (db: Pick<Database, 'prefix'>, name: string): string => `${db.prefix}${name}`

/** Milliseconds that a connection may take to be had, and then the database to answer; together 503 within ten seconds. */
const patience = 5000

/** A result that is not there in time is an error; what comes later goes nowhere. */
const inTime = <T>(work: Promise<T>, what: string, onLate: (error: Error) => void): Promise<T> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      const error = new Error(`${what} within ${patience} ms`)
      onLate(error)
      reject(error)
    }, patience)
    work.then(
      (result) => {
        clearTimeout(timer)
        resolve(result)
      },
      (error: unknown) => {
        clearTimeout(timer)
        reject(error)
      },
    )
  })

/** The pool gives the connection to nobody else; Knex looks for this name. */
const dispose = (connection: unknown, error: unknown): void => {
  Object.assign(connection as object, { __knex__disposed: error })
}

const isDisposed = (connection: unknown): boolean => '__knex__disposed' in (connection as object)

/**
 * A statement on a connection. Where a server has gone silent (behind a firewall that forgot the connection, say), TCP
 * would hope for a quarter of an hour; one timer, set and cleared, costs a hundredth of a round trip. SQLite has
 * answered before a timer could be of use.
 */
const execute = (
  { driver }: Database,
  connection: unknown,
  sql: string,
  bindings: readonly Value[],
): Promise<Result> => {
  const answer = driver.execute(connection, sql, bindings)
  if (driver.dialect === 'sqlite') return answer
  return inTime(answer, 'the database did not answer', (error) => {
    dispose(connection, error)
    driver.sever(connection)
  })
}

/** A connection that is had too late goes back. */
const acquire = ({ knex }: Database): Promise<unknown> => {
  const acquiring: Promise<unknown> = knex.client.acquireConnection()
  return inTime(acquiring, 'no connection to the database was free', () => {
    acquiring.then((connection) => knex.client.releaseConnection(connection)).catch(() => {})
  })
}

/** Runs work on the pinned connection of a transaction, or on one borrowed from the pool; errors are the driver's. */
const onConnection = async <T>(db: Database, work: (connection: unknown) => Promise<T>): Promise<T> => {
  if (db.connection !== undefined) return work(db.connection)
  const connection = await acquire(db)
  try {
    return await work(connection)
  } catch (error) {
    if (isMisled(error)) dispose(connection, error)
    throw error
  } finally {
    await db.knex.client.releaseConnection(connection)
  }
}

/**
 * A fault outside a transaction is final here; inside one, the transaction decides whether to try again.
 *
 * @throws OAuthError `temporarily_unavailable` with the driver's error as its cause
 */
const run = async <T>(db: Database, work: (connection: unknown) => Promise<T>): Promise<T> => {
  if (db.connection !== undefined) return work(db.connection)
  try {
    return await retrying(() => onConnection(db, work))
  } catch (error) {
    throw error instanceof OAuthError ? error : databaseUnavailable(error)
  }
}

const prepared =
  <Values extends Readonly<Record<keyof Values, Value>>, T>(
    build: Build<Values>,
    pick: (result: Result) => T,
  ) =>
  (db: Database, values: Values): Promise<T> => {
    const compiled = db.compiled.get(build) ?? compile(db, build)
    db.compiled.set(build, compiled)
    return run(db, async (connection) =>
      pick(await execute(db, connection, compiled.sql, bind(compiled, values))),
    )
  }

/**
 * A query that reads: built by Knex once per database, run prepared ever after.
 *
 * @returns a function from values to rows
 * @example
 * const byId = query<{ clientId: string }>((table, v) => table('clients').where({ client_id: v.clientId }))
 * const rows = await byId(db, { clientId: 'journal' })
 */
export const query = <Values extends Readonly<Record<keyof Values, Value>>>(
  build: Build<Values>,
): ((db: Database, values: Values) => Promise<readonly Row[]>) => prepared(build, (result) => result.rows)

/**
 * A statement that writes, likewise.
 *
 * @returns a function from values to the number of rows it touched: with a condition, that number decides a race
 */
export const command = <Values extends Readonly<Record<keyof Values, Value>>>(
  build: Build<Values>,
): ((db: Database, values: Values) => Promise<number>) => prepared(build, (result) => result.count)

/**
 * All or nothing. Work that loses against other work is rolled back and run again whole, so it must hold
 * nothing but statements; host code and signatures come before it.
 *
 * @throws whatever the work throws, after the roll-back; OAuthError `temporarily_unavailable` for a fault
 */
export const transaction = async <T>(db: Database, work: (tx: Database) => Promise<T>): Promise<T> => {
  if (db.connection !== undefined) return work(db)
  try {
    return await retrying(() => onConnection(db, (connection) => attempt({ ...db, connection }, work)), lost)
  } catch (error) {
    throw error instanceof OAuthError ? error : databaseUnavailable(error)
  }
}

/** Two transactions that both found no row and both insert it: the second finds the row when it runs again. */
const lost = (error: unknown): boolean => isRetryable(error) || isUniqueViolation(error)

const attempt = async <T>(tx: Database, work: (tx: Database) => Promise<T>): Promise<T> => {
  await execute(tx, tx.connection, tx.driver.begin, [])
  try {
    const result = await work(tx)
    await execute(tx, tx.connection, 'COMMIT', [])
    return result
  } catch (error) {
    await rollBack(tx)
    throw error
  }
}

/** A connection that cannot even roll back is not given to anyone else. */
const rollBack = async (tx: Database): Promise<void> => {
  if (isDisposed(tx.connection)) return
  try {
    await execute(tx, tx.connection, 'ROLLBACK', [])
  } catch (error) {
    dispose(tx.connection, error)
  }
}
