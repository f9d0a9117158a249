import type { Client, ClientLogo } from '../../protocol/clients/client.ts'
import type { ClientMetadata } from '../../protocol/clients/client-metadata.ts'
import {
  command,
  insertInto,
  json,
  jsonOrUndefined,
  numberOf,
  numberOrNull,
  query,
  textOf,
  textOrNull,
} from '../database/statement.ts'
import type { Database, Dialect, Row } from '../database/types.ts'
import { deleteLogo } from './client-logos.ts'
import { type BatchParams, batchParams, batchSize, isLast, keysIn } from './pruning/batch.ts'
import { othersFirst } from './read-in-batches.ts'
import { type Places, touches } from './statements.ts'

/** A client as its administrators see it. */
export interface ClientRecord extends Client {
  /** Epoch seconds. */
  readonly createdAt: number
}

/** Named, because a column that a newer version adds would break prepared `SELECT *` statements. */
export const clientColumns = [
  'client_id',
  'secret_hash',
  'previous_secret_hash',
  'previous_secret_expires_at',
  'metadata',
  'disabled_at',
]

export const clientOf = (row: Row, now: number): Client => {
  const current = textOrNull(row, 'secret_hash')
  const previous = textOrNull(row, 'previous_secret_hash')
  const previousStands = (numberOrNull(row, 'previous_secret_expires_at') ?? 0) > now
  return {
    clientId: textOf(row, 'client_id'),
    secretHashes: [current, previousStands ? previous : null].filter((hash) => hash !== null),
    metadata: json<ClientMetadata>(row, 'metadata'),
    disabledAt: numberOrNull(row, 'disabled_at'),
  }
}

/** Reads {@link clientColumns} and the logo, which only pages need. */
export const shownClientOf = (row: Row, now: number): Client => {
  const logo = jsonOrUndefined<ClientLogo>(row, 'logo')
  return { ...clientOf(row, now), ...(logo && { logo }) }
}

const recordColumns = [...clientColumns, 'logo', 'created_at']

const recordOf = (row: Row, now: number): ClientRecord => ({
  ...shownClientOf(row, now),
  createdAt: numberOf(row, 'created_at'),
})

const byId = query<{ clientId: string }>((table, v) =>
  table('clients').select(clientColumns).where({ client_id: v.clientId }),
)
/** A client, and the time that decides which of its secrets are valid. */
export interface ClientLookup {
  clientId: string
  /** Epoch seconds. */
  now: number
}

/** The client with this id; which of its secrets are valid depends on the time. */
export const findClient = async (
  db: Database,
  { clientId, now }: ClientLookup,
): Promise<Client | undefined> => {
  const [row] = await byId(db, { clientId })
  return row && clientOf(row, now)
}

const touch = command<{ clientId: string }>((table, v) =>
  table('clients').where({ client_id: v.clientId }).update({ client_id: v.clientId }),
)

/**
 * Locks a client until the end of the transaction, and reads it. A transaction that writes what it has read of a client, in its row
 * or in its registration, begins with this; otherwise it undoes what another process writes in between.
 */
export const lockClient = async (tx: Database, lookup: ClientLookup): Promise<Client | undefined> =>
  (await touch(tx, { clientId: lookup.clientId })) > 0 ? findClient(tx, lookup) : undefined

/** A client as its administrators see it. */
export const findClientRecord = async (
  db: Database,
  { clientId, now }: ClientLookup,
): Promise<ClientRecord | undefined> => (await findClientRecords(db, { clientIds: [clientId], now }))[0]

const byIds = query<BatchParams>((table, v) =>
  table('clients').select(recordColumns).whereIn('client_id', keysIn(v)),
)

/** The clients with these ids, at most 100, in no order; those that are gone are missing. */
export const findClientRecords = async (
  db: Database,
  { clientIds, now }: { clientIds: readonly string[]; now: number },
): Promise<ClientRecord[]> => (await byIds(db, batchParams(clientIds))).map((row) => recordOf(row, now))

/** UTF-16 code units: with more, a search would take longer for all. */
const maxSearchText = 2000
/** Characters of the column. */
const maxSortName = 64

/** The host of an address; the scheme of one for an app, such as `com.example.app:/callback`. */
const hostOf = (uri: string): string =>
  (URL.canParse(uri) && new URL(uri).host) || (uri.split(':', 1)[0] ?? '')

/** The beginning of a string in lower case. No database stores a surrogate without the other one. */
const beginning = (text: string, length: number): string =>
  Buffer.from(text.toLowerCase().slice(0, length)).toString()

/** The words by which a search finds a client, beside its id and its name: hosts and contacts. */
export const searchedWords = ({
  redirect_uris: uris = [],
  client_uri: home,
  contacts = [],
}: Pick<ClientMetadata, 'client_uri' | 'contacts'> &
  Partial<Pick<ClientMetadata, 'redirect_uris'>>): string[] => [
  ...new Set([...uris, ...(home === undefined ? [] : [home])].map(hostOf)),
  ...contacts,
]

const searchText = (clientId: string, metadata: ClientMetadata): string =>
  beginning([clientId, metadata.client_name ?? '', ...searchedWords(metadata)].join('\n'), maxSearchText)

/** The beginning of a name, as lists are sorted by it. */
export const sortNameOf = (name: string): string => beginning(name.replace(/\p{Cc}/gu, ''), maxSortName)

/** The columns that lists read of a client, so that they need not read its metadata. */
const listed = (clientId: string, metadata: ClientMetadata) => ({
  search_text: searchText(clientId, metadata),
  sort_name: sortNameOf(metadata.client_name ?? clientId),
  first_party: metadata.first_party ? 1 : 0,
  self_described: metadata.self_described === undefined ? 0 : 1,
})

type Listed = ReturnType<typeof listed>

interface PageStart {
  /** Only clients with a greater id. */
  after: string
}

const page = query<PageStart>((table, v) =>
  table('clients')
    .select(recordColumns)
    .where('client_id', '>', v.after)
    .orderBy('client_id')
    .limit(batchSize, { skipBinding: true }),
)

const foundPage = query<PageStart & { pattern: string }>((table, v, _name, raw) =>
  table('clients')
    .select(recordColumns)
    .where('client_id', '>', v.after)
    .whereRaw(raw("?? like ? escape '!'", ['search_text', v.pattern]))
    .orderBy('client_id')
    .limit(batchSize, { skipBinding: true }),
)

const pageByOrigin = query<PageStart & { selfDescribed: number }>((table, v) =>
  table('clients')
    .select(recordColumns)
    .where({ self_described: v.selfDescribed })
    .where('client_id', '>', v.after)
    .orderBy('client_id')
    .limit(batchSize, { skipBinding: true }),
)

/** Finds rows whose `search_text` contains this; `!` escapes. */
export const patternOf = (search: string): string => `%${search.toLowerCase().replace(/[!%_]/g, '!$&')}%`

/**
 * Clients in the order of their ids, a hundred with each statement and turn.
 *
 * @param values.after the id before the first one. @default the first client
 * @param values.limit how many at most. @default all
 * @param values.search only clients with this in their id, name, hosts or contacts, in any case. @default all
 * @param values.selfDescribed only clients that described themselves, or only the others; not together with `search`. @default all
 */
export const listClients = async (
  db: Database,
  values: { after?: string; limit?: number; search?: string; selfDescribed?: boolean; now: number },
): Promise<ClientRecord[]> => {
  const { limit = Number.POSITIVE_INFINITY, search = '', selfDescribed, now } = values
  const pattern = patternOf(search)
  const read = (after: string): Promise<readonly Row[]> => {
    if (search !== '') return foundPage(db, { after, pattern })
    return selfDescribed === undefined
      ? page(db, { after })
      : pageByOrigin(db, { after, selfDescribed: selfDescribed ? 1 : 0 })
  }
  const found: ClientRecord[] = []
  let { after = '' } = values
  while (found.length < limit) {
    const rows = await read(after)
    found.push(...rows.map((row) => recordOf(row, now)))
    const last = rows.at(-1)
    if (last === undefined || isLast(rows)) break
    after = textOf(last, 'client_id')
    await othersFirst()
  }
  return found.slice(0, limit)
}

/** A number in the metadata; null if the client has none. */
const lifetimeIn: Readonly<Record<Dialect, string>> = {
  sqlite: "json_extract(??, '$.id_token_lifetime') as lifetime",
  postgresql: "cast(cast(?? as json)->>'id_token_lifetime' as numeric) as lifetime",
  mysql: "json_extract(??, '$.id_token_lifetime') as lifetime",
}

const lifetimesOf = (dialect: Dialect) =>
  query<{ after: string }>((table, v, _name, raw) =>
    table('clients')
      .select(['client_id', raw(lifetimeIn[dialect], ['metadata'])])
      .where('client_id', '>', v.after)
      .orderBy('client_id')
      .limit(batchSize, { skipBinding: true }),
  )

const lifetimes = {
  sqlite: lifetimesOf('sqlite'),
  postgresql: lifetimesOf('postgresql'),
  mysql: lifetimesOf('mysql'),
}

/** The longest `id_token_lifetime` of all clients, in seconds; 0 if none has one. Their metadata stays in the database. */
export const longestIdTokenLifetime = async (db: Database): Promise<number> => {
  let [longest, after]: [number, string | undefined] = [0, '']
  while (after !== undefined) {
    const rows = await lifetimes[db.driver.dialect](db, { after })
    longest = Math.max(longest, ...rows.map((row) => numberOrNull(row, 'lifetime') ?? 0))
    const last = rows.at(-1)
    after = last === undefined || isLast(rows) ? undefined : textOf(last, 'client_id')
    await othersFirst()
  }
  return longest
}

export interface ClientRow {
  clientId: string
  secretHash: string | null
  metadata: ClientMetadata
  now: number
}

interface ClientValues extends Listed {
  clientId: string
  secretHash: string | null
  metadata: string
  now: number
}

const insert = insertInto('clients')

/** The columns of metadata. */
const described = (v: Places<'metadata' | 'now' | keyof Listed>) => ({
  metadata: v.metadata,
  search_text: v.search_text,
  sort_name: v.sort_name,
  first_party: v.first_party,
  self_described: v.self_described,
  updated_at: v.now,
})

const update = command<Omit<ClientValues, 'secretHash'>>((table, v) =>
  table('clients').where({ client_id: v.clientId }).update(described(v)),
)

const updateUnchanged = command<Omit<ClientValues, 'secretHash' | keyof Listed> & { expected: string }>(
  (table, v) =>
    table('clients')
      .where({ client_id: v.clientId, metadata: v.expected })
      .update({ metadata: v.metadata, updated_at: v.now }),
)

const updateWithSecret = command<ClientValues>((table, v) =>
  table('clients')
    .where({ client_id: v.clientId })
    .update({
      secret_hash: v.secretHash,
      previous_secret_hash: null,
      previous_secret_expires_at: null,
      ...described(v),
    }),
)

/** @throws OAuthError whose cause is a unique violation when the id is taken */
export const createClient = (db: Database, client: ClientRow): Promise<number> =>
  insert(db, {
    client_id: client.clientId,
    secret_hash: client.secretHash,
    metadata: JSON.stringify(client.metadata),
    ...listed(client.clientId, client.metadata),
    created_at: client.now,
    updated_at: client.now,
  })

/**
 * Replaces the metadata of an existing client.
 *
 * @param client.secretHash replaces all its secrets, also the previous one of a rotation; undefined keeps them
 */
export const updateClient = async (
  db: Database,
  { secretHash, ...client }: Omit<ClientRow, 'secretHash'> & { secretHash: string | null | undefined },
): Promise<void> => {
  const { clientId, now } = client
  const values = {
    clientId,
    metadata: JSON.stringify(client.metadata),
    ...listed(clientId, client.metadata),
    now,
  }
  if (secretHash === undefined) await update(db, values)
  else await updateWithSecret(db, { ...values, secretHash })
}

/**
 * Locks a client until the end of the transaction, if its metadata is still what was read.
 *
 * @returns false if another process has changed it meanwhile
 */
export const lockUnchangedClient = async (
  db: Database,
  { clientId, metadata, now }: Omit<ClientRow, 'secretHash'>,
): Promise<boolean> => {
  const same = JSON.stringify(metadata)
  return (await updateUnchanged(db, { clientId, metadata: same, expected: same, now })) === 1
}

export interface SecretRotation {
  clientId: string
  /** Hash of the present secret; if it has changed meanwhile, nothing happens. */
  current: string
  next: string
  /** Epoch seconds until which the present secret stays valid. */
  currentExpiresAt: number
  now: number
}

/**
 * Gives a client a new secret; the old one stays valid for a while.
 *
 * @returns false if another process has changed the secret meanwhile
 */
export const rotateClientSecret = touches(
  command<SecretRotation>((table, v) =>
    table('clients').where({ client_id: v.clientId, secret_hash: v.current }).update({
      secret_hash: v.next,
      previous_secret_hash: v.current,
      previous_secret_expires_at: v.currentExpiresAt,
      updated_at: v.now,
    }),
  ),
)

/**
 * Disables a client, or enables it again with null.
 *
 * @returns false if no client has this id, or it is being deleted
 */
export const setClientDisabled = touches(
  command<{ clientId: string; disabledAt: number | null; now: number }>((table, v) =>
    table('clients')
      .where({ client_id: v.clientId })
      .whereNull('deleted_at')
      .update({ disabled_at: v.disabledAt, updated_at: v.now }),
  ),
)

/**
 * Disables a client for good. Its removal has begun, and goes on until its row is gone.
 *
 * @returns false if no client has this id
 */
export const beginDeletion = touches(
  command<{ clientId: string; now: number }>((table, v) =>
    table('clients')
      .where({ client_id: v.clientId })
      .update({ disabled_at: v.now, deleted_at: v.now, updated_at: v.now }),
  ),
)

const beingDeleted = query<Record<never, never>>((table) =>
  table('clients')
    .select('client_id')
    .whereNotNull('deleted_at')
    .orderBy('deleted_at')
    .limit(batchSize, { skipBinding: true }),
)

/** The ids of clients whose removal has begun, at most 100. */
export const listClientsBeingDeleted = async (db: Database): Promise<string[]> =>
  (await beingDeleted(db, {})).map((row) => textOf(row, 'client_id'))

const remove = command<{ clientId: string }>((table, v) =>
  table('clients').where({ client_id: v.clientId }).delete(),
)

/** Removes the row and the logo of a client, without its consents and tokens. */
export const deleteClient = async (db: Database, values: { clientId: string }): Promise<void> => {
  await deleteLogo(db, values)
  await remove(db, values)
}
