import type { Request } from 'express'
import type { HostUser } from '../options/options.ts'

/** A user, from any source. */
export interface User {
  /** The id as a string: `sub`. */
  readonly subject: string
  /** The username that the pages show. */
  readonly username: string
  /** The argument of the host's hooks: the row of its table, or the object that its functions returned. */
  readonly record: HostUser
}

/** The users of the server: in the host's table, behind the host's functions, or in the kit's own table. */
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
  /** Raw values by claim name; the caller releases only those that the scopes reveal. */
  claims(user: Kind, scopes: readonly string[]): Promise<Record<string, unknown>>
}

/** The claims that are neither null nor undefined. */
export const definedClaims = (claims: readonly (readonly [string, unknown])[]): Record<string, unknown> =>
  Object.fromEntries(claims.filter(([, value]) => value !== undefined && value !== null))

/**
 * The default of `preferred_username`, which the scope `profile` reveals (OIDC Core §5.4). An e-mail address is left
 * out: only the scope `email` reveals it.
 */
export const preferredUsername = (username: string): string | undefined =>
  username === '' || username.includes('@') ? undefined : username
