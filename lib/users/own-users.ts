import type { Database } from '../storage/database/types.ts'
import {
  findUser,
  findUserByUsername,
  listPasswordHashes,
  type UserAccount,
} from '../storage/repositories/users.ts'
import { once } from './once.ts'
import { definedClaims, isLookup, isUsualTarget, preferredUsername, type User, type Users } from './users.ts'
import { type VerificationContext, verifiedUser } from './verified-user.ts'

/** A user of Latchkey's own table. */
export interface OwnUser extends User {
  readonly account: UserAccount
}

export interface OwnUsersContext extends VerificationContext {
  readonly database: Database
}

/** Users in Latchkey's own table, for a host without users. */
export const createOwnUsers = (context: OwnUsersContext): Users<OwnUser> => {
  const { database, passwords } = context
  const learnCosts = once(async () => {
    for (const hash of await listPasswordHashes(database)) passwords.learn(hash)
  })
  const find = async (subject: string): Promise<OwnUser | undefined> => {
    const account = isLookup(subject) ? await findUser(database, { id: subject }) : undefined
    return account?.id === subject && isEnabled(account) ? ownUser(account) : undefined
  }
  return {
    find,

    async findByUsername(username) {
      const account = await byUsername(database, username)
      return account && ownUser(account)
    },

    async authenticate(username, password, _req, isKnown = false) {
      await learnCosts()
      const account = await byUsername(database, username)
      const candidate = account && {
        id: account.id,
        hash: account.passwordHash ?? undefined,
        user: () => ownUser(account),
      }
      const user = await verifiedUser(context, { username, password, isKnown }, candidate)
      // The check takes time. The password may have been changed meanwhile, and the user may have been disabled.
      const present = user && (await find(user.subject))
      return present?.account.passwordHash === user?.account.passwordHash ? present : undefined
    },

    async fullName({ account }) {
      return account.name ?? undefined
    },

    // An account can have more, which the host adds. They are released, but not announced.
    claimNames: ['name', 'email', 'email_verified', 'preferred_username', 'updated_at'],

    async claims({ account }, { for: target }) {
      if (!isUsualTarget(target)) return {}
      const { username, name, email, emailVerified, updatedAt, claims } = account
      return definedClaims([
        ...Object.entries(claims),
        ['name', name],
        ['email', email],
        ['email_verified', email === null ? undefined : emailVerified],
        ['preferred_username', preferredUsername(username)],
        ['updated_at', updatedAt],
      ])
    },
  }
}

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
