import { choicesIn } from '../choices.ts'
import type { AuthorizationDetail } from '../requests/authorization-details.ts'
import { parseConfirmation, type TokenBinding } from './token-binding.ts'
import { parseActClaim, type TokenContext } from './token-context.ts'

/** The header `typ`, which keeps ID tokens from being accepted as access tokens (RFC 9068 §2.1). */
export const accessTokenType = 'at+jwt'

/** The contents of a JWT access token of this server. */
export interface JwtAccessToken {
  readonly clientId: string
  /** As the client knows the user, or the client itself if it acts for itself. */
  readonly subject: string
  /** Undefined if the client acts for itself. */
  readonly authorizationId: string | undefined
  readonly organization: string | undefined
  readonly scopes: readonly string[]
  /** The client of the authorization, if it is another one after a token exchange. */
  readonly ownerId: string | undefined
  readonly context: TokenContext
  /** Its audience. */
  readonly resources: readonly string[]
  readonly binding: TokenBinding
  /** Epoch seconds. */
  readonly issuedAt: number
  /** Epoch seconds. */
  readonly expiresAt: number
  readonly claims: Readonly<Record<string, unknown>>
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

/** A JWT says all of it; nothing is added from the authorization later. */
const contextOf = ({
  act,
  authorization_details: claimed = [],
  org_generation: generation,
}: Readonly<Record<string, unknown>>): TokenContext => {
  const actor = parseActClaim(act)
  const details = Array.isArray(claimed) ? (claimed as AuthorizationDetail[]) : []
  return {
    ...(actor && { act: actor }),
    ...(typeof generation === 'number' && { generation }),
    authorization_details: details,
    choices: choicesIn(details),
  }
}

type Claims = Readonly<Record<string, unknown>>

/** Claims that every JWT access token has. */
interface RequiredClaims {
  readonly sub: string
  readonly client_id: string
  readonly exp: number
  readonly iat: number
}

/**
 * Whether the claims of a JWT whose signature is right are those of a valid access token (RFC 9068 §4).
 *
 * @param now epoch seconds
 * @returns false if it is expired, not from this issuer, or needs a proof that is not supported
 */
export const isJwtAccessToken = (
  claims: Claims,
  issuer: string,
  now: number,
): claims is Claims & RequiredClaims => {
  const { iss, sub, exp, iat, client_id, cnf } = claims
  if (iss !== issuer || typeof exp !== 'number' || exp <= now || typeof iat !== 'number') return false
  return typeof sub === 'string' && typeof client_id === 'string' && parseConfirmation(cnf) !== undefined
}

/**
 * Reads the claims of a JWT whose signature is right (RFC 9068 §4).
 *
 * @param now epoch seconds
 * @returns undefined unless {@link isJwtAccessToken} accepts them
 */
export const parseJwtAccessToken = (
  claims: Claims,
  issuer: string,
  now: number,
): JwtAccessToken | undefined => {
  const binding = parseConfirmation(claims.cnf)
  if (!isJwtAccessToken(claims, issuer, now) || binding === undefined) return undefined
  const { sub, aud, exp, iat, client_id, scope, authorization_id, org_id } = claims
  return {
    clientId: client_id,
    subject: sub,
    authorizationId: textOf(authorization_id),
    ownerId: textOf(claims.authorization_client),
    context: contextOf(claims),
    organization: textOf(org_id),
    scopes: textOf(scope)?.split(' ') ?? [],
    resources: [aud].flat().filter((one) => typeof one === 'string'),
    binding,
    issuedAt: iat,
    expiresAt: exp,
    claims,
  }
}
