import { execute, executeAlone, inTime, onConnection, withRetry } from './connection.ts'
import { dispose, isDisposed } from './driver.ts'
import { hasRolledBack, isRefusal, isRetryable, isUniqueViolation } from './errors.ts'
import type {
  Database,
  Driver,
  GatheredStatement,
  PendingWrite,
  Result,
  Statement,
  Transaction,
  Value,
} from './types.ts'

/** If two transactions insert the same row, the loser retries and finds it. */
const lostRace = (error: unknown): boolean => isRetryable(error) || isUniqueViolation(error)

/** What the work of a transaction returns to roll it back. */
class RolledBack<T> {
  /** What the transaction returns. */
  readonly result: T
  constructor(result: T) {
    this.result = result
  }
}

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
 * await transaction(db, (tx) => Promise.all([insert(tx, user), insert(tx, event)]))
 */
export const transaction = async <T>(
  db: Database,
  work: (tx: Database) => Promise<T | RolledBack<T>>,
): Promise<T> => {
  if (db.transaction !== undefined || db.isReadOnly) {
    const result = await work(db)
    if (!(result instanceof RolledBack)) return result
    if (db.isReadOnly) return result.result
    throw new Error('latchkey: only a whole transaction can be rolled back')
  }
  return withRetry(
    () =>
      hasQueue(db)
        ? commitTogether(db, work, false)
        : onConnection(db, (connection) => inTransaction(db, connection, work)),
    lostRace,
  )
}

/**
 * @throws the error of a statement that failed, because the work reports whichever of several errors comes first; Error if
 *   the transaction has ended otherwise
 */
const assertOpen = ({ isOver, failure }: Transaction): void => {
  if (failure !== undefined) throw failure
  if (isOver) throw new Error('latchkey: a statement was run after the end of its transaction')
}

const fail = (transaction: Transaction, error: unknown): void => {
  transaction.isOver = true
  transaction.failure ??= error
}

/** Notes the answer to what was sent last. A statement that fails ends the transaction. */
const note = <T>(transaction: Transaction, answer: Promise<T>): Promise<T> => {
  transaction.begun ??= answer
  transaction.last = answer.then(
    () => undefined,
    (error: unknown) => fail(transaction, error),
  )
  return answer
}

/** Sends all statements of a transaction with one message; undefined if the driver cannot, or not yet. */
const sendWhole = (
  db: Database,
  transaction: Transaction,
  statements: readonly Statement[],
): Promise<readonly Result[]> | undefined => {
  const { connection } = transaction
  const answers = db.driver.executeTogether?.(connection, statements)
  if (answers) transaction.isOver = true
  return answers && inTime(db, connection, answers)
}

/** Sends statements with one message, after BEGIN unless that was sent before; undefined if the driver cannot. */
const sendTogether = (
  db: Database,
  transaction: Transaction,
  statements: readonly Statement[],
): Promise<readonly Result[]> | undefined => {
  const { connection, begun } = transaction
  const { driver } = db
  const answers = driver.executeTogether?.(connection, statements, begun ? undefined : driver.begin)
  return answers && note(transaction, inTime(db, connection, answers))
}

/** Sends one statement, after those before it have succeeded. */
const sendAlone = (db: Database, transaction: Transaction, statement: Statement): Promise<Result> => {
  const { driver } = db
  const { begun, last, connection } = transaction
  if (begun === undefined) {
    const answers = sendTogether(db, transaction, [statement])
    if (answers) return answers.then(([answer]) => answer as Result)
    transaction.begun = execute(db, connection, driver.begin, [])
    return sendAlone(db, transaction, statement)
  }
  const answer = Promise.all([begun, last]).then(() => {
    assertOpen(transaction)
    return execute(db, connection, statement.sql, statement.bindings)
  })
  return note(transaction, answer)
}

/** Runs a statement in a database of this process: when the call returns, it has run. */
const runNow = async (
  transaction: Transaction,
  executeNow: NonNullable<Driver['executeNow']>,
  begin: string,
  { sql, bindings }: Statement,
): Promise<Result> => {
  const { connection } = transaction
  try {
    if (transaction.begun === undefined) executeNow(connection, begin, [])
    transaction.begun ??= Promise.resolve()
    return executeNow(connection, sql, bindings)
  } catch (error) {
    fail(transaction, error)
    throw error
  }
}

/** Sends the statements of a transaction that started in one turn of the event loop. */
const sendGathered = async (db: Database, transaction: Transaction): Promise<void> => {
  const statements = transaction.gathered.splice(0)
  try {
    await Promise.all([transaction.begun, transaction.last])
    assertOpen(transaction)
    const send = transaction.isOneMessage && transaction.begun === undefined ? sendWhole : sendTogether
    const answers = send(db, transaction, statements)
    if (answers === undefined) {
      for (const statement of statements)
        sendAlone(db, transaction, statement).then(statement.resolve, statement.reject)
      return
    }
    for (const [place, answer] of (await answers).entries()) statements[place]?.resolve(answer)
  } catch (error) {
    for (const { reject } of statements) reject(error)
  }
}

/**
 * Runs a statement of a transaction. BEGIN goes out with the first one. Statements that are run at the same time are
 * sent together if the database supports it, and else one after the other. A statement that fails ends the transaction:
 * MariaDB and SQLite may have rolled it back, and would commit a further statement by itself.
 *
 * @throws the driver's error, also of another statement that has failed; Error when the transaction is over
 */
export const executeInTransaction = (
  db: Database,
  transaction: Transaction,
  sql: string,
  bindings: readonly Value[],
): Promise<Result> => {
  assertOpen(transaction)
  const { executeNow, executeTogether } = db.driver
  if (executeNow) return runNow(transaction, executeNow, db.driver.begin, { sql, bindings })
  if (executeTogether === undefined) return sendAlone(db, transaction, { sql, bindings })
  const { gathered } = transaction
  return new Promise((resolve, reject) => {
    const text = db.isGuarded && db.driver.guard ? db.driver.guard.guarded(sql) : sql
    gathered.push({ sql: text, bindings, resolve, reject })
    if (gathered.length === 1) process.nextTick(sendGathered, db, transaction)
  })
}

/** Does all of the work on this connection, or nothing of it. Work without a statement sends nothing. */
const inTransaction = async <T>(
  db: Database,
  connection: unknown,
  work: (tx: Database, transaction: Transaction) => Promise<T | RolledBack<T>>,
  isOneMessage = false,
): Promise<T> => {
  const transaction: Transaction = { connection, isOneMessage, isOver: false, gathered: [] }
  try {
    const result = await work({ ...db, transaction }, transaction)
    transaction.isOver = true
    if (result instanceof RolledBack) {
      await rollBack(db, transaction)
      return result.result
    }
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

/** One statement that has to touch a row, by the obstacle that it is if it touches none. */
export type Condition<Obstacle> = readonly [Obstacle, (tx: Database) => Promise<boolean>]

/**
 * Writes something if all conditions hold, and otherwise nothing. PostgreSQL gets all of it with one message: it needs
 * neither BEGIN nor COMMIT for that, because it undoes the whole message if a statement fails. A
 * transaction then finds out which condition did not hold.
 *
 * @param write starts all of its statements at the same time
 * @returns the first obstacle; undefined if everything is written
 * @throws OAuthError `temporarily_unavailable` with the error of a statement as its cause
 * @example
 * const obstacle = await writeIf(db, [['used', (tx) => consume(tx, code)]], (tx) => insert(tx, token))
 */
export const writeIf = async <Obstacle extends string>(
  db: Database,
  conditions: readonly Condition<Obstacle>[],
  write: (tx: Database) => Promise<unknown>,
): Promise<Obstacle | undefined> => {
  const isWritten =
    db.driver.guard !== undefined &&
    db.transaction === undefined &&
    !db.isReadOnly &&
    (await withRetry(() => writeInOneMessage(db, conditions, write), lostRace))
  if (isWritten) return undefined
  return transaction<Obstacle | undefined>(db, async (tx) => {
    for (const [obstacle, holds] of conditions) if (!(await holds(tx))) return new RolledBack(obstacle)
    await write(tx)
    return undefined
  })
}

/** @returns whether all conditions held; otherwise nothing is written */
const writeInOneMessage = async (
  db: Database,
  conditions: readonly Condition<string>[],
  write: (tx: Database) => Promise<unknown>,
): Promise<boolean> => {
  const work = (tx: Database): Promise<unknown> => {
    const guarded = { ...tx, isGuarded: true }
    return Promise.all([...conditions.map(([, holds]) => holds(guarded)), write(tx)])
  }
  try {
    await onConnection(db, (connection) => inTransaction(db, connection, work, true))
    return true
  } catch (error) {
    if (db.driver.guard?.isUnmet(error)) return false
    throw error
  }
}

/**
 * Runs a statement outside a transaction. PostgreSQL gets all such statements of one turn of the event loop together, for
 * example a login and its session: one message, and one wait for the disk. If one of them fails, each runs alone.
 */
export const executeGathered = (db: Database, sql: string, bindings: readonly Value[]): Promise<Result> => {
  const { driver, gathered } = db
  if (driver.executeTogether === undefined) return executeAlone(db, sql, bindings)
  return new Promise((resolve, reject) => {
    gathered.push({ sql, bindings, resolve, reject })
    if (gathered.length === 1) process.nextTick(sendTurn, db)
  })
}

/** Sends the statements of one turn of the event loop. */
const sendTurn = (db: Database): void => {
  const statements = db.gathered.splice(0)
  const [only, another] = statements
  if (only && !another) executeAlone(db, only.sql, only.bindings).then(only.resolve, only.reject)
  else void sendSeveral(db, statements)
}

const sendSeveral = async (db: Database, statements: readonly GatheredStatement[]): Promise<void> => {
  try {
    const answers = await executeTogether(db, statements)
    for (const [place, { sql, bindings, resolve, reject }] of statements.entries()) {
      const answer = answers?.[place]
      if (answer) resolve(answer)
      // One after the other: the connection that this one gives back has then prepared all of them.
      else await executeAlone(db, sql, bindings).then(resolve, reject)
    }
  } catch (error) {
    for (const { reject } of statements) reject(error)
  }
}

/**
 * @returns undefined if nothing was done, and each has to run alone
 * @throws the driver's error when it is unknown what was done
 */
const executeTogether = async (
  db: Database,
  statements: readonly Statement[],
): Promise<readonly Result[] | undefined> => {
  try {
    return await onConnection(db, async (connection) => {
      const answers = db.driver.executeTogether?.(connection, statements)
      return answers && inTime(db, connection, answers)
    })
  } catch (error) {
    if (isRefusal(error)) return undefined
    throw error
  }
}

/** A database that commits writes together. */
type QueueingDatabase = Database & { readonly writes: PendingWrite[] }

export const hasQueue = (db: Database): db is QueueingDatabase => db.writes !== undefined

/** The most writes that share a transaction; the others wait for the next. */
const maxBatch = 32

/**
 * Commits writes that come at about the same time in one transaction, because on SQLite the slow part is waiting for
 * the disk. A write is answered after the commit. Each one runs in its own savepoint: if it fails, only that one is
 * rolled back.
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
    db.writes.push({ work, isStatement, resolve, reject })
    if (db.writes.length === 1) setImmediate(gather, db, 0)
  })

/** Commits when a turn of the event loop has brought no further write: each one that joins saves a wait for the disk. */
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
  const answers = await inTransaction(db, connection, async (tx, transaction) => {
    const answers: (() => void)[] = []
    for (const write of batch) answers.push(await inSavepoint(tx, transaction, write))
    return answers
  })
  for (const answer of answers) answer()
}

/** The database for one write, on a connection where nothing has to be begun. */
const joined = (db: Database, connection: unknown): Database & { readonly transaction: Transaction } => ({
  ...db,
  transaction: { connection, begun: Promise.resolve(), isOver: false, gathered: [] },
})

/** @throws the driver's error when a statement for the savepoint fails; then the whole batch is rolled back */
const inSavepoint = async (
  tx: Database,
  transaction: Transaction,
  { work, resolve, reject }: PendingWrite,
): Promise<() => void> => {
  const control = (sql: string): Promise<unknown> => executeInTransaction(tx, transaction, sql, [])
  await control('SAVEPOINT latchkey')
  const own = joined(tx, transaction.connection)
  let answer: () => void
  try {
    const result = await work(own)
    own.transaction.isOver = true
    if (result instanceof RolledBack) await control('ROLLBACK TO latchkey')
    answer = () => resolve((result instanceof RolledBack ? result.result : result) as never)
  } catch (error) {
    own.transaction.isOver = true
    await control('ROLLBACK TO latchkey')
    answer = () => reject(error)
  }
  await control('RELEASE latchkey')
  return answer
}
