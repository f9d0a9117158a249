import { type CompactVerifyGetKey, compactVerify, createLocalJWKSet, errors } from 'jose'
import type { PublicJwks } from '../protocol/jwks.ts'

// RFC 7515 §4.1.9 lets `application/` and letter case vary; most clients say JWT or nothing.
const kinds = ['jwt', 'client-authentication+jwt']
const isAssertion = (typ: unknown): boolean =>
  typ === undefined ||
  (typeof typ === 'string' && kinds.includes(typ.toLowerCase().replace(/^application\//, '')))

type Opened = Readonly<Record<string, unknown>> | undefined

const open = async (
  jwt: string,
  keyOf: CompactVerifyGetKey,
  algorithms: readonly string[],
): Promise<Opened> => {
  const { payload, protectedHeader } = await compactVerify(jwt, keyOf, { algorithms: [...algorithms] })
  const claims: unknown = JSON.parse(new TextDecoder().decode(payload))
  const isClaims = typeof claims === 'object' && claims !== null && !Array.isArray(claims)
  return isClaims && isAssertion(protectedHeader.typ) ? { ...claims } : undefined
}

/**
 * The claims of a JWT that a client signed with one of its keys (RFC 7523 §3); what they say is not looked at.
 *
 * @param jwks the client's public keys; without a `kid` in the header each that fits is tried
 * @param algorithms the only ones that are accepted (RFC 8725 §3.1)
 * @returns undefined when it is not such a JWT
 */
export const openClientAssertion = async (
  jwks: PublicJwks,
  jwt: string,
  algorithms: readonly string[],
): Promise<Opened> => {
  try {
    return await open(jwt, createLocalJWKSet(jwks), algorithms)
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) return undefined
    for await (const key of error) {
      const claims = await open(jwt, () => key, algorithms).catch(() => undefined)
      if (claims) return claims
    }
    return undefined
  }
}
