import type { Result, Value } from './driver.ts'
import { hasRolledBack, needsReconnect } from './errors.ts'
import type { Database, TransactionWork } from './statement.ts'
import { withTimeout } from './timeout.ts'

/** Milliseconds that a connection may take to be had, and then the database to answer; together 503 within ten seconds. */
const timeoutMs = 5000

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
export const execute = (
  { driver }: Database,
  connection: unknown,
  sql: string,
  bindings: readonly Value[],
): Promise<Result> => {
  const answer = driver.execute(connection, sql, bindings)
  if (driver.isSynchronous) return answer
  return withTimeout(answer, timeoutMs, () => {
    const error = new Error(`the database did not answer within ${timeoutMs} ms`)
    dispose(connection, error)
    driver.destroy(connection)
    throw error
  })
}

/** A connection that is had too late goes back. */
const acquire = ({ knex }: Database): Promise<unknown> => {
  const acquiring: Promise<unknown> = knex.client.acquireConnection()
  return withTimeout(acquiring, timeoutMs, () => {
    acquiring.then((connection) => knex.client.releaseConnection(connection)).catch(() => {})
    throw new Error(`no connection to the database was free within ${timeoutMs} ms`)
  })
}

/** Connections that are lent until this turn of the event loop is over, by pool. */
const lent = new WeakMap<object, Promise<unknown>>()

/**
 * Runs one statement by itself. SQLite answers at once, so all such statements of one turn of the event loop share a
 * connection: to borrow it takes longer than to read. Transactions borrow theirs, so that the two never meet on one.
 */
export const onSharedConnection = async <T>(
  db: Database,
  statement: (connection: unknown) => Promise<T>,
): Promise<T> =>
  db.driver.isSynchronous ? statement(await shareConnection(db)) : onConnection(db, statement)

const shareConnection = (db: Database): Promise<unknown> => {
  const { client } = db.knex
  const { pool } = client
  // A pool that was closed lends nothing.
  if (pool === undefined) return acquire(db)
  const connection = lent.get(pool) ?? acquire(db)
  if (lent.has(pool)) return connection
  lent.set(pool, connection)
  const isOver = (): void => void lent.delete(pool)
  connection.then(
    (borrowed) =>
      setImmediate(() => {
        isOver()
        client.releaseConnection(borrowed)
      }),
    isOver,
  )
  return connection
}

/** Runs work on the pinned connection of a transaction, or on one borrowed from the pool; errors are the driver's. */
export const onConnection = async <T>(
  db: Database,
  work: (connection: unknown) => Promise<T>,
): Promise<T> => {
  if (db.connection !== undefined) return work(db.connection)
  const connection = await acquire(db)
  try {
    return await work(connection)
  } catch (error) {
    if (needsReconnect(error)) dispose(connection, error)
    throw error
  } finally {
    await db.knex.client.releaseConnection(connection)
  }
}

const control = (tx: Database, sql: string): Promise<unknown> => execute(tx, tx.connection, sql, [])

/** All of the work or nothing of it, on the pinned connection. */
export const inTransaction = async <T>(tx: Database, work: (tx: Database) => Promise<T>): Promise<T> => {
  await control(tx, tx.driver.begin)
  try {
    const result = await work(tx)
    await control(tx, 'COMMIT')
    return result
  } catch (error) {
    await rollBack(tx)
    throw error
  }
}

/**
 * The same on a connection that supportsPipelining: BEGIN goes out together with the first statement, and COMMIT with those
 * after the decision, so that neither costs a round trip. When a statement has failed, PostgreSQL takes COMMIT for
 * ROLLBACK; and BEGIN cannot fail by itself, but only with its connection.
 */
export const inPipelinedTransaction = async <T>(
  tx: Database,
  { decide, writes }: TransactionWork<T>,
): Promise<T> => {
  const begun = control(tx, tx.driver.begin)
  // Heard below, where whatever the decision met comes first.
  begun.catch(() => {})
  try {
    const decision = await decide(tx)
    // Answered by now; without it each write would stand by itself.
    await begun
    await Promise.all([...writes(decision).map((write) => write(tx)), control(tx, 'COMMIT')])
    return decision
  } catch (error) {
    await rollBack(tx)
    throw error
  }
}

/** A connection that cannot even roll back is not given to anyone else, unless SQLite has done so by itself. */
const rollBack = async (tx: Database): Promise<void> => {
  if (isDisposed(tx.connection)) return
  try {
    await control(tx, 'ROLLBACK')
  } catch (error) {
    if (!hasRolledBack(error)) dispose(tx.connection, error)
  }
}
