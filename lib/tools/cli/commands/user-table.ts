import type { Knex } from 'knex'
import { isPasswordHash } from '../../../users/passwords/password-hash.ts'
import {
  type ActivityColumn,
  type ActivityRule,
  activityColumns,
  secondFactorColumns,
  verifiedColumn,
} from '../../../users/user-columns.ts'
import { UsageError } from '../../command.ts'

/** Columns of a user table that the configuration names. */
export interface UserTable {
  readonly table: string
  readonly columns: { readonly id: string; readonly username: string; readonly password: string }
  readonly claims: Readonly<Record<string, string>>
  /** Whether some password hashes are of a kind that only the host can verify. */
  readonly hasOtherHashes: boolean
  /** Columns that a second factor may use. */
  readonly secondFactors: readonly string[]
  /** The result of `isActive` for a row, as source; undefined if every user may sign in. */
  readonly isActive?: string
  /** The claim `email_verified` of a row, as source. */
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
    'emailAddress',
    'user_email',
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
    'user_password',
    'passwd',
    'pass',
    'pwd',
    'hash',
    'pass_hash',
  ],
  name: ['name', 'full_name', 'display_name', 'fullName', 'displayName'],
  picture: ['avatar_url', 'avatarUrl', 'picture', 'picture_url', 'image_url'],
  locale: ['locale', 'preferred_locale', 'lang', 'language'],
  email: ['email', 'Email', 'mail', 'user_email', 'email_address', 'emailAddress'],
} as const

const sources: Readonly<Record<Exclude<ActivityRule, 'value'>, (value: string) => string>> = {
  true: (value) => `Boolean(${value})`,
  false: (value) => `!${value}`,
  null: (value) => `${value} === null`,
  past: (value) => `!(${value} && new Date(${value}) > new Date())`,
}

const cellOf = (column: string): string => `row[${JSON.stringify(column)}]`

/** The condition under which a user is active. */
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

const tablesOf = async (knex: Knex): Promise<string[]> => {
  const client = String(knex.client.config.client)
  const names = 'select table_name as name from information_schema.tables where table_schema ='
  if (client === 'pg') return (await knex.raw(`${names} any(current_schemas(false))`)).rows.map(nameOf)
  if (client === 'mysql2') return (await knex.raw(`${names} database()`))[0].map(nameOf)
  return (
    await knex.raw(
      "select name from sqlite_master where type in ('table', 'view') and name not like 'sqlite_%'",
    )
  ).map(nameOf)
}

const nameOf = ({ name }: { readonly name: string }): string => name

const shownTables = 30

const noTable = async (knex: Knex, table: string): Promise<string> => {
  const tables = (await tablesOf(knex)).sort()
  const list = tables.slice(0, shownTables).join(', ')
  const more = tables.length > shownTables ? ` and ${tables.length - shownTables} more` : ''
  const has = tables.length === 0 ? 'no table at all' : `${list}${more}`
  return `the database has no table ${table}; name yours with --users TABLE. It has ${has}. If your users are in no table, run init with --functions`
}

/**
 * Finds out which columns of a table have the id, login name and password hash of users.
 *
 * @param active for a column whose name does not say which of its values let a user in
 * @throws Error if the table does not exist, or one of the three has no usual name; UsageError if such a column has no value
 */
export const findUserTable = async (knex: Knex, table: string, active?: ActiveValue): Promise<UserTable> => {
  const existing = Object.keys(await knex(table).columnInfo())
  if (existing.length === 0) throw new Error(await noTable(knex, table))
  const columnOf = (role: keyof typeof usualNames): string | undefined =>
    usualNames[role].find((name) => existing.includes(name))
  const required = (role: 'id' | 'username' | 'password', meaning: string): string => {
    const column = columnOf(role)
    if (column !== undefined) return column
    throw new Error(
      `none of the columns of ${table} looks like ${meaning}: ${existing.join(', ')}; if they are somewhere else, run init with --functions, else name the columns by hand: node_modules/latchkey/docs/users.md`,
    )
  }
  const columns = {
    id: required('id', 'the id of a user'),
    username: required('username', 'the login name'),
    password: required('password', 'the hash of the password'),
  }
  const claims = {
    name: columnOf('name'),
    email: columnOf('email'),
    picture: columnOf('picture'),
    locale: columnOf('locale'),
  }
  const known = Object.entries(claims).filter((entry): entry is [string, string] => entry[1] !== undefined)
  const hashes = await knex(table).whereNotNull(columns.password).limit(20).pluck(columns.password)
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
    hasOtherHashes: hashes.some((hash) => String(hash) !== '' && !isPasswordHash(String(hash).trimEnd())),
    secondFactors: secondFactorColumns(existing),
    ...(isActive !== undefined && { isActive }),
    ...(emailVerified !== undefined && { emailVerified }),
  }
}
