import type { EventDetails } from '../../events/event.ts'
import type { Events, Tell } from '../../events/events.ts'
import { createSecret, hashSecret } from '../../keys/secrets.ts'
import { registrableOf } from '../../options/registrable.ts'
import type { ClientMetadata } from '../../protocol/clients/client-metadata.ts'
import { refuseClient } from '../../protocol/clients/client-metadata-checks.ts'
import { isObject } from '../../protocol/json.ts'
import { refusal } from '../../protocol/refusal.ts'
import type { RequestInfo } from '../../protocol/requests/request-info.ts'
import { transaction } from '../../storage/database/transaction.ts'
import type { Database } from '../../storage/database/types.ts'
import {
  type ClientRecord,
  findClient,
  findClientRecord,
  listClients,
  lockClient,
  rotateClientSecret,
  setClientDisabled,
  updateClient,
} from '../../storage/repositories/clients.ts'
import { ownershipsIn, selfDescriptionsIn } from './client-data.ts'
import { beginErasure, eraseClient } from './erasure.ts'
import { keepLogo, type LogoContext } from './logo.ts'
import {
  type ClientCredentials,
  type ClientRegistration,
  type ClientRegistry,
  type ClientUpdate,
  changeClient,
  lockUnchanged,
  refuseUnknownClient,
  registerClient,
} from './register.ts'

/** A registered client: its metadata with its id and state. It never contains a secret. */
export interface RegisteredClient extends ClientMetadata {
  /** Its identifier at every endpoint. */
  readonly client_id: string
  /** Epoch seconds. */
  readonly client_id_issued_at: number
  /** Whether it and all of its tokens are refused. */
  readonly disabled: boolean
}

/** A client as `create()` and `update()` return it. */
export interface SavedClient extends RegisteredClient {
  /** Set if a secret was created. Store it now: only its hash is kept. */
  readonly client_secret?: string
}

/** A new secret. */
export interface RotatedSecret {
  /** The client that has the new secret. */
  readonly client_id: string
  /** Store it now: only its hash is kept. */
  readonly client_secret: string
  /** Epoch seconds until which the previous secret stays valid. */
  readonly previous_secret_expires_at: number
  /** Epoch seconds, if the new secret expires. */
  readonly client_secret_expires_at?: number
}

/** When a change applies. */
export interface UpdateOptions {
  /** The client as it was read: the change is refused if its metadata has changed since. @default it always applies */
  readonly ifUnchanged?: RegisteredClient | undefined
}

/** The lifetimes of the secrets of a rotation. */
export interface RotationOptions {
  /** Seconds for which the previous secret stays valid. @default 86400 (a day) */
  readonly keepPreviousFor?: number | undefined
  /** Seconds after which the new secret expires. @default never */
  readonly expiresIn?: number | undefined
  /** Whether the new secret expires when the present one does, if `expiresIn` is not set. @default false */
  readonly keepExpiry?: boolean | undefined
}

/** A selection of clients for `list()`. */
export interface ClientListOptions {
  /** The id of the last client of the page before. @default the first page */
  readonly after?: string | undefined
  /** The most clients to return, from 1 to 1000. @default 100 */
  readonly limit?: number | undefined
  /** Only clients with this text in their id, `client_name`, hosts of redirect URIs or contacts, in upper or lower case. @default all */
  readonly search?: string | undefined
}

/** Manages the registered clients. Metadata has the names of RFC 7591. */
export interface ClientAdministration {
  /**
   * Registers a client.
   *
   * @throws OAuthError `invalid_client_metadata` or `invalid_redirect_uri` (RFC 7591 §3.2.2)
   * @example
   * const { client_id, client_secret } = await oauth.clients.create({
   *   client_name: 'Shop',
   *   redirect_uris: ['https://shop.example.com/callback'],
   * })
   */
  create(client: ClientRegistration): Promise<SavedClient>
  /**
   * Returns a page of the clients, ordered by id. For the next one, pass the last id as `after`.
   *
   * @throws TypeError if `limit` is not a number from 1 to 1000
   * @example
   * const page = await oauth.clients.list({ limit: 50, search: 'shop' })
   * const next = await oauth.clients.list({ limit: 50, search: 'shop', after: page.at(-1)?.client_id })
   */
  list(options?: ClientListOptions): Promise<RegisteredClient[]>
  /** Returns one client, or undefined if no client has this id. */
  get(clientId: string): Promise<RegisteredClient | undefined>
  /**
   * Changes the named metadata fields. `null` removes a field. A client that described itself becomes a verified client of
   * yours: the pages no longer warn about it, and it cannot change its registration any more.
   *
   * @throws OAuthError `invalid_client` for an unknown client, `invalid_client_metadata` or `invalid_redirect_uri`, and
   *   `invalid_request` with status 409 if the client has changed
   * @example await oauth.clients.update('shop', { client_name: 'Shop 2', policy_uri: null })
   */
  update(clientId: string, changes: ClientUpdate, options?: UpdateOptions): Promise<SavedClient>
  /**
   * Disables a client at once: it cannot authenticate or start a login, and all its tokens are refused. Nothing is
   * deleted.
   *
   * @throws OAuthError `invalid_client` for an unknown client
   * @example await oauth.clients.disable('shop')
   */
  disable(clientId: string): Promise<void>
  /**
   * Enables a disabled client. Its tokens and consents work again, except those that have expired.
   *
   * @throws OAuthError `invalid_client` for an unknown client, and `invalid_request` with status 409 if the client has
   *   changed, or waits for approval: `oauth.developers.approve()` enables it
   */
  enable(clientId: string, options?: UpdateOptions): Promise<void>
  /**
   * Deletes a client with its consents, authorizations and tokens. Consent receipts stay. The client is disabled first,
   * so access ends at once. If it rejects, pruning finishes it; if you call it again, it continues where it stopped.
   *
   * @throws OAuthError `invalid_client` for an unknown client
   */
  delete(clientId: string): Promise<void>
  /**
   * Creates a new secret. The previous one stays valid for a while, so that the client can switch over.
   *
   * @param options.keepPreviousFor seconds for which the previous secret stays valid, unless it expires before; 86400 (1 day)
   *   by default
   * @param options.expiresIn seconds until the new secret expires; by default it does not
   * @param options.keepExpiry whether it expires when the present one does
   * @throws OAuthError `invalid_client` for an unknown client, `invalid_client_metadata` for one without a secret, or whose
   *   kept expiry has passed
   * @throws TypeError if a time is not a whole number of seconds, or too small
   * @example const { client_secret } = await oauth.clients.rotateSecret('shop', { keepPreviousFor: 3600 })
   */
  rotateSecret(clientId: string, options?: RotationOptions): Promise<RotatedSecret>
}

/** The events that {@link ClientAdministration} announces. */
type ClientEvent = `client.${'created' | 'updated' | 'disabled' | 'enabled' | 'deleted' | 'secret_rotated'}` &
  keyof EventDetails

/** The part of the server that the administration needs. */
export interface AdministrationContext extends Pick<ClientRegistry, 'database' | 'now' | 'installed'> {
  readonly options: Parameters<typeof registrableOf>[0]
  readonly events: Pick<Events, 'change'>
  /** Resolves when the schema is ready. */
  ready(): Promise<unknown>
  /** The server, which fetches logos; absent on the command line. */
  readonly logos?: LogoContext
  /** The operator who acts, or the user who owns the client, and their request. */
  readonly by?: { readonly actor?: string | undefined; readonly subject?: string; readonly info: RequestInfo }
}

/** A stored client as hosts see it. */
export const registeredClient = ({
  clientId,
  metadata,
  createdAt,
  disabledAt,
}: ClientRecord): RegisteredClient => ({
  client_id: clientId,
  client_id_issued_at: createdAt,
  disabled: disabledAt !== null,
  ...metadata,
})

/** The metadata of a client that {@link registeredClient} returned. */
export const metadataOf = ({
  client_id: _,
  client_id_issued_at: __,
  disabled: ___,
  ...metadata
}: RegisteredClient): ClientMetadata => metadata

const day = 86_400

/** The most clients on one page of `list()`. */
const maxListed = 1000

/** Types do not hold in JavaScript. @throws OAuthError `invalid_client_metadata` */
const assertMetadata = (given: unknown): void => {
  if (!isObject(given)) refuseClient('the metadata of a client must be an object')
}

/** @throws TypeError if a time is not a whole number of seconds, or too small */
const assertRotation = ({ expiresIn, keepPreviousFor = 0 }: RotationOptions): void => {
  if (expiresIn !== undefined && !(Number.isSafeInteger(expiresIn) && expiresIn > 0)) {
    throw new TypeError('latchkey: expiresIn must be a whole number of seconds above 0')
  }
  if (!Number.isSafeInteger(keepPreviousFor) || keepPreviousFor < 0) {
    throw new TypeError('latchkey: keepPreviousFor must be a whole number of seconds, at least 0')
  }
}

const rotate = async (
  { database, now: clock }: ClientRegistry,
  clientId: string,
  { keepPreviousFor = day, expiresIn, keepExpiry = false }: RotationOptions,
): Promise<RotatedSecret> => {
  const now = clock()
  const client = (await findClient(database, { clientId, now })) ?? refuseUnknownClient(clientId)
  const [current] = client.secretHashes
  if (current === undefined) {
    throw refusal('client_without_secret', { values: { client: clientId } })
  }
  const secret = createSecret('clientSecret')
  const expiry = client.metadata.client_secret_expires_at
  const currentExpiresAt = Math.min(now + keepPreviousFor, expiry ?? Number.POSITIVE_INFINITY)
  const rotation = { clientId, current, next: hashSecret(secret), currentExpiresAt, now }
  const expiresAt = await transaction(database, async (tx) => {
    if (!(await rotateClientSecret(tx, rotation))) {
      throw refusal('client_busy', { values: { client: clientId } })
    }
    const { client_secret_expires_at: earlier, ...metadata } =
      (await findClient(tx, { clientId, now }))?.metadata ?? refuseUnknownClient(clientId)
    const kept = keepExpiry ? earlier : undefined
    const next = expiresIn === undefined ? kept : now + expiresIn
    if (next !== undefined && next <= now)
      throw refusal('client_secret_past', { values: { client: clientId } })
    if (next !== earlier) {
      const renewed = { ...metadata, ...(next !== undefined && { client_secret_expires_at: next }) }
      await updateClient(tx, { clientId, metadata: renewed, secretHash: undefined, now })
    }
    return next
  })
  return {
    client_id: clientId,
    client_secret: secret,
    previous_secret_expires_at: currentExpiresAt,
    ...(expiresAt !== undefined && { client_secret_expires_at: expiresAt }),
  }
}

/** @param context the server; the CLI has no running server and passes the parts it has */
export const clientAdministration = (context: AdministrationContext): ClientAdministration => {
  const { database, now, installed, options, events, ready } = context
  const registry = { database, now, installed, registrable: registrableOf(options) }
  const { actor, subject, info } = context.by ?? {}
  /** Makes a change and tells of it in its transaction. */
  const change = <T>(
    type: ClientEvent,
    work: (tx: Database, tell: (clientId: string) => ReturnType<Tell>) => Promise<T>,
  ): Promise<T> =>
    events.change(database, (tx, tell) =>
      work(tx, (clientId) => tell(type, info, { clientId, actor, subject })),
    )

  const select = ({ after, limit = 100, search }: ClientListOptions): Promise<ClientRecord[]> => {
    if (!(Number.isInteger(limit) && limit >= 1 && limit <= maxListed)) {
      throw new TypeError(`latchkey: limit must be a whole number from 1 to ${maxListed}`)
    }
    return listClients(database, { after, limit, search: search || undefined, now: now() })
  }
  const find = async (clientId: string): Promise<RegisteredClient | undefined> => {
    const client = await findClientRecord(database, { clientId, now: now() })
    return client && registeredClient(client)
  }
  /** Also fetches a new logo, before a page needs it. */
  const saved = async ({ client_id: clientId, client_secret }: ClientCredentials): Promise<SavedClient> => {
    const client = await findClientRecord(database, { clientId, now: now() })
    if (client === undefined) return refuseUnknownClient(clientId)
    if (context.logos) keepLogo(context.logos, client)
    return { ...registeredClient(client), ...(client_secret !== undefined && { client_secret }) }
  }
  const setDisabled = async (db: Database, clientId: string, disabled: boolean): Promise<void> => {
    const time = now()
    const values = { clientId, disabledAt: disabled ? time : null, now: time }
    if (!(await setClientDisabled(db, values))) refuseUnknownClient(clientId)
  }

  return {
    create: async (client) => {
      assertMetadata(client)
      await ready()
      const created = await change('client.created', async (tx, tell) => {
        const credentials = await registerClient({ ...registry, database: tx }, client)
        await tell(credentials.client_id)
        return credentials
      })
      return saved(created)
    },
    list: async (listed = {}) => {
      await ready()
      return (await select(listed)).map(registeredClient)
    },
    get: async (clientId) => {
      await ready()
      return find(clientId)
    },
    update: async (clientId, changes, { ifUnchanged } = {}) => {
      assertMetadata(changes)
      await ready()
      const unchanged = ifUnchanged && metadataOf(ifUnchanged)
      const updated = await change('client.updated', async (tx, tell) => {
        const credentials = await changeClient({ ...registry, database: tx }, clientId, changes, {
          unchanged,
        })
        await tell(clientId)
        return credentials
      })
      return saved(updated)
    },
    disable: async (clientId) => {
      await ready()
      await change('client.disabled', async (tx, tell) => {
        await setDisabled(tx, clientId, true)
        for (const each of selfDescriptionsIn(installed)) await each.disable(tx, clientId)
        await tell(clientId)
      })
    },
    enable: async (clientId, { ifUnchanged } = {}) => {
      await ready()
      await change('client.enabled', async (tx, tell) => {
        await lockClient(tx, { clientId, now: now() })
        for (const each of ownershipsIn(installed)) await each.enable(tx, { clientId, now: now() })
        if (ifUnchanged) await lockUnchanged(tx, clientId, { metadata: metadataOf(ifUnchanged), now: now() })
        await setDisabled(tx, clientId, false)
        await tell(clientId)
      })
    },
    delete: async (clientId) => {
      await ready()
      await change('client.deleted', async (tx, tell) => {
        await beginErasure({ ...registry, database: tx }, clientId)
        await tell(clientId)
      })
      await eraseClient(registry, clientId)
    },
    rotateSecret: async (clientId, options = {}) => {
      assertRotation(options)
      await ready()
      return change('client.secret_rotated', async (tx, tell) => {
        const rotated = await rotate({ ...registry, database: tx }, clientId, options)
        await tell(clientId)
        return rotated
      })
    },
  }
}
