import { isObject, parseJsonObject } from './json.ts'
import { HostError } from './problem.ts'
import { isStandardScope } from './scope.ts'

/** Claim values by name. */
export type ClaimSet = Readonly<Record<string, unknown>>

/** The claims that each standard scope requests (OIDC Core §5.4). */
export const standardScopeClaims: Readonly<Record<string, readonly string[]>> = {
  openid: [],
  profile: [
    'name',
    'family_name',
    'given_name',
    'middle_name',
    'nickname',
    'preferred_username',
    'profile',
    'picture',
    'website',
    'gender',
    'birthdate',
    'zoneinfo',
    'locale',
    'updated_at',
  ],
  email: ['email', 'email_verified'],
  address: ['address'],
  phone: ['phone_number', 'phone_number_verified'],
  offline_access: [],
}

/**
 * Claims that only this server sets, in any token and answer: what the host says of a user or a resource never overrides them
 * (OIDC Core §2, RFC 7519 §4.1, RFC 9068 §2.2).
 */
export const protocolClaims: ReadonlySet<string> = new Set([
  'iss',
  'sub',
  'aud',
  'exp',
  'nbf',
  'iat',
  'jti',
  'nonce',
  'auth_time',
  'acr',
  'amr',
  'azp',
  'at_hash',
  'c_hash',
  's_hash',
  'sid',
  'client_id',
  'scope',
  'cnf',
  'events',
  'act',
  'active',
  'token_type',
  'org_id',
  'org_generation',
  'authorization_id',
  'authorization_client',
  'authorization_details',
  'personal_token',
])

/** Converts a raw value to the type of a claim; undefined if that is not possible. */
type Convert = (value: unknown) => unknown

const toText = (value: unknown): string | undefined =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint'
    ? String(value)
    : undefined

/** Databases may store booleans as 0 and 1, or as strings. */
const toBoolean: Convert = (value) => {
  if (typeof value === 'boolean') return value
  if (typeof value === 'bigint') return toBoolean(String(value))
  if (value === 1 || value === '1' || value === 't' || value === 'true') return true
  if (value === 0 || value === '0' || value === 'f' || value === 'false') return false
  return undefined
}

const millisecondsOf = (value: unknown): number => {
  if (value instanceof Date) return value.getTime()
  return typeof value === 'string' ? Date.parse(value) : Number.NaN
}

/** Accepts a Date, a date string, and a bigint column, which drivers return as a string. */
const toEpochSeconds: Convert = (value) => {
  const isCount =
    typeof value === 'number' || typeof value === 'bigint' || /^[0-9]+$/.test(toText(value) ?? '')
  const seconds = isCount ? Number(value) : millisecondsOf(value) / 1000
  return Number.isFinite(seconds) ? Math.floor(seconds) : undefined
}

const twoDigits = (value: number): string => String(value).padStart(2, '0')

/** Drivers return a DATE column as midnight, most of them in local time. Empty for an invalid Date. */
const dayOf = (value: Date): string => {
  if (Number.isNaN(value.getTime())) return ''
  if (value.getTime() % 86_400_000 === 0) return value.toISOString().slice(0, 10)
  const year = String(value.getFullYear()).padStart(4, '0')
  return `${year}-${twoDigits(value.getMonth() + 1)}-${twoDigits(value.getDate())}`
}

const toDate: Convert = (value) => {
  const day = value instanceof Date ? dayOf(value) : toText(value)
  return /^[0-9]{4}(-[0-9]{2}-[0-9]{2})?$/.test(String(day)) ? day : undefined
}

/** Some databases return JSON as a string. */
const toObject: Convert = (value) => {
  if (typeof value === 'string') return parseJsonObject(value)
  return isObject(value) ? value : undefined
}

const conversions: Readonly<Record<string, Convert>> = {
  email_verified: toBoolean,
  phone_number_verified: toBoolean,
  updated_at: toEpochSeconds,
  birthdate: toDate,
  address: toObject,
}

const standardClaims: ReadonlySet<string> = new Set(Object.values(standardScopeClaims).flat())

/** JSON has no bigint. */
const withoutBigInts = (_name: string, value: unknown): unknown =>
  typeof value === 'bigint' ? String(value) : value

/**
 * The value of a claim as JSON holds it: a bigint becomes a string, on every level.
 *
 * @param name of the claim, for the error
 * @throws TypeError if JSON cannot hold it, such as a circular value
 * @example jsonOfClaim('member', { no: 5n }) // { no: '5' }
 */
export const jsonOfClaim = (name: string, value: unknown): unknown => {
  if (typeof value === 'bigint') return String(value)
  if (typeof value !== 'object') return value
  try {
    const json: string | undefined = JSON.stringify(value, withoutBigInts)
    return json && JSON.parse(json)
  } catch (cause) {
    throw new HostError(`the claim ${name} cannot be written as JSON`, { cause })
  }
}

const conversionOf = (name: string): Convert => {
  const convert = Object.hasOwn(conversions, name) ? conversions[name] : undefined
  return convert ?? (standardClaims.has(name) ? toText : (value) => value)
}

/** Claims by scope. */
export type ScopeClaims = Readonly<Record<string, readonly string[]>>

/**
 * Claims by scope: the standard ones, and those of the host's scopes.
 *
 * @param named scopes that claims name themselves: `[scope, claim]`
 * @example claimsByScope({ orders: { claims: ['customer_no'] } }).orders // ['customer_no']
 */
export const claimsByScope = (
  scopes: Readonly<Record<string, { readonly claims?: readonly string[] }>>,
  named: readonly (readonly [scope: string, claim: string])[] = [],
): ScopeClaims => {
  const custom = Object.entries(scopes).flatMap(([name, { claims }]) => (claims ? [[name, claims]] : []))
  const known: ScopeClaims = { ...standardScopeClaims, ...Object.fromEntries(custom) }
  const further = named.map(([scope]): [string, readonly string[]] => {
    const own = named.filter(([other]) => other === scope).map(([, claim]) => claim)
    return [scope, [...new Set([...claimsOf(scope, known), ...own])]]
  })
  return { ...known, ...Object.fromEntries(further) }
}

/** Names of the claims that a scope reveals. */
const claimsOf = (scope: string, scopeClaims: ScopeClaims): readonly string[] =>
  (Object.hasOwn(scopeClaims, scope) && scopeClaims[scope]) || []

/** Names of the claims that these scopes reveal; a name that two scopes reveal appears twice. */
export const claimNames = (scopes: readonly string[], scopeClaims: ScopeClaims): string[] =>
  scopes.flatMap((scope) => claimsOf(scope, scopeClaims))

/**
 * The scopes without those that reveal claims which no user has: a client would ask for them, and users would allow them, for
 * nothing.
 *
 * @param supplied all claims that users can have; undefined if they are not known
 * @example withSuppliedClaims(['openid', 'address'], standardScopeClaims, ['email']) // ['openid']
 */
export const withSuppliedClaims = (
  scopes: readonly string[],
  scopeClaims: ScopeClaims,
  supplied: readonly string[] | undefined,
): readonly string[] => {
  if (supplied === undefined) return scopes
  return scopes.filter((scope) => {
    const claims = isStandardScope(scope) ? claimsOf(scope, scopeClaims) : []
    return claims.length === 0 || claims.some((name) => supplied.includes(name))
  })
}

/**
 * The claims that these scopes reveal, each converted to its type in OIDC Core §5.1. A claim that is null, empty or
 * cannot be converted is absent (OIDC Core §5.3.2).
 *
 * @param claims all claims of the user, as the host returned them
 * @param further claims that the user allowed individually
 */
export const releasedClaims = (
  claims: ClaimSet,
  scopes: readonly string[],
  scopeClaims: ScopeClaims,
  further: readonly string[] = [],
): Record<string, unknown> => {
  const released: Record<string, unknown> = {}
  const release = (name: string): void => {
    if (!Object.hasOwn(claims, name) || protocolClaims.has(name)) return
    const raw = claims[name]
    const isEmpty = raw === null || raw === undefined || raw === ''
    const value = isEmpty ? undefined : jsonOfClaim(name, conversionOf(name)(raw))
    if (value !== undefined) released[name] = value
  }
  for (const scope of scopes) claimsOf(scope, scopeClaims).forEach(release)
  further.forEach(release)
  return released
}
