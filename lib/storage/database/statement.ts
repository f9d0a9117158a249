import type { Knex } from 'knex'
import { HostError } from '../../protocol/problem.ts'
import { execute, onConnection, withRetry } from './connection.ts'
import { commitTogether, hasQueue } from './group-commit.ts'
import { executeInTransaction } from './in-transaction.ts'
import type { Compiled, Database, Result, Row, Value } from './types.ts'

/** Marks the place of a value in a statement that is being built. */
class Placeholder {
  readonly name: string
  /** Whose value it is, if the statement has several steps. */
  readonly step: number
  constructor(name: string, step: number) {
    this.name = name
    this.step = step
  }
}

/** Knex accepts any object as a value to bind; its types ask for one of its own. */
type Placeholders<Values> = { readonly [Name in keyof Values]: Knex.Value }

type Table = (name: string) => Knex.QueryBuilder
type Built = Knex.QueryBuilder | Knex.Raw
type Build<Values> = (
  table: Table,
  values: Placeholders<Values>,
  name: (table: string) => string,
  raw: Knex.RawBuilder,
) => Built

/**
 * SQLite plans a join again for each bound value that its planner looks at, which costs several times the read itself.
 * It does not look at an expression, and `+?` is the value itself (https://sqlite.org/queryplanner-ng.html#qpsg).
 */
const placeholders = <Values>({ driver, knex }: Database, step: number): Placeholders<Values> =>
  new Proxy({} as Placeholders<Values>, {
    get: (_target, name) => {
      const placeholder = new Placeholder(String(name), step)
      return driver.dialect === 'sqlite'
        ? knex.raw('+?', [placeholder as unknown as Knex.Value])
        : placeholder
    },
  })

const built = <Values>(db: Database, build: Build<Values>, table: Table, step = 0): Built => {
  const raw: Knex.RawBuilder = db.knex.raw.bind(db.knex)
  return build(table, placeholders<Values>(db, step), (name) => tableName(db, name), raw)
}

/** The tables; after a step of the same statement those of one that only writes if that step did. */
const tablesOf =
  (db: Database, after?: string): Table =>
  (given) => {
    const { knex } = db
    const table = tableName(db, given)
    if (after === undefined) return knex(table)
    const isReached = knex.raw('exists (select 1 from ??)', [after])
    const insert = (row: Readonly<Record<string, Knex.Value>>): Knex.QueryBuilder => {
      const columns = Object.keys(row)
      const into = knex.raw(`?? (${columns.map(() => '??').join(', ')})`, [table, ...columns])
      const values = columns.map((column) => knex.raw('?', [row[column] as Knex.Value]))
      return knex(into).insert(knex.select(values).where(isReached))
    }
    return Object.assign(knex(table).where(isReached), { insert })
  }

const compiledOnce = (db: Database, key: object | string, statement: () => Built): Compiled => {
  const known = db.compiled.get(key)
  if (known) return known
  const compiled = { ...statement().toSQL().toNative(), id: db.compiled.size }
  db.compiled.set(key, compiled)
  return compiled
}

/** A statement, and the key under which it is built once for each database. */
interface Statement<Values> {
  readonly key: object | string
  readonly build: Build<Values>
}

const compile = <Values>(db: Database, { key, build }: Statement<Values>): Compiled =>
  compiledOnce(db, key, () => built(db, build, tablesOf(db)))

const bind = (compiled: Compiled, values: readonly Readonly<Record<string, Value>>[]): Value[] =>
  compiled.bindings.map((binding) =>
    binding instanceof Placeholder ? (values[binding.step]?.[binding.name] ?? null) : (binding as Value),
  )

/** The full name of a table; `… as alias` stays as it is. */
export const tableName = (db: Pick<Database, 'prefix'>, name: string): string => `${db.prefix}${name}`

/**
 * Errors outside a transaction are final here; inside one, the transaction decides whether to try again.
 *
 * @throws OAuthError `temporarily_unavailable` with the driver's error as its cause
 */
const run = (db: Database, sql: string, bindings: readonly Value[]): Promise<Result> => {
  if (db.transaction !== undefined) return executeInTransaction(db, db.transaction, sql, bindings)
  return withRetry(() => onConnection(db, (connection) => execute(db, connection, sql, bindings)))
}

const prepared =
  <Values extends Readonly<Record<keyof Values, Value>>, T>(
    statement: (values: Values) => Statement<Values>,
    pick: (result: Result) => T,
  ) =>
  async (db: Database, values: Values): Promise<T> => {
    const compiled = compile(db, statement(values))
    return pick(await run(db, compiled.sql, bind(compiled, [values])))
  }

/** One statement for all values. */
const fixed = <Values>(build: Build<Values>): (() => Statement<Values>) => {
  const statement = { key: build, build }
  return () => statement
}

/** On SQLite a statement that writes is committed together with others. */
const writing =
  <Values, T>(write: (db: Database, values: Values) => Promise<T>) =>
  (db: Database, values: Values): Promise<T> =>
    db.transaction === undefined && hasQueue(db)
      ? withRetry(() => commitTogether(db, (tx) => write(tx, values), true))
      : write(db, values)

/**
 * A statement that reads. Knex builds it once per database; the database prepares it once per connection.
 *
 * @param build gets `table` (by its name without the prefix), the values, `name` (a table's full name) and `raw`
 * @returns a function from values to rows
 * @example
 * const byId = query<{ clientId: string }>((table, v) => table('clients').where({ client_id: v.clientId }))
 * const rows = await byId(db, { clientId: 'journal' })
 */
export const query = <Values extends Readonly<Record<keyof Values, Value>>>(
  build: Build<Values>,
): ((db: Database, values: Values) => Promise<readonly Row[]>) => prepared(fixed(build), ({ rows }) => rows)

/** A statement that writes, with its values, as a part of something larger. See `writeIf`. */
export interface Write {
  /** Runs it alone. @returns the number of rows it touched */
  run(db: Database): Promise<number>
  readonly statement: Statement<never>
  readonly values: Readonly<Record<string, Value>>
}

/** A statement that writes: run it with values, or keep it as a {@link Write}. */
export interface WriteStatement<Values> {
  (db: Database, values: Values): Promise<number>
  with(values: Values): Write
}

const writeStatement = <Values extends Readonly<Record<keyof Values, Value>>>(
  statement: (values: Values) => Statement<Values>,
): WriteStatement<Values> => {
  const write = writing(prepared(statement, ({ count }) => count))
  return Object.assign(write, {
    with: (values: Values): Write => ({
      run: (db) => write(db, values),
      statement: statement(values),
      values,
    }),
  })
}

/** A statement that inserts one row. Its columns are the members of the values. */
export const insertInto = <Column extends string = string>(
  name: string,
): WriteStatement<Readonly<Record<Column, Value>>> =>
  writeStatement((values) => {
    const columns = Object.keys(values)
    return {
      key: `${name}: ${columns}`,
      build: (table, places: Readonly<Record<string, Knex.Value>>) =>
        table(name).insert(Object.fromEntries(columns.map((column) => [column, places[column]]))),
    }
  })

/**
 * A statement that writes.
 *
 * @returns a function from values to the number of rows it touched; with a condition, that number decides a race
 */
export const command = <Values extends Readonly<Record<keyof Values, Value>>>(
  build: Build<Values>,
): WriteStatement<Values> => writeStatement(fixed(build))

/**
 * Writes as the steps of one statement of PostgreSQL. Each depends on the last update before it.
 *
 * @param updates the first writes. The statement returns how many rows the first touched as `step_0`, and so on
 * @param writes the others: updates, deletions and insertions of one row
 */
export const chained = (
  db: Database,
  updates: readonly Write[],
  writes: readonly Write[],
): { readonly sql: string; readonly bindings: readonly Value[] } => {
  const { knex } = db
  const steps = [...updates, ...writes]
  const key = [updates.length, ...steps.map(({ statement }) => compile(db, statement).id)].join()
  const compiled = compiledOnce(db, key, () => {
    const counts = updates.map((_, place) =>
      knex.raw(`(select count(*) from step_${place}) as step_${place}`),
    )
    return steps.reduce(
      (whole, { statement: { build } }, place) => {
        const before = Math.min(place, updates.length) - 1
        const tables = tablesOf(db, before < 0 ? undefined : `step_${before}`)
        const step = built(db, build, tables, place) as Knex.QueryBuilder
        return whole.with(`step_${place}`, step.returning(knex.raw('1')))
      },
      knex.select(counts.length > 0 ? counts : knex.raw('1')),
    )
  })
  const values = steps.map((step) => step.values)
  return { sql: compiled.sql, bindings: bind(compiled, values) }
}

/** A statement that writes and returns rows (`RETURNING`). */
export const commandReturning = <Values extends Readonly<Record<keyof Values, Value>>>(
  build: Build<Values>,
): ((db: Database, values: Values) => Promise<readonly Row[]>) =>
  writing(prepared(fixed(build), ({ rows }) => rows))

/** @throws Error when the SELECT did not name the column */
const columnOf = (row: Row, column: string): unknown => {
  const value = row[column]
  if (value === undefined) throw new HostError(`the column ${column} is missing from the row`)
  return value
}

/** @throws Error when the SELECT did not name the column, or the value is null */
const notNull = (row: Row, column: string): unknown => {
  const value = columnOf(row, column)
  if (value === null) throw new HostError(`the column ${column} is null`)
  return value
}

/** A number. PostgreSQL returns bigint as a string, the other databases as a number. */
export const numberOf = (row: Row, column: string): number => Number(notNull(row, column))

/** A number, or null. */
export const numberOrNull = (row: Row, column: string): number | null =>
  columnOf(row, column) === null ? null : numberOf(row, column)

/** A string. */
export const textOf = (row: Row, column: string): string => String(notNull(row, column))

/** A string, or null. */
export const textOrNull = (row: Row, column: string): string | null =>
  columnOf(row, column) === null ? null : textOf(row, column)

/** A value that was stored as JSON. */
export const json = <T>(row: Row, column: string): T => JSON.parse(textOf(row, column))

export const jsonOrUndefined = <T>(row: Row, column: string): T | undefined =>
  columnOf(row, column) === null ? undefined : json<T>(row, column)

/** Scopes, which are stored as one string with spaces between them. */
export const scopesOf = (row: Row, column = 'scopes'): string[] =>
  textOf(row, column).split(' ').filter(Boolean)

/** A flag, which is stored as 0 or 1. */
export const flagOf = (row: Row, column: string): boolean => numberOf(row, column) === 1
