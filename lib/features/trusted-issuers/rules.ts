import {
  type AssertionTimes,
  assertionTimes,
  clockSkew,
  maxLifetime,
} from '../../protocol/clients/assertion-times.ts'
import { type Explanation, readable, timeOf } from '../../protocol/explanation.ts'
import { claimsOfJwt, isPlainText } from '../../protocol/json.ts'
import { refusal } from '../../protocol/refusal.ts'
import { isLoginTime, unknownTime } from '../../protocol/requests/login.ts'
import { parseScope } from '../../protocol/scope.ts'

/** RFC 7523 §2.1. */
export const jwtBearerGrantType = 'urn:ietf:params:oauth:grant-type:jwt-bearer'

/** The `typ` of an Identity Assertion JWT Authorization Grant (draft-ietf-oauth-identity-assertion-authz-grant §4). */
export const idJagType = 'oauth-id-jag+jwt'

/** The profile of the grant for such assertions, as metadata names it. */
export const idJagProfile = 'urn:ietf:params:oauth:grant-profile:id-jag'

/** The claims of an assertion, as its issuer wrote them. */
export type AssertionClaims = Readonly<Record<string, unknown>>

const refuse = (problem: string, explanation?: Explanation): never => {
  const isUntimely = explanation?.secondsApart !== undefined
  throw refusal(isUntimely ? 'assertion_untimely' : 'assertion_invalid', {
    values: { problem },
    explanation,
  })
}

/**
 * Reads the issuer of an assertion before its signature is verified.
 *
 * @returns undefined if it is not a JWT, or names none
 */
export const claimedIssuer = (jwt: string): string | undefined => {
  const { iss } = claimsOfJwt(jwt) ?? {}
  return typeof iss === 'string' ? iss : undefined
}

export interface JwtBearerRules {
  /** The assertion must have exactly one of these audiences. */
  readonly audiences: readonly string[]
  /** The client that presents it: the claim `client_id` must name it. Undefined for an assertion about a workload. */
  readonly clientId?: string
  /** Epoch seconds. */
  readonly now: number
}

/**
 * Checks the claims of an assertion whose signature is verified (RFC 7523 §3). An assertion about a user names its client, and
 * has an identifier and the time when it was issued; one about a workload may have neither, as those of Kubernetes.
 *
 * @returns its identifier, if it has one, and until when that must be stored
 * @throws OAuthError `invalid_grant` with the reason (RFC 7523 §3.1)
 */
export const assertJwtBearer = (
  claims: AssertionClaims,
  { audiences, clientId, now }: JwtBearerRules,
): AssertionTimes => {
  const { aud, sub, jti, client_id: named } = claims
  const audience: unknown = Array.isArray(aud) && aud.length === 1 ? aud[0] : aud
  // Every other audience receives the assertion too, and could use it here first.
  if (!audiences.some((one) => one === audience)) {
    const received = `aud ${readable(JSON.stringify(aud) ?? 'none')}`
    refuse(`must have the aud ${audiences[0]} alone`, { expected: `aud ${audiences.join(' or ')}`, received })
  }
  if (typeof sub !== 'string' || sub === '') refuse('must have a sub')
  if (clientId !== undefined && named !== clientId) refuse('must name this client as client_id')
  if (clientId !== undefined && jti === undefined) refuse('must have a jti of 1 to 255 characters')
  const times = assertionTimes(claims, now, refuse)
  // Revocations are remembered for longer than this, so that none is forgotten while an older assertion counts.
  if (clientId !== undefined && issuedAt(claims) < now - maxLifetime - clockSkew)
    refuse('must have an iat, and be issued within the last hour')
  return times
}

/** Epoch seconds; long ago if an assertion does not say. */
const issuedAt = ({ iat }: AssertionClaims): number => (typeof iat === 'number' ? Math.floor(iat) : 0)

/**
 * Ending everything of a user also ends the assertions about that user, including those of the same second.
 *
 * @param revokedAt when everything of the user was ended last, in epoch seconds; undefined for long ago
 * @throws OAuthError `invalid_grant` for an assertion that is older
 */
export const assertIssuedSince = (claims: AssertionClaims, revokedAt: number | undefined): void => {
  if (revokedAt === undefined || issuedAt(claims) > revokedAt) return
  refuse('was issued before everything of the user was ended', {
    expected: `iat after ${timeOf(revokedAt)}`,
    received: `iat at ${timeOf(issuedAt(claims))}`,
  })
}

/** The scopes that an assertion allows at most; undefined if it does not say. */
export const assertedScopes = ({ scope }: AssertionClaims): string[] | undefined =>
  scope === undefined
    ? undefined
    : parseScope(typeof scope === 'string' ? scope : refuse('has a malformed scope'))

/** The resources that an assertion names (RFC 8707). */
export const assertedResources = ({ resource = [] }: AssertionClaims): string[] => {
  const values: unknown[] = Array.isArray(resource) ? resource : [resource]
  return values.map((value) => (typeof value === 'string' ? value : refuse('has a malformed resource')))
}

/** When and how the user signed in at the issuer. The assertion may be much younger than the login. */
export const assertedLogin = (
  { auth_time: time, amr }: AssertionClaims,
  now: number,
): { authTime: number; amr: string[] } => {
  if (time !== undefined && !isLoginTime(time, now)) {
    return refuse('has an auth_time that is not in epoch seconds, or in the future')
  }
  return {
    authTime: Math.floor(Math.min(time ?? unknownTime, now)),
    amr: Array.isArray(amr)
      ? amr.filter((value): value is string => typeof value === 'string' && isPlainText(value))
      : [],
  }
}

/** Whether a value that a host function returned for an assertion is an id. */
export const isAssertedId = (value: unknown): value is string | number =>
  (typeof value === 'string' && value !== '' && isPlainText(value)) || typeof value === 'number'
