import { HostError } from '../../protocol/problem.ts'
import { execute, onConnection, withRetry } from './connection.ts'
import { isRetryable, isUniqueViolation } from './errors.ts'
import { commitTogether, hasQueue } from './group-commit.ts'
import { inTransaction, RolledBack } from './in-transaction.ts'
import { chained, type Write } from './statement.ts'
import type { Database, Result } from './types.ts'

/** If two transactions insert the same row, the loser retries and finds it. */
const lostRace = (error: unknown): boolean => isRetryable(error) || isUniqueViolation(error)

/**
 * Does all of the work or none. Work that loses a race is rolled back and runs again, so it must
 * consist of statements only; host code and signatures come before it.
 *
 * @param work gets the database to run its statements on; in a transaction that is already open, it joins that one
 * @returns what the work returns
 * @throws OAuthError `temporarily_unavailable` with the error of the work as its cause, or the OAuthError that the work
 *   throws
 * @example
 * await transaction(db, async (tx) => {
 *   await insert(tx, user)
 *   await insert(tx, event)
 * })
 */
export const transaction = async <T>(
  db: Database,
  work: (tx: Database) => Promise<T | RolledBack<T>>,
): Promise<T> => {
  if (db.transaction !== undefined) {
    const result = await work(db)
    if (!(result instanceof RolledBack)) return result
    throw new HostError('only a whole transaction can be rolled back')
  }
  return withRetry(
    () =>
      hasQueue(db)
        ? commitTogether(db, work, false)
        : onConnection(db, (connection) => inTransaction(db, connection, work)),
    lostRace,
  )
}

/** An update that must touch a row, and what to report if it does not. */
export type Condition<Obstacle> = readonly [Obstacle, Write]

/**
 * Writes if all conditions hold, and otherwise uses nothing up: with one statement on PostgreSQL, and with the
 * same statements in a transaction elsewhere.
 *
 * @param conditions in order; those before the last one only lock or refresh a row, because PostgreSQL keeps what they wrote
 *   if a later one does not hold
 * @param writes updates and deletions, and insertions of one row
 * @returns the first obstacle; undefined if everything is written
 * @throws OAuthError `temporarily_unavailable` with the error of a statement as its cause
 * @example
 * const obstacle = await writeIf(db, [['used', consume.with({ id, now })]], [insert.with(token)])
 */
export const writeIf = async <Obstacle extends string>(
  db: Database,
  conditions: readonly Condition<Obstacle>[],
  writes: readonly Write[],
): Promise<Obstacle | undefined> => {
  if (db.driver.dialect === 'postgresql' && db.transaction === undefined) {
    const { rows } = await runChained(
      db,
      conditions.map(([, update]) => update),
      writes,
    )
    return conditions.find((_, place) => Number(rows[0]?.[`step_${place}`]) === 0)?.[0]
  }
  return transaction<Obstacle | undefined>(db, async (tx) => {
    for (const [obstacle, update] of conditions)
      if ((await update.run(tx)) === 0) return new RolledBack(obstacle)
    for (const write of writes) await write.run(tx)
    return undefined
  })
}

/**
 * Does all of these writes or none.
 *
 * @throws OAuthError `temporarily_unavailable` with the error of a statement as its cause
 */
export const writeAll = async (db: Database, writes: readonly Write[]): Promise<void> => {
  const [only, another] = writes
  if (only && !another) await only.run(db)
  else if (only) await writeIf(db, [], writes)
}

/** Runs writes as one statement of PostgreSQL. */
const runChained = (db: Database, updates: readonly Write[], writes: readonly Write[]): Promise<Result> => {
  const { sql, bindings } = chained(db, updates, writes)
  return withRetry(() => onConnection(db, (connection) => execute(db, connection, sql, bindings)), lostRace)
}
