import { constants, type JsonWebKey, type KeyObject, sign } from 'node:crypto'
import { compactVerify, createLocalJWKSet, decodeProtectedHeader } from 'jose'
import type { SigningAlgorithm } from '../protocol/client-metadata.ts'

/** A private key with what a JWT's header says of it. */
export interface SigningKey {
  readonly kid: string
  readonly algorithm: SigningAlgorithm
  readonly privateKey: KeyObject
}

type Signature = Buffer | Promise<Buffer>

/** RSA takes ten times as long as the others, so it runs on the thread pool and other requests go on meanwhile. */
const onThreadPool = (data: Buffer, key: Parameters<typeof sign>[2]): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    sign('sha256', data, key, (error, signature) => (error ? reject(error) : resolve(signature)))
  })

/**
 * RFC 7518 §3.3 to §3.5, RFC 8037 §3.1. Signed by Node's own functions: for the curves a WebCrypto signature costs more
 * than twice the processor time, and waits for a thread (bench/signing.ts).
 */
const signatures: Readonly<Record<SigningAlgorithm, (data: Buffer, key: KeyObject) => Signature>> = {
  RS256: (data, key) => onThreadPool(data, { key, padding: constants.RSA_PKCS1_PADDING }),
  PS256: (data, key) =>
    onThreadPool(data, {
      key,
      padding: constants.RSA_PKCS1_PSS_PADDING,
      saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
    }),
  ES256: (data, key) => sign('sha256', data, { key, dsaEncoding: 'ieee-p1363' }),
  EdDSA: (data, key) => sign(null, data, key),
}

const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

/**
 * A signed JWT in compact form (RFC 7519, RFC 7515).
 *
 * @param claims everything it says, times included
 * @param typ the `typ` header that keeps one kind of JWT from passing for another (RFC 8725 §3.11)
 * @example await signJwt(server.keys.signingKey('ES256'), { iss: server.issuer, sub: '1' })
 */
export const signJwt = async (
  key: SigningKey,
  claims: Readonly<Record<string, unknown>>,
  typ = 'JWT',
): Promise<string> => {
  const input = `${encoded({ alg: key.algorithm, kid: key.kid, typ })}.${encoded(claims)}`
  const signature = await signatures[key.algorithm](Buffer.from(input), key.privateKey)
  return `${input}.${signature.toString('base64url')}`
}

/** Which key a JWT says it was signed with (RFC 7515 §4.1.4); undefined when it says none, or is no JWT. */
export const keyIdOf = (jwt: string): string | undefined => {
  try {
    return decodeProtectedHeader(jwt).kid
  } catch {
    return undefined
  }
}

/**
 * The claims of a JWT that one of these keys has signed; its times are not looked at.
 *
 * @param algorithms the only ones that are accepted (RFC 8725 §3.1)
 * @returns undefined when it is not a JWT, of another kind, or not signed by these keys
 */
export const openSignedJwt = async (
  jwks: { keys: JsonWebKey[] },
  jwt: string,
  { algorithms, typ }: { algorithms: readonly string[]; typ: string },
): Promise<Record<string, unknown> | undefined> => {
  try {
    const { payload, protectedHeader } = await compactVerify(jwt, createLocalJWKSet(jwks), {
      algorithms: [...algorithms],
    })
    const claims: unknown = JSON.parse(new TextDecoder().decode(payload))
    const isClaims = typeof claims === 'object' && claims !== null && protectedHeader.typ === typ
    return isClaims ? { ...claims } : undefined
  } catch {
    return undefined
  }
}
