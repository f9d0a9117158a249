import { inTransaction, onConnection } from './connection.ts'
import { isRetryable, isUniqueViolation, withRetry } from './errors.ts'
import type { Database } from './types.ts'
import { commitTogether, hasQueue } from './write-queue.ts'

/** Of two transactions that found no row and both insert it, the second finds it when it runs again. */
const lostRace = (error: unknown): boolean => isRetryable(error) || isUniqueViolation(error)

/**
 * Does all of the work or nothing of it. Work that loses against other work is rolled back and runs again, so it must
 * consist of statements only; host code and signatures come before it. Statements that do not depend on each other can
 * run under one `Promise.all`: they are sent together where the database supports it.
 *
 * @param work gets the database to run its statements on; in a transaction that is already open, it joins that one
 * @returns what the work returns
 * @throws OAuthError `temporarily_unavailable` with the error of the work as its cause, or the OAuthError that the work
 *   throws
 * @example
 * await transaction(db, async (tx) => {
 *   if (await consume(tx, code)) await insert(tx, token)
 * })
 */
export const transaction = async <T>(db: Database, work: (tx: Database) => Promise<T>): Promise<T> => {
  if (db.transaction !== undefined || db.isReadOnly) return work(db)
  return withRetry(
    () =>
      hasQueue(db)
        ? commitTogether(db, work, false)
        : onConnection(db, (connection) => inTransaction(db, connection, work)),
    lostRace,
  )
}
