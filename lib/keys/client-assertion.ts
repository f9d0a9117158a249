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
 * @param jwks the client's public keys; without a `kid` in the header, each suitable one is tried
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
    for await (const key of error) {
      const claims = await open(jwt, () => key, accepted).catch(() => undefined)
      if (claims) return claims
    }
    return undefined
  }
}
