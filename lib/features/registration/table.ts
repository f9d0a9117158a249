import {
  command,
  insertInto,
  numberOf,
  numberOrNull,
  query,
  textOf,
  textOrNull,
  type Write,
} from '../../storage/database/statement.ts'
import type { Database, Row } from '../../storage/database/types.ts'
import { findOne, touches } from '../../storage/repositories/statements.ts'

/** The row of a client that described itself, beside its metadata. */
export interface ClientRegistrationRecord {
  readonly clientId: string
  /** Hash of its registration access token; null for a metadata document. */
  readonly tokenHash: string | null
  /** Of a metadata document: when it was last valid, in epoch seconds; 0 if it is gone. */
  readonly readAt: number | null
  /** Of a metadata document: when it is read again, in epoch seconds. */
  readonly freshUntil: number | null
}

const columns = ['client_id', 'token_hash', 'read_at', 'fresh_until'] as const

const recordOf = (row: Row): ClientRegistrationRecord => ({
  clientId: textOf(row, 'client_id'),
  tokenHash: textOrNull(row, 'token_hash'),
  readAt: numberOrNull(row, 'read_at'),
  freshUntil: numberOrNull(row, 'fresh_until'),
})

/** The registration of a client that described itself; undefined for a client of the host. */
export const findClientRegistration = findOne(
  query<{ clientId: string }>((table, v) =>
    table('client_registrations').select(columns).where({ client_id: v.clientId }),
  ),
  recordOf,
)

/** Where a registration came from, as hashes. */
export interface RegistrationOrigin {
  readonly network: string
  /** The network again where it is no part of a site. */
  readonly site: string
}

export interface NewClientRegistration extends ClientRegistrationRecord {
  readonly now: number
  readonly origin: RegistrationOrigin
  /** Epoch seconds at which the client ends unless it was used; null keeps it. */
  readonly expiresAt: number | null
}

const insert = insertInto('client_registrations')

/** @throws OAuthError whose cause is a unique violation when the client has one */
export const createClientRegistration = (db: Database, client: NewClientRegistration): Promise<number> =>
  insert(db, {
    client_id: client.clientId,
    token_hash: client.tokenHash,
    created_at: client.now,
    expires_at: client.expiresAt,
    read_at: client.readAt,
    fresh_until: client.freshUntil,
    network: client.origin.network,
    site: client.origin.site,
  })

/** Notes when a metadata document was read, and until when it need not be read again. */
export const setDocumentRead = touches(
  command<{ clientId: string; readAt: number; freshUntil: number }>((table, v) =>
    table('client_registrations')
      .where({ client_id: v.clientId })
      .update({ read_at: v.readAt, fresh_until: v.freshUntil }),
  ),
)

/** Notes that a document was not read, unless it has been read since `from`. */
export const setDocumentUnread = command<{
  clientId: string
  from: number
  readAt: number
  freshUntil: number
}>((table, v) =>
  table('client_registrations')
    .where({ client_id: v.clientId, read_at: v.from })
    .update({ read_at: v.readAt, fresh_until: v.freshUntil }),
)

// A client that never expires stays so: the comparison with null does not hold.
const setUsed = command<{ clientId: string; now: number; expiresAt: number }>((table, v, _name, raw) =>
  table('client_registrations')
    .where({ client_id: v.clientId })
    .update({
      used_at: raw('coalesce(??, ?)', ['used_at', v.now]),
      expires_at: raw('case when ?? < ? then ? else ?? end', [
        'expires_at',
        v.expiresAt,
        v.expiresAt,
        'expires_at',
      ]),
    }),
)

/**
 * Keeps a client that gets something at least until then, and locks its registration until the end of the transaction. It
 * touches no row if the client has been removed, or adopted by the host, at the same moment.
 *
 * @param values.expiresAt in epoch seconds
 */
export const keepUsedClient = (values: { clientId: string; now: number; expiresAt: number }): Write =>
  setUsed.with(values)

/** Keeps a client that the host has disabled: its document would otherwise be read again and create it anew. */
export const keepDisabledClient = command<{ clientId: string }>((table, v) =>
  table('client_registrations').where({ client_id: v.clientId }).update({ expires_at: null }),
)

/** Removes the registration of a client. Its registration access token is then worthless. */
export const deleteClientRegistration = command<{ clientId: string }>((table, v) =>
  table('client_registrations').where({ client_id: v.clientId }).delete(),
)

/**
 * Removes the registration of an unused client.
 *
 * @param values.before expiry in epoch seconds, or earlier
 * @returns false if the client has been used meanwhile
 */
export const deleteUnusedRegistration = touches(
  command<{ clientId: string; before: number }>((table, v) =>
    table('client_registrations')
      .where({ client_id: v.clientId })
      .where('expires_at', '<=', v.before)
      .whereNull('used_at')
      .delete(),
  ),
)

/**
 * Removes the registration of a client that was used, and whose last use is long over.
 *
 * @param values.before expiry in epoch seconds, or earlier
 * @returns false if the client has been used meanwhile
 */
export const deleteForgottenRegistration = touches(
  command<{ clientId: string; before: number }>((table, v) =>
    table('client_registrations')
      .where({ client_id: v.clientId })
      .where('expires_at', '<=', v.before)
      .whereNotNull('used_at')
      .delete(),
  ),
)

const unused = query<Record<never, never>>((table) =>
  table('client_registrations').count({ unused: '*' }).whereNull('used_at').whereNotNull('expires_at'),
)

/** The number of clients that {@link deleteUnusedRegistration} may remove, sooner or later. */
export const countUnusedClients = async (db: Database): Promise<number> => {
  const [row] = await unused(db, {})
  return row ? numberOf(row, 'unused') : 0
}

const crowded = query<Record<never, never>>((table) =>
  table('client_registrations')
    .select('site')
    .count({ unused: '*' })
    .whereNull('used_at')
    .whereNotNull('expires_at')
    .whereNotNull('site')
    .groupBy('site')
    .orderBy('unused', 'desc')
    .limit(1, { skipBinding: true }),
)

/** The site from which the most unused clients come, with their number; it reads all unused clients. */
export const findCrowdedSite = async (
  db: Database,
): Promise<{ readonly site: string; readonly unused: number } | undefined> => {
  const [row] = await crowded(db, {})
  return row && { site: textOf(row, 'site'), unused: numberOf(row, 'unused') }
}

// Documents come from no quota of registrations.
const usedOfSite = query<{ site: string; since: number }>((table, v) =>
  table('client_registrations')
    .count({ used: '*' })
    .where({ site: v.site })
    .where('created_at', '>=', v.since)
    .whereNotNull('token_hash')
    .whereNotNull('used_at'),
)

const usedOfNetwork = query<{ site: string; network: string; since: number }>((table, v) =>
  table('client_registrations')
    .count({ used: '*' })
    .where({ site: v.site, network: v.network })
    .where('created_at', '>=', v.since)
    .whereNotNull('token_hash')
    .whereNotNull('used_at'),
)

/**
 * The number of clients that registered from a network or a site, and that users have allowed something.
 *
 * @param values.network undefined for all networks of the site
 * @param values.since epoch seconds
 */
export const countUsedClients = async (
  db: Database,
  { site, network, since }: { site: string; network: string | undefined; since: number },
): Promise<number> => {
  const [row] = await (network === undefined
    ? usedOfSite(db, { site, since })
    : usedOfNetwork(db, { site, network, since }))
  return row ? numberOf(row, 'used') : 0
}
