import { constants, type KeyObject, sign } from 'node:crypto'
import type { SigningAlgorithm } from '../protocol/clients/client-metadata.ts'

/** A private key with its id and algorithm. */
export interface SigningKey {
  readonly kid: string
  readonly algorithm: SigningAlgorithm
  readonly privateKey: KeyObject
}

type Signature = Buffer | Promise<Buffer>

/** RSA takes ten times as long as the other algorithms, so it runs on the thread pool and does not block. */
const onThreadPool = (data: Buffer, key: Parameters<typeof sign>[2]): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    sign('sha256', data, key, (error, signature) => (error ? reject(error) : resolve(signature)))
  })

/**
 * RFC 7518 §3.3 to §3.5, RFC 8037 §3.1. These use node:crypto: for elliptic curves a WebCrypto signature takes more than
 * twice the processor time and waits for a thread (bench/signing.ts).
 */
const signatures: Readonly<Record<SigningAlgorithm, (data: Buffer, key: KeyObject) => Signature>> = {
  RS256: (data, key) => onThreadPool(data, { key, padding: constants.RSA_PKCS1_PADDING }),
  PS256: (data, key) =>
    onThreadPool(data, {
      key,
      padding: constants.RSA_PKCS1_PSS_PADDING,
      saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
    }),
  // The option is a property of the key itself. With an object around the key, Node 24 throws and catches an exception.
  ES256: (data, key) => sign('sha256', data, Object.assign(key, { dsaEncoding: 'ieee-p1363' as const })),
  EdDSA: (data, key) => sign(null, data, key),
}

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

/**
 * Signs a JWT in compact form (RFC 7519, RFC 7515).
 *
 * @param claims all claims, including times
 * @param typ the `typ` header, which keeps one kind of JWT from being accepted as another (RFC 8725 §3.11)
 * @example await signJwt(server.keys.signingKey('ES256'), { iss: server.issuer, sub: '1' })
 */
export const signJwt = async (
  key: SigningKey,
  claims: Readonly<Record<string, unknown>>,
  typ = 'JWT',
): Promise<string> => {
  const input = `${encode({ alg: key.algorithm, kid: key.kid, typ })}.${encode(claims)}`
  const signature = await signatures[key.algorithm](Buffer.from(input), key.privateKey)
  return `${input}.${signature.toString('base64url')}`
}
