import { command, query, textOf } from '../../database/statement.ts'
import type { Database, Row } from '../../database/types.ts'
import { removeEndedFamilies, removeFamiliesOfLogins } from './authorizations.ts'
import { type BatchParams, batchesOf, batchParams, batchSize, keysIn, type Removal } from './batch.ts'

/**
 * Removes rows that expired at `before`, in epoch seconds, or earlier. What expired before `since`, and was still needed when
 * an earlier run read it, may stay.
 */
export type RemoveExpired = (
  db: Database,
  values: { readonly before: number; readonly since?: number },
) => Removal

/**
 * Reads keys first and deletes by key, because PostgreSQL has no DELETE with a limit, and MariaDB reads the whole table
 * for a DELETE with a subquery.
 */
const expiredIn = (name: string, key: string) => {
  const find = query<{ before: number }>((table, v) =>
    table(name)
      .select(key)
      .where('expires_at', '<=', v.before)
      .orderBy('expires_at')
      .limit(batchSize, { skipBinding: true }),
  )
  // Checks the expiry again: the row may have been renewed meanwhile.
  const remove = command<BatchParams>((table, v) =>
    table(name)
      .whereIn(key, keysIn(v))
      .where('expires_at', '<=', v.before ?? null)
      .delete(),
  )
  return { name, find, remove, keyOf: (row: Row): string => textOf(row, key) }
}

/**
 * Removes the rows of a table with a column `expires_at`.
 *
 * @param key the column that names a row
 * @param retention seconds that rows stay after their expiry
 * @example removeFrom('replays', 'hash')
 */
export const removeFrom = (name: string, key: string, retention = 0): RemoveExpired => {
  const expired = expiredIn(name, key)
  return async function* (db, { before: now }) {
    const before = now - retention
    for await (const rows of batchesOf(() => expired.find(db, { before })))
      yield { table: name, count: await expired.remove(db, batchParams(rows.map(expired.keyOf), { before })) }
  }
}

const day = 86_400
/** A day later, so that a page can say whether its request has expired or was used. */
export const removeExpiredPendingRequests = removeFrom('pending_requests', 'id', day)
export const removeExpiredAccessTokens = removeFrom('access_tokens', 'hash')
export const removeExpiredReplays = removeFrom('replays', 'hash')
export const removeExpiredThrottles = removeFrom('throttles', 'key')
export const removeExpiredEvents = removeFrom('events', 'id')
export const removeExpiredRevocations = removeFrom('revocations', 'hash')

const logins = expiredIn('logins', 'sid')

/** Removes expired logins, and what was granted under them without `offline_access`. */
export const removeExpiredLogins: RemoveExpired = async function* (db, { before }) {
  for await (const rows of batchesOf(() => logins.find(db, { before }))) {
    const sids = rows.map(logins.keyOf)
    yield* removeFamiliesOfLogins(db, sids)
    yield { table: logins.name, count: await logins.remove(db, batchParams(sids, { before })) }
  }
}

/** Removes the expired rows of each table. Signing keys are removed by their rotation. */
export const removals: readonly RemoveExpired[] = [
  removeExpiredPendingRequests,
  removeExpiredAccessTokens,
  removeEndedFamilies,
  removeExpiredLogins,
  removeExpiredReplays,
  removeExpiredThrottles,
  removeExpiredEvents,
  removeExpiredRevocations,
]
