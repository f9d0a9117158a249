import { createSecret, hashSecret, importedMark, isImportedMark } from '../../keys/secrets.ts'
import { type Client, usesSecret } from '../../protocol/clients/client.ts'
import type { ClientMetadata } from '../../protocol/clients/client-metadata.ts'

/**
 * A secret that is known only by its hash: Latchkey's own, or one that another server made with bcrypt, argon2, scrypt or
 * PBKDF2. When the client first uses the secret, Latchkey replaces the foreign hash with its own.
 */
export type HashedSecret = { readonly own: string } | { readonly foreign: string }

interface Wanted {
  /** The secret that was given, if any. */
  readonly secret: string | undefined
  /** The hash that was given instead. */
  readonly hashedSecret?: HashedSecret
  readonly metadata: ClientMetadata
}

/** The change of a client's secret when its registration is stored. */
export type SecretChange = 'keep' | 'remove' | 'set' | 'create'

/** The hash for the row of the client; undefined if none was given. */
const givenHash = ({ secret, hashedSecret }: Wanted): string | undefined => {
  if (secret !== undefined) return hashSecret(secret)
  if (hashedSecret === undefined) return undefined
  return 'own' in hashedSecret ? hashedSecret.own : importedMark(hashedSecret.foreign)
}

/**
 * A given secret replaces all stored ones, except that the slow hash of another server never replaces our own hash, which
 * may be of the same secret, and is newer. A client that needs a secret and has none gets a random one.
 */
export const secretChange = (
  wanted: Wanted,
  existing: Pick<Client, 'secretHashes'> | undefined,
): SecretChange => {
  if (!usesSecret(wanted.metadata)) return 'remove'
  const [stored] = existing?.secretHashes ?? []
  const given = givenHash(wanted)
  if (given === undefined) return stored === undefined ? 'create' : 'keep'
  const isOlder = isImportedMark(given) && stored !== undefined && !isImportedMark(stored)
  return stored === given || isOlder ? 'keep' : 'set'
}

export interface SecretChoice {
  /** Undefined if the client keeps its secrets; null if it has none. */
  readonly hash?: string | null
  /** Set if a secret was created. */
  readonly created?: string
  /** The hash of another server, for which `hash` stands. */
  readonly foreign?: string
}

/** The secret that {@link secretChange} leads to. */
export const chooseSecret = (
  wanted: Wanted,
  existing: Pick<Client, 'secretHashes'> | undefined,
): SecretChoice => {
  const change = secretChange(wanted, existing)
  if (change === 'remove') return { hash: null }
  if (change === 'keep') return {}
  const hash = givenHash(wanted)
  const { hashedSecret } = wanted
  if (change === 'set' && hash !== undefined)
    return { hash, ...(hashedSecret && 'foreign' in hashedSecret && { foreign: hashedSecret.foreign }) }
  const created = createSecret('clientSecret')
  return { hash: hashSecret(created), created }
}
