import {
  command,
  number,
  numberOrNull,
  query,
  text,
  textOrNull,
  type Write,
} from '../../database/statement.ts'
import type { Database, Row } from '../../database/types.ts'

/** What is kept about a client that described itself, beside its metadata. */
export interface ClientRegistrationRecord {
  readonly clientId: string
  /** Hash of its registration access token; null for a metadata document. */
  readonly tokenHash: string | null
  /** Of a metadata document: when it was last valid, in epoch seconds; 0 if it is gone. */
  readonly readAt: number | null
  /** Of a metadata document: when it is read again, in epoch seconds. */
  readonly freshUntil: number | null
}

const columns = ['client_id', 'token_hash', 'read_at', 'fresh_until']

const recordOf = (row: Row): ClientRegistrationRecord => ({
  clientId: text(row, 'client_id'),
  tokenHash: textOrNull(row, 'token_hash'),
  readAt: numberOrNull(row, 'read_at'),
  freshUntil: numberOrNull(row, 'fresh_until'),
})

const byId = query<{ clientId: string }>((table, v) =>
  table('client_registrations').select(columns).where({ client_id: v.clientId }),
)

/** The registration of a client that described itself; undefined for a client of the host. */
export const findClientRegistration = async (
  db: Database,
  { clientId }: { clientId: string },
): Promise<ClientRegistrationRecord | undefined> => {
  const [row] = await byId(db, { clientId })
  return row && recordOf(row)
}

export interface NewClientRegistration extends ClientRegistrationRecord {
  readonly now: number
  /** Epoch seconds at which the client is removed unless it was used; null keeps it. */
  readonly expiresAt: number | null
}

type Values = { [Name in keyof NewClientRegistration]: NewClientRegistration[Name] }

const insert = command<Values>((table, v) =>
  table('client_registrations').insert({
    client_id: v.clientId,
    token_hash: v.tokenHash,
    created_at: v.now,
    expires_at: v.expiresAt,
    read_at: v.readAt,
    fresh_until: v.freshUntil,
  }),
)

/** @throws OAuthError whose cause is a unique violation when the client has one */
export const createClientRegistration = async (
  db: Database,
  registration: NewClientRegistration,
): Promise<void> => {
  await insert(db, { ...registration })
}

const setRead = command<{ clientId: string; readAt: number; freshUntil: number }>((table, v) =>
  table('client_registrations')
    .where({ client_id: v.clientId })
    .update({ read_at: v.readAt, fresh_until: v.freshUntil }),
)

/** Notes when a metadata document was read, and until when it need not be read again. */
export const setDocumentRead = async (
  db: Database,
  values: { clientId: string; readAt: number; freshUntil: number },
): Promise<boolean> => (await setRead(db, values)) === 1

const setUsed = command<{ clientId: string }>((table, v) =>
  table('client_registrations').where({ client_id: v.clientId }).update({ expires_at: null }),
)

/**
 * Keeps a client that a user has allowed something, and locks its registration until the end of the transaction. It touches
 * no row if the client has been removed, or adopted by the host, at the same moment.
 */
export const keepUsedClient = (values: { clientId: string }): Write => setUsed.with(values)

const remove = command<{ clientId: string }>((table, v) =>
  table('client_registrations').where({ client_id: v.clientId }).delete(),
)

/** Removes the registration of a client, whose registration access token then is worthless. */
export const deleteClientRegistration = async (db: Database, values: { clientId: string }): Promise<void> => {
  await remove(db, values)
}

const removeUnused = command<{ clientId: string; before: number }>((table, v) =>
  table('client_registrations').where({ client_id: v.clientId }).where('expires_at', '<=', v.before).delete(),
)

/**
 * Removes the registration of an unused client. Call it first in the transaction that removes the client.
 *
 * @param values.before expiry in epoch seconds, or earlier
 * @returns false if the client has been used meanwhile
 */
export const deleteUnusedRegistration = async (
  db: Database,
  values: { clientId: string; before: number },
): Promise<boolean> => (await removeUnused(db, values)) === 1

const unused = query<Record<never, never>>((table) =>
  table('client_registrations').count({ unused: '*' }).whereNotNull('expires_at'),
)

/** The number of clients that described themselves and that no user has allowed anything. */
export const countUnusedClients = async (db: Database): Promise<number> => {
  const [row] = await unused(db, {})
  return row ? number(row, 'unused') : 0
}
