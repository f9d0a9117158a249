import { isDeepStrictEqual } from 'node:util'
import { changeSilently, type Events, type Tell } from '../../events/events.ts'
import { hashSecret } from '../../keys/secrets.ts'
import type { Registrable } from '../../options/registrable.ts'
import type { ClientMetadata } from '../../protocol/clients/client-metadata.ts'
import { OAuthError, withChanges } from '../../protocol/errors.ts'
import { refusal } from '../../protocol/refusal.ts'
import type { Database } from '../../storage/database/types.ts'
import {
  beginDeletion,
  type ClientRecord,
  findClientRecord,
  listClients,
  rotateClientSecret,
} from '../../storage/repositories/clients.ts'
import { type Installed, ownershipsIn } from './client-data.ts'
import { eraseClient } from './erasure.ts'
import {
  type CheckedRegistration,
  type ClientCredentials,
  type ClientRegistration,
  type ClientRegistry,
  checkedRegistration,
  storeClient,
} from './register.ts'
import { secretChange } from './secret-change.ts'

/** A client in a seed or a file: RFC 7591 metadata with its id and, if you choose it yourself, its secret. */
export interface ClientSeed extends ClientRegistration {
  client_id: string
}

/** A field that differs. A secret is described, never shown. */
export interface FieldDifference {
  readonly name: string
  /** Undefined if the stored client has no value. */
  readonly from?: unknown
  /** Undefined if the value is removed. */
  readonly to?: unknown
}

/** The difference between a client of the file and the stored one. */
export interface ClientDifference {
  readonly client_id: string
  /** `keep`: it is stored but not in the file, and stays. */
  readonly action: 'create' | 'update' | 'remove' | 'keep'
  readonly fields: readonly FieldDifference[]
}

/** The treatment of stored clients that the file does not list. Clients that registered themselves always stay. */
export type Unlisted = 'ignore' | 'keep' | 'remove'

/**
 * Applies the rules of registration to a client of a list.
 *
 * @throws OAuthError `invalid_client_metadata` or `invalid_redirect_uri`, with the id and the field (RFC 7591 §3.2.2)
 */
export const checkedClient = (seed: ClientSeed, registrable: Registrable): CheckedRegistration => {
  try {
    const { client_id, ...metadata } = seed
    if (client_id === undefined) {
      // A misspelled id is refused by its name. Without an id the client would get a random one each time.
      checkedRegistration(metadata, registrable)
      throw refusal('client_id_missing')
    }
    return checkedRegistration(seed, registrable)
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error
    const name = seed.client_id ?? seed.client_name
    const whose = name === undefined ? 'a client without an id' : `client ${name}`
    throw withChanges(error, { message: `${whose}: ${error.message}` })
  }
}

const secretField = (registration: CheckedRegistration, existing: ClientRecord | undefined) => {
  const change = secretChange(registration, existing)
  const from = existing?.secretHashes.length ? { from: 'the stored secret' } : {}
  const given = registration.hashedSecret ? 'the imported secret' : 'the secret of the file'
  const to = { keep: undefined, remove: undefined, set: given, create: 'a random secret' }
  return change === 'keep' || (change === 'remove' && !('from' in from))
    ? []
    : [{ name: 'client_secret', ...from, ...(to[change] && { to: to[change] }) }]
}

const logoField = ({ logo }: CheckedRegistration, existing: ClientRecord | undefined) => {
  const stored = existing?.logo?.hash
  const next = logo === undefined ? stored : logo?.hash
  return next === stored ? [] : [{ name: 'logo', ...(stored && { from: stored }), ...(next && { to: next }) }]
}

/** The fields in which a registration differs from the stored client. */
const fieldDifferences = (
  registration: CheckedRegistration,
  existing: ClientRecord | undefined,
): FieldDifference[] => {
  const before: Readonly<Record<string, unknown>> = { ...existing?.metadata }
  const after: Readonly<Record<string, unknown>> = { ...registration.metadata }
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  const changed = names.filter((name) => !isDeepStrictEqual(before[name], after[name]))
  const values = changed.map((name) => ({
    name,
    ...(before[name] !== undefined && { from: before[name] }),
    ...(after[name] !== undefined && { to: after[name] }),
  }))
  return [...values, ...logoField(registration, existing), ...secretField(registration, existing)]
}

interface Comparison {
  readonly registration: CheckedRegistration
  readonly existing: ClientRecord | undefined
  readonly difference: ClientDifference
}

const compare = (registration: CheckedRegistration, existing: ClientRecord | undefined): Comparison => ({
  registration,
  existing,
  difference: {
    client_id: registration.clientId,
    action: existing ? 'update' : 'create',
    fields: fieldDifferences(registration, existing),
  },
})

const isChanged = ({ existing, difference }: Comparison): boolean =>
  existing === undefined || difference.fields.length > 0

/** @throws OAuthError if an id occurs twice */
const assertDistinct = (registrations: readonly CheckedRegistration[]): void => {
  const ids = registrations.map(({ clientId }) => clientId)
  const twice = ids.find((id, index) => ids.indexOf(id) !== index)
  if (twice !== undefined) throw refusal('client_repeated', { values: { client: twice } })
}

const changesIn = (compared: readonly Comparison[]): ClientDifference[] =>
  compared.filter(isChanged).map(({ difference }) => difference)

const compareAll = async (
  db: Database,
  registrations: readonly CheckedRegistration[],
  now: number,
): Promise<Comparison[]> => {
  assertDistinct(registrations)
  const compared: Comparison[] = []
  for (const registration of registrations) {
    const { clientId } = registration
    compared.push(compare(registration, await findClientRecord(db, { clientId, now })))
  }
  return compared
}

const isOfHost = ({ self_described: by, owned_by: owner }: ClientMetadata): boolean =>
  by === undefined && owner === undefined

const unlistedClients = async (
  db: Database,
  installed: Installed,
  registrations: readonly CheckedRegistration[],
  unlisted: Unlisted,
  now: number,
): Promise<ClientDifference[]> => {
  if (unlisted === 'ignore') return []
  const listed = new Set(registrations.map(({ clientId }) => clientId))
  for (const { listOwned } of ownershipsIn(installed))
    for (const clientId of await listOwned(db)) listed.add(clientId)
  return (await listClients(db, { now }))
    .filter(({ clientId, metadata }) => !listed.has(clientId) && isOfHost(metadata))
    .map(({ clientId }) => ({ client_id: clientId, action: unlisted, fields: [] }))
}

/**
 * Compares clients with the stored ones and changes nothing.
 *
 * @param registrations of {@link checkedClient}
 * @returns the clients that differ; empty if the database has what the list says
 */
export const planClients = async (
  { database, now, installed }: Pick<ClientRegistry, 'database' | 'now' | 'installed'>,
  registrations: readonly CheckedRegistration[],
  { unlisted }: { readonly unlisted: Unlisted },
): Promise<ClientDifference[]> => {
  const compared = await compareAll(database, registrations, now())
  const others = await unlistedClients(database, installed, registrations, unlisted, now())
  return [...changesIn(compared), ...others]
}

/** Stores a client that differs. A secret that replaces another leaves that one valid for a while, if wanted. */
const store = async (
  tx: Database,
  { registration, existing }: Comparison,
  registry: Pick<ClientRegistry, 'installed'>,
  { keepPreviousFor, now }: { readonly keepPreviousFor: number; readonly now: number },
): Promise<ClientCredentials> => {
  const [current] = existing?.secretHashes ?? []
  const rotates =
    keepPreviousFor > 0 && current !== undefined && secretChange(registration, existing) === 'set'
  if (!rotates) return storeClient(tx, registry, registration, existing, now)
  const { clientId, secret = '' } = registration
  const rotation = { current, next: hashSecret(secret), currentExpiresAt: now + keepPreviousFor }
  await rotateClientSecret(tx, { clientId, now, ...rotation })
  return storeClient(tx, registry, { ...registration, secret: undefined }, existing, now)
}

/** The surroundings of {@link applyClients}. */
export interface ApplyContext extends Pick<ClientRegistry, 'database' | 'now' | 'installed'> {
  /** Absent for seeds. */
  readonly events?: Pick<Events, 'change'>
}

/** Tells of a change as `oauth.clients` does. */
const tellOf = async (
  tell: Tell,
  { client_id: clientId, action, fields }: ClientDifference,
): Promise<void> => {
  if (action === 'keep') return
  const types = { create: 'client.created', update: 'client.updated', remove: 'client.deleted' } as const
  await tell(types[action], undefined, { clientId })
  const isRotated = fields.some(({ name, from, to }) => name === 'client_secret' && from && to)
  if (isRotated) await tell('client.secret_rotated', undefined, { clientId })
}

/**
 * Stores the clients that differ, in one transaction. Clients that do not differ are not written. Clients to remove are
 * disabled in that transaction, and erased after it; if that is interrupted, pruning finishes it.
 *
 * @param registrations of {@link checkedClient}
 * @param options.keepPreviousFor seconds for which a secret that the list replaces stays valid
 * @param options.progress is called after each client with how many are done
 * @returns what differed, and the clients of the list in its order, with a secret where one was created
 */
export const applyClients = async (
  { database, now, installed, events }: ApplyContext,
  registrations: readonly CheckedRegistration[],
  {
    unlisted,
    keepPreviousFor,
    progress,
  }: {
    readonly unlisted: Unlisted
    readonly keepPreviousFor: number
    readonly progress?: (done: number) => void
  },
) => {
  const { change } = events ?? { change: changeSilently }
  const applied = await change(database, async (tx, tell) => {
    const time = now()
    const compared = await compareAll(tx, registrations, time)
    const others = await unlistedClients(tx, installed, registrations, unlisted, time)
    const credentials: ClientCredentials[] = []
    for (const one of compared) {
      const { clientId } = one.registration
      const stored = isChanged(one) && (await store(tx, one, { installed }, { keepPreviousFor, now: time }))
      credentials.push(stored || { client_id: clientId })
      progress?.(credentials.length)
    }
    for (const { client_id: clientId, action } of others)
      if (action === 'remove') await beginDeletion(tx, { clientId, now: time })
    const differences = [...changesIn(compared), ...others]
    for (const difference of differences) await tellOf(tell, difference)
    return { credentials, differences }
  })
  for (const { client_id, action } of applied.differences)
    if (action === 'remove') await eraseClient({ database, now, installed }, client_id)
  return applied
}
