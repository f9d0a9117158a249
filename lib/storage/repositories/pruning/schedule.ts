import type { Logger } from '../../../options/server.ts'
import type { Database } from '../../database/types.ts'
import { removeSuccessors } from '../refresh-tokens.ts'
import type { RemoveExpired } from './expired.ts'

/** Seconds that a row stays after its expiry, because the clocks of processes differ and requests take time. */
const grace = 60

/** Milliseconds between runs, and before the first; a random part keeps processes from running together. */
const minute = 60_000
const firstPause = (): number => (1 + 4 * Math.random()) * minute
const pause = (): number => (8 + 4 * Math.random()) * minute

/** Seconds after which a run reads again what earlier ones have left, because it was still needed then. */
const reviewInterval = 86_400

/** Waits; returns early when the signal is aborted. */
const wait = (milliseconds: number, signal?: AbortSignal, { ref = true } = {}): Promise<void> =>
  new Promise((resolve) => {
    if (signal?.aborted) return resolve()
    const end = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, milliseconds)
    if (!ref) timer.unref()
    signal?.addEventListener('abort', end)
  })

/**
 * Removes the expired rows of all tables, a batch at a time. After each batch it pauses for as long as the batch took, so
 * that requests come first. Several processes can do this at the same time.
 *
 * @param now epoch seconds
 * @param since the time of an earlier run, whose work need not be done again. @default none
 * @param expired how the expired rows of each table are removed
 * @param refreshGracePeriod seconds in which a refresh may be repeated; successors are kept for that long
 * @param signal stops the work early
 * @param progress is called after each batch with the numbers of rows removed so far
 * @returns the number of rows removed, by table
 */
export const removeExpiredRows = async (
  database: Database,
  {
    now,
    since = 0,
    expired,
    refreshGracePeriod,
    signal,
    progress,
  }: {
    now: number
    since?: number
    expired: readonly RemoveExpired[]
    refreshGracePeriod: number
    signal?: AbortSignal
    progress?: (removed: ReadonlyMap<string, number>) => void
  },
): Promise<ReadonlyMap<string, number>> => {
  const removed = new Map<string, number>()
  for (const remove of expired) {
    let begun = performance.now()
    for await (const { table, count } of remove(database, { before: now - grace, since: since - grace })) {
      removed.set(table, (removed.get(table) ?? 0) + count)
      progress?.(removed)
      await wait(performance.now() - begun, signal)
      if (signal?.aborted) return removed
      begun = performance.now()
    }
  }
  let begun = performance.now()
  for await (const _ of removeSuccessors(database, { before: now - refreshGracePeriod - grace })) {
    await wait(performance.now() - begun, signal)
    if (signal?.aborted) break
    begun = performance.now()
  }
  return removed
}

export interface PruningContext {
  readonly database: Database
  readonly expired: readonly RemoveExpired[]
  readonly logger: Pick<Logger, 'error'>
  /** Seconds in which a refresh may be repeated. */
  readonly refreshGracePeriod: number
  /** Ends the loop. */
  readonly signal: AbortSignal
  /** Epoch seconds. */
  now(): number
  /** Settles when the schema is up to date. */
  ready(): Promise<unknown>
}

/** Removes expired rows about every ten minutes until the signal is aborted. Logs the first of several failures. */
export const keepPruning = async (context: PruningContext): Promise<void> => {
  const { database, expired, logger, refreshGracePeriod, signal } = context
  let isFailing = false
  let [since, reviewAt] = [0, 0]
  const run = async (): Promise<void> => {
    try {
      await context.ready()
      const now = context.now()
      const isReview = now >= reviewAt || now < since
      await removeExpiredRows(database, {
        now,
        since: isReview ? 0 : since,
        expired,
        refreshGracePeriod,
        signal,
      })
      since = now
      if (isReview) reviewAt = now + reviewInterval
      isFailing = false
    } catch (error) {
      if (!isFailing) logger.error('latchkey: expired rows could not be removed', error)
      isFailing = true
    }
  }
  // The timer does not keep the process alive.
  const idle = (milliseconds: number): Promise<void> => wait(milliseconds, signal, { ref: false })
  for (await idle(firstPause()); !signal.aborted; await idle(pause())) await run()
}
