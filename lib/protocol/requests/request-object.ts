import {
  algorithmsOf,
  type ClientAssertionAlgorithm,
  clientAssertionAlgorithms,
} from '../clients/client-assertion.ts'
import { profileAlgorithms, type SecurityProfile } from '../clients/security-profile.ts'
import { parseJwtPart } from '../json.ts'
import { Parameters } from '../parameters.ts'
import { refusal } from '../refusal.ts'
import { normalResponseType } from './response-type.ts'

/** Algorithms of request objects. `none` is for objects that come from a registered `request_uri`. */
export const requestObjectAlgorithms = ['none', ...clientAssertionAlgorithms] as const

/** An algorithm of request objects. */
export type RequestObjectAlgorithm = 'none' | ClientAssertionAlgorithm

/** The parameter that carries a request object, or names it (RFC 9101 §5). */
export type RequestObjectSource = 'request' | 'request_uri'

export type RequestObjectClaims = Readonly<Record<string, unknown>>

/** Seconds by which the clock of a client may differ. */
const clockSkew = 30

const refuse = (problem: string): never => {
  throw refusal('request_object_invalid', { values: { problem } })
}

/** @throws OAuthError `invalid_request` if a request has both parameters (OIDC Core §6.1) */
export const requestObjectSource = (parameters: Parameters): RequestObjectSource | undefined => {
  const [source, another] = (['request', 'request_uri'] as const).filter((name) => parameters.has(name))
  if (another)
    throw refusal('parameter_invalid', {
      values: { parameter: 'request', problem: 'and request_uri must not be used together' },
    })
  return source
}

const withoutFragment = (uri: string): string => uri.split('#', 1).join()

/**
 * The URL to fetch. The fragment may differ from the registered one: it is a hash of the object (OIDC Core §6.2).
 *
 * @param registered the client's `request_uris`
 * @throws OAuthError `invalid_request_uri` if the client did not register it
 */
export const registeredRequestUri = (uri: string, registered: readonly string[] = []): string => {
  const wanted = withoutFragment(uri)
  if (registered.some((one) => withoutFragment(one) === wanted)) return wanted
  throw refusal('request_uri_unregistered')
}

/** The metadata of a client about its request objects. */
interface ObjectMetadata {
  readonly request_object_signing_alg?: RequestObjectAlgorithm
  readonly require_signed_request_object?: boolean
  readonly security_profile?: SecurityProfile
}

/**
 * Refuses a request without an object of a client that signs all its requests (RFC 9101 §10.5).
 *
 * @throws OAuthError `invalid_request`
 */
export const assertObjectUsed = (parameters: Parameters, metadata: ObjectMetadata): void => {
  if (metadata.require_signed_request_object && requestObjectSource(parameters) === undefined)
    throw refusal('request_not_signed')
}

/** The algorithms accepted from a client: the one that it registered, or by default all (OIDC Registration §2). */
const acceptedAlgorithms = (metadata: ObjectMetadata): readonly string[] => {
  const { request_object_signing_alg: registered, require_signed_request_object: mustSign } = metadata
  if (registered === 'none') return ['none']
  if (registered !== undefined) return algorithmsOf(registered)
  return profileAlgorithms(metadata, mustSign ? clientAssertionAlgorithms : requestObjectAlgorithms)
}

/**
 * Parses a request object and checks its algorithm. An unsigned one must come from a registered `request_uri`, whose content
 * only the client can change.
 *
 * @throws OAuthError `invalid_request_object`, or `request_not_supported` for an unsigned one in `request`
 */
export const parseRequestObject = (
  jwt: string,
  source: RequestObjectSource,
  metadata: ObjectMetadata,
): { algorithm: string; claims: RequestObjectClaims } => {
  const [header = '', payload = '', signature = '', ...more] = jwt.split('.')
  if (more.length > 0) refuse('must not be encrypted')
  const claims = parseJwtPart(payload) ?? refuse('is not a JWT')
  const { alg, crit } = parseJwtPart(header) ?? refuse('is not a JWT')
  const accepted = acceptedAlgorithms(metadata)
  const algorithm =
    accepted.find((name) => name === alg) ?? refuse(`must have the alg ${accepted.join(', ')}`)
  if (algorithm !== 'none') return { algorithm, claims }
  if (source === 'request') throw refusal('request_unsigned')
  if (signature !== '' || crit !== undefined) refuse('is not a JWT')
  return { algorithm, claims }
}

export interface RequestObjectRules {
  readonly clientId: string
  readonly issuer: string
  /** Whether it must have `aud`, `exp` and `nbf`, because the client signs all its requests. */
  readonly isStrict?: boolean
  /** Epoch seconds. */
  readonly now: number
}

/** Seconds. */
const hour = 3600

/** FAPI 2.0 Message Signing §5.3.1: it lives for an hour at most, so one that has not expired cannot be older. */
const assertShortLife = ({ aud, exp, nbf }: RequestObjectClaims): void => {
  const hasAll = aud !== undefined && typeof exp === 'number' && typeof nbf === 'number'
  if (!hasAll) refuse('must have aud, exp and nbf')
  else if (exp - nbf > hour) refuse('must not live for more than an hour')
}

const assertTimes = ({ exp, nbf, iat }: RequestObjectClaims, now: number): void => {
  for (const [name, time] of Object.entries({ exp, nbf, iat })) {
    if (time !== undefined && !(typeof time === 'number' && Number.isFinite(time))) {
      refuse(`must have ${name} in seconds`)
    }
  }
  if (typeof exp === 'number' && exp <= now - clockSkew) refuse('is expired')
  if (typeof nbf === 'number' && nbf > now + clockSkew) refuse('has an nbf in the future')
  if (typeof iat === 'number' && iat > now + clockSkew) refuse('has an iat in the future')
}

/**
 * Checks the claims of a verified request object (RFC 9101 §4 and §6.3, OIDC Core §6.1). Each of `iss`, `aud`, `client_id`,
 * `exp` and `nbf` may be absent, unless the client signs all its requests.
 *
 * @param outside the parameters beside the object
 * @throws OAuthError `invalid_request_object`
 */
export const assertRequestObject = (
  claims: RequestObjectClaims,
  outside: Parameters,
  { clientId, issuer, now, isStrict }: RequestObjectRules,
): void => {
  const { iss, aud, client_id: client = clientId, response_type: type } = claims
  if (Object.hasOwn(claims, 'request') || Object.hasOwn(claims, 'request_uri')) {
    refuse('must not have request or request_uri')
  }
  if (client !== clientId || (iss !== undefined && iss !== clientId)) {
    refuse('must have the client_id of the request as client_id and iss')
  }
  const audiences: readonly unknown[] = Array.isArray(aud) ? aud : [aud ?? issuer]
  if (!audiences.includes(issuer)) refuse(`must have the aud ${issuer}`)
  assertTimes(claims, now)
  if (isStrict) assertShortLife(claims)
  const typeOutside = outside.first('response_type')
  if (typeOutside === undefined || type === undefined) return
  if (typeof type !== 'string' || normalResponseType(type) !== normalResponseType(typeOutside)) {
    refuse('must have the response_type of the request')
  }
}

/** Claims about the object itself (RFC 7519 §4.1). */
const jwtClaims = ['iss', 'sub', 'aud', 'exp', 'nbf', 'iat', 'jti']

/** A value as a query would have it; half of a surrogate pair becomes U+FFFD, which parameters must not contain. */
const asText = (value: unknown): string =>
  typeof value === 'string' ? Buffer.from(value).toString() : JSON.stringify(value)

const asPairs = ([name, value]: [string, unknown]): [string, string][] => {
  if (jwtClaims.includes(name) || value === null) return []
  const values: readonly unknown[] = name === 'resource' && Array.isArray(value) ? value : [value]
  return values.map((one) => [name, asText(one)])
}

/**
 * The parameters of a request with an object. What the object says counts. Parameters outside complete it if their `scope`
 * says that this is OpenID Connect (OIDC Core §6.1); otherwise they do not count, except `client_id` (RFC 9101 §6.3).
 *
 * @param objectOnly for a pushed object (RFC 9126 §3), or a client that signs all its requests: nothing outside counts
 */
export const mergedParameters = (
  claims: RequestObjectClaims,
  outside: Parameters,
  { objectOnly }: { readonly objectOnly: boolean },
): Parameters => {
  const isOpenId = !objectOnly && outside.first('scope')?.split(' ').includes('openid')
  const added = outside
    .pairs()
    .filter(([name]) => (isOpenId && name !== 'request' && name !== 'request_uri') || name === 'client_id')
    .filter(([name]) => !Object.hasOwn(claims, name))
  return Parameters.from([...Object.entries(claims).flatMap(asPairs), ...added])
}
