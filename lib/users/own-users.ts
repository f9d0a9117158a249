import type { Database } from '../database/types.ts'
import type { Logger } from '../options/options.ts'
import type { PasswordVerifier } from '../passwords/password-verifier.ts'
import { findUser, findUserByUsername, type UserAccount } from '../repositories/users.ts'
import { isLookup } from './subject.ts'
import { definedClaims, type User, type Users } from './users.ts'
import { verifiedUser } from './verified-user.ts'

/** A user of the kit's own table. */
export interface OwnUser extends User {
  readonly account: UserAccount
}

export interface OwnUsersContext {
  readonly database: Database
  readonly passwords: PasswordVerifier
  readonly logger: Logger
}

/** Users in the kit's own table, for a host without users. */
export const createOwnUsers = ({ database, passwords, logger }: OwnUsersContext): Users<OwnUser> => ({
  async find(subject) {
    const account = isLookup(subject) ? await findUser(database, { id: subject }) : undefined
    return account?.id === subject && isEnabled(account) ? ownUser(account) : undefined
  },

  async authenticate(username, password) {
    const account = await byUsername(database, username)
    const enabled = account && isEnabled(account) ? account : undefined
    return verifiedUser(
      passwords,
      logger,
      password,
      enabled && { id: enabled.id, hash: enabled.passwordHash ?? undefined, user: () => ownUser(enabled) },
    )
  },

  async claims({ account }) {
    const { username, name, email, emailVerified, updatedAt, claims } = account
    return definedClaims([
      ...Object.entries(claims),
      ['name', name],
      ['email', email],
      ['email_verified', email === null ? undefined : emailVerified],
      ['preferred_username', username],
      ['updated_at', updatedAt],
    ])
  },
})

/** The exact username, or else its lower case. Both are always read, so that timing does not depend on the first. */
const byUsername = async (database: Database, username: string): Promise<UserAccount | undefined> => {
  if (!isLookup(username)) return undefined
  const lowered = username.toLowerCase()
  const exact = await findUserByUsername(database, { username })
  const other = lowered === username ? undefined : await findUserByUsername(database, { username: lowered })
  return exact ?? other
}

const isEnabled = (account: UserAccount): boolean => account.disabledAt === null

const ownUser = (account: UserAccount): OwnUser => {
  const { passwordHash: _, ...record } = account
  return { subject: account.id, username: account.username, record, account }
}
