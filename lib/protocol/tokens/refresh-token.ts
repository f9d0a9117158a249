import { OAuthError } from '../errors.ts'
import { lateExplanation } from '../explanation.ts'
import { type Authorization, isLive, issuedToAnother } from '../requests/authorization.ts'
import { isSameBinding, type TokenBinding } from './token-binding.ts'

/** One of the successive refresh tokens of an authorization. */
export interface RefreshToken {
  readonly hash: string
  readonly authorization: Authorization
  readonly expiresAt: number
  readonly consumedAt: number | null
  /** The next token, encrypted under a key derived from this token's value; null once the grace period is over. */
  readonly successor: string | null
}

export interface RefreshRules {
  readonly clientId: string
  /** Whether each use issues a new token; on unless the client is registered otherwise. */
  readonly rotation: boolean
  /** Seconds in which a used token returns its successor again. */
  readonly refreshGracePeriod: number
  /** What the request proved; undefined for a confidential client, whose tokens its authentication protects (RFC 9449 §5). */
  readonly binding: TokenBinding | undefined
}

/** What a presented refresh token leads to. */
export type Refresh =
  /** Issue a successor. */
  | { readonly outcome: 'rotate'; readonly token: RefreshToken }
  /** The client has no rotation and keeps its token. */
  | { readonly outcome: 'keep'; readonly token: RefreshToken }
  /** The response was probably lost: return the same successor again. */
  | { readonly outcome: 'repeat'; readonly token: RefreshToken; readonly successor: string }
  /** The token was used before: theft is assumed, and the family must be revoked. */
  | { readonly outcome: 'reuse'; readonly token: RefreshToken }

/**
 * Checks a presented refresh token (RFC 6749 §6, RFC 9700 §4.14.2).
 *
 * @throws OAuthError `invalid_grant`
 */
export const assertRefreshable = (
  found: RefreshToken | undefined,
  rules: RefreshRules,
  now: number,
): Refresh => {
  if (found === undefined || found.authorization.clientId !== rules.clientId) {
    throw new OAuthError('invalid_grant', 'refresh_token is unknown, or was issued to another client', {
      explanation: issuedToAnother(found?.authorization, rules.clientId),
    })
  }
  if (!isLive(found.authorization, now)) {
    throw new OAuthError('invalid_grant', 'refresh_token is revoked, or its grant has ended')
  }
  const { binding } = found.authorization.details
  // Before reuse is noticed: without the key, a stolen token must not end the grant of its owner either.
  if (binding && rules.binding && !isSameBinding(binding, rules.binding)) {
    throw new OAuthError(
      'invalid_grant',
      'refresh_token is bound to a key, and the request has no proof of that key',
    )
  }
  if (found.consumedAt !== null) return repeatOrReuse(found, found.consumedAt, rules, now)
  if (found.expiresAt <= now) {
    const explanation = lateExplanation(found.expiresAt, now)
    throw new OAuthError('invalid_grant', 'refresh_token is expired', { explanation })
  }
  return { outcome: rules.rotation ? 'rotate' : 'keep', token: found }
}

const repeatOrReuse = (
  token: RefreshToken,
  consumedAt: number,
  { refreshGracePeriod }: RefreshRules,
  now: number,
): Refresh => {
  const { successor } = token
  // The absolute difference, so that a clock that was set back does not extend the grace period.
  const isInGracePeriod = Math.abs(now - consumedAt) < refreshGracePeriod
  return isInGracePeriod && successor !== null
    ? { outcome: 'repeat', token, successor }
    : { outcome: 'reuse', token }
}
