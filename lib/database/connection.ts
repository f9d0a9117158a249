import { OAuthError } from '../protocol/errors.ts'
import {
  acquireConnection,
  dispose,
  idleConnection,
  isDisposed,
  isUsable,
  othersMayWait,
  releaseConnection,
} from './driver.ts'
import { isRetryable, needsReconnect, temporarilyUnavailable } from './errors.ts'
import type { Database, Result, Value } from './types.ts'

/** Milliseconds to wait for a connection, and then for the answer; both together stay below ten seconds. */
const timeoutMs = 5000

/**
 * Waits for the answer to a statement. A server that a firewall has cut off would keep TCP waiting for a quarter of an
 * hour, so its connection is closed. SQLite needs no timer: it has already answered.
 */
export const inTime = <T>({ driver }: Database, connection: unknown, answer: Promise<T>): Promise<T> => {
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
): Promise<Result> => inTime(db, connection, db.driver.execute(connection, sql, bindings))

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
 * Gives a connection back. Unless another statement waits for it, that happens at the end of this turn of the event
 * loop: the next statement of a request mostly follows in the same turn, and borrowing takes longer than sending it.
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

/**
 * Waits for work, but no longer than a time limit. A result that comes later is discarded.
 *
 * @param work what to wait for; it goes on after the timeout
 * @param milliseconds the time limit
 * @param onTimeout returns the result to use instead, or throws the error
 * @returns the result of the work, or of `onTimeout`
 * @throws the error of the work, or of `onTimeout`
 * @example const isHealthy = await withTimeout(check(), 2000, () => false)
 */
export const withTimeout = <T>(work: PromiseLike<T>, milliseconds: number, onTimeout: () => T): Promise<T> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      try {
        resolve(onTimeout())
      } catch (error) {
        reject(error)
      }
    }, milliseconds)
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

const maxAttempts = 4

/**
 * Runs work, and again at most three times when it loses against other work, after longer and longer random pauses.
 *
 * @param mayRetry whether an error means that the work lost
 * @throws OAuthError `temporarily_unavailable` with the last error as its cause, or an OAuthError of the work
 */
export const withRetry = async <T>(work: () => Promise<T>, mayRetry = isRetryable): Promise<T> => {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work()
    } catch (error) {
      if (attempt === maxAttempts || !mayRetry(error)) {
        throw error instanceof OAuthError ? error : temporarilyUnavailable(error)
      }
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 25 * 2 ** attempt))
    }
  }
}
