import type { OAuthError } from '../errors.ts'
import { isObject } from '../json.ts'
import type { Parameters } from '../parameters.ts'
import { refusal } from '../refusal.ts'
import type { ActClaim } from './token-context.ts'

/** RFC 8693 §2.1. */
export const tokenExchangeGrantType = 'urn:ietf:params:oauth:grant-type:token-exchange'

/** RFC 8693 §3. */
export const tokenTypes = {
  accessToken: 'urn:ietf:params:oauth:token-type:access_token',
  jwt: 'urn:ietf:params:oauth:token-type:jwt',
} as const

export type ExchangedTokenType = (typeof tokenTypes)[keyof typeof tokenTypes]

/** The most actors of a token, one behind the other. */
const maxActors = 4

/** The parameters of a token exchange (RFC 8693 §2.1). */
export interface TokenExchange {
  readonly subjectToken: string
  readonly actorToken: string | undefined
  /** Undefined: whatever kind of access token the target has. */
  readonly requestedType: ExchangedTokenType | undefined
}

/** RFC 8693 §2.2.2: also for a token that is not valid, and for what the host refuses. */
const invalidRequest = (parameter: string, problem: string): OAuthError =>
  refusal('exchange_invalid', { values: { parameter, problem } })

const tokenType = (parameters: Parameters, name: string): ExchangedTokenType | undefined => {
  const value = parameters.optional(name)
  const known = Object.values(tokenTypes).find((type) => type === value)
  if (value !== undefined && known === undefined) {
    throw invalidRequest(name, `must be ${tokenTypes.accessToken} or ${tokenTypes.jwt}`)
  }
  return known
}

/**
 * Reads the parameters of a token exchange. Tokens are access tokens of this server, opaque ones or JWTs.
 *
 * @throws OAuthError `invalid_request`
 */
export const parseTokenExchange = (parameters: Parameters): TokenExchange => {
  const subjectToken = parameters.required('subject_token')
  if (tokenType(parameters, 'subject_token_type') === undefined) {
    throw invalidRequest('subject_token_type', 'is required')
  }
  const actorToken = parameters.optional('actor_token')
  const actorType = tokenType(parameters, 'actor_token_type')
  if ((actorToken === undefined) !== (actorType === undefined)) {
    throw invalidRequest('actor_token', 'and actor_token_type are required together')
  }
  return { subjectToken, actorToken, requestedType: tokenType(parameters, 'requested_token_type') }
}

/**
 * The type of the token that is issued (RFC 8693 §2.2.1).
 *
 * @throws OAuthError `invalid_request` if a JWT is requested and the target has opaque access tokens
 */
export const issuedTokenType = (
  requested: ExchangedTokenType | undefined,
  isJwt: boolean,
): ExchangedTokenType => {
  if (requested === tokenTypes.jwt && !isJwt) {
    throw invalidRequest('requested_token_type', 'is jwt, but access tokens of this resource are not JWTs')
  }
  return requested ?? tokenTypes.accessToken
}

/**
 * Adds an actor in front of those that acted before (RFC 8693 §4.1).
 *
 * @throws OAuthError `invalid_request` for more than four
 */
export const withActor = (actor: ActClaim, earlier: ActClaim | undefined): ActClaim => {
  let count = 1
  for (let one = earlier; one !== undefined; one = one.act) count += 1
  if (count > maxActors) {
    throw invalidRequest('subject_token', `has been exchanged ${maxActors} times, and must not be once more`)
  }
  return { ...actor, ...(earlier && { act: earlier }) }
}

/**
 * Requires an actor to be the one that the claim `may_act` of the subject token names (RFC 8693 §4.4). Each member that the
 * claim has must match.
 *
 * @param mayAct the claim; undefined if the token has none
 * @throws OAuthError `invalid_request`
 */
export const assertMayAct = (mayAct: unknown, actor: ActClaim, issuer: string): void => {
  if (mayAct === undefined) return
  const known: Readonly<Record<string, unknown>> = { sub: actor.sub, client_id: actor.client_id, iss: issuer }
  const members = isObject(mayAct) ? Object.entries(mayAct) : []
  const matches = members.every(([name, value]) => Object.hasOwn(known, name) && known[name] === value)
  if (members.length === 0 || !matches) {
    throw invalidRequest('subject_token', 'names another actor in its claim may_act')
  }
}
