import { command, flag, json, number, numberOrNull, query, text, textOrNull } from '../database/statement.ts'
import type { Database, Row } from '../database/types.ts'

/** One of Latchkey's own accounts. */
export interface UserAccount {
  readonly id: string
  readonly username: string
  readonly passwordHash: string | null
  readonly name: string | null
  readonly email: string | null
  readonly emailVerified: boolean
  readonly claims: Readonly<Record<string, unknown>>
  readonly disabledAt: number | null
  readonly createdAt: number
  readonly updatedAt: number
}

/** Named, because a column that a newer version adds would break prepared `SELECT *` statements. */
const columns = [
  'id',
  'username',
  'password_hash',
  'name',
  'email',
  'email_verified',
  'claims',
  'disabled_at',
  'created_at',
  'updated_at',
]

const accountOf = (row: Row): UserAccount => ({
  id: text(row, 'id'),
  username: text(row, 'username'),
  passwordHash: textOrNull(row, 'password_hash'),
  name: textOrNull(row, 'name'),
  email: textOrNull(row, 'email'),
  emailVerified: flag(row, 'email_verified'),
  claims: json(row, 'claims'),
  disabledAt: numberOrNull(row, 'disabled_at'),
  createdAt: number(row, 'created_at'),
  updatedAt: number(row, 'updated_at'),
})

const byId = query<{ id: string }>((table, v) => table('users').select(columns).where({ id: v.id }))
const byUsername = query<{ username: string }>((table, v) =>
  table('users').select(columns).where({ username: v.username }),
)

export const findUser = async (db: Database, values: { id: string }): Promise<UserAccount | undefined> => {
  const [row] = await byId(db, values)
  return row && accountOf(row)
}

/** The account with exactly this login name. */
export const findUserByUsername = async (
  db: Database,
  values: { username: string },
): Promise<UserAccount | undefined> => {
  const [row] = await byUsername(db, values)
  return row && accountOf(row)
}

const withPassword = query<Record<never, never>>((table) =>
  table('users').whereNotNull('password_hash').select('password_hash').limit(100, { skipBinding: true }),
)

/** Password hashes of a hundred accounts. */
export const listPasswordHashes = async (db: Database): Promise<string[]> =>
  (await withPassword(db, {})).map((row) => text(row, 'password_hash'))

interface AccountValues {
  id: string
  username: string
  passwordHash: string | null
  name: string | null
  email: string | null
  emailVerified: number
  claims: string
  now: number
}

const insert = command<AccountValues>((table, v) =>
  table('users').insert({
    id: v.id,
    username: v.username,
    password_hash: v.passwordHash,
    name: v.name,
    email: v.email,
    email_verified: v.emailVerified,
    claims: v.claims,
    created_at: v.now,
    updated_at: v.now,
  }),
)

const update = command<AccountValues>((table, v) =>
  table('users').where({ id: v.id }).update({
    password_hash: v.passwordHash,
    name: v.name,
    email: v.email,
    email_verified: v.emailVerified,
    claims: v.claims,
    updated_at: v.now,
  }),
)

type NewAccount = Omit<UserAccount, 'disabledAt' | 'createdAt' | 'updatedAt'> & { now: number }

const valuesOf = (account: NewAccount): AccountValues => ({
  ...account,
  emailVerified: account.emailVerified ? 1 : 0,
  claims: JSON.stringify(account.claims),
})

/** @throws OAuthError with a unique violation as its cause if the login name is taken */
export const createUser = async (db: Database, account: NewAccount): Promise<void> => {
  await insert(db, valuesOf(account))
}

/** Replaces everything except the login name. */
export const updateUser = async (db: Database, account: NewAccount): Promise<void> => {
  await update(db, valuesOf(account))
}

const remove = command<{ id: string }>((table, v) => table('users').where({ id: v.id }).delete())

/** Removes one of Latchkey's own accounts. */
export const removeUser = async (db: Database, values: { id: string }): Promise<void> => {
  await remove(db, values)
}

const setDisabledAt = command<{ username: string; disabledAt: number | null; now: number }>((table, v) =>
  table('users').where({ username: v.username }).update({ disabled_at: v.disabledAt, updated_at: v.now }),
)

/**
 * Disables or enables the account with this login name.
 *
 * @returns whether it exists
 */
export const setUserDisabled = async (
  db: Database,
  { username, isDisabled, now }: { username: string; isDisabled: boolean; now: number },
): Promise<boolean> => {
  const account = await findUserByUsername(db, { username })
  if (account === undefined) return false
  await setDisabledAt(db, { username: account.username, disabledAt: isDisabled ? now : null, now })
  return true
}
