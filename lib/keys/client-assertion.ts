import { type CompactVerifyGetKey, compactVerify, createLocalJWKSet, errors } from 'jose'
import { parseJsonObject } from '../protocol/json.ts'
import type { PublicJwks } from '../protocol/jwks.ts'

// RFC 7515 §4.1.9: `application/` is optional and case has no meaning. Most clients send JWT or no `typ`.
const assertionTypes = ['jwt', 'client-authentication+jwt']
const isAssertion = (typ: unknown): boolean =>
  typ === undefined ||
  (typeof typ === 'string' && assertionTypes.includes(typ.toLowerCase().replace(/^application\//, '')))

type Opened = Readonly<Record<string, unknown>> | undefined

const open = async (
  jwt: string,
  keyOf: CompactVerifyGetKey,
  algorithms: readonly string[],
): Promise<Opened> => {
  const { payload, protectedHeader } = await compactVerify(jwt, keyOf, { algorithms: [...algorithms] })
  const claims = parseJsonObject(new TextDecoder().decode(payload))
  return isAssertion(protectedHeader.typ) ? claims : undefined
}

/**
 * Verifies the signature of a client assertion and returns its claims, which the caller must check (RFC 7523 §3).
 *
 * @param jwks the client's public keys; without a `kid` in the header, each suitable one is tried
 * @param algorithms the accepted algorithms (RFC 8725 §3.1)
 * @returns undefined if it is not a JWT that one of these keys signed
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
