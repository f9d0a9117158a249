import { type Authorization, isLive } from './authorization.ts'
import { OAuthError } from './errors.ts'
import { assertCodeVerifier } from './pkce.ts'

/** What a client presents with a code (RFC 6749 §4.1.3). */
export interface PresentedCode {
  readonly clientId: string
  readonly redirectUri: string
  readonly codeVerifier: string | undefined
}

const invalidGrant = (description: string): OAuthError => new OAuthError('invalid_grant', description)

/**
 * The rules of redemption, in order. Only a presentation that is right in every binding can be a replay:
 * otherwise whoever sees a code in a log could kill the family of its owner (RFC 6749 §4.1.2, RFC 9700 §4.5).
 *
 * @returns `replay` when the code was redeemed before and its family must be revoked
 * @throws OAuthError `invalid_grant`
 */
export const checkAuthorizationCode = (
  authorization: Authorization | undefined,
  presented: PresentedCode,
  now: number,
): 'redeem' | 'replay' => {
  if (authorization === undefined || authorization.clientId !== presented.clientId) {
    throw invalidGrant('code is unknown, or was issued to another client')
  }
  if (authorization.details.redirectUri !== presented.redirectUri) {
    throw invalidGrant('redirect_uri differs from the one of the authorization request')
  }
  assertCodeVerifier(presented.codeVerifier, authorization.details.codeChallenge)
  if (authorization.consumedAt !== null) return 'replay'
  if (authorization.codeExpiresAt <= now) throw invalidGrant('code is expired')
  if (!isLive(authorization, now)) throw invalidGrant('code is revoked')
  return 'redeem'
}
