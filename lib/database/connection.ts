import { hasRolledBack, needsReconnect } from './errors.ts'
import {
  acquireConnection,
  dispose,
  idleConnection,
  isDisposed,
  isUsable,
  othersMayWait,
  releaseConnection,
} from './internals.ts'
import { withTimeout } from './timeout.ts'
import type { Database, Result, Transaction, Value } from './types.ts'

/** Milliseconds to wait for a connection, and then for the answer; both together stay below ten seconds. */
const timeoutMs = 5000

/**
 * Waits for the answer to a statement. A server that a firewall has cut off would keep TCP waiting for a quarter of an
 * hour, so its connection is closed. SQLite needs no timer: it has already answered.
 */
const withinTimeout = (
  { driver }: Database,
  connection: unknown,
  answer: Promise<Result>,
): Promise<Result> => {
  if (driver.executeNow) return answer
  return withTimeout(answer, timeoutMs, () => {
    const error = new Error(`the database did not answer within ${timeoutMs} ms`)
    dispose(connection, error)
    driver.destroy(connection)
    throw error
  })
}

/** Runs a statement on this connection. */
export const execute = (
  db: Database,
  connection: unknown,
  sql: string,
  bindings: readonly Value[],
): Promise<Result> => withinTimeout(db, connection, db.driver.execute(connection, sql, bindings))

/**
 * Runs one statement outside a transaction. SQLite has run it when the call returns, so it needs no connection of its own:
 * one that lies idle in the pool will do, and borrowing it would take longer than reading.
 */
export const executeAlone = async (
  db: Database,
  sql: string,
  bindings: readonly Value[],
): Promise<Result> => {
  const idle = db.driver.executeNow && idleConnection(db.knex)
  if (idle !== undefined && db.driver.executeNow) return db.driver.executeNow(idle, sql, bindings)
  return onConnection(db, (connection) => execute(db, connection, sql, bindings))
}

/** Borrows a connection from the pool; one that comes after the timeout goes back. */
const acquire = ({ knex }: Database): Promise<unknown> => {
  const acquiring = acquireConnection(knex)
  return withTimeout(acquiring, timeoutMs, () => {
    acquiring.then((connection) => releaseConnection(knex, connection)).catch(() => {})
    throw new Error(`no connection to the database was free within ${timeoutMs} ms`)
  })
}

/** A connection that another statement has just used; undefined if there is none. */
const takeKept = ({ knex, kept }: Database): unknown => {
  const connection = kept.pop()
  if (connection === undefined || isUsable(knex, connection)) return connection
  void releaseConnection(knex, connection)
  return undefined
}

const returnKept = ({ knex, kept }: Database): void => {
  for (const connection of kept.splice(0)) void releaseConnection(knex, connection)
}

/**
 * Gives a connection back. Unless another statement waits for it, that happens at the end of this turn of the event loop: the next
 * statement of a request mostly follows in the same turn, and borrowing takes longer than sending it.
 */
const release = (db: Database, connection: unknown): void => {
  const { driver, knex, kept } = db
  if (driver.executeNow || isDisposed(connection) || othersMayWait(knex)) {
    void releaseConnection(knex, connection)
    return
  }
  if (kept.length === 0) setImmediate(returnKept, db)
  kept.push(connection)
}

/** Runs work on a connection borrowed from the pool; errors are the driver's. */
export const onConnection = async <T>(
  db: Database,
  work: (connection: unknown) => Promise<T>,
): Promise<T> => {
  const connection = takeKept(db) ?? (await acquire(db))
  try {
    return await work(connection)
  } catch (error) {
    if (needsReconnect(error)) dispose(connection, error)
    throw error
  } finally {
    release(db, connection)
  }
}

const assertOpen = (transaction: Transaction): void => {
  if (transaction.isOver) throw new Error('latchkey: a statement was run after the end of its transaction')
}

/** Begins, and runs the first statement, which the server skips if it could not begin. */
const executeFirst = (
  db: Database,
  transaction: Transaction,
  sql: string,
  bindings: readonly Value[],
): Promise<Result> => {
  const { driver } = db
  const { connection } = transaction
  const answer = driver.executeAfter?.(connection, driver.begin, sql, bindings)
  if (answer !== undefined) {
    transaction.begun = withinTimeout(db, connection, answer)
    return transaction.begun as Promise<Result>
  }
  transaction.begun = execute(db, connection, driver.begin, [])
  return transaction.begun.then(() => execute(db, connection, sql, bindings))
}

/**
 * Runs a statement of a transaction. BEGIN goes out with the first one. Statements that are run at the same time are
 * sent at the same time if the connection supports pipelining, and else one after the other. A statement that fails ends
 * the transaction: MariaDB and SQLite may have rolled it back, and would commit a further statement by itself.
 *
 * @throws Error when the transaction is over, as for a statement beside one that has failed
 */
export const executeInTransaction = (
  db: Database,
  transaction: Transaction,
  sql: string,
  bindings: readonly Value[],
): Promise<Result> => {
  assertOpen(transaction)
  const { begun, last, connection } = transaction
  const send = (): Promise<Result> => {
    assertOpen(transaction)
    return execute(db, connection, sql, bindings)
  }
  const sendAfter = (before: Promise<unknown>): Promise<Result> => {
    return (db.driver.supportsPipelining(connection) ? before : Promise.all([before, last])).then(send)
  }
  const answer = begun === undefined ? executeFirst(db, transaction, sql, bindings) : sendAfter(begun)
  const end = (): void => {
    transaction.isOver = true
  }
  transaction.last = answer.then(() => undefined, end)
  return answer
}

/** Does all of the work on this connection, or nothing of it. Work without a statement sends nothing. */
export const inTransaction = async <T>(
  db: Database,
  connection: unknown,
  work: (tx: Database, transaction: Transaction) => Promise<T>,
): Promise<T> => {
  const transaction: Transaction = { connection, isOver: false }
  try {
    const result = await work({ ...db, transaction }, transaction)
    transaction.isOver = true
    if (transaction.begun !== undefined) await execute(db, connection, 'COMMIT', [])
    return result
  } catch (error) {
    transaction.isOver = true
    await rollBack(db, transaction)
    throw error
  }
}

/** A connection that cannot even roll back is closed, unless SQLite has already rolled back by itself. */
const rollBack = async (db: Database, { connection, begun, last }: Transaction): Promise<void> => {
  if (begun === undefined) return
  await last
  if (isDisposed(connection)) return
  try {
    await execute(db, connection, 'ROLLBACK', [])
  } catch (error) {
    if (!hasRolledBack(error)) dispose(connection, error)
  }
}
