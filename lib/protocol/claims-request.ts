import type { AuthorizationRequest } from './authorization-request.ts'
import { claimNames, protocolClaims } from './claims.ts'
import { OAuthError } from './errors.ts'

/** Claims that a request names one by one (OIDC Core §5.5), reduced to what may be released. */
export interface ClaimsRequest {
  readonly userinfo: readonly string[]
  readonly idToken: readonly string[]
  /** Those that no requested scope reveals: the user is asked for each. */
  readonly beyondScopes: readonly string[]
}

/** The parameter as sent: names by place, and the subject if one was demanded. */
export interface RequestedClaims {
  readonly userinfo: readonly string[]
  readonly idToken: readonly string[]
  readonly subject: string | undefined
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const malformed = (): OAuthError =>
  new OAuthError('invalid_request', 'claims must be a JSON object of objects')

const members = (claims: Record<string, unknown>, place: string): Record<string, unknown> => {
  const value = Object.hasOwn(claims, place) ? claims[place] : {}
  if (!isObject(value)) throw malformed()
  return value
}

/**
 * Parses the `claims` parameter. Whether a claim is essential makes no difference here: what the user allows and the
 * host knows is given, the rest is absent (OIDC Core §5.5.1).
 *
 * @throws OAuthError `invalid_request` when it is not a JSON object, `unmet_authentication_requirements`
 * @example parseClaims('{"userinfo":{"name":{"essential":true}}}')?.userinfo // ['name']
 */
export const parseClaims = (value: string | undefined): RequestedClaims | undefined => {
  if (value === undefined) return undefined
  const claims = parsed(value)
  const idToken = members(claims, 'id_token')
  const subject = idToken.sub
  assertNoEssentialAcr(idToken.acr)
  return {
    userinfo: Object.keys(members(claims, 'userinfo')),
    idToken: Object.keys(idToken),
    subject: isObject(subject) && typeof subject.value === 'string' ? subject.value : undefined,
  }
}

/** OIDC Core §5.5.1.1: nothing here asserts a context class, so a request that insists on one has failed. */
const assertNoEssentialAcr = (acr: unknown): void => {
  if (isObject(acr) && acr.essential === true && (acr.value !== undefined || acr.values !== undefined)) {
    throw new OAuthError('unmet_authentication_requirements', 'claims asks for an acr that cannot be met')
  }
}

const parsed = (value: string): Record<string, unknown> => {
  try {
    const claims: unknown = JSON.parse(value)
    if (isObject(claims)) return claims
  } catch {
    // Not JSON: refused below.
  }
  throw malformed()
}

/** Reduces requested claims to those that this server may know, and tells which go beyond the requested scopes. */
export const claimsRequest = (
  requested: RequestedClaims,
  scopes: readonly string[],
  scopeClaims: Readonly<Record<string, readonly string[]>>,
): ClaimsRequest => {
  const known = new Set(claimNames(Object.keys(scopeClaims), scopeClaims))
  const covered = new Set(claimNames(scopes, scopeClaims))
  const releasable = (names: readonly string[]): string[] =>
    names.filter((name) => known.has(name) && !protocolClaims.has(name))
  const userinfo = releasable(requested.userinfo)
  const idToken = releasable(requested.idToken)
  const beyondScopes = [...new Set([...userinfo, ...idToken])].filter((name) => !covered.has(name))
  return { userinfo, idToken, beyondScopes }
}

/** How a single claim stands among the scopes of a consent; no scope can have a quote in it (RFC 6749 §3.3). */
export const claimEntry = (name: string): string => `claim"${name}`

/** All that a request asks the user for: its scopes, and each claim beyond them. */
export const consentEntries = ({
  scopes,
  claims,
}: Pick<AuthorizationRequest, 'scopes' | 'claims'>): string[] => [
  ...scopes,
  ...(claims?.beyondScopes ?? []).map(claimEntry),
]
