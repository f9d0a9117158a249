import { randomUUID } from 'node:crypto'
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, type JWTHeaderParameters, SignJWT } from 'jose'
import { issuer } from './host.ts'

/** A key pair of a client's own. */
export interface ClientKey {
  readonly alg: string
  readonly privateKey: CryptoKey
  readonly publicJwk: JWK
}

export const createClientKey = async (alg: string, kid?: string): Promise<ClientKey> => {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  return { alg, privateKey, publicJwk: { ...(await exportJWK(publicKey)), ...(kid && { kid }) } }
}

/** Claims of an assertion; undefined leaves one out. */
export type Claims = Readonly<Record<string, unknown>>

/** A client assertion as it should be (RFC 7523 §3), except where claims or header say otherwise. */
export const assertion = (
  clientId: string,
  key: ClientKey,
  claims: Claims = {},
  header: Partial<JWTHeaderParameters> = {},
): Promise<string> => {
  const now = Math.floor(Date.now() / 1000)
  const usual = { iss: clientId, sub: clientId, aud: issuer, iat: now, exp: now + 60, jti: randomUUID() }
  const { kid } = key.publicJwk
  return new SignJWT({ ...usual, ...claims })
    .setProtectedHeader({ alg: key.alg, ...(kid === undefined ? {} : { kid }), ...header })
    .sign(key.privateKey)
}

/** The fields by which a client authenticates with an assertion (RFC 7523 §2.2). */
export const asserted = (jwt: string): { client_assertion_type: string; client_assertion: string } => ({
  client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
  client_assertion: jwt,
})
