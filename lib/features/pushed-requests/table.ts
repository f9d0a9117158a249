import { command, numberOf, query, textOf } from '../../storage/database/statement.ts'
import type { Database } from '../../storage/database/types.ts'
import { type BatchParams, batchParams, batchSize, keysIn } from '../../storage/repositories/pruning/batch.ts'

// Pushed requests are pending requests that no browser has opened, so they are in that table.

const unopened = query<{ browserHash: string }>((table, v) =>
  table('pending_requests')
    .select(['id', 'expires_at'])
    .where({ browser_hash: v.browserHash })
    .orderBy('created_at', 'desc'),
)
const removeBatch = command<BatchParams>((table, v) =>
  table('pending_requests')
    .whereIn('id', keysIn(v))
    .where({ browser_hash: v.browserHash ?? null })
    .delete(),
)

/**
 * Removes pushed requests that no browser has opened: those that have expired, and the oldest beyond a number.
 *
 * @param values.browserHash stands for the browser until one opens them
 */
export const removeUnopenedRequests = async (
  db: Database,
  { browserHash, keep, now }: { browserHash: string; keep: number; now: number },
): Promise<void> => {
  const rows = await unopened(db, { browserHash })
  const surplus = rows.filter((row, place) => place >= keep || numberOf(row, 'expires_at') <= now)
  if (surplus.length === 0) return
  const oldest = surplus.slice(-batchSize).map((row) => textOf(row, 'id'))
  await removeBatch(db, batchParams(oldest, { browserHash }))
}

interface Binding {
  readonly id: string
  /** The value that stood for the browser so far. */
  readonly from: string
  readonly browserHash: string
  readonly sid: string | undefined
  readonly expiresAt: number
}

const bind = command<Omit<Binding, 'sid'> & { sid: string | null }>((table, v) =>
  table('pending_requests')
    .where({ id: v.id, browser_hash: v.from })
    .update({ browser_hash: v.browserHash, sid: v.sid, expires_at: v.expiresAt }),
)

/**
 * Binds a pushed request to the browser that opens it.
 *
 * @param values.sid the login of the browser now
 * @returns whether this call bound it: of browsers that open it at the same time, one gets it
 */
export const bindPendingRequest = async (db: Database, { sid, ...values }: Binding): Promise<boolean> =>
  (await bind(db, { ...values, sid: sid ?? null })) === 1
