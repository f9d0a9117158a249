import { OAuthError } from './errors.ts'

/** RFC 7523 §2.2. */
export const clientAssertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

/** What a client may sign with. `Ed25519` is the newer name of what `EdDSA` means here (RFC 9864 §2.2). */
export const clientAssertionAlgorithms = ['RS256', 'PS256', 'ES256', 'EdDSA', 'Ed25519'] as const

export type ClientAssertionAlgorithm = (typeof clientAssertionAlgorithms)[number]

/** The algorithms of a client that registered one, or none in particular. */
export const algorithmsOf = (registered: ClientAssertionAlgorithm | undefined): readonly string[] => {
  if (registered === undefined) return clientAssertionAlgorithms
  return registered === 'EdDSA' || registered === 'Ed25519' ? ['EdDSA', 'Ed25519'] : [registered]
}

/** How far the clock of a client may be off, in seconds. */
const clockSkew = 30
/** Seconds for which an assertion may be good: libraries say 1 to 10 minutes, and as long must its `jti` be kept. */
const maxLifetime = 600

/**
 * Whom an assertion claims to come from, read before anything is proven (RFC 7523 §3: `iss` and `sub` are the client).
 *
 * @returns undefined when it is not a JWT, or does not say
 */
export const claimedClientId = (jwt: string): string | undefined => {
  const claims = claimsOf(jwt)
  if (claims === undefined || claims.iss !== claims.sub) return undefined
  return typeof claims.sub === 'string' ? claims.sub : undefined
}

const claimsOf = (jwt: string): Record<string, unknown> | undefined => {
  const [, payload = '', signature, more] = jwt.split('.')
  if (signature === undefined || more !== undefined) return undefined
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'))
    return typeof claims === 'object' && claims !== null && !Array.isArray(claims) ? { ...claims } : undefined
  } catch {
    return undefined
  }
}

export interface AssertionRules {
  readonly clientId: string
  readonly issuer: string
  /** Addresses of this server's that may stand beside or instead of the issuer. */
  readonly endpoints: readonly string[]
  /** The issuer alone, as a text (FAPI 2.0 Security Profile §5.3.2.1). */
  readonly issuerOnly: boolean
  /** Epoch seconds. */
  readonly now: number
}

/**
 * An audience that is not ours as well would let whoever it names use the assertion here first, so all must be ours;
 * RFC 7523 §3 asks for one.
 */
const isAudience = (aud: unknown, { issuer, endpoints, issuerOnly }: AssertionRules): boolean => {
  if (issuerOnly) return aud === issuer
  const audiences: readonly unknown[] = Array.isArray(aud) ? aud : [aud]
  const ours: readonly unknown[] = [issuer, ...endpoints]
  return audiences.length > 0 && audiences.every((audience) => ours.includes(audience))
}

const isTime = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value)

/**
 * The rules for what a verified assertion says (RFC 7523 §3, OIDC Core §9).
 *
 * @returns its identifier, and until when that must be remembered, in epoch seconds
 * @throws OAuthError `invalid_client`: who holds the key may know what is wrong
 */
export const assertClientAssertion = (
  { iss, sub, aud, exp, nbf, iat, jti }: Readonly<Record<string, unknown>>,
  rules: AssertionRules,
): { id: string; expiresAt: number } => {
  const { clientId, now } = rules
  const refuse = (reason: string): never => {
    throw new OAuthError('invalid_client', `client_assertion ${reason}`)
  }
  if (iss !== clientId || sub !== clientId) refuse('must have the client_id as iss and sub')
  if (!isAudience(aud, rules)) {
    refuse(`must have the aud ${rules.issuer}${rules.issuerOnly ? ' alone, as a text' : ''}`)
  }
  if (!isTime(exp)) return refuse('must have exp in seconds')
  if (exp <= now - clockSkew) refuse('is expired')
  if (exp > now + maxLifetime + clockSkew) refuse(`must expire within ${maxLifetime} seconds`)
  for (const [name, time] of Object.entries({ nbf, iat })) {
    if (time === undefined) continue
    if (!isTime(time)) return refuse(`must have ${name} in seconds`)
    if (time > now + clockSkew) refuse(`has an ${name} in the future`)
  }
  if (typeof jti !== 'string' || jti === '' || jti.length > 255)
    return refuse('must have a jti of 1 to 255 characters')
  return { id: jti, expiresAt: Math.ceil(exp) + clockSkew }
}
