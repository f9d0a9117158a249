import type { CompactVerifyGetKey } from 'jose'
import type { PublicJwks } from '../protocol/clients/jwks.ts'
import { parseJsonObject } from '../protocol/json.ts'

// RFC 7515 §4.1.9: `application/` is optional and case has no meaning. Most clients send JWT or no `typ`.
const assertionTypes = ['jwt', 'client-authentication+jwt']
/** Accepts a `typ` as a header has it. */
export type IsType = (typ: unknown) => boolean

/** Accepts this media type, with or without `application/`. */
export const isOfType =
  (...types: readonly string[]): IsType =>
  (typ) =>
    typeof typ === 'string' && types.includes(typ.toLowerCase().replace(/^application\//, ''))

const isAssertion: IsType = (typ) => typ === undefined || isOfType(...assertionTypes)(typ)

/** Anyone can cause a signature to be verified, and a key takes up to 0.1 ms. */
const maxTried = 3

type Opened = Readonly<Record<string, unknown>> | undefined

/** Loaded with the first assertion, because most hosts get none. */
const loadJose = () => import('jose')

const open = async (
  jwt: string,
  keyOf: CompactVerifyGetKey,
  { algorithms, isType }: { readonly algorithms: readonly string[]; readonly isType: IsType },
): Promise<Opened> => {
  const { compactVerify } = await loadJose()
  const { payload, protectedHeader } = await compactVerify(jwt, keyOf, { algorithms: [...algorithms] })
  const claims = parseJsonObject(new TextDecoder().decode(payload))
  return isType(protectedHeader.typ) ? claims : undefined
}

/**
 * Verifies the signature of a client assertion and returns its claims, which the caller must check (RFC 7523 §3).
 *
 * @param jwks the client's public keys; if several suit the header, as without a `kid`, the first three are tried
 * @param algorithms the accepted algorithms (RFC 8725 §3.1)
 * @param isType the accepted `typ`; by default those of client assertions, or none
 * @returns undefined if it is not a JWT that one of these keys signed
 */
export const openClientAssertion = async (
  jwks: PublicJwks,
  jwt: string,
  algorithms: readonly string[],
  isType = isAssertion,
): Promise<Opened> => {
  const { createLocalJWKSet, errors } = await loadJose()
  const accepted = { algorithms, isType }
  try {
    return await open(jwt, createLocalJWKSet(jwks), accepted)
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) return undefined
    let tried = 0
    for await (const key of error) {
      tried += 1
      if (tried > maxTried) break
      const claims = await open(jwt, () => key, accepted).catch(() => undefined)
      if (claims) return claims
    }
    return undefined
  }
}
