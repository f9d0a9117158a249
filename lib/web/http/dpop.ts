import type { Nonces } from '../../keys/dpop-nonce.ts'
import { openProof, type VerifiedProof } from '../../keys/dpop-proof.ts'
import { hashSecret } from '../../keys/secrets.ts'
import { refusal } from '../../protocol/refusal.ts'
import { type ProofRecord, usedProof } from '../../protocol/tokens/dpop-proof.ts'
import type { ApiRequest } from './api-request.ts'
import type { SenderCheck } from './presented-token.ts'

/** The checks of DPoP proofs at one server. */
export interface ProofChecks {
  /** Undefined if proofs need no nonce. */
  readonly nonces: Nonces | undefined
  /** Records the hash of a proof until it expires, in epoch seconds; false if it was used before. */
  isFirstUse(hash: string, expiresAt: number): boolean | Promise<boolean>
  /** Epoch seconds. */
  now(): number
}

/** The target that a proof must be bound to, in addition to the method of the request. */
interface ProofTarget {
  /** The URLs, without query, by which the request may have been made. */
  readonly urls: readonly string[]
  readonly accessToken?: string
}

/** Verifies the proof of a request. The answer carries the current nonce, also if it is an error (RFC 9449 §8.2). */
export const verifiedProof = (
  { nonces, now }: ProofChecks,
  req: ApiRequest,
  { urls, accessToken }: ProofTarget,
): VerifiedProof => {
  if (nonces) req.res?.setHeader('DPoP-Nonce', nonces.current())
  const { dpop } = req.headers
  return openProof(Array.isArray(dpop) ? dpop.join() : dpop, {
    method: req.method,
    urls,
    accessTokenHash: accessToken === undefined ? undefined : hashSecret(accessToken),
    isNonce: nonces?.isValid,
    now: now(),
  })
}

/** Under which a proof is recorded as used. */
export const proofRecord = ({ thumbprint, id, expiresAt }: VerifiedProof): ProofRecord => ({
  hash: hashSecret(JSON.stringify(['dpop', thumbprint, id])),
  expiresAt,
})

/**
 * The URLs, without query, by which a request may have been made. The header Host is not among what decides: with it, a proof
 * for another server would become one for this server.
 */
export type UrlsOf = (req: Pick<ApiRequest, 'originalUrl'>) => readonly string[]

/** The URLs of requests to an API that is called below these. */
export const urlsBelow =
  (baseUrls: readonly string[]): UrlsOf =>
  ({ originalUrl }) => {
    // A client may send the whole URL as the target of its request (RFC 9112 §3.2.2).
    const [path = ''] = originalUrl.replace(/^https?:\/\/[^/?]*/i, '').split('?')
    return baseUrls.map((base) => base + path)
  }

/**
 * Checks the proofs of requests with access tokens (RFC 9449 §4.3, §7.1). A proof is consumed last, so that only the holder of
 * the token and of its key can have it stored.
 */
export const dpopCheck =
  (checks: ProofChecks, urlsOf: UrlsOf): SenderCheck =>
  async (req, token, thumbprint) => {
    const proof = verifiedProof(checks, req, { urls: urlsOf(req), accessToken: token.value })
    if (proof.thumbprint !== thumbprint) {
      throw refusal('token_key_differs')
    }
    const { hash, expiresAt } = proofRecord(proof)
    if (!(await checks.isFirstUse(hash, expiresAt))) throw usedProof()
  }
