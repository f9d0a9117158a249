import type { Knex } from 'knex'
import { execute, onConnection, withRetry } from './connection.ts'
import { commitTogether, hasQueue } from './group-commit.ts'
import { executeInTransaction } from './in-transaction.ts'
import type { Compiled, Database, Result, Row, Value } from './types.ts'

/** Marks the place of a value in a statement that is being built. */
class Placeholder {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
}

/** Knex accepts any object as a value to bind; its types ask for one of its own. */
type Placeholders<Values> = { readonly [Name in keyof Values]: Knex.Value }

type Build<Values> = (
  table: (name: string) => Knex.QueryBuilder,
  values: Placeholders<Values>,
  name: (table: string) => string,
  raw: Knex.RawBuilder,
) => Knex.QueryBuilder | Knex.Raw

/**
 * SQLite plans a join again for each bound value that its planner looks at, which costs several times the read itself.
 * It does not look at an expression, and `+?` is the value itself (https://sqlite.org/queryplanner-ng.html#qpsg).
 */
const placeholders = <Values>({ driver, knex }: Database): Placeholders<Values> =>
  new Proxy({} as Placeholders<Values>, {
    get: (_target, name) => {
      const placeholder = new Placeholder(String(name))
      return driver.dialect === 'sqlite'
        ? knex.raw('+?', [placeholder as unknown as Knex.Value])
        : placeholder
    },
  })

const compile = <Values>(db: Database, build: Build<Values>): Compiled => {
  const known = db.compiled.get(build)
  if (known) return known
  const name = (table: string): string => tableName(db, table)
  const table = (given: string): Knex.QueryBuilder => db.knex(name(given))
  const raw: Knex.RawBuilder = db.knex.raw.bind(db.knex)
  const built = build(table, placeholders<Values>(db), name, raw).toSQL()
  const compiled = { ...built.toNative(), part: built.sql }
  db.compiled.set(build, compiled)
  return compiled
}

const bind = (compiled: Compiled, values: Readonly<Record<string, Value>>): Value[] =>
  compiled.bindings.map((binding) =>
    binding instanceof Placeholder ? (values[binding.name] ?? null) : (binding as Value),
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
    build: Build<Values>,
    pick: (result: Result) => T,
  ) =>
  async (db: Database, values: Values): Promise<T> => {
    const compiled = compile(db, build)
    return pick(await run(db, compiled.sql, bind(compiled, values)))
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
): ((db: Database, values: Values) => Promise<readonly Row[]>) => prepared(build, ({ rows }) => rows)

/** A statement that writes, with its values, as a part of something larger. See `writeIf`. */
export interface Write {
  /** Runs it alone. @returns the number of rows it touched */
  run(db: Database): Promise<number>
  /** Its SQL with `?` for each value, and the values. */
  part(db: Database): { readonly sql: string; readonly bindings: readonly Value[] }
}

/** A statement that writes: run it with values, or keep it as a {@link Write}. */
export interface WriteStatement<Values> {
  (db: Database, values: Values): Promise<number>
  with(values: Values): Write
}

/**
 * A statement that writes.
 *
 * @returns a function from values to the number of rows it touched; with a condition, that number decides a race
 */
export const command = <Values extends Readonly<Record<keyof Values, Value>>>(
  build: Build<Values>,
): WriteStatement<Values> => {
  const write = writing(prepared(build, ({ count }) => count))
  return Object.assign(write, {
    with: (values: Values): Write => ({
      run: (db) => write(db, values),
      part: (db) => {
        const compiled = compile(db, build)
        return { sql: compiled.part, bindings: bind(compiled, values) }
      },
    }),
  })
}

/** A statement that writes and returns rows (`RETURNING`). */
export const commandReturning = <Values extends Readonly<Record<keyof Values, Value>>>(
  build: Build<Values>,
): ((db: Database, values: Values) => Promise<readonly Row[]>) => writing(prepared(build, ({ rows }) => rows))

/** @throws Error when the SELECT did not name the column */
const columnOf = (row: Row, column: string): unknown => {
  const value = row[column]
  if (value === undefined) throw new Error(`latchkey: the column ${column} is missing from the row`)
  return value
}

/** @throws Error when the SELECT did not name the column, or the value is null */
const notNull = (row: Row, column: string): unknown => {
  const value = columnOf(row, column)
  if (value === null) throw new Error(`latchkey: the column ${column} is null`)
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
