import { hashSecret } from '../keys/secrets.ts'
import { type CheckedMembers, object, required, seconds, text } from '../options/schema.ts'
import type { OutboundResponse } from '../outbound/outbound.ts'
import { formatBasicCredentials } from '../protocol/clients/basic-credentials.ts'
import { parseJsonObject } from '../protocol/json.ts'
import { HostError } from '../protocol/problem.ts'
import { temporarilyUnavailable } from '../protocol/refusal.ts'
import { isAhead } from '../protocol/stored-time.ts'
import { parseConfirmation, tokenType } from '../protocol/tokens/token-binding.ts'
import { invalidToken, type TokenClaims } from './auth-info.ts'
import type { RemoteIssuer, RemoteIssuerContext } from './remote-issuer.ts'

export const introspection = object({
  /** A confidential client that may introspect the tokens of this API. */
  clientId: required(text('the id of a client; is the environment variable set?')),
  /** Its secret, sent by HTTP Basic. */
  clientSecret: required(text('the secret of the client; is the environment variable set?')),
  /**
   * Seconds for which an answer about a valid token is used again; at most 60. A token that was revoked is accepted for
   * that long.
   */
  cacheSeconds: seconds(0, { min: 0, max: 60 }),
})

/** The option `introspection` of a resource server (RFC 7662). */
export interface IntrospectionOptions extends CheckedMembers<(typeof introspection)['members']> {}

// A limit, so that many tokens cannot fill the memory.
const maxEntries = 10_000

/**
 * Creates a function that asks the issuer about a token.
 *
 * @returns the claims of a valid token; the caller checks whom it is for
 */
export const createIntrospection = (
  { introspection, ...context }: RemoteIssuerContext & { readonly introspection: IntrospectionOptions },
  issuer: RemoteIssuer,
): ((token: string) => Promise<TokenClaims>) => {
  const { outbound, now } = context
  const { clientId, clientSecret, cacheSeconds } = introspection
  const authorization = formatBasicCredentials(clientId, clientSecret)
  const answers = new Map<string, { readonly claims: TokenClaims; readonly usableUntil: number }>()

  const request = async (token: string): Promise<OutboundResponse> => {
    const { introspectionEndpoint } = await issuer.metadata()
    if (introspectionEndpoint === undefined) throw new HostError('the issuer has no introspection endpoint')
    const form = { token, token_type_hint: 'access_token' }
    return outbound.request(introspectionEndpoint, { form, authorization }).catch((error: unknown) => {
      throw temporarilyUnavailable(error)
    })
  }

  const ask = async (token: string): Promise<TokenClaims> => {
    const { status, body } = await request(token)
    if (status === 401) throw new HostError(`the issuer refuses the credentials of the client ${clientId}`)
    const answer = status === 200 ? parseJsonObject(body) : undefined
    if (answer === undefined)
      throw temporarilyUnavailable(new HostError(`introspection has status ${status}`))
    const { active, ...claims } = answer
    // Whether `iss` is in the answer is the issuer's choice (RFC 7662 §2.2).
    if (active !== true || (claims.iss ?? context.issuer) !== context.issuer) throw invalidToken()
    // A refresh token has no type. The type says which proof is needed, and so must be that of the confirmation.
    const binding = parseConfirmation(claims.cnf)
    const type = String(claims.token_type).toLowerCase()
    if (binding === undefined || type !== tokenType(binding).toLowerCase()) throw invalidToken()
    return claims
  }

  const remember = (key: string, claims: TokenClaims): void => {
    const usableUntil = Math.min(now() + cacheSeconds, Number(claims.exp))
    answers.delete(key)
    answers.set(key, { claims, usableUntil })
    const [oldest] = answers.keys()
    if (answers.size > maxEntries && oldest !== undefined) answers.delete(oldest)
  }

  return async (token) => {
    if (cacheSeconds === 0) return ask(token)
    const key = hashSecret(token)
    const answer = answers.get(key)
    if (answer && isAhead(answer.usableUntil, now(), cacheSeconds)) return answer.claims
    const claims = await ask(token)
    remember(key, claims)
    return claims
  }
}
