import { isAhead } from '../protocol/stored-time.ts'

/** A value that is fetched, kept, and used for a while if it cannot be fetched again. */
export interface Cached<Value> {
  /** The value, at most as old as its lifetime, or older while it cannot be fetched; undefined without one. */
  find(): Promise<Value | undefined>
  /** Fetches the value again because it lacks something; undefined if it was just fetched. */
  renew(): Promise<Value | undefined>
}

/** All in seconds. */
const lifetime = 600
const staleLifetime = 86_400
const pauseAfterRenewal = 60
const pauseAfterFailure = 10

/**
 * Creates a cache of one value: at most ten minutes old, or a day if it cannot be fetched. A renewal happens at most once a
 * minute, because strangers can cause it (OIDC Core §10.1.1). Concurrent requests share one fetch.
 *
 * @param now epoch seconds
 */
export const createCached = <Value>({
  fetch,
  failed,
  now,
}: {
  fetch(): Promise<Value>
  failed(error: unknown): void
  now(): number
}): Cached<Value> => {
  let value: Value | undefined
  let fetchedAt = 0
  let failedAt = 0
  let renewedAt = 0
  let underway: Promise<void> | undefined

  const update = async (): Promise<void> => {
    try {
      value = await fetch()
      fetchedAt = now()
    } catch (error) {
      failedAt = now()
      if (fetchedAt + staleLifetime <= now()) value = undefined
      failed(error)
    } finally {
      underway = undefined
    }
  }

  const fetched = async (): Promise<Value | undefined> => {
    underway ??= update()
    await underway
    return value
  }

  return {
    find: async () => {
      const isFresh =
        isAhead(fetchedAt + lifetime, now(), lifetime) ||
        isAhead(failedAt + pauseAfterFailure, now(), pauseAfterFailure)
      return isFresh ? value : fetched()
    },
    renew: async () => {
      if (underway === undefined) {
        const isRecent =
          fetchedAt === now() || isAhead(renewedAt + pauseAfterRenewal, now(), pauseAfterRenewal)
        if (isRecent || isAhead(failedAt + pauseAfterFailure, now(), pauseAfterFailure)) return undefined
        renewedAt = now()
      }
      return fetched()
    },
  }
}
