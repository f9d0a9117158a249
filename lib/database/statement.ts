import type { Knex } from 'knex'
import { OAuthError } from '../protocol/errors.ts'
import {
  execute,
  inPipelinedTransaction,
  inTransaction,
  onConnection,
  onSharedConnection,
} from './connection.ts'
import type { Driver, Result, Row, Value } from './driver.ts'
import { isRetryable, isUniqueViolation, retrying, temporarilyUnavailable } from './errors.ts'
import { commitTogether, type WriteQueue } from './write-queue.ts'

/** Where the kit's rows live. Inside a transaction it is the same value with the connection pinned. */
export interface Database {
  /** A private handle on the pool: the host's name and row mappers do not apply to our tables. */
  readonly knex: Knex
  readonly driver: Driver
  readonly prefix: string
  readonly compiled: Map<object, Compiled>
  /** Writes that are about to be committed together, on SQLite; absent where the server sees to that. */
  readonly writes?: WriteQueue
  readonly connection?: unknown
}

const hasQueue = (db: Database): db is Database & { readonly writes: WriteQueue } => db.writes !== undefined

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

/**
 * A fault outside a transaction is final here; inside one, the transaction decides whether to try again.
 *
 * @throws OAuthError `temporarily_unavailable` with the driver's error as its cause
 */
const run = async <T>(db: Database, work: (connection: unknown) => Promise<T>): Promise<T> =>
  db.connection === undefined ? settled(() => onSharedConnection(db, work)) : work(db.connection)

const settled = async <T>(work: () => Promise<T>, mayRetry = isRetryable): Promise<T> => {
  try {
    return await retrying(work, mayRetry)
  } catch (error) {
    throw error instanceof OAuthError ? error : temporarilyUnavailable(error)
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
): ((db: Database, values: Values) => Promise<number>) => {
  const execute = prepared(build, (result) => result.count)
  return (db, values) =>
    db.connection === undefined && hasQueue(db)
      ? settled(() => commitTogether(db, (tx) => execute(tx, values), true))
      : execute(db, values)
}

/** The two parts of a transaction. */
export interface TransactionWork<T> {
  readonly decide: (tx: Database) => Promise<T>
  readonly writes: (decision: T) => readonly ((tx: Database) => Promise<unknown>)[]
}

const oneAfterTheOther =
  <T>({ decide, writes }: TransactionWork<T>) =>
  async (tx: Database): Promise<T> => {
    const decision = await decide(tx)
    for (const write of writes(decision)) await write(tx)
    return decision
  }

/**
 * All or nothing. Work that loses against other work is rolled back and run again whole, so it must hold
 * nothing but statements; host code and signatures come before it.
 *
 * @param decide what must be known first, and what hangs on it
 * @param writes what then follows, in order, whose results nobody needs: sent together where the database can
 * @returns the decision
 * @throws whatever the work throws, after the roll-back; OAuthError `temporarily_unavailable` for a fault
 * @example
 * const isFirst = await transaction(db, (tx) => consume(tx, code), (isFirst) => (isFirst ? [(tx) => insert(tx, token)] : []))
 */
export const transaction = async <T>(
  db: Database,
  decide: TransactionWork<T>['decide'],
  writes: TransactionWork<T>['writes'] = () => [],
): Promise<T> => {
  const work = oneAfterTheOther({ decide, writes })
  if (db.connection !== undefined) return work(db)
  if (hasQueue(db)) return settled(() => commitTogether(db, work, false), lost)
  const onOwnConnection = (connection: unknown): Promise<T> => {
    const tx = { ...db, connection }
    return db.driver.supportsPipelining(connection)
      ? inPipelinedTransaction(tx, { decide, writes })
      : inTransaction(tx, work)
  }
  return settled(() => onConnection(db, onOwnConnection), lost)
}

/** Two transactions that both found no row and both insert it: the second finds the row when it runs again. */
const lost = (error: unknown): boolean => isRetryable(error) || isUniqueViolation(error)
