import type { Request } from 'express'
import type { AuthRouterOptions } from '../options/options.ts'
import type { ClaimsAsked, ClaimTarget, HostUser } from '../options/users.ts'
import { HostError } from '../protocol/problem.ts'
import { isAmong, type Organization, parseOrganizations } from '../protocol/requests/organization.ts'
import { callHost } from './host-function.ts'

/** A user, from any source. */
export interface User {
  /** The id as a string: `sub`. */
  readonly subject: string
  /** The username that the pages show. */
  readonly username: string
  /** The argument of the host's hooks: the row of its table, or the object that its functions returned. */
  readonly record: HostUser
}

/** The users of the server: in the host's table, behind the host's functions, or in Latchkey's own table. */
export interface Users<Kind extends User = User> {
  /**
   * Checks the host's table once, when the server starts. Absent for other users.
   *
   * @throws Error that names the option `users` and what is wrong with it
   */
  assertTable?(): Promise<void>
  /**
   * The user with this login name, also a disabled one. Absent if only the host's functions know login names.
   */
  findByUsername?(username: string): Promise<Kind | undefined>
  /** The user with this subject; undefined if they do not exist or are disabled. */
  find(subject: string): Promise<Kind | undefined>
  /**
   * The user with these credentials; undefined for an unknown user, a wrong password and a disabled user, which all take
   * equally long except with the host's functions.
   *
   * @param isKnown whether the user has logged in in this browser before, so that strangers cannot delay them
   * @throws OAuthError `temporarily_unavailable` if too many verifications are waiting, or the database is unavailable
   */
  authenticate(username: string, password: string, req: Request, isKnown?: boolean): Promise<Kind | undefined>
  /** The full name, for administrators; undefined if it is not known without a client that asks for it. */
  fullName(user: Kind): Promise<string | undefined>
  /** The names of all claims that {@link claims} can return. Absent if only the host's function knows them. */
  readonly claimNames?: readonly string[]
  /** Raw values by claim name for one place; the caller releases only those that the scopes reveal. */
  claims(user: Kind, asked: ClaimsAsked): Promise<Record<string, unknown>>
}

/** Whether the claims of a user go there unless the host says otherwise. APIs get none. */
export const isUsualTarget = (target: ClaimTarget): boolean => target === 'id_token' || target === 'userinfo'

/** The claims that are neither null nor undefined. */
export const definedClaims = (claims: readonly (readonly [string, unknown])[]): Record<string, unknown> =>
  Object.fromEntries(claims.filter(([, value]) => value !== undefined && value !== null))

/**
 * The default of `preferred_username`, which the scope `profile` reveals (OIDC Core §5.4). An e-mail address is left
 * out: only the scope `email` reveals it.
 */
export const preferredUsername = (username: string): string | undefined =>
  username === '' || username.includes('@') ? undefined : username

/** Maximum length of a subject or username: the limit of `sub` (OIDC Core §2), and longer than any e-mail address. */
export const maxLookupLength = 255

/** No database stores half of a surrogate pair, and PostgreSQL reports an error for NUL. */
const isStorable = (text: string): boolean => !text.includes('\0') && !/\p{Surrogate}/u.test(text)

/** Whether this can be an id or a username. */
export const isLookup = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && value.length <= maxLookupLength && isStorable(value)

const isId = (id: unknown): id is string | number | bigint =>
  typeof id === 'string' || typeof id === 'bigint' || Number.isSafeInteger(id)

/**
 * The id of the user whom a call of the host names. Anything else, such as the row of the user, would name no one, and the
 * call would seem to have worked.
 *
 * @param call named in the error
 * @throws TypeError if it is neither a string nor a whole number
 * @example givenId(1n, 'users.revokeAll()') // '1'
 */
export const givenId = (id: unknown, call: string): string => {
  if (isId(id)) return String(id)
  throw new HostError(`${call} needs the id of the user, as a string, a bigint or a whole number below 2^53`)
}

/**
 * Converts a user's id to a subject identifier (OIDC Core §2).
 *
 * @param where named in the error, such as `users.columns.id`
 * @throws TypeError if the id is neither a safe integer nor a string of printable ASCII characters, or too long
 * @example subjectOf(42, 'users.columns.id') // '42'
 */
export const subjectOf = (id: unknown, where: string): string => {
  // Drivers round larger integers, which would merge two users.
  if (typeof id === 'number' && !Number.isSafeInteger(id)) {
    throw new HostError(`${where} must be a whole number below 2^53`, {
      fix: 'let the driver return it as a string',
    })
  }
  const subject = isId(id) ? String(id) : ''
  if (!isLookup(subject) || !/^[\x20-\x7e]+$/.test(subject)) {
    throw new HostError(
      `${where} must be a number, or a string of 1 to ${maxLookupLength} printable ASCII characters`,
    )
  }
  return subject
}

/**
 * The organizations of a user, as the host returns them now. They are never cached, so a removed user loses access at
 * once.
 *
 * @param req the request of the user's own browser, if it is one
 * @returns undefined if the host has no organizations
 * @throws OAuthError `temporarily_unavailable` if what the host's function needs is unavailable · Error if it fails
 *   otherwise, or returns anything else than organizations
 * @example await findOrganizations(server.options.organizations, user, req)
 */
export const findOrganizations = async (
  organizations: AuthRouterOptions['organizations'],
  user: User,
  req?: Request,
): Promise<readonly Organization[] | undefined> => {
  if (organizations === undefined) return undefined
  return callHost('the option organizations', async () =>
    parseOrganizations(await organizations(user.record, { req })),
  )
}

/** Whether the user belongs to this organization: to none if it is undefined. Always true if the host has no organizations. */
export const belongsToOrganization = async (
  organizations: AuthRouterOptions['organizations'],
  user: User,
  organization: string | undefined,
): Promise<boolean> => {
  const current = await findOrganizations(organizations, user)
  return current === undefined || isAmong(current, organization)
}
