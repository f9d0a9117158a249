import type { Choices } from '../choices.ts'
import { absoluteLifetime, allowedScopes, type Client } from '../clients/client.ts'
import { type Explanation, lateExplanation, readable } from '../explanation.ts'
import { refusal } from '../refusal.ts'
import { bearer, explainedBinding, isSameBinding, type TokenBinding } from '../tokens/token-binding.ts'
import type { AuthorizationRequest } from './authorization-request.ts'
import { assertCodeVerifier } from './pkce.ts'

/** The part of its request and login that an authorization keeps: only what a later step needs, because it lives as long as the family. */
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
  /** The things that the user chose, by kind; absent if there were none to choose. */
  readonly choices?: Choices
  /** Scopes that the user took away later: no token has them, also one after a token exchange. */
  readonly removed?: readonly string[]
  /** How often the user has narrowed it. What was read before is not issued after. */
  readonly narrowed: number
  /** False once the user has signed out or the host has ended the login; read together with the authorization. */
  readonly loginStands: boolean
}

/** The authorization of a client by a resource owner, as stored: the code and the head of its token family. */
export interface AuthorizationState extends Family {
  readonly id: string
  readonly clientId: string
  readonly subject: string
  /** The login it came from. */
  readonly sid: string
  readonly scopes: readonly string[]
  /** Epoch seconds. */
  readonly createdAt: number
  /** When its login expires, in epoch seconds; 0 if there is none. */
  readonly loginEnd: number
  readonly codeExpiresAt: number
  readonly consumedAt: number | null
}

/** Whether the family may still be used, apart from the expiry of each token. */
export const isLive = (family: Family, now: number): boolean =>
  family.revokedAt === null && family.expiresAt > now && (family.offline || family.loginStands)

/**
 * The authorization as its client may use it now. It loses what its client has lost: without `offline_access` it ends with its
 * login, and a shorter absolute lifetime counts from its beginning.
 *
 * @param lifetimes of the option
 */
export const grantedStill = (
  found: AuthorizationState,
  client: Pick<Client, 'metadata'>,
  lifetimes: { readonly refreshTokenAbsolute: number },
): AuthorizationState => {
  const { scopes, createdAt, loginEnd } = found
  const isWithdrawn = scopes.includes('offline_access') && !allowedScopes(client).includes('offline_access')
  const offline = found.offline && !isWithdrawn
  const absolute = Math.min(found.expiresAt, createdAt + absoluteLifetime(client.metadata, lifetimes))
  return { ...found, offline, expiresAt: offline ? absolute : Math.min(absolute, loginEnd) }
}

/**
 * When a refresh token that is issued now expires: after its idle lifetime, and never after the family.
 *
 * @param now epoch seconds
 * @param idle seconds
 * @param absolute end of the family, in epoch seconds
 */
export const refreshTokenExpiry = (now: number, idle: number, absolute: number): number =>
  Math.min(now + idle, absolute)

/** A code as a client presents it (RFC 6749 §4.1.3). */
export interface PresentedCode {
  readonly clientId: string
  readonly redirectUri: string | undefined
  readonly codeVerifier: string | undefined
  /** The key or certificate that the request proved. */
  readonly binding: TokenBinding
}

/** A code that was presented by its client, with everything that it needed when it was issued. */
export interface Redemption {
  /** `replay`: the code was redeemed before, and its family must be revoked. */
  readonly outcome: 'redeem' | 'replay'
  readonly authorization: AuthorizationState
}

/** The explanation of a code that is unknown, or that another client got. */
export const issuedToAnother = (
  found: { readonly clientId: string } | undefined,
  clientId: string,
): Explanation =>
  found === undefined
    ? { expected: 'a value that this server issued', received: 'an unknown one' }
    : { expected: `a request of client ${found.clientId}`, received: `one of client ${clientId}` }

/** A value that works once: an authorization code, a device code or a refresh token. */
export interface SingleUse {
  /** The parameter that carries it. */
  readonly name: string
  /** The key that it has needed since it was issued; not one that its own use proved, because it works without that. */
  readonly binding: TokenBinding
  /** Epoch seconds. */
  readonly consumedAt: number | null
}

/**
 * Whether a value that works once was used before. Callers have checked its client. This check comes before all that refuse the
 * value, which would hide that two parties have it (RFC 6749 §4.1.2, RFC 9700 §4.14.2). Only someone who could have used the
 * value may end its tokens, so the key that it was issued for is required first (RFC 9700 §4.5).
 *
 * @param proved by the request; undefined if its client needs no proof
 * @throws OAuthError `invalid_grant` without that key
 */
export const wasUsed = (
  { name, binding, consumedAt }: SingleUse,
  proved: TokenBinding | undefined,
): boolean => {
  if (binding.type !== 'bearer' && proved !== undefined && !isSameBinding(binding, proved)) {
    const explanation = { expected: explainedBinding(binding), received: explainedBinding(proved) }
    throw refusal('key_differs', { values: { parameter: name }, explanation })
  }
  return consumedAt !== null
}

/**
 * Checks a code or device code that its client redeems.
 *
 * @param name the parameter that carried the code
 * @param proved by the request
 * @throws OAuthError `invalid_grant`, or `expired_token` for a device that came too late (RFC 8628 §3.5)
 */
export const assertUnused = (
  found: AuthorizationState,
  name: 'code' | 'device_code',
  proved: TokenBinding,
  now: number,
): Redemption => {
  const { details, consumedAt, codeExpiresAt } = found
  if (wasUsed({ name, binding: details.binding ?? bearer, consumedAt }, proved)) {
    return { outcome: 'replay', authorization: found }
  }
  if (codeExpiresAt <= now) {
    const explanation = lateExplanation(codeExpiresAt, now)
    throw refusal(`${name}_expired`, { explanation })
  }
  if (!isLive(found, now)) throw refusal(`${name}_revoked`)
  return { outcome: 'redeem', authorization: found }
}

/**
 * Checks a presented code. Redirect URI and code verifier come before a replay is seen: otherwise anyone who finds a code in a
 * log could revoke the tokens of its owner (RFC 9700 §4.5). Clients of OAuth 2.1 send the verifier alone (OAuth 2.1 §10.2).
 *
 * @throws OAuthError `invalid_grant`, or `invalid_request` without a redirect URI for a code that has no challenge
 */
export const assertRedeemable = (
  found: AuthorizationState | undefined,
  presented: PresentedCode,
  now: number,
): Redemption => {
  if (found === undefined || found.clientId !== presented.clientId) {
    const explanation = issuedToAnother(found, presented.clientId)
    throw refusal('code_unknown', { explanation })
  }
  const { redirectUri, codeChallenge } = found.details
  if (presented.redirectUri === undefined && codeChallenge === undefined) {
    throw refusal('redirect_uri_needed')
  }
  if (presented.redirectUri !== undefined && presented.redirectUri !== redirectUri) {
    const explanation = {
      expected: readable(redirectUri ?? 'none'),
      received: readable(presented.redirectUri),
    }
    throw refusal('redirect_uri_differs', { explanation })
  }
  assertCodeVerifier(presented.codeVerifier, codeChallenge)
  return assertUnused(found, 'code', presented.binding, now)
}
