import type { AuthorizationServer } from '../../oauth/authorization-server.ts'
import { refusal } from '../../protocol/refusal.ts'
import { query, textOf } from '../../storage/database/statement.ts'
import { transaction } from '../../storage/database/transaction.ts'
import type { Database, Row } from '../../storage/database/types.ts'
import { beginDeletion, deleteClient, lockClient } from '../../storage/repositories/clients.ts'
import { batchSize, isLast, type Removal } from '../../storage/repositories/pruning/batch.ts'
import {
  countUnusedClients,
  deleteForgottenRegistration,
  deleteUnusedRegistration,
  findCrowdedSite,
  type RegistrationOrigin,
} from './table.ts'

const expired = query<{ before: number }>((table, v) =>
  table('client_registrations')
    .select('client_id')
    .where('expires_at', '<=', v.before)
    .orderBy('expires_at')
    .limit(batchSize, { skipBinding: true }),
)

const oldest = query<{ before: number }>((table, v) =>
  table('client_registrations')
    .select('client_id')
    .whereNull('used_at')
    .whereNotNull('expires_at')
    .where('created_at', '<=', v.before)
    .orderBy('created_at')
    .limit(batchSize, { skipBinding: true }),
)

/** Of a site that has many unused clients, so many make room at once: it may be one hosted client for all of its users. */
const fewAtOnce = 10

const oldestOfSite = query<{ site: string }>((table, v) =>
  table('client_registrations')
    .select('client_id')
    .where({ site: v.site })
    .whereNull('used_at')
    .whereNotNull('expires_at')
    .orderBy('created_at')
    .limit(fewAtOnce, { skipBinding: true }),
)

/** Another request may use the client at the same moment: then it stays, or that request finds it gone. */
const removeUnused = (db: Database, clientId: string, before: number): Promise<boolean> =>
  transaction(db, async (tx) => {
    await lockClient(tx, { clientId, now: before })
    const isUnused = await deleteUnusedRegistration(tx, { clientId, before })
    if (isUnused) await deleteClient(tx, { clientId })
    return isUnused
  })

/** Removes a client that no user has allowed anything, whenever it expires. @returns false if there is none of this id */
export const removeIfUnused = (db: Database, clientId: string): Promise<boolean> =>
  removeUnused(db, clientId, Number.MAX_SAFE_INTEGER)

/** Begins to remove a client with its consents, which pruning goes on with. */
const removeForgotten = (db: Database, clientId: string, before: number): Promise<boolean> =>
  transaction(db, async (tx) => {
    await lockClient(tx, { clientId, now: before })
    const isForgotten = await deleteForgottenRegistration(tx, { clientId, before })
    return isForgotten && (await beginDeletion(tx, { clientId, now: before }))
  })

type Remove = typeof removeUnused

const removeAll = async (
  db: Database,
  rows: readonly Row[],
  { before, remove }: { before: number; remove: Remove },
): Promise<number> => {
  let count = 0
  for (const row of rows) if (await remove(db, textOf(row, 'client_id'), before)) count += 1
  return count
}

const removeExpired: Remove = async (db, clientId, before) =>
  (await removeUnused(db, clientId, before)) || removeForgotten(db, clientId, before)

/**
 * Removes clients that described themselves and have expired: those that got nothing until then, and those for which all that
 * they got has been over for long. The latter still have consents, which go with the interrupted deletions.
 */
export const removeExpiredClients = async function* (
  db: Database,
  { before }: { readonly before: number },
): Removal {
  let rows: readonly Row[]
  do {
    rows = await expired(db, { before })
    if (rows.length > 0)
      yield { table: 'clients', count: await removeAll(db, rows, { before, remove: removeExpired }) }
  } while (!isLast(rows))
}

const day = 86_400
/** Seconds for which a client stays after everything that it got is over. */
const forgottenAfter = 90 * day

/**
 * When a client expires that gets something now. It is a full day: else every authorization of a popular client would change the index.
 *
 * @param until when everything that it gets is over, in epoch seconds
 */
export const expiryAfter = (until: number): number => Math.ceil((until + forgottenAfter) / day) * day

/** The most unused clients. If there are more, the oldest make room; one that is younger than this stays, in seconds. */
const maxUnused = 10_000
const minUnusedAge = 3600
/** So many of a site always stay. */
const ofEachSite = 10

/** Those of the site with the most, unless the new client comes from there too. */
const recentOfCrowd = async (database: Database, { site }: RegistrationOrigin): Promise<readonly Row[]> => {
  const crowd = await findCrowdedSite(database)
  if (crowd === undefined || crowd.site === site || crowd.unused <= ofEachSite) return []
  return oldestOfSite(database, { site: crowd.site })
}

/**
 * Makes room for a client that no user has allowed anything yet, so that strangers cannot fill the database. If all such
 * clients are very recent, those of the site that registered the most make room, so that a flood from few networks keeps no one
 * else out.
 *
 * @param origin where the new client comes from
 * @throws OAuthError `temporarily_unavailable` if nothing makes room
 */
export const makeRoom = async (
  { database, now }: Pick<AuthorizationServer, 'database' | 'now'>,
  origin: RegistrationOrigin,
): Promise<void> => {
  if ((await countUnusedClients(database)) < maxUnused) return
  // Whenever they expire.
  const removed = async (rows: readonly Row[]): Promise<boolean> =>
    (await removeAll(database, rows, { before: Number.MAX_SAFE_INTEGER, remove: removeUnused })) > 0
  if (await removed(await oldest(database, { before: now() - minUnusedAge }))) return
  if (await removed(await recentOfCrowd(database, origin))) return
  throw refusal('registrations_too_many', {
    headers: { 'Retry-After': String(minUnusedAge) },
  })
}
