import type { JsonWebKey } from 'node:crypto'
import { CompactEncrypt, compactDecrypt } from 'jose'
import { deriveKey } from './secrets.ts'

const sealingKey = (secret: string): Buffer => deriveKey(secret, 'signing keys')

const privateMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']

/** What everybody may know of a key. */
export const publicPart = (jwk: JsonWebKey): JsonWebKey =>
  Object.fromEntries(Object.entries(jwk).filter(([name]) => !privateMembers.includes(name)))

/** A JWK as a compact JWE under a secret of the host's (RFC 7516): neither readable nor changeable without it. */
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
  /** Whether it lies under an older secret and should be put under the newest. */
  readonly stale: boolean
}

/** Tries the secrets, newest first; undefined when none of them opens it. */
export const openJwk = async (secrets: readonly string[], sealed: string): Promise<OpenedJwk | undefined> => {
  for (const [index, secret] of secrets.entries()) {
    const jwk = await openWith(secret, sealed)
    if (jwk) return { jwk, stale: index > 0 }
  }
  return undefined
}
