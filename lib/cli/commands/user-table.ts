import type { Knex } from 'knex'

/** Columns of a user table that the configuration names. */
export interface UserTable {
  readonly table: string
  readonly columns: { readonly id: string; readonly username: string; readonly password: string }
  readonly claims: Readonly<Record<string, string>>
}

/** Common names of columns, the most common first. */
const usualNames = {
  id: ['id', 'user_id', 'uuid', 'userId'],
  username: ['email', 'username', 'login', 'email_address', 'user_name', 'userName'],
  password: [
    'password_hash',
    'password',
    'encrypted_password',
    'hashed_password',
    'password_digest',
    'passwordHash',
  ],
  name: ['name', 'full_name', 'display_name', 'fullName', 'displayName'],
  email: ['email', 'email_address', 'emailAddress'],
} as const

/**
 * Finds out which columns of a table have the id, login name and password hash of users.
 *
 * @throws Error if the table does not exist, or one of the three has no usual name
 */
export const findUserTable = async (knex: Knex, table: string): Promise<UserTable> => {
  const existing = Object.keys(await knex(table).columnInfo())
  if (existing.length === 0)
    throw new Error(`the database has no table ${table}; name yours with --users TABLE`)
  const columnOf = (role: keyof typeof usualNames): string | undefined =>
    usualNames[role].find((name) => existing.includes(name))
  const required = (role: 'id' | 'username' | 'password', meaning: string): string => {
    const column = columnOf(role)
    if (column !== undefined) return column
    throw new Error(
      `none of the columns of ${table} looks like ${meaning}: ${existing.join(', ')}; write the configuration by hand, see docs/users.md`,
    )
  }
  const columns = {
    id: required('id', 'the id of a user'),
    username: required('username', 'the login name'),
    password: required('password', 'the hash of the password'),
  }
  const claims = { name: columnOf('name'), email: columnOf('email') }
  const known = Object.entries(claims).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return { table, columns, claims: Object.fromEntries(known) }
}
