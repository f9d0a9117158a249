import { isMissingColumn, isMissingTable } from '../database/errors.ts'
import { mapResponse } from '../database/internals.ts'
import { query } from '../database/statement.ts'
import type { Database } from '../database/types.ts'
import type { UserMapping, UserRow } from '../options/options.ts'
import { OAuthError } from '../protocol/errors.ts'
import { isLookup } from './subject.ts'

/** Queries on the host's user table, with the host's Knex instance: rows and names are as the host's code sees them. */
export interface HostTable {
  /** @throws Error that names the option, if the table or a column of it does not exist */
  assertExists(): Promise<void>
  byId(id: string): Promise<UserRow | undefined>
  /** Rows with exactly this username, or else those that differ only in case. Always one query. */
  byUsername(username: string): Promise<readonly UserRow[]>
  /** Password hashes of a hundred users, from which the kinds of hashes in this table are learnt. */
  somePasswords(): Promise<readonly string[]>
}

// PostgreSQL compares by the type of the column and reports an error for a string that is not a number or UUID, or out of
// range. No user has such an id. Casting the column would avoid the error, but also the index.
const invalidValueCodes = new Set<unknown>(['22P02', '22003'])

const codeOf = (error: unknown): unknown =>
  typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined

const read = async <T>(rows: Promise<readonly T[]>): Promise<readonly T[]> => {
  try {
    return await rows
  } catch (error) {
    if (error instanceof OAuthError && invalidValueCodes.has(codeOf(error.cause))) return []
    throw error
  }
}

/**
 * A mapped column of a row.
 *
 * @throws TypeError if the row has no such column: the name is wrong, or the host's Knex mappers change it
 */
export const columnOf = (mapping: UserMapping, row: UserRow, name: keyof UserMapping['columns']): unknown => {
  const column = mapping.columns[name]
  if (column in row) return row[column]
  throw new TypeError(
    `latchkey: users.columns.${name} is ${column}, which rows of ${mapping.table} do not have`,
  )
}

/** The string in a column. Fixed-length columns are padded with spaces; binary columns return bytes. */
export const textOf = (value: unknown): string =>
  value === null || value === undefined ? '' : String(value).trimEnd()

/** Reads no row: the database only checks the names. */
const assertReadable = async (
  table: string,
  columns: readonly string[],
  database: Database,
): Promise<void> => {
  await query<Record<never, never>>((from) => from(table).select(columns).limit(0, { skipBinding: true }))(
    database,
    {},
  )
}

/** What is wrong with the mapping, given the error of a statement that names all of it. */
const mappingError = async (
  { table, columns }: UserMapping,
  database: Database,
  error: unknown,
): Promise<unknown> => {
  const cause = error instanceof OAuthError ? error.cause : error
  if (isMissingTable(cause)) {
    return new Error(`latchkey: users.table is ${table}, a table that the database does not have`, { cause })
  }
  for (const [name, column] of isMissingColumn(cause) ? Object.entries(columns) : []) {
    const exists = await assertReadable(table, [column], database).then(
      () => true,
      () => false,
    )
    const message = `latchkey: users.columns.${name} is ${column}, a column that ${table} does not have`
    if (!exists) return new Error(message, { cause })
  }
  return error
}

/** @param database the host's tables */
export const hostTable = (mapping: UserMapping, database: Database): HostTable => {
  const { table, columns } = mapping
  // With a bound limit SQLite would plan the statement again each time.
  const firstById = query<{ id: string }>((from, v) =>
    from(table)
      .where({ [columns.id]: v.id })
      .limit(1, { skipBinding: true }),
  )
  const namedAs = query<{ one: string; other: string }>((from, v) =>
    from(table).whereIn(columns.username, [v.one, v.other]),
  )
  const withPassword = query<Record<never, never>>((from) =>
    from(table).whereNotNull(columns.password).select(columns.password).limit(100, { skipBinding: true }),
  )
  /** Applies the host's `postProcessResponse`, to one row or an array of rows, as Knex does. */
  const postProcess = <T>(response: T): T => mapResponse(database.knex, response)
  const usernameOf = (row: UserRow): unknown => columnOf(mapping, row, 'username')
  return {
    async assertExists() {
      try {
        await assertReadable(table, Object.values(columns), database)
      } catch (error) {
        throw await mappingError(mapping, database, error)
      }
    },

    async byId(id) {
      const [row] = await read(firstById(database, { id }))
      return row && postProcess(row)
    },

    async byUsername(username) {
      if (!isLookup(username)) return []
      const lowered = username.toLowerCase()
      const rows = postProcess(await read(namedAs(database, { one: username, other: lowered })))
      // Some databases also ignore accents or padding, which would give one account many names to guess under.
      const same = rows.filter((row) => isName(usernameOf(row), lowered))
      const exact = same.filter((row) => String(usernameOf(row)) === username)
      return exact.length > 0 ? exact : same
    },

    async somePasswords() {
      const rows = postProcess(await read(withPassword(database, {})))
      return rows.map((row) => textOf(row[columns.password]))
    },
  }
}

const isName = (value: unknown, lowered: string): boolean =>
  [String(value), textOf(value)].some((name) => name.toLowerCase() === lowered)
