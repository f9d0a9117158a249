import { isDeepStrictEqual } from 'node:util'
import { claimNames, protocolClaims, type ScopeClaims } from '../claims.ts'
import type { OAuthError } from '../errors.ts'
import { isObject, isPlainValue, parseJsonObject } from '../json.ts'
import { refusal } from '../refusal.ts'

/** Claims that a request names individually (OIDC Core §5.5), reduced to those that the client may get. */
export interface ClaimsRequest {
  readonly userinfo: readonly string[]
  readonly idToken: readonly string[]
  /** Claims that no requested scope reveals: the user consents to each, on the terms of the scope that reveals it. */
  readonly beyondScopes: readonly string[]
  /** The values that a claim must have in one place; otherwise it is absent there. */
  readonly values?: RequestedValues
}

/** Values by claim. */
export type ClaimValues = Readonly<Record<string, readonly unknown[]>>

/** Values by place and claim. */
export type RequestedValues = Readonly<Partial<Record<'userinfo' | 'idToken', ClaimValues>>>

/** The parameter as sent: claim names by destination, and the subject if the client requires one. */
export interface RequestedClaims {
  readonly userinfo: readonly string[]
  readonly idToken: readonly string[]
  readonly subject: string | undefined
  readonly acr: RequestedAcr | undefined
  readonly values: RequestedValues | undefined
}

/** The login must have one of these authentication levels (OIDC Core §5.5.1.1). */
export interface RequestedAcr {
  readonly values: readonly unknown[]
  readonly essential: boolean
}

const malformed = (): OAuthError =>
  refusal('parameter_invalid', {
    values: { parameter: 'claims', problem: 'must be a JSON object of objects' },
  })

const membersOf = (
  claims: Readonly<Record<string, unknown>>,
  destination: 'userinfo' | 'id_token',
): Readonly<Record<string, unknown>> => {
  const value = Object.hasOwn(claims, destination) ? claims[destination] : {}
  if (!isObject(value)) throw malformed()
  return value
}

/**
 * Parses the `claims` parameter. Essential claims are treated like voluntary ones, except `acr`: a claim that the user did
 * not allow, that the host does not know or that has another value is absent (OIDC Core §5.5.1).
 *
 * @throws OAuthError `invalid_request` if it is not a JSON object
 * @example parseClaims('{"userinfo":{"name":{"essential":true}}}').userinfo // ['name']
 */
export const parseClaims = (value: string): RequestedClaims => {
  const claims = parseJsonObject(value)
  if (claims === undefined) throw malformed()
  if (!isPlainValue(claims))
    throw refusal('parameter_invalid', {
      values: { parameter: 'claims', problem: 'must not contain control characters or many levels' },
    })
  const idToken = membersOf(claims, 'id_token')
  const userinfo = membersOf(claims, 'userinfo')
  return {
    userinfo: Object.keys(userinfo),
    idToken: Object.keys(idToken),
    subject: onlySubject([...valuesOf(idToken.sub), ...valuesOf(userinfo.sub)]),
    acr: acrOf(idToken.acr),
    values: requestedValues({ userinfo, idToken }),
  }
}

/** Claims that must have certain values; undefined if there are none, as in most requests. */
const requestedValues = (
  places: Readonly<Record<'userinfo' | 'idToken', Readonly<Record<string, unknown>>>>,
): RequestedValues | undefined => {
  const found = Object.entries(places).flatMap(([place, members]) => {
    const values = Object.entries(members).map(([name, member]) => [name, valuesOf(member)] as const)
    const named = values.filter(([name, wanted]) => wanted.length > 0 && !protocolClaims.has(name))
    return named.length > 0 ? [[place, Object.fromEntries(named)] as const] : []
  })
  return found.length > 0 ? Object.fromEntries(found) : undefined
}

/**
 * The claims of a user without those that the client requested with other values (OIDC Core §5.5.1).
 *
 * @example matchingClaims({ locale: 'de' }, { locale: ['en', 'fr'] }) // {}
 */
export const matchingClaims = (
  claims: Readonly<Record<string, unknown>>,
  values: ClaimValues,
): Record<string, unknown> => {
  const matches = ([name, value]: [string, unknown]): boolean =>
    !Object.hasOwn(values, name) || values[name]?.some((wanted) => isDeepStrictEqual(wanted, value)) === true
  return Object.fromEntries(Object.entries(claims).filter(matches))
}

/** The values that a claim must have, in whatever form the client wrote them. */
const valuesOf = (claim: unknown): unknown[] => {
  if (!isObject(claim)) return []
  const { value, values } = claim
  return [
    ...(value === undefined ? [] : [value]),
    ...(Array.isArray(values) ? values : values === undefined ? [] : [values]),
  ]
}

/** OIDC Core §5.5.1: the response must be about this user. Ignoring the value could answer for another user. */
const onlySubject = (subjects: readonly unknown[]): string | undefined => {
  const [subject] = subjects
  if (subjects.some((other) => typeof other !== 'string' || other !== subject)) {
    throw refusal('parameter_invalid', {
      values: { parameter: 'claims', problem: 'must name one sub, as a string' },
    })
  }
  return subject as string | undefined
}

const acrOf = (acr: unknown): RequestedAcr | undefined => {
  const values = valuesOf(acr)
  return values.length === 0 ? undefined : { values, essential: isObject(acr) && acr.essential === true }
}

/**
 * Reduces requested claims to those that a scope of the client reveals, and lists those beyond the requested scopes.
 *
 * @param allowed the scopes that the client may request
 */
export const claimsRequest = (
  requested: RequestedClaims,
  { scopes, allowed }: { readonly scopes: readonly string[]; readonly allowed: readonly string[] },
  scopeClaims: ScopeClaims,
): ClaimsRequest => {
  const known = new Set(claimNames(allowed, scopeClaims))
  const covered = new Set(claimNames(scopes, scopeClaims))
  const releasable = (names: readonly string[]): string[] =>
    names.filter((name) => known.has(name) && !protocolClaims.has(name))
  const userinfo = releasable(requested.userinfo)
  const idToken = releasable(requested.idToken)
  const beyondScopes = [...new Set([...userinfo, ...idToken])].filter((name) => !covered.has(name))
  return { userinfo, idToken, beyondScopes, ...(requested.values && { values: requested.values }) }
}

/** A claims request without the claims beyond the scopes that may not be released. */
export const narrowedClaims = (
  claims: ClaimsRequest | undefined,
  mayRelease: (name: string) => boolean,
): ClaimsRequest | undefined =>
  claims && { ...claims, beyondScopes: claims.beyondScopes.filter((name) => mayRelease(name)) }
