import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { isImportedMark } from '../../keys/secrets.ts'
import { type Registrable, unregistrable } from '../../options/registrable.ts'
import { type Client, usesSecret } from '../../protocol/clients/client.ts'
import {
  type ClientChanges,
  type ClientMetadata,
  parseClientMetadata,
  withoutInternals,
} from '../../protocol/clients/client-metadata.ts'
import { refuseMetadata, refuseUnknown } from '../../protocol/clients/client-metadata-checks.ts'
import { isUnpredictable } from '../../protocol/entropy.ts'
import { refusal } from '../../protocol/refusal.ts'
import { transaction } from '../../storage/database/transaction.ts'
import type { Database } from '../../storage/database/types.ts'
import { type LogoImage, setLogo } from '../../storage/repositories/client-logos.ts'
import {
  createClient,
  findClient,
  lockClient,
  lockUnchangedClient,
  updateClient,
} from '../../storage/repositories/clients.ts'
import { removeImportedSecret, saveImportedSecret } from '../../storage/repositories/imported-secrets.ts'
import { type Installed, selfDescriptionsIn } from './client-data.ts'
import { logoImage } from './logo.ts'
import { chooseSecret, type HashedSecret } from './secret-change.ts'

/** A client to register: RFC 7591 metadata with its id and secret. */
export interface ClientRegistration extends Partial<ClientMetadata> {
  /** 1 to 255 printable ASCII characters, without spaces at either end. @default a random UUID */
  client_id?: string
  /** At least 32 random characters. @default a random secret, if the client authenticates with one */
  client_secret?: string
  /**
   * A file with the logo of the client, which takes the place of `logo_uri`: PNG, JPEG, WebP or GIF of at most
   * 100 kB. `null` removes it. @default the file that was given before, else the image at `logo_uri`
   */
  logo?: URL | null
}

/** Changed metadata, and another file as the logo. */
export type ClientUpdate = ClientChanges & Pick<ClientRegistration, 'logo'>

/** When a change applies. */
export interface ChangeCondition {
  /** The metadata that the client must still have. @default any */
  readonly unchanged?: ClientMetadata | undefined
}

/** The id of a client, and its secret if one was created. Only a hash of the secret is stored. */
export interface ClientCredentials {
  /** Its identifier at every endpoint. */
  readonly client_id: string
  /** Set if a secret was created. Store it now: only its hash is kept. */
  readonly client_secret?: string
}

/** The surroundings of registration. */
export interface ClientRegistry {
  /** The features, which may store something about clients. */
  readonly installed: Installed
  readonly database: Database
  /** The scopes, resources and grants for which clients may be registered. */
  readonly registrable: Registrable
  /** Epoch seconds. */
  now(): number
}

/** A registration that passed all rules. */
export interface CheckedRegistration {
  readonly clientId: string
  readonly secret: string | undefined
  /** Set instead of the secret if only its hash is known. */
  readonly hashedSecret?: HashedSecret
  readonly metadata: ClientMetadata
  /** Undefined keeps the logo; null removes it. */
  readonly logo?: LogoImage | null
}

const minSecretLength = 32

/** @throws OAuthError `invalid_client`: no client has this id */
export const refuseUnknownClient = (clientId: string): never => {
  throw refusal('client_missing', { values: { client: clientId } })
}

const checkedMetadata = (
  input: Readonly<Record<string, unknown>>,
  registrable: Registrable,
): ClientMetadata => {
  const isApi = Array.isArray(input.grant_types) && input.grant_types.length === 0
  const profile = isApi ? undefined : registrable.securityProfile
  const metadata = parseClientMetadata({ ...(profile && { security_profile: profile }), ...input })
  const unknown = unregistrable(metadata, registrable)
  return unknown === undefined ? metadata : refuseUnknown(unknown)
}

/** A file is named by a URL object: no metadata that arrives as JSON can name one. */
const checkedLogo = (logo: unknown): LogoImage | null | undefined => {
  if (logo === undefined || logo === null) return logo
  if (!(logo instanceof URL) || logo.protocol !== 'file:') {
    return refuseMetadata('logo', "must be a file, such as new URL('./logo.png', import.meta.url)")
  }
  try {
    return logoImage(readFileSync(logo))
  } catch (error) {
    const problem = error instanceof TypeError ? error.message : `the file ${logo} cannot be read`
    return refuseUnknown({ parameter: 'logo', problem })
  }
}

const assertSecret = (secret: string, metadata: ClientMetadata): void => {
  if (!usesSecret(metadata)) {
    const method = metadata.token_endpoint_auth_method
    refuseMetadata('client_secret', `must not be set for ${method === 'none' ? 'a public client' : method}`)
  }
  if (typeof secret !== 'string' || secret.length < minSecretLength) {
    refuseMetadata('client_secret', `must have at least ${minSecretLength} characters`)
  }
  if (!isUnpredictable(secret)) {
    refuseMetadata(
      'client_secret',
      'is too easy to guess; use a random one, such as that of `openssl rand -base64 32`',
    )
  }
}

/**
 * Applies all rules of registration.
 *
 * @param registrable what clients may be registered for
 * @throws OAuthError `invalid_client_metadata` or `invalid_redirect_uri` (RFC 7591 §3.2.2)
 */
export const checkedRegistration = (
  { client_id: clientId = randomUUID(), client_secret: secret, logo, ...input }: ClientRegistration,
  registrable: Registrable,
): CheckedRegistration => {
  // RFC 6749 Appendix A.1. Some databases ignore spaces at the end.
  if (typeof clientId !== 'string' || !/^(?! )[\x20-\x7e]{1,255}$/.test(clientId) || clientId.endsWith(' ')) {
    refuseMetadata('client_id', 'must be 1 to 255 printable ASCII characters, without spaces at either end')
  }
  const metadata = checkedMetadata(input, registrable)
  if (secret !== undefined) assertSecret(secret, metadata)
  return { clientId, secret, metadata, logo: checkedLogo(logo) }
}

/**
 * Stores a client in a transaction. One that described itself is taken over, unless it is stored as described again in the
 * same way.
 *
 * @param existing the client that has this id, locked in this transaction
 * @throws OAuthError `invalid_client_metadata` if an organization owns the client, and the new metadata does not name it
 */
export const storeClient = async (
  tx: Database,
  { installed }: Pick<ClientRegistry, 'installed'>,
  registration: CheckedRegistration,
  existing: Client | undefined,
  now: number,
): Promise<ClientCredentials> => {
  const { clientId, metadata, logo } = registration
  if (existing?.metadata.owned_by && metadata.owned_by === undefined)
    throw refusal('client_of_organization', { values: { client: clientId } })
  const { hash, created, foreign } = chooseSecret(registration, existing)
  const before = existing?.metadata.self_described
  if (before !== undefined && metadata.self_described !== before)
    for (const each of selfDescriptionsIn(installed)) await each.takeOver(tx, clientId)
  if (existing) await updateClient(tx, { clientId, metadata, now, secretHash: hash })
  else await createClient(tx, { clientId, metadata, now, secretHash: hash ?? null })
  const isReplaced = hash !== undefined && existing?.secretHashes.some(isImportedMark)
  if (isReplaced) await removeImportedSecret(tx, { clientId })
  if (foreign !== undefined) await saveImportedSecret(tx, { clientId, hash: foreign })
  if (logo) await setLogo(tx, { clientId, logo: { hash: logo.hash, checkedAt: now }, image: logo })
  else if (logo === null) await setLogo(tx, { clientId })
  return { client_id: clientId, ...(created !== undefined && { client_secret: created }) }
}

/**
 * Registers a new client.
 *
 * @throws OAuthError `invalid_client_metadata` or `invalid_redirect_uri`, also if the id is taken
 * @example await registerClient(registry, { redirect_uris: ['https://shop.example.com/callback'] })
 */
export const registerClient = (
  registry: ClientRegistry,
  input: ClientRegistration,
): Promise<ClientCredentials> => {
  const { database, registrable, now } = registry
  const registration = checkedRegistration(input, registrable)
  const { clientId } = registration
  return transaction(database, async (tx) => {
    if (await findClient(tx, { clientId, now: now() }))
      refuseUnknown({ parameter: 'client_id', problem: `${clientId} is already registered` })
    return storeClient(tx, registry, registration, undefined, now())
  })
}

/**
 * Locks a client until the end of the transaction.
 *
 * @param read.metadata as it was read
 * @throws OAuthError `invalid_request` with status 409 if it has changed since
 */
export const lockUnchanged = async (
  tx: Database,
  clientId: string,
  read: { readonly metadata: ClientMetadata; readonly now: number },
): Promise<void> => {
  if (await lockUnchangedClient(tx, { clientId, ...read })) return
  throw refusal('client_changed', { values: { client: clientId }, status: 409 })
}

/**
 * Changes some metadata of a client; fields that are not named keep their values.
 *
 * @returns the id, and a secret if the client had none and needs one now
 * @throws OAuthError `invalid_client` for an unknown client, `invalid_request` with status 409 for one that has changed, else
 *   as {@link registerClient}
 */
export const changeClient = (
  registry: ClientRegistry,
  clientId: string,
  { logo, ...changes }: ClientUpdate,
  { unchanged }: ChangeCondition = {},
): Promise<ClientCredentials> => {
  const { database, registrable, now } = registry
  const image = checkedLogo(logo)
  return transaction(database, async (tx) => {
    if (unchanged) await lockUnchanged(tx, clientId, { metadata: unchanged, now: now() })
    const existing = (await lockClient(tx, { clientId, now: now() })) ?? refuseUnknownClient(clientId)
    const given = Object.entries(changes).filter(([, value]) => value !== undefined)
    const metadata = checkedMetadata(
      { ...withoutInternals(existing.metadata), ...Object.fromEntries(given) },
      registrable,
    )
    return storeClient(tx, registry, { clientId, secret: undefined, metadata, logo: image }, existing, now())
  })
}
