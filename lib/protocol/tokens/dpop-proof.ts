import { type PublicJwk, parsePublicJwk } from '../clients/jwks.ts'
import type { OAuthError } from '../errors.ts'
import { explainedTimes } from '../explanation.ts'
import { lengths } from '../lengths.ts'
import { refusal } from '../refusal.ts'

/**
 * Algorithms of DPoP proofs (RFC 9449 §4.2). `Ed25519` is the newer name of `EdDSA` with that curve (RFC 9864 §2.2). RS256 is
 * not among them: FAPI 2.0 forbids its padding, and no client of DPoP is old enough to need it.
 */
export const proofAlgorithms = ['ES256', 'ES384', 'PS256', 'EdDSA', 'Ed25519'] as const

export type ProofAlgorithm = (typeof proofAlgorithms)[number]

/** Seconds by which `iat` may differ from the time of the server (RFC 9449 §11.1). */
const maxAge = 60

/** Seconds for which one nonce is handed out. It is accepted for as long before and after. */
export const noncePeriod = 100

/** Seconds after which no nonce that is valid now will be. */
const maxNonceAge = 3 * noncePeriod

type Claims = Readonly<Record<string, unknown>>

const refuse = (problem: string): never => {
  throw refusal('proof_invalid', { values: { problem } })
}

/**
 * Splits the header `DPoP` of a request into the parts of its JWT (RFC 9449 §4.3, 1 and 2). Node joins repeated headers with
 * a comma, which no JWT has.
 *
 * @throws OAuthError `invalid_dpop_proof`
 */
export const splitProof = (field: string | undefined) => {
  if (field === undefined || field === '')
    throw refusal('proof_missing', { values: { how: 'send it in the header DPoP' } })
  if (field.length > lengths.proof) return refuse(`must not exceed ${lengths.proof} characters`)
  if (field.includes(',')) return refuse('must be the only one: send one DPoP header')
  const [, header, payload, signature] =
    /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)$/.exec(field) ?? []
  if (header === undefined || payload === undefined || signature === undefined) return refuse('is not a JWT')
  return { header, payload, signature }
}

/** The key type, and the curve if there is one, of each algorithm (RFC 7518 §3.1, RFC 8037 §3.1). */
const keyKinds: Readonly<Record<ProofAlgorithm, string>> = {
  ES256: 'EC P-256',
  ES384: 'EC P-384',
  PS256: 'RSA',
  EdDSA: 'OKP Ed25519',
  Ed25519: 'OKP Ed25519',
}

const kindOf = ({ kty, crv }: PublicJwk): string => (kty === 'RSA' ? kty : `${kty} ${crv}`)

/** The key of a proof, and how it signs. */
export interface ProofKey {
  readonly algorithm: ProofAlgorithm
  readonly jwk: PublicJwk
}

/**
 * Checks the JOSE header of a proof (RFC 9449 §4.3, 4 to 7).
 *
 * @throws OAuthError `invalid_dpop_proof`
 */
export const parseProofHeader = (header: Claims | undefined): ProofKey => {
  if (header === undefined) return refuse('has a header that is not JSON')
  const { typ, alg, crit } = header
  if (typ !== 'dpop+jwt') refuse('must have the typ dpop+jwt')
  // RFC 7515 §4.1.11: an extension that must be understood is not.
  if (crit !== undefined) refuse('must not have crit')
  const algorithm = proofAlgorithms.find((supported) => supported === alg)
  if (algorithm === undefined) return refuse(`must have an alg of ${proofAlgorithms.join(', ')}`)
  const jwk = parsePublicJwk(header.jwk)
  if (typeof jwk === 'string') return refuse(`must have a public key as jwk, not ${jwk}`)
  if (kindOf(jwk) !== keyKinds[algorithm]) refuse(`has a jwk that does not suit its alg, ${algorithm}`)
  return { algorithm, jwk }
}

/** The members of a key that its thumbprint covers, in their order (RFC 7638 §3.2, RFC 8037 §2). */
export const thumbprintInput = ({ kty, crv, e, n, x, y }: PublicJwk): string =>
  JSON.stringify(kty === 'RSA' ? { e, kty, n } : { crv, kty, x, y })

/** The request to which the proof must be bound. */
export interface ProofContext {
  readonly method: string
  /** The URLs, without query, by which the request may have been made. */
  readonly urls: readonly string[]
  /** SHA-256 of the access token in base64url, if the request has one. */
  readonly accessTokenHash: string | undefined
  /** Whether a nonce is one of the server's that is still valid; undefined if proofs need none. */
  readonly isNonce: ((nonce: string) => boolean) | undefined
  /** Epoch seconds. */
  readonly now: number
}

/** The record that makes a proof usable once. */
export interface ProofRecord {
  readonly hash: string
  /** Epoch seconds. */
  readonly expiresAt: number
}

/** The error for a proof that was used before (RFC 9449 §11.1). */
export const usedProof = (): OAuthError => refusal('proof_used')

/** The claims that make a proof usable once. */
export interface ProofUse {
  readonly id: string
  /** Until when the identifier must be stored, in epoch seconds. */
  readonly expiresAt: number
}

// RFC 3986 §2.3.
const unreserved = /[A-Za-z0-9\-._~]/

/**
 * A URL in normal form (RFC 3986 §6.2.2, §6.2.3), without query and fragment.
 *
 * @returns undefined if it is not an http or https URL
 * @example normalUrl('HTTPS://API.example.com:443/a/../%7eb?c') // 'https://api.example.com/~b'
 */
export const normalUrl = (value: string): string | undefined => {
  if (!URL.canParse(value)) return undefined
  const { protocol, origin, pathname } = new URL(value)
  if (protocol !== 'https:' && protocol !== 'http:') return undefined
  const path = pathname.replace(/%[0-9a-f]{2}/gi, (encoded) => {
    const character = String.fromCharCode(Number.parseInt(encoded.slice(1), 16))
    return unreserved.test(character) ? character : encoded.toUpperCase()
  })
  return origin + path
}

/** Nearly every client sends the URL in normal form. */
const isUrl = (htu: unknown, urls: readonly string[]): boolean => {
  if (typeof htu !== 'string') return false
  if (urls.includes(htu)) return true
  const url = normalUrl(htu)
  return url !== undefined && urls.some((one) => normalUrl(one) === url)
}

/**
 * Checks the claims of a proof whose signature is right (RFC 9449 §4.3, 8 to 12). With a nonce, `iat` need not be that of
 * our clock: the nonce proves when the proof was made.
 *
 * @throws OAuthError `invalid_dpop_proof`, and `use_dpop_nonce` if only the nonce is missing or no longer valid
 */
export const assertProofClaims = (claims: Claims | undefined, context: ProofContext): ProofUse => {
  if (claims === undefined) return refuse('has claims that are not JSON')
  const { jti, htm, htu, iat, ath, nonce } = claims
  const { method, urls, accessTokenHash, isNonce, now } = context
  if (typeof jti !== 'string' || jti === '' || jti.length > 255) {
    return refuse('must have a jti of 1 to 255 characters')
  }
  if (htm !== method) refuse(`must have the htm ${method}`)
  if (!isUrl(htu, urls))
    throw refusal('proof_url_differs', { values: { url: normalUrl(urls[0] ?? '') ?? '' } })
  if (typeof iat !== 'number' || !Number.isFinite(iat)) return refuse('must have iat in seconds')
  if (accessTokenHash !== undefined && ath !== accessTokenHash) {
    refuse('must have the hash of the access token as ath')
  }
  if (isNonce === undefined) {
    if (Math.abs(now - iat) > maxAge)
      throw refusal('proof_untimely', {
        values: { problem: `must have an iat within ${maxAge} seconds of now` },
        explanation: explainedTimes(['iat about', now], ['iat at', iat]),
      })
    return { id: jti, expiresAt: Math.ceil(iat) + maxAge + 1 }
  }
  if (typeof nonce !== 'string' || !isNonce(nonce)) {
    throw refusal('proof_nonce_needed')
  }
  return { id: jti, expiresAt: now + maxNonceAge }
}
