import type { Request } from 'express'
import type { HostUser } from '../options/options.ts'

/** A user, wherever users live. */
export interface User {
  /** The id as text: `sub`. */
  readonly subject: string
  /** The login name, for the pages to show. */
  readonly username: string
  /** What the host's hooks are given: the row of its table, or the object that its functions returned. */
  readonly record: HostUser
}

/** The users behind the server: the host's table, the host's functions, or the kit's own table. */
export interface Users<Kind extends User = User> {
  /** The user with this subject; undefined when gone or disabled. */
  find(subject: string): Promise<Kind | undefined>
  /**
   * The user whom these credentials prove. One answer for an unknown user, a wrong password and a disabled user,
   * and, but for the function form, one cost.
   *
   * @throws OAuthError `temporarily_unavailable` when too many verifications wait, or the database is away
   */
  authenticate(username: string, password: string, req: Request): Promise<Kind | undefined>
  /** Raw values by claim name; which of them leave the server is decided by scope. */
  claims(user: Kind, scopes: readonly string[]): Promise<Record<string, unknown>>
}

/** Claims that have a value. */
export const presentClaims = (claims: readonly (readonly [string, unknown])[]): Record<string, unknown> =>
  Object.fromEntries(claims.filter(([, value]) => value !== undefined && value !== null))
