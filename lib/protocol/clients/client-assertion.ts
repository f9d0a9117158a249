import { type Explanation, readable } from '../explanation.ts'
import { claimsOfJwt } from '../json.ts'
import { refusal } from '../refusal.ts'
import { assertionTimes } from './assertion-times.ts'

/** RFC 7523 §2.2. */
export const clientAssertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

/** Algorithms of client assertions. `Ed25519` is the newer name of `EdDSA` with that curve (RFC 9864 §2.2). */
export const clientAssertionAlgorithms = ['RS256', 'PS256', 'ES256', 'EdDSA', 'Ed25519'] as const

export type ClientAssertionAlgorithm = (typeof clientAssertionAlgorithms)[number]

/** The algorithms accepted from a client: the one it registered, or by default all. */
export const algorithmsOf = (registered: ClientAssertionAlgorithm | undefined): readonly string[] => {
  if (registered === undefined) return clientAssertionAlgorithms
  return registered === 'EdDSA' || registered === 'Ed25519' ? ['EdDSA', 'Ed25519'] : [registered]
}

/**
 * Reads the client of an assertion before its signature is verified (RFC 7523 §3: `iss` and `sub` are the client).
 *
 * @returns undefined if it is not a JWT, or does not name a client
 */
export const claimedClientId = (jwt: string): string | undefined => {
  const { iss, sub } = claimsOfJwt(jwt) ?? {}
  return typeof sub === 'string' && iss === sub ? sub : undefined
}

export interface AssertionRules {
  readonly clientId: string
  readonly issuer: string
  /** Endpoint URLs that are accepted as the audience too. */
  readonly endpoints: readonly string[]
  /**
   * Accept one audience only: by default also as the one entry of a list, and with `true` only the issuer as a string (FAPI 2.0
   * Security Profile §5.3.2.1). `false` accepts several.
   */
  readonly issuerOnly: boolean | undefined
  /** Epoch seconds. */
  readonly now: number
}

/**
 * Every audience must be this server, although RFC 7523 §3 requires only one: any other audience receives the assertion
 * too and could use it here first. A hostile server can give the URL of our endpoint as its own and get an assertion for it, but
 * a client compares the issuer (draft-ietf-oauth-rfc7523bis §4).
 */
const isAudience = (aud: unknown, { issuer, endpoints, issuerOnly }: AssertionRules): boolean => {
  if (issuerOnly) return aud === issuer
  const audiences: readonly unknown[] = Array.isArray(aud) ? aud : [aud]
  const accepted: readonly unknown[] = [issuer, ...endpoints]
  const isFew = issuerOnly === undefined ? audiences.length === 1 : audiences.length > 0
  return isFew && audiences.every((audience) => accepted.includes(audience))
}

/**
 * Checks the claims of an assertion whose signature is verified (RFC 7523 §3, OIDC Core §9).
 *
 * @returns its identifier, and until when that must be stored, in epoch seconds
 * @throws OAuthError `invalid_client`, with the reason: only the holder of the key gets this far
 */
export const assertClientAssertion = (
  claims: Readonly<Record<string, unknown>>,
  rules: AssertionRules,
): { id: string; expiresAt: number } => {
  const { iss, sub, aud } = claims
  const { clientId } = rules
  const refuse = (problem: string, explanation?: Explanation): never => {
    const isUntimely = explanation?.secondsApart !== undefined
    throw refusal(isUntimely ? 'client_assertion_untimely' : 'client_assertion_invalid', {
      values: { problem },
      clientId,
      explanation,
    })
  }
  if (iss !== clientId || sub !== clientId) {
    const received = readable(JSON.stringify({ iss, sub }))
    refuse('must have the client_id as iss and sub', { expected: clientId, received })
  }
  if (!isAudience(aud, rules)) {
    const alone = rules.issuerOnly ? ' alone, as a string' : rules.issuerOnly === undefined ? ' alone' : ''
    refuse(`must have the aud ${rules.issuer}${alone}`, {
      expected: `aud ${rules.issuer}`,
      received: `aud ${readable(JSON.stringify(aud) ?? 'none')}`,
    })
  }
  const { id, expiresAt } = assertionTimes(claims, rules.now, refuse)
  return id === undefined ? refuse('must have a jti of 1 to 255 characters') : { id, expiresAt }
}
