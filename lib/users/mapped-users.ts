import type { Knex } from 'knex'
import type { Logger, UserMapping, UserRow } from '../options/options.ts'
import type { PasswordVerifier } from '../passwords/password-verifier.ts'
import { callHost } from './host-function.ts'
import { columnOf, type HostTable, hostTable, textOf } from './host-table.ts'
import { isLookup, subjectOf } from './subject.ts'
import { presentClaims, type User, type Users } from './users.ts'
import { type Candidate, verifiedUser } from './verified-user.ts'

/** A user of the host's table, with the row that claims are read from. */
export interface MappedUser extends User {
  readonly row: UserRow
}

export interface MappedUsersContext {
  readonly mapping: UserMapping
  /** The host's own Knex instance. */
  readonly knex: Knex
  readonly passwords: PasswordVerifier
  readonly logger: Logger
}

/**
 * Users in the host's own table.
 *
 * Every attempt to log in costs one query and one verification, real or dummy, at the cost of the hashes of this
 * table. Hashes that `verify` checks are matched in duration only; see {@link PasswordVerifier}.
 */
export const createMappedUsers = ({
  mapping,
  knex,
  passwords,
  logger,
}: MappedUsersContext): Users<MappedUser> => {
  const table = hostTable(mapping, knex)
  const learnCost = once(() => learn(table, passwords))
  const warnAbout = warnOnce(logger)
  return {
    async find(subject) {
      if (!isLookup(subject)) return undefined
      const row = await table.byId(subject)
      // Databases take '05' and '5abc' for 5.
      const isThis =
        row !== undefined && subjectOf(columnOf(mapping, row, 'id'), 'users.columns.id') === subject
      return isThis && isActive(mapping, row) ? mappedUser(mapping, row) : undefined
    },

    async authenticate(username, password) {
      await learnCost()
      const rows = (await table.byUsername(username)).filter((row) => isActive(mapping, row))
      if (rows.length > 1) {
        logger.error(
          `latchkey: users.columns.username is not unique: ${rows.length} active users have one login name`,
        )
      }
      const row = rows.length === 1 ? rows[0] : undefined
      return verifiedUser(passwords, logger, password, row && candidateOf(mapping, row, password))
    },

    async claims({ row }) {
      const values = Object.entries(mapping.claims ?? {}).map(([name, claim]): [string, unknown] => {
        if (typeof claim === 'function') return [name, callHost(`users.claims.${name}`, () => claim(row))]
        if (!(claim in row))
          warnAbout(`users.claims.${name} is ${claim}, which rows of ${mapping.table} do not have`)
        return [name, row[claim]]
      })
      return presentClaims(await settledClaims(values))
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
    mapping.verify && (async () => callHost('users.verify', () => mapping.verify?.(password, row) ?? false)),
  user: () => mappedUser(mapping, row),
})

const isThenable = (value: unknown): boolean => typeof value === 'object' && value !== null && 'then' in value

/** Claims that the host computes elsewhere are waited for together. */
const settledClaims = async (claims: readonly [string, unknown][]): Promise<readonly [string, unknown][]> =>
  claims.some(([, value]) => isThenable(value))
    ? Promise.all(claims.map(async ([name, value]): Promise<[string, unknown]> => [name, await value]))
    : claims

const isActive = (mapping: UserMapping, row: UserRow): boolean => {
  const active: unknown = mapping.isActive ? callHost('users.isActive', () => mapping.isActive?.(row)) : true
  // A promise is true whatever it promises.
  if (active instanceof Promise) throw new TypeError('latchkey: users.isActive must not be asynchronous')
  return Boolean(active)
}

const learn = async (table: HostTable, passwords: PasswordVerifier): Promise<void> => {
  const hash = await table.anyPassword()
  if (hash !== undefined) passwords.learn(hash)
}

/** Does the work the first time, and again after it failed. */
const once = (work: () => Promise<void>): (() => Promise<void>) => {
  let done: Promise<void> | undefined
  return () => {
    done ??= work().catch((error: unknown) => {
      done = undefined
      throw error
    })
    return done
  }
}

const warnOnce = (logger: Logger): ((message: string) => void) => {
  const warned = new Set<string>()
  return (message) => {
    if (!warned.has(message)) logger.warn(`latchkey: ${message}`)
    warned.add(message)
  }
}
