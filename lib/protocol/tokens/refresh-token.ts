import { type Client, isPublic } from '../clients/client.ts'
import type { OAuthError } from '../errors.ts'
import { lateExplanation } from '../explanation.ts'
import { refusal } from '../refusal.ts'
import { type AuthorizationState, isLive, issuedToAnother, wasUsed } from '../requests/authorization.ts'
import { bearer, isSameBinding, type TokenBinding } from './token-binding.ts'

/** One of the successive refresh tokens of an authorization. */
export interface RefreshToken {
  readonly hash: string
  readonly authorization: AuthorizationState
  /** The key that it has needed since it was issued. */
  readonly binding: TokenBinding
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
  /** The key or certificate that the request proved; undefined for a confidential client, whose tokens its authentication protects (RFC 9449 §5). */
  readonly binding: TokenBinding | undefined
}

/** The consequence of a presented refresh token. */
export type Refresh =
  /** Issue a successor. */
  | { readonly outcome: 'rotate'; readonly token: RefreshToken }
  /** The client has no rotation and keeps its token. */
  | { readonly outcome: 'keep'; readonly token: RefreshToken }
  /** The response was probably lost: return the same successor again. */
  | { readonly outcome: 'repeat'; readonly token: RefreshToken; readonly successor: RefreshToken }
  /** The token was used before: theft is assumed, and the family must be revoked. */
  | { readonly outcome: 'reuse'; readonly token: RefreshToken }

/**
 * Checks a presented refresh token (RFC 6749 §6, RFC 9700 §4.14.2).
 *
 * @param successor what its first use issued, if that is known
 * @throws OAuthError `invalid_grant`
 */
export const assertRefreshable = (
  found: RefreshToken | undefined,
  successor: RefreshToken | undefined,
  rules: RefreshRules,
  now: number,
): Refresh => {
  if (found === undefined || found.authorization.clientId !== rules.clientId) {
    throw refusal('refresh_token_unknown', {
      explanation: issuedToAnother(found?.authorization, rules.clientId),
    })
  }
  const ended = (): OAuthError => refusal('refresh_token_revoked')
  // Nothing is left to revoke.
  if (found.authorization.revokedAt !== null) throw ended()
  const isUsed = wasUsed({ ...found, name: 'refresh_token' }, rules.binding)
  const repeated = successor && isRepeat(found, successor, rules, now) ? successor : undefined
  if (isUsed && repeated === undefined) return { outcome: 'reuse', token: found }
  // After detection: an authorization that has ended for now goes on when its client gets `offline_access` back.
  if (!isLive(found.authorization, now)) throw ended()
  if (isUsed && repeated !== undefined) return { outcome: 'repeat', token: found, successor: repeated }
  if (found.expiresAt <= now) {
    const explanation = lateExplanation(found.expiresAt, now)
    throw refusal('refresh_token_expired', { explanation })
  }
  return { outcome: rules.rotation ? 'rotate' : 'keep', token: found }
}

/**
 * Whether this use repeats the first one because its answer was lost: it comes soon, while the successor is unused, and with the
 * same key. A request that adds a key, or lacks the key that the first use added, comes from another party.
 */
const isRepeat = (
  { consumedAt }: RefreshToken,
  successor: RefreshToken,
  { refreshGracePeriod, binding }: RefreshRules,
  now: number,
): boolean =>
  // The absolute difference, so that a clock that was set back does not extend the grace period.
  Math.abs(now - (consumedAt ?? 0)) < refreshGracePeriod &&
  successor.consumedAt === null &&
  successor.expiresAt > now &&
  (binding === undefined || isSameBinding(successor.binding, binding))

/**
 * The key that a refresh token needs. For a public client it is the key of the access token issued with it; a confidential client
 * authenticates instead (RFC 9449 §5, RFC 8705 §4).
 */
export const refreshTokenBinding = (client: Client, binding: TokenBinding): TokenBinding =>
  isPublic(client) ? binding : bearer
