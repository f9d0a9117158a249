import { constants, createPublicKey, type KeyObject, verify } from 'node:crypto'
import type { SigningAlgorithm } from '../protocol/clients/client-metadata.ts'
import type { PublicJwk } from '../protocol/clients/jwks.ts'
import { parseJwtPart } from '../protocol/json.ts'
import type { ProofAlgorithm } from '../protocol/tokens/dpop-proof.ts'
import type { Jwk } from './jwk.ts'
import { hashSecret } from './secrets.ts'

type Claims = Readonly<Record<string, unknown>>

/** Verifies JWTs with one set of keys. */
export interface JwtVerifier {
  /** Whether a key has this id. */
  has(kid: string): boolean
  /**
   * Verifies the signature of a JWT and returns its claims; the caller must check its times.
   *
   * @returns undefined if it is not a JWT of this `typ` that one of the keys signed
   */
  open(jwt: string, typ: string): Claims | undefined
}

/**
 * RFC 7518 §3.3 to §3.5, RFC 8037 §3.1. These use node:crypto, as signatures do: for RS256 it took 39 µs of processor time
 * where WebCrypto took 184 µs, and every request with a JWT waits for it.
 */
export const verifications: Readonly<
  Record<SigningAlgorithm | ProofAlgorithm, (data: Buffer, key: KeyObject, signature: Buffer) => boolean>
> = {
  // PKCS #1 v1.5 is the padding of a key without one. Naming it costs a third more.
  RS256: (data, key, signature) => verify('sha256', data, key, signature),
  PS256: (data, key, signature) => {
    const padding = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }
    return verify('sha256', data, { key, ...padding }, signature)
  },
  ES256: (data, key, signature) => verify('sha256', data, { key, dsaEncoding: 'ieee-p1363' }, signature),
  ES384: (data, key, signature) => verify('sha384', data, { key, dsaEncoding: 'ieee-p1363' }, signature),
  EdDSA: (data, key, signature) => verify(null, data, key, signature),
  Ed25519: (data, key, signature) => verify(null, data, key, signature),
}

/** A key with the only algorithm that it verifies (RFC 8725 §3.1). */
interface VerificationKey {
  readonly algorithm: SigningAlgorithm
  readonly publicKey: KeyObject
}

const isAlgorithm = (algorithm: unknown): algorithm is SigningAlgorithm =>
  typeof algorithm === 'string' && Object.hasOwn(verifications, algorithm)

const keyOf = (jwk: Jwk | PublicJwk): VerificationKey | undefined => {
  if (!isAlgorithm(jwk.alg) || (jwk.use !== undefined && jwk.use !== 'sig')) return undefined
  try {
    return { algorithm: jwk.alg, publicKey: createPublicKey({ key: { ...jwk }, format: 'jwk' }) }
  } catch {
    return undefined
  }
}

/** A JWT whose signature was valid. */
interface Opened {
  readonly typ: string
  readonly payload: string
}

/** The most JWTs that a verifier remembers; one takes about a kilobyte. */
const maxRemembered = 1000

/**
 * Remembers by its hash what was opened, the newest only. An API gets one token with many requests, and its signature takes
 * longer to verify than all else.
 */
const remembering = (open: (jwt: string) => Opened | undefined): ((jwt: string) => Opened | undefined) => {
  const remembered = new Map<string, Opened>()
  return (jwt) => {
    const hash = hashSecret(jwt)
    const opened = remembered.get(hash) ?? open(jwt)
    if (opened === undefined || remembered.has(hash)) return opened
    const [oldest = ''] = remembered.keys()
    if (remembered.size >= maxRemembered) remembered.delete(oldest)
    remembered.set(hash, opened)
    return opened
  }
}

/**
 * Makes a verifier, which imports each key once. Only keys with `kid` and `alg` are used, as this server publishes them.
 */
export const createJwtVerifier = (jwks: { readonly keys: readonly (Jwk | PublicJwk)[] }): JwtVerifier => {
  const keys = new Map(jwks.keys.map((jwk) => [jwk.kid, keyOf(jwk)]))
  const opened = remembering((jwt) => {
    const [header = '', payload = '', encodedSignature = '', ...more] = jwt.split('.')
    const signature = Buffer.from(encodedSignature, 'base64url')
    // Node ignores characters outside the alphabet and surplus bits (RFC 7515 §2).
    if (more.length > 0 || signature.toString('base64url') !== encodedSignature) return undefined
    const { alg, kid, typ, crit } = parseJwtPart(header) ?? {}
    const key = typeof kid === 'string' ? keys.get(kid) : undefined
    // RFC 7515 §4.1.11: an extension that must be understood is not.
    if (key === undefined || alg !== key.algorithm || typeof typ !== 'string' || crit !== undefined)
      return undefined
    const data = Buffer.from(`${header}.${payload}`)
    if (!verifications[key.algorithm](data, key.publicKey, signature)) return undefined
    return { typ, payload }
  })
  return {
    has: (kid) => keys.has(kid),
    open: (jwt, typ) => {
      const found = opened(jwt)
      // Parsed for each caller, because the host may change what it gets.
      return found?.typ === typ ? parseJwtPart(found.payload) : undefined
    },
  }
}

/** The `kid` of a JWT (RFC 7515 §4.1.4); undefined if it has none or is not a JWT. */
export const keyIdOf = (jwt: string): string | undefined => {
  const { kid } = parseJwtPart(jwt.split('.')[0] ?? '') ?? {}
  return typeof kid === 'string' ? kid : undefined
}
