import type { Limit, LimitStore, RedisClient } from '../options/limits.ts'
import { HostError } from '../protocol/problem.ts'
import { isAhead, longestLock } from '../protocol/stored-time.ts'

/** A counter of failures of one kind: its name and its limit. */
export interface Counter {
  readonly name: string
  readonly limit: Limit
  /** Whose failures are counted. */
  readonly key: string
  /** The beginning of the key that all counters of one owner have; a colon follows it. */
  readonly owner?: string
}

/**
 * Finds a limit by its name.
 *
 * @throws Error for a name that has none, which would count nothing
 */
export const limitNamed = (limits: Readonly<Record<string, Limit | false>>, name: string): Limit | false => {
  const limit = limits[name]
  if (limit === undefined) throw new HostError(`there is no limit ${name}`)
  return limit
}

/**
 * The counter of a limit, as a list; none if the limit is off, or if it is not known whose failures count.
 *
 * @param owner whose locks are listed together: the key is this and a colon, with more after it
 */
export const counterOf = (
  name: string,
  limit: Limit | false,
  key: string | undefined,
  owner?: string,
): Counter[] =>
  limit && key !== undefined ? [{ name, limit, key, ...(owner !== undefined && { owner }) }] : []

/** A count, and the seconds until it starts again at zero. */
export interface Count {
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
  /** The counters of an owner that are locked now, at most 1,000. */
  listLocked(counters: CountersOfOwner): Promise<readonly Locked[]>
  /** Forgets what is counted. Unlike all others, it fails if the store is unavailable. */
  clear(counters: readonly Pick<Counter, 'name' | 'key'>[]): Promise<void>
}

/** The counters with one name that belong to one owner. */
export type CountersOfOwner = Required<Pick<Counter, 'name' | 'limit' | 'owner'>>

/** Seconds: what a count or a lock of a limit can last at most. */
export const longestCount = ({ seconds }: Limit): number => seconds + longestLock

/** A counter that is locked, and for how many seconds. */
export interface Locked extends Pick<Counter, 'name' | 'key'> {
  readonly seconds: number
}

/** The needs of counters without a database. */
export interface SharedContext {
  /** Epoch seconds. */
  now(): number
  /** The beginning of every key in a store that others use as well. */
  readonly prefix: string
}

/** Far above every limit, because attempts that are refused during a burst take back their failures after the lock. */
export const locked = 1_000_000_000

/** Attempts of a burst take some back. */
export const isLocked = (failures: number): boolean => failures > locked / 2

export const keyOf = ({ name, key }: Pick<Counter, 'name' | 'key'>): string => `${name}:${key}`

/** A store that changes one count at a time. */
interface Store {
  /** Adds a number to the count of a counter, which begins at zero and is never below. */
  add(counter: Counter, failures: number): Promise<Count>
  set(counter: Counter, failures: number, seconds: number): Promise<unknown>
  /** Forgets a counter. @throws Error if the store is unavailable */
  remove(counter: Pick<Counter, 'name' | 'key'>): Promise<unknown>
  /** Notes that a counter is locked for so many seconds, under its owner. */
  note(counter: Counter & CountersOfOwner, seconds: number): Promise<unknown>
  /** The keys that were noted, at most 1,000; some may have expired since. */
  noted(counters: CountersOfOwner): Promise<readonly string[]>
}

const isOwned = (counter: Counter): counter is Counter & CountersOfOwner => counter.owner !== undefined

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
  lock: async (counter, seconds) => {
    await store.set(counter, locked, seconds)
    if (isOwned(counter)) await store.note(counter, seconds)
  },
  listLocked: async (counters) => {
    const { name, limit } = counters
    const found: Locked[] = []
    for (const key of await store.noted(counters)) {
      const { failures, seconds } = await store.add({ name, key, limit }, 0)
      if (isLocked(failures)) found.push({ name, key, seconds })
    }
    return found
  },
  clear: async (counters) => {
    for (const counter of counters) await store.remove(counter)
  },
})

/** The most locks of one owner that are listed. */
const maxNoted = 1000

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
    remove: async ({ name, key }) => countsFor(name).delete(key),
    note: async () => undefined,
    noted: async ({ name, owner }) =>
      [...countsFor(name).keys()].filter((key) => key.startsWith(`${owner}:`)).slice(0, maxNoted),
    add: async (counter, failures) => {
      const known = countsFor(counter.name).get(counter.key)
      if (known === undefined || !isAhead(known.expiresAt, now(), longestCount(counter.limit))) {
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

const removeInRedis = `redis.call('del', KEYS[1]) return { 0, 0 }`

/** Notes a key in a set that stands as long as the last lock in it. */
const noteInRedis = `
redis.call('sadd', KEYS[1], ARGV[1])
if redis.call('ttl', KEYS[1]) < tonumber(ARGV[2]) then redis.call('expire', KEYS[1], ARGV[2]) end
return { 0, 0 }`

const notedInRedis = `return redis.call('srandmember', KEYS[1], ARGV[1])`

type Reply = readonly [failures: number, seconds: number]

/** The functions of ioredis, and of redis, that are called. */
type Client =
  | { readonly status: string; eval(script: string, keys: number, ...given: string[]): Promise<unknown> }
  | {
      readonly isReady?: boolean
      eval(script: string, given: { keys: string[]; arguments: string[] }): Promise<unknown>
    }

/** Counts in Redis. If it is unavailable, each process counts by itself. */
const redisStore = (store: RedisClient, { prefix, now }: SharedContext): Store => {
  const client = store as unknown as Client
  const memory = memoryStore(now)
  const evaluate = (
    script: string,
    counter: Pick<Counter, 'name' | 'key'>,
    values: readonly (number | string)[],
  ): Promise<unknown> => {
    const key = `latchkey:${prefix}${keyOf(counter)}`
    const given = values.map(String)
    if ('status' in client ? client.status !== 'ready' : client.isReady === false)
      return Promise.reject(new Error('not connected'))
    return 'status' in client
      ? client.eval(script, 1, key, ...given)
      : client.eval(script, { keys: [key], arguments: given })
  }
  const countIn = (reply: unknown): Count => {
    const [failures, seconds] = reply as Reply
    return { failures, seconds: Math.max(1, seconds) }
  }
  /** The set of the locks of an owner. */
  const locksOf = ({ name, owner }: Pick<CountersOfOwner, 'name' | 'owner'>) => ({
    name: `${name}:locked`,
    key: owner,
  })
  return {
    add: (counter, failures) =>
      evaluate(addInRedis, counter, [failures, counter.limit.seconds]).then(countIn, () =>
        memory.add(counter, failures),
      ),
    set: (counter, failures, seconds) =>
      evaluate(setInRedis, counter, [failures, seconds]).catch(() => memory.set(counter, failures, seconds)),
    remove: async (counter) => {
      await memory.remove(counter)
      await evaluate(removeInRedis, counter, [])
    },
    // Without it the lock still stands; only who looks for it does not find it.
    note: (counter, seconds) =>
      evaluate(noteInRedis, locksOf(counter), [counter.key, seconds]).catch(() => undefined),
    noted: async (counters) => {
      const inMemory = await memory.noted(counters)
      const found = await evaluate(notedInRedis, locksOf(counters), [maxNoted]).catch(() => [])
      return [...new Set([...(found as string[]), ...inMemory])]
    },
  }
}

/** Counters without a database. */
export const sharedCounters = (store: Exclude<LimitStore, 'database'>, context: SharedContext): Counters =>
  store === 'memory' ? memoryCounters(context.now) : countersOf(redisStore(store, context))

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
    const full = all.filter((counter) => waitFor([counter], read, 1) > 0 || waitFor([counter], counts) > 0)
    return {
      /** The groups that allow the attempt. */
      open,
      counts,
      /** Every counter in which the failure is counted. */
      reserved,
      /** Those among them that do not allow the attempt; undo them unless it succeeds. */
      beyond,
      /** The names of the counters that allow no further failure. */
      full: full.map(({ name }) => name),
      /** Seconds; 0 if a group is open. */
      retryAfter: Math.min(...waits),
    }
  }
}
