import { warnOnce } from '../options/logger.ts'
import type { Logger } from '../options/server.ts'
import {
  type ClaimMapping,
  type ClaimsAsked,
  type ClaimTarget,
  signsInByEmail,
  type UserMapping,
  type UserRow,
} from '../options/users.ts'
import { OAuthError } from '../protocol/errors.ts'
import { HostError } from '../protocol/problem.ts'
import { mapResponse } from '../storage/database/driver.ts'
import { isMissingColumn, isMissingTable, rowsOrNone } from '../storage/database/errors.ts'
import { query, textOf } from '../storage/database/statement.ts'
import type { Database } from '../storage/database/types.ts'
import { callHost } from './host-function.ts'
import { once } from './once.ts'
import { hashPassword, isWeakerThanOwn } from './passwords/passwords.ts'
import {
  definedClaims,
  isLookup,
  isUsualTarget,
  preferredUsername,
  subjectOf,
  type User,
  type Users,
} from './users.ts'
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
  const goesTo = (claim: ClaimMapping, target: ClaimTarget): boolean =>
    typeof claim === 'object' && claim.for ? claim.for.includes(target) : isUsualTarget(target)
  const mapsUsername = mapped.some(([name]) => name === 'preferred_username')
  /** The value of one claim, or its promise. */
  const claimValue = (name: string, given: ClaimMapping, row: UserRow, asked: ClaimsAsked): unknown => {
    const claim = typeof given === 'object' ? given.value : given
    if (typeof claim === 'function') return callHost(`users.claims.${name}`, () => claim(row, asked))
    if (!(claim in row))
      warnAbout(`users.claims.${name} is ${claim}, which rows of ${mapping.table} do not have`)
    return row[claim]
  }
  const find = async (subject: string): Promise<MappedUser | undefined> => {
    if (!isLookup(subject)) return undefined
    const row = await table.byId(subject)
    if (row === undefined) return undefined
    const user = mappedUser(mapping, row)
    // Databases convert '05' and '5abc' to 5.
    return user.subject === subject && (await isActive(mapping, row)) ? user : undefined
  }
  return {
    assertTable: () => table.assertExists(),

    find,

    async findByUsername(username) {
      const row = await onlyActive(mapping, logger, await table.byUsername(username))
      return row && mappedUser(mapping, row)
    },

    async authenticate(username, password, _req, isKnown = false) {
      await learnCosts()
      const row = await onlyActive(mapping, logger, await table.byUsername(username))
      const candidate = row && candidateOf(mapping, row, password)
      const user = await verifiedUser(context, { username, password, isKnown }, candidate)
      if (user === undefined) return undefined
      const hash = await strongerHash(mapping, logger, user, password)
      // The check takes time. The password may have been changed meanwhile, and the user may have been disabled.
      const present = await find(user.subject)
      if (present === undefined || passwordOf(mapping, present) !== passwordOf(mapping, user))
        return undefined
      if (hash !== undefined) await rehash(mapping, logger, present, hash)
      return present
    },

    async fullName({ row }) {
      const given = mapping.claims?.name
      const claim = typeof given === 'object' ? given.value : given
      // One that asks for whom the name is has no answer here.
      if (claim === undefined || (typeof claim === 'function' && claim.length > 1)) return undefined
      const read = (): unknown =>
        typeof claim === 'function' ? Reflect.apply(claim, undefined, [row]) : row[claim]
      return plainText(await callHost('users.claims.name', read)) || undefined
    },

    claimNames: [...mapped.map(([name]) => name), ...(signsInByEmail(mapping) ? [] : ['preferred_username'])],

    async claims({ row, username }, asked) {
      const wanted = mapped.filter(([, claim]) => goesTo(claim, asked.for))
      const given = wanted.map(([name, claim]) => claimValue(name, claim, row, asked))
      const values = given.some((value) => value instanceof Promise) ? await Promise.all(given) : given
      const claims = wanted.map(([name], place): [string, unknown] => [name, values[place]])
      if (!mapsUsername && isUsualTarget(asked.for))
        claims.push(['preferred_username', preferredUsername(username)])
      return definedClaims(claims)
    },
  }
}

const mappedUser = (mapping: UserMapping, row: UserRow): MappedUser => {
  const id = columnOf(mapping, row, 'id')
  const subject = subjectOf(id, 'users.columns.id')
  return {
    subject,
    username: plainText(columnOf(mapping, row, 'username')),
    record: { ...row, id: typeof id === 'number' ? id : subject },
    row,
  }
}

const candidateOf = (mapping: UserMapping, row: UserRow, password: string): Candidate<MappedUser> => ({
  id: columnOf(mapping, row, 'id'),
  hash: plainText(columnOf(mapping, row, 'password')) || undefined,
  verifyOther:
    mapping.verify && (() => callHost('users.verify', () => mapping.verify?.(row, { password }) ?? false)),
  user: () => mappedUser(mapping, row),
})

// bcrypt reads no more bytes. What the user typed after them may be wrong.
const bcryptLength = 72

const passwordOf = (mapping: UserMapping, { row }: MappedUser): string =>
  plainText(columnOf(mapping, row, 'password'))

/** The sign-in succeeds nevertheless. */
const logRehash = (logger: Logger, { subject }: MappedUser, error: unknown): undefined => {
  logger.error(`latchkey: the password of user ${JSON.stringify(subject)} was not hashed again`, error)
}

/** A new hash of the password if the stored one is weak and the host replaces those. */
const strongerHash = async (
  mapping: UserMapping,
  logger: Logger,
  user: MappedUser,
  password: string,
): Promise<string | undefined> => {
  const stored = passwordOf(mapping, user)
  const isComplete = !stored.startsWith('$2') || Buffer.byteLength(password) <= bcryptLength
  if (mapping.rehash === undefined || !isComplete || !isWeakerThanOwn(stored)) return undefined
  return hashPassword(password).catch((error: unknown) => logRehash(logger, user, error))
}

/** Lets the host store a new hash of the password that the row has. */
const rehash = async (
  mapping: UserMapping,
  logger: Logger,
  user: MappedUser,
  hash: string,
): Promise<void> => {
  try {
    await callHost('users.rehash', () => mapping.rehash?.(user.row, { hash }))
  } catch (error) {
    logRehash(logger, user, error)
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

/**
 * A mapped column of a row.
 *
 * @throws TypeError if the row has no such column: the name is wrong, or the host's Knex mappers change it
 */
const columnOf = (mapping: UserMapping, row: UserRow, name: keyof UserMapping['columns']): unknown => {
  const column = mapping.columns[name]
  if (column in row) return row[column]
  throw new HostError(`users.columns.${name} is ${column}, which rows of ${mapping.table} do not have`)
}

/** The string in a column. Fixed-length columns are padded with spaces; binary columns return bytes. */
const plainText = (value: unknown): string =>
  value === null || value === undefined ? '' : String(value).trimEnd()

/** Reads no row: the database only checks the names. */
const assertReadable = async (
  table: string,
  columns: readonly string[],
  database: Database,
): Promise<void> => {
  await query<Record<never, never>>((from) => from(table).select(columns).limit(0, { skipBinding: true }))(
    database,
    {},
  )
}

const causeOf = (error: unknown): unknown => (error instanceof OAuthError ? error.cause : error)

const lacksColumn = async (table: string, column: string, database: Database): Promise<boolean> => {
  try {
    await assertReadable(table, [column], database)
    return false
  } catch (error) {
    if (isMissingColumn(causeOf(error))) return true
    // `assertExists` reports it.
    if (isMissingTable(causeOf(error))) return false
    throw error
  }
}

const tablesNamed = query<{ table: string }>((from, v) =>
  from('information_schema.tables')
    .where({ table_name: v.table })
    .select({ schema: 'table_schema' })
    .orderBy('table_schema'),
)

/** On PostgreSQL, a schema with this table that the connection does not search: Prisma's `?schema=` means nothing to others. */
const schemaWith = async (name: string, database: Database): Promise<string | undefined> => {
  if (database.driver.dialect !== 'postgresql') return undefined
  const [row] = await tablesNamed(database, { table: name })
  return row && textOf(row, 'schema')
}

/** The mapping names a table or column that the database does not have. */
export class UnknownNameError extends HostError {
  override readonly name = 'UnknownNameError'
  /** The option, such as `users.columns.email`. */
  readonly option: string

  constructor(option: string, what: string, cause: unknown) {
    super(`${option} is ${what}`, { cause })
    this.option = option
  }
}

/** The fault in the mapping, given the error of a statement that names all of it. */
const mappingError = async (
  { table, columns }: UserMapping,
  database: Database,
  error: unknown,
): Promise<unknown> => {
  const cause = causeOf(error)
  if (isMissingTable(cause)) {
    const schema = await schemaWith(table, database).catch(() => undefined)
    if (schema === undefined)
      return new UnknownNameError('users.table', `${table}, a table that the database does not have`, cause)
    return new HostError(
      `users.table is ${table}, a table of the schema ${schema}, which the connection does not search`,
      {
        fix: `set searchPath: ['${schema}'] beside client and connection, in the configuration of Knex`,
        cause,
      },
    )
  }
  for (const [name, column] of isMissingColumn(cause) ? Object.entries(columns) : []) {
    const exists = await assertReadable(table, [column], database).then(
      () => true,
      () => false,
    )
    const what = `${column}, a column that ${table} does not have`
    if (!exists) return new UnknownNameError(`users.columns.${name}`, what, cause)
  }
  return error
}

/**
 * Queries on the host's user table, with the host's Knex instance: rows and names are as the host's code sees them.
 *
 * @param database the host's tables
 */
export const hostTable = (mapping: UserMapping, database: Database) => {
  const { table, columns } = mapping
  // With a bound limit SQLite would plan the statement again each time.
  const firstById = query<{ id: string }>((from, v) =>
    from(table)
      .where({ [columns.id]: v.id })
      .limit(1, { skipBinding: true }),
  )
  const namedAs = query<{ one: string; other: string }>((from, v) =>
    from(table).whereIn(columns.username, [v.one, v.other]),
  )
  const withPassword = query<Record<never, never>>((from) =>
    from(table).whereNotNull(columns.password).select(columns.password).limit(100, { skipBinding: true }),
  )
  /** Applies the host's `postProcessResponse`, to one row or an array of rows, as Knex does. */
  const postProcess = <T>(response: T): T => mapResponse(database.knex, response)
  const usernameOf = (row: UserRow): unknown => columnOf(mapping, row, 'username')
  return {
    /** @throws Error that names the option, if the table or a column of it does not exist */
    async assertExists(): Promise<void> {
      try {
        await assertReadable(table, Object.values(columns), database)
      } catch (error) {
        throw await mappingError(mapping, database, error)
      }
    },

    /** The claims that name a column which does not exist. The database only checks the names. */
    async missingClaims(): Promise<{ readonly name: string; readonly column: string }[]> {
      const named = Object.entries(mapping.claims ?? {}).flatMap(([name, column]) =>
        typeof column === 'string' ? [{ name, column }] : [],
      )
      const missing = await Promise.all(named.map(({ column }) => lacksColumn(table, column, database)))
      return named.filter((_, place) => missing[place])
    },

    async byId(id: string): Promise<UserRow | undefined> {
      const [row] = await rowsOrNone(firstById(database, { id }))
      return row && postProcess(row)
    },

    /** Rows with exactly this username, or else those that differ only in case. Always one query. */
    async byUsername(username: string): Promise<readonly UserRow[]> {
      if (!isLookup(username)) return []
      const lowered = username.toLowerCase()
      const rows = postProcess(await rowsOrNone(namedAs(database, { one: username, other: lowered })))
      // Some databases also ignore accents or padding, which would give one account many names to guess under.
      const same = rows.filter((row) => isName(usernameOf(row), lowered))
      const exact = same.filter((row) => String(usernameOf(row)) === username)
      return exact.length > 0 ? exact : same
    },

    /** Password hashes of a hundred users, from which the kinds of hashes in this table are learnt. */
    async somePasswords(): Promise<readonly string[]> {
      const rows = postProcess(await rowsOrNone(withPassword(database, {})))
      return rows.map((row) => plainText(row[columns.password]))
    },
  }
}

const isName = (value: unknown, lowered: string): boolean =>
  [String(value), plainText(value)].some((name) => name.toLowerCase() === lowered)
