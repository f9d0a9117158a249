import { claimNames, protocolClaims, type ScopeClaims } from './claims.ts'
import { OAuthError } from './errors.ts'
import { isObject, parseJsonObject } from './json.ts'

/** Claims that a request names individually (OIDC Core §5.5), reduced to those this server may release. */
export interface ClaimsRequest {
  readonly userinfo: readonly string[]
  readonly idToken: readonly string[]
  /** Claims that no requested scope reveals: the user consents to each. */
  readonly beyondScopes: readonly string[]
}

/** The parameter as sent: claim names by destination, and the subject if the client requires one. */
export interface RequestedClaims {
  readonly userinfo: readonly string[]
  readonly idToken: readonly string[]
  readonly subject: string | undefined
}

const malformed = (): OAuthError =>
  new OAuthError('invalid_request', 'claims must be a JSON object of objects')

const membersOf = (
  claims: Readonly<Record<string, unknown>>,
  destination: 'userinfo' | 'id_token',
): Readonly<Record<string, unknown>> => {
  const value = Object.hasOwn(claims, destination) ? claims[destination] : {}
  if (!isObject(value)) throw malformed()
  return value
}

/**
 * Parses the `claims` parameter. Essential claims are treated like voluntary ones: a claim that the user did not allow
 * or the host does not know is absent (OIDC Core §5.5.1).
 *
 * @throws OAuthError `invalid_request` if it is not a JSON object, `unmet_authentication_requirements`
 * @example parseClaims('{"userinfo":{"name":{"essential":true}}}')?.userinfo // ['name']
 */
export const parseClaims = (value: string | undefined): RequestedClaims | undefined => {
  if (value === undefined) return undefined
  const claims = parseJsonObject(value)
  if (claims === undefined) throw malformed()
  const idToken = membersOf(claims, 'id_token')
  const subject = idToken.sub
  assertNoEssentialAcr(idToken.acr)
  return {
    userinfo: Object.keys(membersOf(claims, 'userinfo')),
    idToken: Object.keys(idToken),
    subject: isObject(subject) && typeof subject.value === 'string' ? subject.value : undefined,
  }
}

/** OIDC Core §5.5.1.1: this server asserts no context class, so it cannot meet a request that requires one. */
const assertNoEssentialAcr = (acr: unknown): void => {
  if (isObject(acr) && acr.essential === true && (acr.value !== undefined || acr.values !== undefined)) {
    throw new OAuthError('unmet_authentication_requirements', 'claims requires an acr that cannot be met')
  }
}

/** Reduces requested claims to those this server may release, and lists those beyond the requested scopes. */
export const claimsRequest = (
  requested: RequestedClaims,
  scopes: readonly string[],
  scopeClaims: ScopeClaims,
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
