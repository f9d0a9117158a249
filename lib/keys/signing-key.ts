import type { Options } from '../options/options.ts'
import type { SigningAlgorithm } from '../protocol/clients/client-metadata.ts'
import type { Database } from '../storage/database/types.ts'
import { resealSigningKey, type SigningKeyRecord } from '../storage/repositories/signing-keys.ts'
import type { Jwk } from './jwk.ts'
import { openAndReseal, sealJwk } from './sealed-jwk.ts'

/** The options that key management needs. */
export interface KeyOptions extends Pick<Options, 'secrets' | 'lifetimes' | 'logger'> {
  /** Called for each new key; times in epoch seconds. */
  readonly keyPublished?: (key: { keyId: string; algorithm: string; signsFrom: number }) => void
}

/**
 * Decrypts a stored key, and encrypts it under the newest secret if an older one decrypted it.
 *
 * @throws Error if none of the secrets decrypts it; a key is never silently replaced
 */
export const openKey = (
  db: Database,
  { secrets }: KeyOptions,
  { kid, sealedKey }: SigningKeyRecord,
): Promise<Jwk> =>
  openAndReseal(secrets, sealedKey, `the signing key ${kid}`, (to) =>
    resealSigningKey(db, { kid, from: sealedKey, to }),
  )

/** Generates a key pair; its id is the thumbprint of its public key (RFC 7638). */
export const newKey = async (
  { secrets }: KeyOptions,
  algorithm: SigningAlgorithm,
): Promise<Pick<SigningKeyRecord, 'kid' | 'algorithm' | 'sealedKey'>> => {
  // Few starts need a new key.
  const { calculateJwkThumbprint, exportJWK, generateKeyPair } = await import('jose')
  const { privateKey } = await generateKeyPair(algorithm, { extractable: true })
  const jwk = await exportJWK(privateKey)
  const kid = await calculateJwkThumbprint(jwk)
  return { kid, algorithm, sealedKey: sealJwk(secrets[0], { ...jwk, kid, alg: algorithm, use: 'sig' }) }
}
