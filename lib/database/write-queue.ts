import { execute, inTransaction, onConnection } from './connection.ts'
import type { Database } from './statement.ts'

/** A write that waits for the next transaction. */
export interface PendingWrite {
  readonly work: (tx: Database) => Promise<unknown>
  /** One statement, which is a transaction by itself when nothing else waits. */
  readonly isStatement: boolean
  resolve(result: never): void
  reject(error: unknown): void
}

/** Writes that wait, in order of lookup. */
export type WriteQueue = PendingWrite[]

/** So many share one transaction; the others wait for the next. */
const maxBatch = 32

/**
 * Commits writes that come at about the same time together, so that they share the one thing that takes long on
 * SQLite: the wait until the disk has it. Nobody is answered before that. Each write stands in a savepoint of its own:
 * one that fails takes back itself and nothing else.
 *
 * @throws whatever the work throws; the driver's error when the transaction failed as a whole, for each of them
 */
export const commitTogether = <T>(
  db: Database & { readonly writes: WriteQueue },
  work: (tx: Database) => Promise<T>,
  isStatement: boolean,
): Promise<T> =>
  new Promise((resolve, reject) => {
    db.writes.push({ work, isStatement, resolve, reject })
    if (db.writes.length === 1) setImmediate(gather, db, 0)
  })

/** Commits as soon as a turn of the event loop has brought no further write: who is still coming saves a wait for the disk. */
const gather = (db: Database & { readonly writes: WriteQueue }, before: number): void => {
  const { length } = db.writes
  if (length > before && length < maxBatch) setImmediate(gather, db, length)
  else void commit(db)
}

/** Waits until nothing is left to commit. */
export const writesSettled = async ({ writes = [] }: Pick<Database, 'writes'>): Promise<void> => {
  while (writes.length > 0) await new Promise((resolve) => setImmediate(resolve))
}

const commit = async (db: Database & { readonly writes: WriteQueue }): Promise<void> => {
  let together: WriteQueue = []
  try {
    await onConnection(db, async (connection) => {
      together = db.writes.splice(0, maxBatch)
      if (db.writes.length > 0) setImmediate(commit, db)
      await commitOn({ ...db, connection }, together)
    })
  } catch (error) {
    // Without a connection nobody has been taken from the queue yet.
    for (const { reject } of together.length > 0 ? together : db.writes.splice(0)) reject(error)
  }
}

const commitOn = async (tx: Database, together: WriteQueue): Promise<void> => {
  const [first] = together
  if (first === undefined) return
  if (together.length === 1) {
    const result = first.isStatement ? await first.work(tx) : await inTransaction(tx, first.work)
    return first.resolve(result as never)
  }
  const answers = await inTransaction(tx, async () => {
    const answers: (() => void)[] = []
    for (const write of together) answers.push(await inSavepoint(tx, write))
    return answers
  })
  for (const answer of answers) answer()
}

/** @throws the driver's error when SQLite has given up the whole transaction: then the savepoint is gone, too */
const inSavepoint = async (tx: Database, { work, resolve, reject }: PendingWrite): Promise<() => void> => {
  await execute(tx, tx.connection, 'SAVEPOINT latchkey', [])
  try {
    const result = await work(tx)
    await execute(tx, tx.connection, 'RELEASE latchkey', [])
    return () => resolve(result as never)
  } catch (error) {
    await execute(tx, tx.connection, 'ROLLBACK TO latchkey', [])
    await execute(tx, tx.connection, 'RELEASE latchkey', [])
    return () => reject(error)
  }
}
