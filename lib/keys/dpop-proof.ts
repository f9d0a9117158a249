import { createHash, createPublicKey, type KeyObject } from 'node:crypto'
import { parseJwtPart } from '../protocol/json.ts'
import { refusal } from '../protocol/refusal.ts'
import {
  assertProofClaims,
  type ProofAlgorithm,
  type ProofContext,
  type ProofKey,
  type ProofUse,
  parseProofHeader,
  splitProof,
  thumbprintInput,
} from '../protocol/tokens/dpop-proof.ts'
import { verifications } from './jwt-verifier.ts'

/** A valid proof: who made it, and what makes it usable once. */
export interface VerifiedProof extends ProofUse {
  /** SHA-256 thumbprint of its key in base64url (RFC 7638). */
  readonly thumbprint: string
  readonly algorithm: ProofAlgorithm
}

const importKey = ({ jwk }: ProofKey): KeyObject => {
  try {
    return createPublicKey({ key: { ...jwk }, format: 'jwk' })
  } catch {
    throw refusal('proof_invalid', { values: { problem: 'has a jwk that is not a key' } })
  }
}

/**
 * Verifies a DPoP proof (RFC 9449 §4.3). Whether it is used for the first time is for the caller to check.
 *
 * @param field the header `DPoP`
 * @throws OAuthError `invalid_dpop_proof`, and `use_dpop_nonce` if only the nonce is missing or no longer valid
 */
export const openProof = (field: string | undefined, context: ProofContext): VerifiedProof => {
  const { header, payload, signature } = splitProof(field)
  const key = parseProofHeader(parseJwtPart(header))
  const data = Buffer.from(`${header}.${payload}`)
  if (!verifications[key.algorithm](data, importKey(key), Buffer.from(signature, 'base64url'))) {
    throw refusal('proof_invalid', { values: { problem: 'is not signed with the key in its jwk' } })
  }
  const use = assertProofClaims(parseJwtPart(payload), context)
  const thumbprint = createHash('sha256').update(thumbprintInput(key.jwk)).digest('base64url')
  return { ...use, thumbprint, algorithm: key.algorithm }
}
