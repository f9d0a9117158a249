import type { Knex } from 'knex'
import { UsageError } from '../../command.ts'
import {
  type ActivityColumn,
  type ActivityRule,
  activityColumns,
  verifiedColumn,
} from '../../users/user-columns.ts'

/** Columns of a user table that the configuration names. */
export interface UserTable {
  readonly table: string
  readonly columns: { readonly id: string; readonly username: string; readonly password: string }
  readonly claims: Readonly<Record<string, string>>
  /** What `isActive` returns for a row, as source; undefined if every user may sign in. */
  readonly isActive?: string
  /** What the claim `email_verified` is for a row, as source. */
  readonly emailVerified?: string
}

/** Common names of columns, the most common first. */
const usualNames = {
  id: ['id', 'Id', 'ID', 'user_id', 'uuid', 'uid', 'userId'],
  username: [
    'email',
    'Email',
    'mail',
    'username',
    'UserName',
    'login',
    'user_login',
    'email_address',
    'user_name',
    'userName',
  ],
  password: [
    'password_hash',
    'password',
    'encrypted_password',
    'hashed_password',
    'password_digest',
    'passwordHash',
    'PasswordHash',
    'hashedPassword',
    'user_pass',
    'pass',
  ],
  name: ['name', 'full_name', 'display_name', 'fullName', 'displayName'],
  email: ['email', 'Email', 'mail', 'user_email', 'email_address', 'emailAddress'],
} as const

const sources: Readonly<Record<Exclude<ActivityRule, 'value'>, (value: string) => string>> = {
  true: (value) => `Boolean(${value})`,
  false: (value) => `!${value}`,
  null: (value) => `${value} === null`,
  past: (value) => `!(${value} && new Date(${value}) > new Date())`,
}

const cellOf = (column: string): string => `row[${JSON.stringify(column)}]`

/** What must hold for a user to be active. */
const activitySource = (
  table: string,
  columns: readonly ActivityColumn[],
  active: ActiveValue | undefined,
): string | undefined => {
  const conditions = columns.map(({ column, rule }) => {
    if (rule !== 'value') return sources[rule](cellOf(column))
    if (active?.column === column) return `String(${cellOf(column)}) === ${JSON.stringify(active.value)}`
    throw new UsageError(
      `${table}.${column} may say who can sign in; name its value for an active user, such as --active ${column}=active`,
    )
  })
  return conditions.length === 0 ? undefined : conditions.join(' && ')
}

/** The value of a column that active users have. */
export interface ActiveValue {
  readonly column: string
  readonly value: string
}

/**
 * Finds out which columns of a table have the id, login name and password hash of users.
 *
 * @param active for a column whose name does not say which of its values let a user in
 * @throws Error if the table does not exist, or one of the three has no usual name; UsageError if such a column has no value
 */
export const findUserTable = async (knex: Knex, table: string, active?: ActiveValue): Promise<UserTable> => {
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
  const isActive = activitySource(table, activityColumns(existing), active)
  const isVerified = verifiedColumn(existing)
  const emailVerified =
    isVerified && claims.email !== undefined
      ? isVerified.isTime
        ? `${cellOf(isVerified.column)} !== null`
        : `Boolean(${cellOf(isVerified.column)})`
      : undefined
  return {
    table,
    columns,
    claims: Object.fromEntries(known),
    ...(isActive !== undefined && { isActive }),
    ...(emailVerified !== undefined && { emailVerified }),
  }
}
