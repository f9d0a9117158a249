import { createSecret, hashSecret } from '../keys/secrets.ts'
import { type Client, usesSecret } from '../protocol/client.ts'
import type { ClientMetadata } from '../protocol/client-metadata.ts'

interface Wanted {
  /** The secret that was given, if any. */
  readonly secret: string | undefined
  readonly metadata: ClientMetadata
}

/** What storing a registration does to the secret of its client. */
export type SecretChange = 'keep' | 'remove' | 'set' | 'create'

/** A given secret replaces all stored ones. A client that needs a secret and has none gets a random one. */
export const secretChange = (
  { secret, metadata }: Wanted,
  existing: Pick<Client, 'secretHashes'> | undefined,
): SecretChange => {
  if (!usesSecret(metadata)) return 'remove'
  const [stored] = existing?.secretHashes ?? []
  if (secret === undefined) return stored === undefined ? 'create' : 'keep'
  return stored === hashSecret(secret) ? 'keep' : 'set'
}

export interface SecretChoice {
  /** Undefined if the client keeps its secrets; null if it has none. */
  readonly hash?: string | null
  /** Set if a secret was created. */
  readonly created?: string
}

/** The secret that {@link secretChange} leads to. */
export const chooseSecret = (
  wanted: Wanted,
  existing: Pick<Client, 'secretHashes'> | undefined,
): SecretChoice => {
  const change = secretChange(wanted, existing)
  if (change === 'remove') return { hash: null }
  if (change === 'keep') return {}
  if (change === 'set' && wanted.secret !== undefined) return { hash: hashSecret(wanted.secret) }
  const created = createSecret('clientSecret')
  return { hash: hashSecret(created), created }
}
