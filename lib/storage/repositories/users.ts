import {
  command,
  flagOf,
  json,
  numberOf,
  numberOrNull,
  query,
  textOf,
  textOrNull,
} from '../database/statement.ts'
import type { Database, Row } from '../database/types.ts'
import { findOne, touches } from './statements.ts'

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
  id: textOf(row, 'id'),
  username: textOf(row, 'username'),
  passwordHash: textOrNull(row, 'password_hash'),
  name: textOrNull(row, 'name'),
  email: textOrNull(row, 'email'),
  emailVerified: flagOf(row, 'email_verified'),
  claims: json(row, 'claims'),
  disabledAt: numberOrNull(row, 'disabled_at'),
  createdAt: numberOf(row, 'created_at'),
  updatedAt: numberOf(row, 'updated_at'),
})

/** The account with this id. */
export const findUser = findOne(
  query<{ id: string }>((table, v) => table('users').select(columns).where({ id: v.id })),
  accountOf,
)

/** The account with exactly this login name. */
export const findUserByUsername = findOne(
  query<{ username: string }>((table, v) => table('users').select(columns).where({ username: v.username })),
  accountOf,
)

const withPassword = query<Record<never, never>>((table) =>
  table('users').whereNotNull('password_hash').select('password_hash').limit(100, { skipBinding: true }),
)

/** Password hashes of a hundred accounts. */
export const listPasswordHashes = async (db: Database): Promise<string[]> =>
  (await withPassword(db, {})).map((row) => textOf(row, 'password_hash'))

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
export const createUser = (db: Database, account: NewAccount): Promise<number> =>
  insert(db, valuesOf(account))

/** Replaces everything except the login name. */
export const updateUser = (db: Database, account: NewAccount): Promise<number> =>
  update(db, valuesOf(account))

/** Removes one of Latchkey's own accounts. */
export const removeUser = command<{ id: string }>((table, v) => table('users').where({ id: v.id }).delete())

/** Disables the account with this login name, or enables it with null. False if there is none. */
export const setUserDisabled = touches(
  command<{ username: string; disabledAt: number | null; now: number }>((table, v) =>
    table('users').where({ username: v.username }).update({ disabled_at: v.disabledAt, updated_at: v.now }),
  ),
)
