import { type Authorization, isLive } from './authorization.ts'
import { OAuthError } from './errors.ts'

/** One link in the chain of an authorization. */
export interface RefreshToken {
  readonly hash: string
  readonly authorization: Authorization
  readonly expiresAt: number
  readonly consumedAt: number | null
  /** The next token, sealed under a key that only this token's bearer can derive; null once the window is over. */
  readonly successor: string | null
}

export interface RefreshRules {
  readonly clientId: string
  /** Whether each use gives a new token; on unless the client was registered otherwise. */
  readonly rotation: boolean
  /** Seconds in which the same answer may be had again. */
  readonly refreshTokenGracePeriod: number
}

/**
 * What a presented refresh token earns, in order (RFC 6749 §6, RFC 9700 §4.14.2).
 *
 * @returns `rotate` · `keep` (a client without rotation) · `repeat`: a lost answer is given again ·
 *   `reuse`: theft is assumed and the family must be revoked
 * @throws OAuthError `invalid_grant`
 */
export const checkRefreshToken = (
  token: RefreshToken | undefined,
  rules: RefreshRules,
  now: number,
): 'rotate' | 'keep' | 'repeat' | 'reuse' => {
  if (token === undefined || token.authorization.clientId !== rules.clientId) {
    throw new OAuthError('invalid_grant', 'refresh_token is unknown, or was issued to another client')
  }
  if (!isLive(token.authorization, now)) {
    throw new OAuthError('invalid_grant', 'refresh_token is revoked, or its grant has ended')
  }
  if (token.consumedAt !== null) {
    // Both ways: a clock that was set back must not open the window again for as long.
    const within = Math.abs(now - token.consumedAt) < rules.refreshTokenGracePeriod
    return within && token.successor !== null ? 'repeat' : 'reuse'
  }
  if (token.expiresAt <= now) throw new OAuthError('invalid_grant', 'refresh_token is expired')
  return rules.rotation ? 'rotate' : 'keep'
}

/**
 * When a refresh token that is issued now expires: idle lifetime, never beyond the family's absolute end.
 *
 * @param idle seconds
 */
export const refreshTokenExpiry = (now: number, idle: number, absolute: number): number =>
  Math.min(now + idle, absolute)
