import type { Database } from '../database/types.ts'
import type { ClaimMapping, Logger, UserMapping, UserRow } from '../options/options.ts'
import { warnOnce } from '../options/warn-once.ts'
import { hashPassword, isWeakerThanOwn } from '../passwords/passwords.ts'
import { callHost } from './host-function.ts'
import { columnOf, hostTable, textOf } from './host-table.ts'
import { once } from './once.ts'
import { isLookup, subjectOf } from './subject.ts'
import { definedClaims, preferredUsername, type User, type Users } from './users.ts'
import { type Candidate, type VerificationContext, verifiedUser } from './verified-user.ts'

/** A user of the host's table, with its row. */
export interface MappedUser extends User {
  readonly row: UserRow
}

export interface MappedUsersContext extends VerificationContext {
  readonly mapping: UserMapping
  /** The host's tables. */
  readonly database: Database
}

/**
 * Users in the host's table. Every login attempt takes one query and one verification, real or dummy, at the cost of a
 * kind of hashes in this table. For hashes that `verify` checks, only the duration is matched; see {@link PasswordVerifier}.
 */
export const createMappedUsers = (context: MappedUsersContext): Users<MappedUser> => {
  const { mapping, database, passwords, logger } = context
  const table = hostTable(mapping, database)
  const learnCosts = once(async () => {
    for (const hash of await table.somePasswords()) passwords.learn(hash)
  })
  const warnAbout = warnOnce(logger)
  const mapped = Object.entries<ClaimMapping>(mapping.claims ?? {})
  const mapsUsername = mapped.some(([name]) => name === 'preferred_username')
  /** The value of one claim, or its promise. */
  const claimValue = (name: string, claim: ClaimMapping, row: UserRow): unknown => {
    if (typeof claim === 'function') return callHost(`users.claims.${name}`, () => claim(row))
    if (!(claim in row))
      warnAbout(`users.claims.${name} is ${claim}, which rows of ${mapping.table} do not have`)
    return row[claim]
  }
  return {
    assertTable: () => table.assertExists(),

    async find(subject) {
      if (!isLookup(subject)) return undefined
      const row = await table.byId(subject)
      if (row === undefined) return undefined
      const user = mappedUser(mapping, row)
      // Databases convert '05' and '5abc' to 5.
      return user.subject === subject && (await isActive(mapping, row)) ? user : undefined
    },

    async findByUsername(username) {
      const row = await onlyActive(mapping, logger, await table.byUsername(username))
      return row && mappedUser(mapping, row)
    },

    async authenticate(username, password, _req, isKnown = false) {
      await learnCosts()
      const row = await onlyActive(mapping, logger, await table.byUsername(username))
      const candidate = row && candidateOf(mapping, row, password)
      const user = await verifiedUser(context, { username, password, isKnown }, candidate)
      // Last, so that the duration of an asynchronous isActive does not reveal who has an account.
      if (!(user && (await isActive(mapping, user.row)))) return undefined
      await rehash(mapping, logger, user, password)
      return user
    },

    async claims({ row, username }) {
      const given = mapped.map(([name, claim]) => claimValue(name, claim, row))
      const values = given.some((value) => value instanceof Promise) ? await Promise.all(given) : given
      const claims = mapped.map(([name], place): [string, unknown] => [name, values[place]])
      if (!mapsUsername) claims.push(['preferred_username', preferredUsername(username)])
      return definedClaims(claims)
    },
  }
}

const mappedUser = (mapping: UserMapping, row: UserRow): MappedUser => {
  const id = columnOf(mapping, row, 'id')
  const subject = subjectOf(id, 'users.columns.id')
  return {
    subject,
    username: textOf(columnOf(mapping, row, 'username')),
    record: { ...row, id: typeof id === 'number' ? id : subject },
    row,
  }
}

const candidateOf = (mapping: UserMapping, row: UserRow, password: string): Candidate<MappedUser> => ({
  id: columnOf(mapping, row, 'id'),
  hash: textOf(columnOf(mapping, row, 'password')) || undefined,
  verifyOther:
    mapping.verify && (() => callHost('users.verify', () => mapping.verify?.(password, row) ?? false)),
  user: () => mappedUser(mapping, row),
})

// bcrypt reads no more bytes. What the user typed after them may be wrong.
const bcryptLength = 72

/** Lets the host replace a weak hash, now that the password is known. */
const rehash = async (
  mapping: UserMapping,
  logger: Logger,
  { subject, row }: MappedUser,
  password: string,
): Promise<void> => {
  const stored = textOf(columnOf(mapping, row, 'password'))
  const isComplete = !stored.startsWith('$2') || Buffer.byteLength(password) <= bcryptLength
  if (mapping.rehash === undefined || !isComplete || !isWeakerThanOwn(stored)) return
  try {
    const hash = await hashPassword(password)
    await callHost('users.rehash', () => mapping.rehash?.(row, hash))
  } catch (error) {
    logger.error(`latchkey: the password of user ${JSON.stringify(subject)} was not hashed again`, error)
  }
}

const isActive = async ({ isActive: ask }: UserMapping, row: UserRow): Promise<boolean> =>
  ask === undefined || Boolean(await callHost('users.isActive', () => ask(row)))

/** A single row is returned unchecked; of several with the same username, only one may be active. */
const onlyActive = async (
  mapping: UserMapping,
  logger: Logger,
  rows: readonly UserRow[],
): Promise<UserRow | undefined> => {
  if (rows.length < 2) return rows[0]
  const active = await Promise.all(rows.map((row) => isActive(mapping, row)))
  const [only, ...others] = rows.filter((_, index) => active[index])
  if (others.length === 0) return only
  logger.error(
    `latchkey: users.columns.username is not unique: ${others.length + 1} active users have one username`,
  )
  return undefined
}
