import { onConnection } from './connection.ts'
import { executeInTransaction, inTransaction, RolledBack } from './in-transaction.ts'
import type { Database, PendingWrite, Transaction } from './types.ts'

/** A database in a transaction. */
type InTransaction = Database & { readonly transaction: Transaction }

/** A database that commits writes together. */
type QueueingDatabase = Database & { readonly writes: PendingWrite[] }

export const hasQueue = (db: Database): db is QueueingDatabase => db.writes !== undefined

/** The most writes that share a transaction. The rest wait for the next one. */
const maxBatch = 32

/**
 * Commits writes that come at about the same time in one transaction, because on SQLite the slow part is waiting for
 * the disk. A write is answered after the commit. If one fails, only that one is
 * undone: a statement undoes itself, and other work runs in its own savepoint.
 *
 * @param isStatement whether the work is one statement, which needs no transaction of its own
 * @throws the error of the work; the driver's error for each write when the whole transaction fails
 */
export const commitTogether = <T>(
  db: QueueingDatabase,
  work: (tx: Database) => Promise<T | RolledBack<T>>,
  isStatement: boolean,
): Promise<T> =>
  new Promise((resolve, reject) => {
    // Another request may commit it.
    const inOwnSpan = db.tracing?.active()?.inContext(work) ?? work
    db.writes.push({ work: inOwnSpan, isStatement, resolve, reject })
    if (db.writes.length === 1) setImmediate(gather, db, 0)
  })

/** Commits once a turn of the event loop brings no new write. Each write that joins saves a wait for the disk. */
const gather = (db: QueueingDatabase, before: number): void => {
  const { length } = db.writes
  if (length > before && length < maxBatch) setImmediate(gather, db, length)
  else void commit(db)
}

/** Waits until no write is left to commit. */
export const writesSettled = async ({ writes = [] }: Pick<Database, 'writes'>): Promise<void> => {
  while (writes.length > 0) await new Promise((resolve) => setImmediate(resolve))
}

const commit = async (db: QueueingDatabase): Promise<void> => {
  let batch: PendingWrite[] = []
  try {
    await onConnection(db, async (connection) => {
      batch = db.writes.splice(0, maxBatch)
      if (db.writes.length > 0) setImmediate(commit, db)
      await commitOn(db, connection, batch)
    })
  } catch (error) {
    // Without a connection no write has left the queue yet.
    for (const { reject } of batch.length > 0 ? batch : db.writes.splice(0)) reject(error)
  }
}

const commitOn = async (db: Database, connection: unknown, batch: readonly PendingWrite[]): Promise<void> => {
  const [first] = batch
  if (first === undefined) return
  if (batch.length === 1) {
    const result = first.isStatement
      ? await first.work(joined(db, connection))
      : await inTransaction(db, connection, first.work)
    return first.resolve(result as never)
  }
  const answers = await inTransaction(db, connection, async (tx) => {
    const answers: (() => void)[] = []
    for (const write of batch) answers.push(await (write.isStatement ? alone : inSavepoint)(tx, write))
    return answers
  })
  for (const answer of answers) answer()
}

/** The database for one write, on a connection whose transaction is already open. */
const joined = (db: Database, connection: unknown): InTransaction => ({
  ...db,
  transaction: { connection, last: Promise.resolve(), isOver: false },
})

/** Runs one statement. @throws the driver's error if it has ended the transaction, as a full disk does */
const alone = async (tx: InTransaction, { work, resolve, reject }: PendingWrite): Promise<() => void> => {
  const { connection } = tx.transaction
  try {
    const result = await work(joined(tx, connection))
    return () => resolve(result as never)
  } catch (error) {
    if (!tx.driver.isInTransaction?.(connection)) throw error
    return () => reject(error)
  }
}

/** @throws the driver's error when a statement for the savepoint fails; then the whole batch is rolled back */
const inSavepoint = async (
  tx: InTransaction,
  { work, resolve, reject }: PendingWrite,
): Promise<() => void> => {
  const control = (sql: string): Promise<unknown> => executeInTransaction(tx, tx.transaction, sql, [])
  await control('SAVEPOINT latchkey')
  const own = joined(tx, tx.transaction.connection)
  let answer: () => void
  try {
    const result = await work(own)
    if (own.transaction.failure !== undefined) throw own.transaction.failure
    if (result instanceof RolledBack) await control('ROLLBACK TO latchkey')
    answer = () => resolve((result instanceof RolledBack ? result.result : result) as never)
  } catch (error) {
    await control('ROLLBACK TO latchkey')
    answer = () => reject(error)
  } finally {
    own.transaction.isOver = true
  }
  await control('RELEASE latchkey')
  return answer
}
