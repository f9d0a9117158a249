import type { EndpointDescription, ServerSetup } from '../authorization-server.ts'
import { createNonces, type Nonces } from '../keys/dpop-nonce.ts'
import { openProof, type VerifiedProof } from '../keys/dpop-proof.ts'
import { hashSecret } from '../keys/secrets.ts'
import type { Client } from '../protocol/clients/client.ts'
import { profileAlgorithms } from '../protocol/clients/security-profile.ts'
import { OAuthError } from '../protocol/errors.ts'
import { type ProofRecord, usedProof } from '../protocol/tokens/dpop-proof.ts'
import type { KeyBinding } from '../protocol/tokens/token-binding.ts'
import { createReplay } from '../repositories/index.ts'
import type { ApiRequest } from './api-request.ts'
import type { Context } from './context.ts'
import type { SenderCheck } from './presented-token.ts'

/** How one server checks DPoP proofs. */
export interface ProofChecks {
  /** Undefined if proofs need no nonce. */
  readonly nonces: Nonces | undefined
  /** Records the hash of a proof until it expires, in epoch seconds; false if it was used before. */
  isFirstUse(hash: string, expiresAt: number): boolean | Promise<boolean>
  /** Epoch seconds. */
  now(): number
}

/** The checks of this server; undefined if `features.dpop` is off. A proof is used once for all processes together. */
const proofChecksOf = ({ options, database, now }: ServerSetup): ProofChecks | undefined => {
  const { dpop } = options.features
  return (
    dpop && {
      nonces: dpop.nonces === 'required' ? createNonces(options.secrets, now) : undefined,
      isFirstUse: (hash, expiresAt) => createReplay(database, { hash, expiresAt }),
      now,
    }
  )
}

/**
 * The checks of requests with access tokens. With `features.dpop.usedProofs: 'memory'` they take no statement, and a proof is
 * used once for each process.
 */
export const usageChecksOf = (server: ServerSetup): ProofChecks | undefined => {
  const checks = proofChecksOf(server)
  const inMemory = server.options.features.dpop?.usedProofs === 'memory'
  return checks && inMemory ? { ...checks, isFirstUse: server.usedProofs } : checks
}

/** What a proof must be bound to, in addition to the method of the request. */
interface ProofTarget {
  /** The URLs, without query, by which the request may have been made. */
  readonly urls: readonly string[]
  readonly accessToken?: string
}

/** Verifies the proof of a request. The answer carries the current nonce, also if it is an error (RFC 9449 §8.2). */
const verifiedProof = (
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

const recordOf = ({ thumbprint, id, expiresAt }: VerifiedProof): ProofRecord => ({
  hash: hashSecret(JSON.stringify(['dpop', thumbprint, id])),
  expiresAt,
})

/** The URLs of an endpoint: that of the issuer, and that for clients with certificates (RFC 8705 §5), if it has another. */
export const urlsOfEndpoint = (
  { issuer, options }: ServerSetup,
  { path }: EndpointDescription,
): readonly string[] => {
  const alias = options.features.mutualTls?.url
  return alias === undefined ? [issuer + path] : [issuer + path, alias + path]
}

/**
 * The key of the proof of a request to one of our endpoints (RFC 9449 §5, §10.1). The URL is that of the issuer, so a proxy
 * need not be trusted. Call it after the client has authenticated, so that strangers cannot have proofs verified, and pass the
 * proof to `consumeProof()` once nothing else can refuse the request, so that they cannot have proofs stored.
 *
 * @returns undefined if the request has no proof, or `features.dpop` is off
 * @throws OAuthError `invalid_dpop_proof` or `use_dpop_nonce`
 */
export const provedKey = (
  { server, endpoint, req }: Context,
  { metadata }: Client,
): { readonly key: KeyBinding; readonly proof: ProofRecord } | undefined => {
  const checks = proofChecksOf(server)
  if (checks === undefined || req.headers.dpop === undefined) return undefined
  const proof = verifiedProof(checks, req, { urls: urlsOfEndpoint(server, endpoint) })
  if (profileAlgorithms(metadata, [proof.algorithm]).length === 0)
    throw new OAuthError(
      'invalid_dpop_proof',
      'the DPoP proof has an alg that the security profile of the client forbids',
    )
  return { key: { type: 'dpop', thumbprint: proof.thumbprint }, proof: recordOf(proof) }
}

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
      throw new OAuthError(
        'invalid_token',
        'the access token is bound to another key than that of the DPoP proof',
      )
    }
    const { hash, expiresAt } = recordOf(proof)
    if (!(await checks.isFirstUse(hash, expiresAt))) throw usedProof()
  }
