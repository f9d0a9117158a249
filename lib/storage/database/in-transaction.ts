import { HostError } from '../../protocol/problem.ts'
import { execute } from './connection.ts'
import { hasRolledBack, needsReconnect } from './errors.ts'
import type { Database, Result, Transaction, Value } from './types.ts'

/** The work of a transaction returns this to roll it back. */
export class RolledBack<T> {
  /** The result of the transaction. */
  readonly result: T
  constructor(result: T) {
    this.result = result
  }
}

/**
 * Does all of the work on this connection, or none.
 *
 * @throws the driver's error, or the error of the work
 */
export const inTransaction = async <T>(
  db: Database,
  connection: unknown,
  work: (tx: Database & { readonly transaction: Transaction }) => Promise<T | RolledBack<T>>,
): Promise<T> => {
  const transaction: Transaction = { connection, last: Promise.resolve(), isOver: false }
  await execute(db, connection, db.driver.begin, [])
  try {
    const result = await work({ ...db, transaction })
    transaction.isOver = true
    if (transaction.failure !== undefined) throw transaction.failure
    if (result instanceof RolledBack) {
      await rollBack(db, transaction)
      return result.result
    }
    await transaction.last
    await execute(db, connection, 'COMMIT', [])
    return result
  } catch (error) {
    transaction.isOver = true
    await rollBack(db, transaction)
    throw error
  }
}

/** Closes a connection that cannot roll back, unless SQLite has already rolled back on its own. */
const rollBack = async (db: Database, { connection, last, failure }: Transaction): Promise<void> => {
  await last
  if (needsReconnect(failure)) return
  try {
    await execute(db, connection, 'ROLLBACK', [])
  } catch (error) {
    if (!hasRolledBack(error)) await db.driver.close(connection)
  }
}

/**
 * Runs a statement of a transaction after those before it. A statement that fails ends the transaction: MariaDB and SQLite
 * may have rolled it back, and would commit a further statement by itself.
 *
 * @throws the driver's error, also of a statement before this one; Error when the transaction is over
 */
export const executeInTransaction = (
  db: Database,
  transaction: Transaction,
  sql: string,
  bindings: readonly Value[],
): Promise<Result> => {
  const answer = transaction.last.then(() => {
    if (transaction.failure !== undefined) throw transaction.failure
    if (transaction.isOver) throw new HostError('a statement was run after the end of its transaction')
    return execute(db, transaction.connection, sql, bindings)
  })
  transaction.last = answer.catch((error: unknown) => {
    transaction.isOver = true
    transaction.failure ??= error
  })
  return answer
}
