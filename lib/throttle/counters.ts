import type { Database } from '../database/types.ts'
import type { Limit, RedisClient } from '../options/options.ts'
import type { Throttling } from '../options/throttle.ts'
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

/** The counter of a limit, as a list; none if the limit is off, or if it is not known whose failures count. */
export const counterOf = (name: string, limit: Limit | false, key: string | undefined): Counter[] =>
  limit && key !== undefined ? [{ name, limit, key }] : []

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
  lock(counter: Counter, seconds: number): Promise<unknown>
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

/** A store that changes one count at a time. */
interface Store {
  /** Adds a number to the count of a counter, which begins at zero and is never below. */
  add(counter: Counter, failures: number): Promise<Count>
  set(counter: Counter, failures: number, seconds: number): Promise<unknown>
}

const countersOf = (store: Store): Counters => ({
  read: (counters) => Promise.all(counters.map((counter) => store.add(counter, 0))),
  increment: async (counters) => {
    const counts: Count[] = []
    for (const counter of counters) counts.push(await store.add(counter, 1))
    return counts
  },
  decrement: async (counters, reset = []) => {
    for (const counter of counters) await store.add(counter, -1)
    for (const counter of reset) await store.set(counter, 0, 1)
  },
  lock: (counter, seconds) => store.set(counter, locked, seconds),
})

type ExpiringCounts = Map<string, { failures: number; expiresAt: number }>

/** Counts in the memory of this process, those of each limit in the order in which they began. */
const memoryStore = (now: () => number): Store => {
  const limits = new Map<string, ExpiringCounts>()
  /** Forgets the oldest counts of a limit that have expired, so that they cannot fill the memory. */
  const countsFor = (name: string): ExpiringCounts => {
    const counts: ExpiringCounts = limits.get(name) ?? new Map()
    limits.set(name, counts)
    for (const [key, { expiresAt }] of counts) {
      if (expiresAt > now()) break
      counts.delete(key)
    }
    return counts
  }
  const set = async ({ name, key }: Counter, failures: number, seconds: number): Promise<Count> => {
    const counts = countsFor(name)
    counts.delete(key)
    counts.set(key, { failures, expiresAt: now() + seconds })
    return { failures, seconds }
  }
  return {
    set,
    add: async (counter, failures) => {
      const known = countsFor(counter.name).get(counter.key)
      if (known === undefined || known.expiresAt <= now()) {
        const { seconds } = counter.limit
        return failures > 0 ? set(counter, failures, seconds) : { failures: 0, seconds: 1 }
      }
      known.failures = Math.max(0, known.failures + failures)
      return { failures: known.failures, seconds: known.expiresAt - now() }
    },
  }
}

/** Counters in the memory of this process. */
export const memoryCounters = (now: () => number): Counters => countersOf(memoryStore(now))

/** Adds to a count that expires, and returns it with the seconds until then. */
const addInRedis = `
local count = tonumber(redis.call('get', KEYS[1]) or '0')
local seconds = redis.call('ttl', KEYS[1])
local sum = math.max(0, count + tonumber(ARGV[1]))
if sum ~= count then redis.call('incrby', KEYS[1], sum - count) end
if sum ~= count and seconds < 0 then
  redis.call('expire', KEYS[1], ARGV[2])
  seconds = tonumber(ARGV[2])
end
return { sum, seconds }`

const setInRedis = `redis.call('set', KEYS[1], ARGV[1], 'EX', ARGV[2]) return { tonumber(ARGV[1]), tonumber(ARGV[2]) }`

type Reply = readonly [failures: number, seconds: number]

/** The functions of ioredis, and of redis, that are called. */
type Client =
  | { readonly status: string; eval(script: string, keys: number, ...given: string[]): Promise<Reply> }
  | {
      readonly isReady?: boolean
      eval(script: string, given: { keys: string[]; arguments: string[] }): Promise<Reply>
    }

/** Counts in Redis. If it is unavailable, each process counts by itself. */
const redisStore = (store: RedisClient, { database, now }: CountersContext): Store => {
  const client = store as unknown as Client
  const memory = memoryStore(now)
  const evaluate = (script: string, counter: Counter, numbers: readonly number[]): Promise<Reply> => {
    const key = `latchkey:${database.prefix}${keyOf(counter)}`
    const given = numbers.map(String)
    if ('status' in client ? client.status !== 'ready' : client.isReady === false)
      return Promise.reject(new Error('not connected'))
    return 'status' in client
      ? client.eval(script, 1, key, ...given)
      : client.eval(script, { keys: [key], arguments: given })
  }
  const countIn = ([failures, seconds]: Reply): Count => ({ failures, seconds: Math.max(1, seconds) })
  return {
    add: (counter, failures) =>
      evaluate(addInRedis, counter, [failures, counter.limit.seconds]).then(countIn, () =>
        memory.add(counter, failures),
      ),
    set: (counter, failures, seconds) =>
      evaluate(setInRedis, counter, [failures, seconds]).catch(() => memory.set(counter, failures, seconds)),
  }
}

/** Counters in the store that the host chose. */
export const countersIn = (store: Throttling['store'], context: CountersContext): Counters => {
  if (store === 'memory') return memoryCounters(context.now)
  return store === 'database' ? databaseCounters(context) : countersOf(redisStore(store, context))
}

/** Counters that allow an attempt if none of them has reached its limit. */
export type Group = readonly Counter[]

export type Counts = ReadonlyMap<Counter, Count>

const countsOf = (counters: readonly Counter[], counts: readonly Count[]): Counts =>
  new Map(counters.flatMap((counter, place) => (counts[place] ? [[counter, counts[place]]] : [])))

/** Seconds until no counter of a group is above its limit, `more` failures included; 0 if none is. */
const waitFor = (group: Group, counts: Counts, more = 0): number =>
  Math.max(
    0,
    ...group.map((counter) => {
      const count = counts.get(counter)
      return count && count.failures + more > counter.limit.failures ? count.seconds : 0
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
  return async (groups: readonly Group[]) => {
    const all = groups.flat()
    const read = countsOf(all, now() < readFirstUntil ? await counters.read(all) : [])
    const tried = groups.filter((group) => waitFor(group, read, 1) === 0)
    const reserved = tried.flat()
    const counts = countsOf(reserved, await counters.increment(reserved))
    const open = tried.filter((group) => waitFor(group, counts) === 0)
    const waits = groups.map((group) => waitFor(group, read, 1) || waitFor(group, counts))
    readFirstUntil = Math.max(readFirstUntil, now() + Math.max(...waits))
    const beyond = reserved.filter((counter) => !open.flat().includes(counter))
    return {
      /** The groups that allow the attempt. */
      open,
      counts,
      /** Every counter in which the failure is counted. */
      reserved,
      /** Those among them that do not allow the attempt; undo them unless it succeeds. */
      beyond,
      /** Seconds; 0 if a group is open. */
      retryAfter: Math.min(...waits),
    }
  }
}
