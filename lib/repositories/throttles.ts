import { number } from '../database/row.ts'
import { command, query } from '../database/statement.ts'
import { transaction } from '../database/transaction.ts'
import type { Database } from '../database/types.ts'

/** Failures that count against one key. */
export interface Throttle {
  readonly points: number
  /** Epoch seconds. */
  readonly expiresAt: number
}

type Key = { readonly key: string }

// Named, so that a column added later does not change what prepared statements of older processes return.
const byKey = query<Key>((table, v) =>
  table('throttles').select(['points', 'expires_at']).where({ key: v.key }),
)
const increment = command<Key & { readonly now: number }>((table, v) =>
  table('throttles').where({ key: v.key }).where('expires_at', '>', v.now).increment('points', 1),
)
const decrement = command<Key & { readonly now: number }>((table, v) =>
  table('throttles').where({ key: v.key }).where('expires_at', '>', v.now).decrement('points', 1),
)
const restart = command<Key & { readonly now: number; readonly expiresAt: number }>((table, v) =>
  table('throttles')
    .where({ key: v.key })
    .where('expires_at', '<=', v.now)
    .update({ points: 0, expires_at: v.expiresAt }),
)
const begin = command<Key & { readonly expiresAt: number }>((table, v) =>
  table('throttles').insert({ key: v.key, points: 0, expires_at: v.expiresAt }).onConflict('key').ignore(),
)
const put = command<Key & Throttle>((table, v) =>
  table('throttles')
    .insert({ key: v.key, points: v.points, expires_at: v.expiresAt })
    .onConflict('key')
    .merge(['points', 'expires_at']),
)
const remove = command<Key>((table, v) => table('throttles').where({ key: v.key }).delete())

/** What counts against a key now; undefined when nothing does. */
export const findThrottle = async (
  db: Database,
  { key, now }: { key: string; now: number },
): Promise<Throttle | undefined> => {
  const [row] = await byKey(db, { key })
  if (row === undefined) return undefined
  const throttle = { points: number(row, 'points'), expiresAt: number(row, 'expires_at') }
  return throttle.expiresAt > now ? throttle : undefined
}

/**
 * Counts one more against a key. The row is locked between writing and reading, so that of requests in parallel each
 * sees a count of its own.
 *
 * @param expiresAt when a count that begins now will end
 */
export const incrementThrottle = async (
  db: Database,
  { key, now, expiresAt }: { key: string; now: number; expiresAt: number },
): Promise<Throttle> => {
  const counted = await transaction(db, async (tx) =>
    (await increment(tx, { key, now })) > 0 ? findThrottle(tx, { key, now }) : undefined,
  )
  if (counted) return counted
  // Outside a transaction, where MariaDB would lock the gap and then wait for whoever locked it too.
  if ((await restart(db, { key, now, expiresAt })) === 0) await begin(db, { key, expiresAt })
  return incrementThrottle(db, { key, now, expiresAt })
}

/** Counts one less; nothing where nothing counts any more. */
export const decrementThrottle = async (
  db: Database,
  { key, now }: { key: string; now: number },
): Promise<void> => {
  await decrement(db, { key, now })
}

/** Makes a key count so much until then, whatever it was. */
export const setThrottle = async (db: Database, throttle: Throttle & { key: string }): Promise<void> => {
  await put(db, throttle)
}

/** Forgets a key. */
export const removeThrottle = async (db: Database, { key }: { key: string }): Promise<boolean> =>
  (await remove(db, { key })) > 0
