import type { Knex } from 'knex'
import { driverOf } from '../database/driver.ts'
import { type Database, query } from '../database/statement.ts'
import type { UserMapping, UserRow } from '../options/options.ts'
import { OAuthError } from '../protocol/errors.ts'
import { isLookup } from './subject.ts'

/** Reads of the host's user table, with the host's own Knex instance: rows and names are as its code sees them. */
export interface HostTable {
  byId(id: string): Promise<UserRow | undefined>
  /** Rows with exactly this login name, else those that have it in lower case. One query either way. */
  byUsername(username: string): Promise<readonly UserRow[]>
  /** The password hash of any user, to learn what hashes of this table cost. */
  anyPassword(): Promise<string | undefined>
}

// PostgreSQL compares by the type of the column and raises an error on text that is no number, no UUID, or too
// large a number. Such a text is nobody's id. A cast of the column would avoid the error, and the index too.
const noValueOfThatType = new Set<unknown>(['22P02', '22003'])

const codeOf = (error: unknown): unknown =>
  typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined

const read = async <T>(rows: Promise<readonly T[]>): Promise<readonly T[]> => {
  try {
    return await rows
  } catch (error) {
    if (error instanceof OAuthError && noValueOfThatType.has(codeOf(error.cause))) return []
    throw error
  }
}

/**
 * The host's pool with the host's own names for tables and columns. PostgreSQL does not prepare: there a prepared
 * `SELECT *` would fail as soon as the host adds a column.
 */
const hostDatabase = (knex: Knex): Database => ({
  knex,
  driver: driverOf(knex, { preparedStatements: knex.client.driverName !== 'pg' }),
  prefix: '',
  compiled: new Map(),
})

/**
 * A column of a row, as the mapping names it.
 *
 * @throws TypeError when the rows have no such column: the name is wrong, or not what the host's mappers make of it
 */
export const columnOf = (mapping: UserMapping, row: UserRow, name: keyof UserMapping['columns']): unknown => {
  const column = mapping.columns[name]
  if (column in row) return row[column]
  throw new TypeError(
    `latchkey: users.columns.${name} is ${column}, which rows of ${mapping.table} do not have`,
  )
}

/** Text of a column; fixed-length columns are padded with spaces, binary ones come as bytes. */
export const textOf = (value: unknown): string =>
  value === null || value === undefined ? '' : String(value).trimEnd()

export const hostTable = (mapping: UserMapping, knex: Knex): HostTable => {
  const { table, columns } = mapping
  const database = hostDatabase(knex)
  // A bound limit would have SQLite plan the statement anew each time.
  const firstById = query<{ id: string }>((from, v) =>
    from(table)
      .where({ [columns.id]: v.id })
      .limit(1, { skipBinding: true }),
  )
  const namedAs = query<{ one: string; other: string }>((from, v) =>
    from(table).whereIn(columns.username, [v.one, v.other]),
  )
  const withPassword = query<Record<never, never>>((from) =>
    from(table).whereNotNull(columns.password).first(columns.password),
  )
  /** As Knex does it: one row by itself, several as a list. */
  const seenByHost = <T>(response: T): T => knex.client.postProcessResponse(response, undefined)
  const usernameOf = (row: UserRow): unknown => columnOf(mapping, row, 'username')
  return {
    async byId(id) {
      const [row] = await read(firstById(database, { id }))
      return row && seenByHost(row)
    },

    async byUsername(username) {
      if (!isLookup(username)) return []
      const lowered = username.toLowerCase()
      const rows = seenByHost(await read(namedAs(database, { one: username, other: lowered })))
      // Databases that ignore accents or padding too would give one account any number of names to be guessed under.
      const same = rows.filter((row) => isName(usernameOf(row), lowered))
      const exact = same.filter((row) => String(usernameOf(row)) === username)
      return exact.length > 0 ? exact : same
    },

    async anyPassword() {
      const [row] = await read(withPassword(database, {}))
      return row && textOf(seenByHost(row)[columns.password])
    },
  }
}

const isName = (value: unknown, lowered: string): boolean =>
  [String(value), textOf(value)].some((name) => name.toLowerCase() === lowered)
