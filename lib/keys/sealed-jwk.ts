import type { JsonWebKey } from 'node:crypto'
// Each start decrypts keys. The whole of jose would take three times as long to load.
import { compactDecrypt } from 'jose/jwe/compact/decrypt'
import { CompactEncrypt } from 'jose/jwe/compact/encrypt'
import { deriveKey } from './secrets.ts'

const sealingKey = (secret: string): Buffer => deriveKey(secret, 'signing keys')

const privateMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']

/** The key without its private members. */
export const publicPart = (jwk: JsonWebKey): JsonWebKey =>
  Object.fromEntries(Object.entries(jwk).filter(([name]) => !privateMembers.includes(name)))

/** Encrypts a JWK as a compact JWE under one of the host's secrets (RFC 7516). */
export const sealJwk = (secret: string, jwk: JsonWebKey): Promise<string> =>
  new CompactEncrypt(new TextEncoder().encode(JSON.stringify(jwk)))
    .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
    .encrypt(sealingKey(secret))

const openWith = async (secret: string, sealed: string): Promise<JsonWebKey | undefined> => {
  try {
    const { plaintext } = await compactDecrypt(sealed, sealingKey(secret), {
      keyManagementAlgorithms: ['dir'],
      contentEncryptionAlgorithms: ['A256GCM'],
    })
    return JSON.parse(new TextDecoder().decode(plaintext))
  } catch {
    return undefined
  }
}

export interface OpenedJwk {
  readonly jwk: JsonWebKey
  /** Whether an older secret decrypted it, so that it should be encrypted under the newest. */
  readonly stale: boolean
}

/** Tries the secrets, newest first; undefined if none of them decrypts it. */
export const openJwk = async (secrets: readonly string[], sealed: string): Promise<OpenedJwk | undefined> => {
  for (const [index, secret] of secrets.entries()) {
    const jwk = await openWith(secret, sealed)
    if (jwk) return { jwk, stale: index > 0 }
  }
  return undefined
}
