import type { AuthorizationServer } from '../../authorization-server.ts'
import type { Database } from '../../database/types.ts'
import { removals } from './expired.ts'
import { forgetSuccessors } from './successors.ts'

/** Seconds that a row stays after its end: clocks of processes differ, and a request may have begun in time. */
const grace = 60

/** Milliseconds between runs, and before the first, where a random part keeps processes apart. */
const minute = 60_000
const firstPause = (): number => (1 + 4 * Math.random()) * minute
const pause = (): number => (8 + 4 * Math.random()) * minute

/** Ends early when the signal says so. */
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
 * Removes expired rows of all tables, a few at a time, and rests after each as long as it took: others who need the
 * database, or this thread, come first. Any number of processes may do so at once.
 *
 * @param now epoch seconds
 * @param refreshTokenGracePeriod seconds in which a refresh may be repeated: until then its successor is kept
 * @param signal stops it early
 * @returns how many rows went, by table
 */
export const removeExpiredRows = async (
  database: Database,
  {
    now,
    refreshTokenGracePeriod,
    signal,
  }: { now: number; refreshTokenGracePeriod: number; signal?: AbortSignal },
): Promise<ReadonlyMap<string, number>> => {
  const removed = new Map<string, number>()
  for (const remove of removals) {
    let begun = performance.now()
    for await (const { table, count } of remove(database, { before: now - grace })) {
      removed.set(table, (removed.get(table) ?? 0) + count)
      await wait(performance.now() - begun, signal)
      if (signal?.aborted) return removed
      begun = performance.now()
    }
  }
  let begun = performance.now()
  for await (const _ of forgetSuccessors(database, { before: now - refreshTokenGracePeriod - grace })) {
    await wait(performance.now() - begun, signal)
    if (signal?.aborted) break
    begun = performance.now()
  }
  return removed
}

/** Begins to remove expired rows about every ten minutes until the server closes, unless the host has said not to. */
export const startCleanUp = (server: AuthorizationServer): void => {
  const { options, database, closing: signal } = server
  let isFailing = false
  const run = async (): Promise<void> => {
    try {
      await server.ready()
      await removeExpiredRows(database, {
        now: server.now(),
        refreshTokenGracePeriod: options.refreshTokenGracePeriod,
        signal,
      })
      isFailing = false
    } catch (error) {
      if (!isFailing) options.logger.error('latchkey: expired rows could not be removed', error)
      isFailing = true
    }
  }
  // A process that has nothing else to do may end.
  const idle = (milliseconds: number): Promise<void> => wait(milliseconds, signal, { ref: false })
  const keepOn = async (): Promise<void> => {
    for (await idle(firstPause()); !signal.aborted; await idle(pause())) await run()
  }
  if (options.prune) server.runInBackground(keepOn())
}
