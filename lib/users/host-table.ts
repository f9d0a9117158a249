import type { Knex } from 'knex'
import type { UserMapping, UserRow } from '../options/options.ts'
import { databaseUnavailable, retrying } from '../repositories/faults.ts'
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

const read = async <T>(query: () => PromiseLike<T>): Promise<T | undefined> => {
  try {
    return await retrying(async () => query())
  } catch (error) {
    if (noValueOfThatType.has(codeOf(error))) return undefined
    throw databaseUnavailable(error)
  }
}

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
  const usernameOf = (row: UserRow): unknown => columnOf(mapping, row, 'username')
  return {
    byId: (id) =>
      read<UserRow | undefined>(() =>
        knex(table)
          .where({ [columns.id]: id })
          .first(),
      ),

    async byUsername(username) {
      if (!isLookup(username)) return []
      const lowered = username.toLowerCase()
      const names = [...new Set([username, lowered])]
      const rows = (await read<UserRow[]>(() => knex(table).whereIn(columns.username, names))) ?? []
      // Databases that ignore accents or padding too would give one account any number of names to be guessed under.
      const same = rows.filter((row) => isName(usernameOf(row), lowered))
      const exact = same.filter((row) => String(usernameOf(row)) === username)
      return exact.length > 0 ? exact : same
    },

    async anyPassword() {
      const row = await read<UserRow | undefined>(() =>
        knex(table).whereNotNull(columns.password).first(columns.password),
      )
      return row && textOf(row[columns.password])
    },
  }
}

const isName = (value: unknown, lowered: string): boolean =>
  [String(value), textOf(value)].some((name) => name.toLowerCase() === lowered)
