import type { UserMapping } from '../../options/users.ts'
import { isUserMapping } from '../../options/users.ts'
import { hostTables } from '../../storage/database/open.ts'
import { uniqueIndexes } from '../../storage/database/unique-indexes.ts'
import { hostTable, UnknownNameError } from '../../users/mapped-users.ts'
import { activityColumns } from '../../users/user-columns.ts'
import { type Check, error, type Found, type StoredSubject, warning } from '../check.ts'

const mappingOf = ({ options: { users } }: StoredSubject): UserMapping | undefined =>
  users !== undefined && isUserMapping(users) ? users : undefined

/** The columns of a table; empty if Knex cannot list them, as in another schema. */
const columnsOf = async ({ hostKnex }: StoredSubject, table: string): Promise<string[]> =>
  Object.keys(await hostKnex(table).columnInfo())

const userTableFindings = async (subject: StoredSubject): Promise<Found> => {
  const mapping = mappingOf(subject)
  if (mapping === undefined) return undefined
  try {
    await hostTable(mapping, hostTables(subject.database, subject.hostKnex)).assertExists()
    return undefined
  } catch (cause) {
    // Any other error names what mends it.
    if (!(cause instanceof UnknownNameError)) throw cause
    const columns = await columnsOf(subject, mapping.table)
    const choice = columns.length === 0 ? 'the name of your user table' : `one of: ${columns.join(', ')}`
    return error(cause.problem, `set ${cause.option} to ${choice}`)
  }
}

/** Without `isActive` every row may sign in, also that of a banned user. */
const activityFindings = async (subject: StoredSubject): Promise<Found> => {
  const mapping = mappingOf(subject)
  if (mapping === undefined || mapping.isActive !== undefined) return undefined
  const found = activityColumns(await columnsOf(subject, mapping.table)).map(({ column }) => column)
  return (
    found.length > 0 &&
    error(
      `${mapping.table} has ${found.join(', ')}, but users.isActive is not set: every user can sign in`,
      'set users.isActive to a function that returns false for users who must not sign in: docs/users.md',
    )
  )
}

const claimFindings = async (subject: StoredSubject): Promise<Found> => {
  const mapping = mappingOf(subject)
  if (mapping === undefined) return undefined
  const missing = await hostTable(mapping, hostTables(subject.database, subject.hostKnex)).missingClaims()
  if (missing.length === 0) return undefined
  const columns = await columnsOf(subject, mapping.table)
  return missing.map(({ name, column }) =>
    error(
      `users.claims.${name} is ${column}, a column that ${mapping.table} does not have: no user has this claim`,
      `set users.claims.${name} to one of: ${columns.join(', ')}`,
    ),
  )
}

const usernameFindings = async ({ hostKnex, ...subject }: StoredSubject): Promise<Found> => {
  const mapping = mappingOf({ hostKnex, ...subject })
  if (mapping === undefined) return undefined
  const { table, columns } = mapping
  const indexes = await uniqueIndexes(hostKnex, subject.database.driver.dialect, table)
  return (
    indexes !== undefined &&
    !indexes.some((index) => index.isOf(columns.username)) &&
    warning(
      `${table}.${columns.username} has no unique index: two active users with one name could both not sign in`,
      `create unique index ${table}_${columns.username} on ${table} (${columns.username})`,
    )
  )
}

/** Of a name with capital letters, databases that compare them find only the exact spelling. */
const capitalFindings = async (subject: StoredSubject): Promise<Found> => {
  const mapping = mappingOf(subject)
  if (mapping === undefined) return undefined
  const { database, hostKnex } = subject
  const { table, columns } = mapping
  const name = database.driver.dialect === 'postgresql' ? '??::text' : '??'
  const [row] = await hostKnex(table)
    .whereRaw(`${name} <> lower(${name})`, [columns.username, columns.username])
    .limit(1)
  const typed = row && String(row[columns.username]).toLowerCase()
  if (typed === undefined) return undefined
  const found = await hostTable(mapping, hostTables(database, hostKnex)).byUsername(typed)
  return (
    found.length === 0 &&
    warning(
      `some values of ${table}.${columns.username} have capital letters, and this database tells them apart: a user who types the name in small letters cannot sign in`,
      `store names in small letters: update ${table} set ${columns.username} = lower(${columns.username}); or compare without case, as citext and COLLATE NOCASE do`,
    )
  )
}

/** Checks of the host's user table that a server makes itself when it starts. */
export const userSchemaChecks: readonly Check<StoredSubject>[] = [
  { id: 'users', title: 'the user table has the columns of the option users', run: userTableFindings },
]

/** Checks of the host's user table. */
export const userChecks: readonly Check<StoredSubject>[] = [
  { id: 'inactive-users', title: 'users who are not active cannot sign in', run: activityFindings },
  { id: 'claims', title: 'the user table has the columns of users.claims', run: claimFindings },
  { id: 'usernames', title: 'no two users have one name', run: usernameFindings },
]

/** Checks that may read all users. A server does not make them when it starts. */
export const nameChecks: readonly Check<StoredSubject>[] = [
  { id: 'capitals', title: 'login names are found in any case', run: capitalFindings },
]
