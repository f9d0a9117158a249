import { createNonces } from '../../keys/dpop-nonce.ts'
import type { EndpointDescription, ServerSetup } from '../../oauth/authorization-server.ts'
import type { Client } from '../../protocol/clients/client.ts'
import { profileAlgorithms } from '../../protocol/clients/security-profile.ts'
import { refusal } from '../../protocol/refusal.ts'
import type { ProofRecord } from '../../protocol/tokens/dpop-proof.ts'
import type { KeyBinding } from '../../protocol/tokens/token-binding.ts'
import { createReplay } from '../../storage/repositories/index.ts'
import type { Context } from './context.ts'
import { dpopCheck, type ProofChecks, proofRecord, type UrlsOf, verifiedProof } from './dpop.ts'
import { type SenderChecks, senderChecks } from './sender.ts'

// The checks of this server on the senders of requests.

/** The checks of this server; undefined if `protocol.dpop` is off. A proof is used once for all processes together. */
const proofChecksOf = ({ options, database, now }: ServerSetup): ProofChecks | undefined => {
  const { dpop } = options.protocol
  return (
    dpop && {
      nonces: dpop.nonces === 'required' ? createNonces(options.secrets, now) : undefined,
      isFirstUse: (hash, expiresAt) => createReplay(database, { hash, expiresAt }),
      now,
    }
  )
}

/**
 * The checks of requests with access tokens. With `protocol.dpop.usedProofs: 'memory'` they take no statement, and a proof is
 * used once for each process.
 */
const usageChecksOf = (server: ServerSetup): ProofChecks | undefined => {
  const checks = proofChecksOf(server)
  const inMemory = server.options.protocol.dpop?.usedProofs === 'memory'
  return checks && inMemory ? { ...checks, isFirstUse: server.usedProofs } : checks
}

/** The URLs of an endpoint: that of the issuer, and that for clients with certificates (RFC 8705 §5), if it has another. */
export const urlsOfEndpoint = (
  { issuer, options }: ServerSetup,
  { path }: EndpointDescription,
): readonly string[] => {
  const alias = options.protocol.mutualTls?.url
  return alias === undefined ? [issuer + path] : [issuer + path, alias + path]
}

/**
 * The key of the proof of a request to one of our endpoints (RFC 9449 §5, §10.1). The URL is that of the issuer, so a proxy
 * need not be trusted. Call it after the client has authenticated, so that strangers cannot have proofs verified, and pass the
 * proof to `consumeProof()` once nothing else can refuse the request, so that they cannot have proofs stored.
 *
 * @returns undefined if the request has no proof, or `protocol.dpop` is off
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
    throw refusal('proof_invalid', {
      values: { problem: 'has an alg that the security profile of the client forbids' },
    })
  return { key: { type: 'dpop', thumbprint: proof.thumbprint }, proof: proofRecord(proof) }
}

/**
 * The proofs that this server can check where it is itself the resource server: at UserInfo, and with guards in this process.
 *
 * @param urlsOf the URLs, without query, by which a request may have been made
 */
export const senderChecksOf = (server: ServerSetup, urlsOf: UrlsOf): SenderChecks => {
  const proofs = usageChecksOf(server)
  return {
    ...senderChecks(server.options.protocol, server.warnOnce),
    ...(proofs && { dpop: dpopCheck(proofs, urlsOf) }),
  }
}
