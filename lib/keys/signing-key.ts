import type { JsonWebKey } from 'node:crypto'
import { calculateJwkThumbprint, exportJWK, generateKeyPair } from 'jose'
import type { Database } from '../database/statement.ts'
import type { Options } from '../options/resolve.ts'
import type { SigningAlgorithm } from '../protocol/client-metadata.ts'
import { resealSigningKey, type SigningKeyRecord } from '../repositories/signing-keys.ts'
import { openJwk, sealJwk } from './sealed-jwk.ts'

/** What keeping keys needs to know of the host's options. */
export interface KeyOptions extends Pick<Options, 'secrets' | 'lifetimes' | 'logger'> {
  /** Hears of each new key; times in epoch seconds. */
  readonly keyPublished?: (key: { keyId: string; algorithm: string; signsFrom: number }) => void
}

/**
 * Opens a stored key, and puts it under the newest secret when it lies under an older one.
 *
 * @throws Error when none of the secrets opens it: a key is never replaced in silence
 */
export const openKey = async (
  db: Database,
  { secrets }: KeyOptions,
  { kid, sealedKey }: SigningKeyRecord,
): Promise<JsonWebKey> => {
  const opened = await openJwk(secrets, sealedKey)
  if (opened === undefined) {
    throw new Error(
      `latchkey: signing key ${kid} cannot be opened with any of secrets; put the secret it was sealed under at the end of the list`,
    )
  }
  if (opened.stale) {
    await resealSigningKey(db, { kid, from: sealedKey, to: await sealJwk(secrets[0], opened.jwk) })
  }
  return opened.jwk
}

/** A new key pair; its id is the thumbprint of its public half (RFC 7638), and of no other key. */
export const newKey = async (
  { secrets }: KeyOptions,
  algorithm: SigningAlgorithm,
): Promise<Pick<SigningKeyRecord, 'kid' | 'algorithm' | 'sealedKey'>> => {
  const { privateKey } = await generateKeyPair(algorithm, { extractable: true })
  const jwk = await exportJWK(privateKey)
  const kid = await calculateJwkThumbprint(jwk)
  return { kid, algorithm, sealedKey: await sealJwk(secrets[0], { ...jwk, kid, alg: algorithm, use: 'sig' }) }
}
