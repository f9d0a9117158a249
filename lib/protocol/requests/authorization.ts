import { OAuthError } from '../errors.ts'
import { type Explanation, lateExplanation, readable } from '../explanation.ts'
import { explainedBinding, isSameBinding, type TokenBinding } from '../tokens/token-binding.ts'
import type { AuthorizationRequest } from './authorization-request.ts'
import { assertCodeVerifier } from './pkce.ts'

/** What an authorization keeps of its request and login: only what a later step needs, because it lives as long as the family. */
export interface AuthorizationDetails
  extends Pick<
    AuthorizationRequest,
    'redirectUri' | 'codeChallenge' | 'nonce' | 'claims' | 'resources' | 'binding' | 'authorizationDetails'
  > {
  /** Epoch seconds of the login. */
  readonly authTime: number
  readonly amr: readonly string[]
  /** Authentication level of the login, if the host declares levels. */
  readonly acr?: string
  /** The organization it is for, requested or chosen; absent if the host has none. */
  readonly organization?: string
}

/** The tokens issued from one authorization: all that its access tokens need to know of it. */
export interface Family {
  /** With `offline_access` the family outlives the login. */
  readonly offline: boolean
  /** Absolute end of the family, and without `offline_access` the end of its login if that comes first. */
  readonly expiresAt: number
  readonly revokedAt: number | null
  readonly details: AuthorizationDetails
  /** False once the user has signed out or the host has ended the login; read together with the authorization. */
  readonly loginStands: boolean
}

/** What a resource owner granted to a client: the code and the head of its token family. */
export interface Authorization extends Family {
  readonly id: string
  readonly clientId: string
  readonly subject: string
  /** The login it came from. */
  readonly sid: string
  readonly scopes: readonly string[]
  readonly codeExpiresAt: number
  readonly consumedAt: number | null
}

/** Whether the family may still be used, apart from the expiry of each token. */
export const isLive = (family: Family, now: number): boolean =>
  family.revokedAt === null && family.expiresAt > now && (family.offline || family.loginStands)

/**
 * When a refresh token that is issued now expires: after its idle lifetime, and never after the family.
 *
 * @param now epoch seconds
 * @param idle seconds
 * @param absolute end of the family, in epoch seconds
 */
export const refreshTokenExpiry = (now: number, idle: number, absolute: number): number =>
  Math.min(now + idle, absolute)

/** What a client presents with a code (RFC 6749 §4.1.3). */
export interface PresentedCode {
  readonly clientId: string
  readonly redirectUri: string
  readonly codeVerifier: string | undefined
  /** What the request proved. */
  readonly binding: TokenBinding
}

/** A code that was presented with the right client, redirect URI and code verifier. */
export interface Redemption {
  /** `replay`: the code was redeemed before, and its family must be revoked. */
  readonly outcome: 'redeem' | 'replay'
  readonly authorization: Authorization
}

const invalidGrant = (description: string, explanation?: Explanation): OAuthError =>
  new OAuthError('invalid_grant', description, { explanation })

/** The explanation of a code that is unknown, or that another client got. */
export const issuedToAnother = (
  found: { readonly clientId: string } | undefined,
  clientId: string,
): Explanation =>
  found === undefined
    ? { expected: 'a value that this server issued', received: 'an unknown one' }
    : { expected: `a request of client ${found.clientId}`, received: `one of client ${clientId}` }

/**
 * Checks a presented code. A replay counts as one only if every binding is right: otherwise anyone who finds a code in
 * a log could revoke the tokens of its owner (RFC 6749 §4.1.2, RFC 9700 §4.5).
 *
 * @throws OAuthError `invalid_grant`
 */
export const assertRedeemable = (
  found: Authorization | undefined,
  presented: PresentedCode,
  now: number,
): Redemption => {
  if (found === undefined || found.clientId !== presented.clientId) {
    const explanation = issuedToAnother(found, presented.clientId)
    throw invalidGrant('code is unknown, or was issued to another client', explanation)
  }
  if (found.details.redirectUri !== presented.redirectUri) {
    throw invalidGrant('redirect_uri differs from that of the authorization request', {
      expected: readable(found.details.redirectUri ?? 'none'),
      received: readable(presented.redirectUri),
    })
  }
  assertCodeVerifier(presented.codeVerifier, found.details.codeChallenge)
  const { binding } = found.details
  if (binding !== undefined && !isSameBinding(binding, presented.binding)) {
    throw invalidGrant('code is bound to a key, and the request has no proof of that key', {
      expected: explainedBinding(binding),
      received: explainedBinding(presented.binding),
    })
  }
  if (found.consumedAt !== null) return { outcome: 'replay', authorization: found }
  if (found.codeExpiresAt <= now) {
    throw invalidGrant('code is expired', lateExplanation(found.codeExpiresAt, now))
  }
  if (!isLive(found, now)) throw invalidGrant('code is revoked')
  return { outcome: 'redeem', authorization: found }
}
