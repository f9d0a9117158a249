import type { RateLimiterAbstract, RateLimiterRes } from 'rate-limiter-flexible'
import RateLimiterMemory from 'rate-limiter-flexible/lib/RateLimiterMemory.js'
import RateLimiterRedis from 'rate-limiter-flexible/lib/RateLimiterRedis.js'
import type { Database } from '../database/types.ts'
import type { Limit, LimitStore } from '../options/limits.ts'
import {
  decrementThrottles,
  incrementThrottles,
  readThrottles,
  setThrottle,
  type Throttle,
} from '../repositories/throttles.ts'

/** What counts failures of one kind: its name and its limit. */
export interface Counter {
  readonly name: string
  readonly limit: Limit
  /** Whose failures are counted. */
  readonly key: string
}

/** A count, and the seconds until it starts again at zero. */
interface Count {
  readonly failures: number
  readonly seconds: number
}

/** Counts failures in one store. */
export interface Counters {
  /** The counts, in the same order; writes nothing. */
  read(counters: readonly Counter[]): Promise<readonly Count[]>
  /** Counts one more in each counter, and returns the new counts in the same order. */
  increment(counters: readonly Counter[]): Promise<readonly Count[]>
  /** Counts one less in each counter, and resets others to zero. */
  decrement(counters: readonly Counter[], reset?: readonly Counter[]): Promise<void>
  /** Locks a counter for so many seconds. Decrements do not open it. */
  lock(counter: Counter, seconds: number): Promise<void>
}

export interface CountersContext {
  readonly database: Database
  /** Epoch seconds. */
  now(): number
}

/** Far above every limit, because attempts that are refused during a burst take back their failures after the lock. */
const locked = 1_000_000_000

const keyOf = ({ name, key }: Counter): string => `${name}:${key}`

const countOf = ({ points, expiresAt }: Throttle, now: number): Count => ({
  failures: points,
  seconds: Math.max(1, expiresAt - now),
})

/** Counters in Latchkey's own table, on every database. */
const databaseCounters = ({ database, now }: CountersContext): Counters => ({
  read: async (counters) => {
    const found = await readThrottles(database, counters.map(keyOf), { now: now() })
    return found.map((throttle) => countOf(throttle, now()))
  },
  increment: async (counters) => {
    const time = now()
    const throttles = counters.map((counter) => ({
      key: keyOf(counter),
      expiresAt: time + counter.limit.seconds,
    }))
    const counted = await incrementThrottles(database, throttles, { now: time })
    return counted.map((throttle) => countOf(throttle, now()))
  },
  decrement: (counters, reset = []) =>
    decrementThrottles(database, { decrement: counters.map(keyOf), reset: reset.map(keyOf) }),
  lock: (counter, seconds) =>
    setThrottle(database, { key: keyOf(counter), points: locked, expiresAt: now() + seconds }),
})

/** In the memory of this process. */
export const memoryLimiter = (name: string, { max, seconds }: Limit): RateLimiterAbstract =>
  new RateLimiterMemory({ keyPrefix: name, points: max, duration: seconds })

type CreateLimiter = (name: string, limit: Limit) => RateLimiterAbstract

const noFailures: Count = { failures: 0, seconds: 1 }

const countIn = (state: RateLimiterRes | null): Count =>
  state === null
    ? noFailures
    : { failures: state.consumedPoints, seconds: Math.max(1, Math.ceil(state.msBeforeNext / 1000)) }

/** Counters of rate-limiter-flexible, which counts in one at a time. */
const limiterCounters = (createLimiter: CreateLimiter): Counters => {
  const limiters = new Map<string, RateLimiterAbstract>()
  const limiterOf = ({ name, limit }: Counter): RateLimiterAbstract => {
    const limiter = limiters.get(name) ?? createLimiter(name, limit)
    limiters.set(name, limiter)
    return limiter
  }
  return {
    read: (counters) =>
      Promise.all(counters.map(async (counter) => countIn(await limiterOf(counter).get(counter.key)))),
    increment: async (counters) => {
      const counts: Count[] = []
      for (const counter of counters) counts.push(countIn(await limiterOf(counter).penalty(counter.key)))
      return counts
    },
    decrement: async (counters, reset = []) => {
      for (const counter of counters) await limiterOf(counter).reward(counter.key)
      for (const counter of reset) await limiterOf(counter).delete(counter.key)
    },
    lock: async (counter, seconds) => {
      await limiterOf(counter).set(counter.key, locked, seconds)
    },
  }
}

/** Counters in the store that the host chose. */
export const countersIn = (store: LimitStore, context: CountersContext): Counters => {
  if (store === 'memory') return limiterCounters(memoryLimiter)
  if (store === 'database') return databaseCounters(context)
  return limiterCounters(
    (name, limit) =>
      new RateLimiterRedis({
        storeClient: store,
        // node-redis and ioredis have different APIs; only ioredis has `status`.
        useRedisPackage: !('status' in store),
        keyPrefix: `latchkey:${context.database.prefix}${name}`,
        points: limit.max,
        duration: limit.seconds,
        // If Redis is unavailable, each process counts by itself.
        insuranceLimiter: memoryLimiter(name, limit),
        rejectIfRedisNotReady: true,
      }),
  )
}

/** Counters that allow an attempt if none of them has reached its limit. */
export type Group = readonly Counter[]

export type Counts = ReadonlyMap<Counter, Count>

/** One failure that is counted before it has happened. */
export interface Reservation {
  /** The groups that allow the attempt. */
  readonly open: readonly Group[]
  readonly counts: Counts
  /** Every counter in which the failure is counted. */
  readonly reserved: readonly Counter[]
  /** Those among them that do not allow the attempt; undo them unless it succeeds. */
  readonly beyond: readonly Counter[]
  /** Seconds; 0 if a group is open. */
  readonly retryAfter: number
}

const countsOf = (counters: readonly Counter[], counts: readonly Count[]): Counts =>
  new Map(counters.flatMap((counter, place) => (counts[place] ? [[counter, counts[place]]] : [])))

/** Seconds until no counter of a group is above its limit, `more` failures included; 0 if none is. */
const waitFor = (group: Group, counts: Counts, more = 0): number =>
  Math.max(
    0,
    ...group.map((counter) => {
      const count = counts.get(counter)
      return count && count.failures + more > counter.limit.max ? count.seconds : 0
    }),
  )

/**
 * Reserves a failure in every group that still allows one. After it has refused an attempt it reads before it counts, for
 * as long as that attempt has to wait: what it refuses then writes nothing, and everything else costs no read.
 *
 * @param now epoch seconds
 */
export const createReserve = (counters: Counters, now: () => number) => {
  let readFirstUntil = 0
  return async (groups: readonly Group[]): Promise<Reservation> => {
    const all = groups.flat()
    const read = countsOf(all, now() < readFirstUntil ? await counters.read(all) : [])
    const tried = groups.filter((group) => waitFor(group, read, 1) === 0)
    const reserved = tried.flat()
    const counts = countsOf(reserved, await counters.increment(reserved))
    const open = tried.filter((group) => waitFor(group, counts) === 0)
    const waits = groups.map((group) => waitFor(group, read, 1) || waitFor(group, counts))
    readFirstUntil = Math.max(readFirstUntil, now() + Math.max(...waits))
    const beyond = reserved.filter((counter) => !open.flat().includes(counter))
    return { open, counts, reserved, beyond, retryAfter: Math.min(...waits) }
  }
}
