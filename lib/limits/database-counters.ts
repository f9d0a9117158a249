import type { LimitStore } from '../options/limits.ts'
import { isAhead } from '../protocol/stored-time.ts'
import type { Database } from '../storage/database/types.ts'
import {
  type CountedFailures,
  decrementThrottles,
  incrementThrottles,
  listThrottles,
  type NewThrottle,
  readThrottles,
  removeThrottle,
  setThrottle,
} from '../storage/repositories/throttles.ts'
import {
  type Count,
  type Counter,
  type Counters,
  type CountersOfOwner,
  isLocked,
  keyOf,
  locked,
  longestCount,
  sharedCounters,
} from './counters.ts'

export interface CountersContext {
  readonly database: Database
  /** Epoch seconds. */
  now(): number
}

const countOf = ({ points, expiresAt }: CountedFailures, now: number): Count => ({
  failures: points,
  seconds: Math.max(1, expiresAt - now),
})

const newThrottle =
  (time: number) =>
  (counter: Counter): NewThrottle => ({ key: keyOf(counter), expiresAt: time + counter.limit.seconds })

const ownerOf = ({ name, owner }: Pick<CountersOfOwner, 'name' | 'owner'>): string => `${name}:${owner}`

/** Counters in Latchkey's own table, on every database. */
const databaseCounters = ({ database, now }: CountersContext): Counters => ({
  read: async (counters) => {
    const time = now()
    const found = await readThrottles(database, counters.map(newThrottle(time)), { now: time })
    return found.map((throttle) => countOf(throttle, now()))
  },
  increment: async (counters) => {
    const time = now()
    const counted = await incrementThrottles(database, counters.map(newThrottle(time)), { now: time })
    return counted.map((throttle) => countOf(throttle, now()))
  },
  decrement: (counters, reset = []) =>
    decrementThrottles(database, { decrement: counters.map(keyOf), reset: reset.map(keyOf) }),
  lock: (counter, seconds) =>
    setThrottle(database, {
      key: keyOf(counter),
      points: locked,
      expiresAt: now() + seconds,
      owner: counter.owner === undefined ? null : ownerOf({ name: counter.name, owner: counter.owner }),
    }),
  listLocked: async ({ name, owner, limit }) => {
    const found = await listThrottles(database, { owner: ownerOf({ name, owner }), now: now() })
    return found
      .filter(({ points, expiresAt }) => isLocked(points) && isAhead(expiresAt, now(), longestCount(limit)))
      .map(({ key, expiresAt }) => ({ name, key: key.slice(name.length + 1), seconds: expiresAt - now() }))
  },
  clear: async (counters) => {
    // One row in each statement, so that it waits for no one in a circle.
    for (const counter of counters) await removeThrottle(database, { key: keyOf(counter) })
  },
})

/** Counters in the store that the host chose. */
export const countersIn = (store: LimitStore, context: CountersContext): Counters =>
  store === 'database'
    ? databaseCounters(context)
    : sharedCounters(store, { prefix: context.database.prefix, now: context.now })
