/** Claims by name, as a JSON object carries them. */
export type ClaimSet = Readonly<Record<string, unknown>>

/** The claims that each standard scope asks for (OIDC Core §5.4). */
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

/** Claims that the protocol itself sets; a user's data never overrides them (OIDC Core §2, RFC 7519 §4.1). */
export const protocolClaims: ReadonlySet<string> = new Set([
  ...['iss', 'sub', 'aud', 'exp', 'nbf', 'iat', 'jti', 'nonce', 'auth_time', 'acr', 'amr', 'azp'],
  ...['at_hash', 'c_hash', 's_hash', 'sid', 'client_id', 'scope', 'cnf', 'events'],
])

type Shape = (value: unknown) => unknown

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const text = (value: unknown): string | undefined =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint'
    ? String(value)
    : undefined

/** Databases keep booleans as 0 and 1, sometimes as text. */
const boolean: Shape = (value) => {
  if (typeof value === 'boolean') return value
  if (value === 1 || value === '1' || value === 't' || value === 'true') return true
  if (value === 0 || value === '0' || value === 'f' || value === 'false') return false
  return undefined
}

const timeOf = (value: unknown): number => {
  if (value instanceof Date) return value.getTime()
  return typeof value === 'string' ? Date.parse(value) : Number.NaN
}

/** Epoch seconds; a Date or a date's text is converted, and a bigint column, which drivers give as text. */
const epochSeconds: Shape = (value) => {
  const isCount = typeof value === 'number' || typeof value === 'bigint' || /^[0-9]+$/.test(text(value) ?? '')
  const seconds = isCount ? Number(value) : timeOf(value) / 1000
  return Number.isFinite(seconds) ? Math.floor(seconds) : undefined
}

const twoDigits = (value: number): string => String(value).padStart(2, '0')

/** Drivers give a DATE column as a midnight, most of them in local time; an invalid Date is no day. */
const dayOf = (value: Date): string => {
  if (Number.isNaN(value.getTime())) return ''
  if (value.getTime() % 86_400_000 === 0) return value.toISOString().slice(0, 10)
  const year = String(value.getFullYear()).padStart(4, '0')
  return `${year}-${twoDigits(value.getMonth() + 1)}-${twoDigits(value.getDate())}`
}

const date: Shape = (value) => {
  const day = value instanceof Date ? dayOf(value) : text(value)
  return /^[0-9]{4}(-[0-9]{2}-[0-9]{2})?$/.test(String(day)) ? day : undefined
}

/** Some databases keep JSON as text. */
const object: Shape = (value) => {
  if (typeof value !== 'string') return isObject(value) ? value : undefined
  try {
    return object(JSON.parse(value))
  } catch {
    return undefined
  }
}

const shapes: Readonly<Record<string, Shape>> = {
  email_verified: boolean,
  phone_number_verified: boolean,
  updated_at: epochSeconds,
  birthdate: date,
  address: object,
}

const standardTexts: ReadonlySet<string> = new Set(Object.values(standardScopeClaims).flat())

/** A claim of the host's own, as it is; JSON has no bigint. */
const asJson: Shape = (value) => (typeof value === 'bigint' ? String(value) : value)

const shapeOf = (name: string): Shape => {
  const shape = Object.hasOwn(shapes, name) ? shapes[name] : undefined
  return shape ?? (standardTexts.has(name) ? text : asJson)
}

/** Names of the claims that these scopes reveal; where two scopes do, twice. */
export const claimNames = (
  scopes: readonly string[],
  scopeClaims: Readonly<Record<string, readonly string[]>>,
): string[] =>
  scopes.flatMap((scope) => (Object.hasOwn(scopeClaims, scope) ? (scopeClaims[scope] ?? []) : []))

/**
 * What of a user's data these scopes reveal, each claim with the type OIDC Core §5.1 gives it;
 * what is null, empty or of no use as that type is absent (OIDC Core §5.3.2).
 *
 * @param claims everything the host knows of the user, raw
 * @param scopeClaims claims by scope
 * @param further claims that the user allowed one by one
 */
export const releasedClaims = (
  claims: ClaimSet,
  scopes: readonly string[],
  scopeClaims: Readonly<Record<string, readonly string[]>>,
  further: readonly string[] = [],
): Record<string, unknown> => {
  const released: Record<string, unknown> = {}
  for (const name of [...claimNames(scopes, scopeClaims), ...further]) {
    if (protocolClaims.has(name) || !Object.hasOwn(claims, name)) continue
    const raw = claims[name]
    const value = raw === null || raw === undefined || raw === '' ? undefined : shapeOf(name)(raw)
    if (value !== undefined) released[name] = value
  }
  return released
}
