import {
  type RateLimiterAbstract,
  RateLimiterMemory,
  RateLimiterRedis,
  RateLimiterRes,
} from 'rate-limiter-flexible'
import type { Database } from '../database/types.ts'
import type { Limit } from '../options/options.ts'
import type { Throttling } from '../options/throttle.ts'
import {
  decrementThrottle,
  incrementThrottle,
  removeThrottle,
  setThrottle,
} from '../repositories/throttles.ts'

export interface LimiterContext {
  readonly database: Database
  /** Epoch seconds. */
  now(): number
}

/** What is used of a limiter of rate-limiter-flexible; one of ours counts in the database. */
export type Limiter = Pick<
  RateLimiterAbstract,
  'points' | 'consume' | 'reward' | 'penalty' | 'block' | 'delete'
>

/** Makes counters in one store. */
export type CreateLimiter = (name: string, limit: Limit) => Limiter

/** Counts in the kit's own table, on the three databases alike. */
const databaseLimiter =
  ({ database, now }: LimiterContext): CreateLimiter =>
  (name, { failures: points, seconds }) => {
    const count = async (id: string | number, limit: number): Promise<RateLimiterRes> => {
      const values = { key: `${name}:${id}`, now: now(), expiresAt: now() + seconds }
      const counted = await incrementThrottle(database, values)
      const rest = Math.max(counted.expiresAt - now(), 0) * 1000
      const result = new RateLimiterRes(Math.max(limit - counted.points, 0), rest, counted.points)
      // As the package has it: what is refused is thrown.
      if (counted.points > limit) throw result
      return result
    }
    const nothing = new RateLimiterRes()
    return {
      points,
      consume: (id) => count(id, points),
      penalty: (id) => count(id, Number.POSITIVE_INFINITY),
      reward: async (id) => {
        await decrementThrottle(database, { key: `${name}:${id}`, now: now() })
        return nothing
      },
      block: async (id, duration) => {
        await setThrottle(database, { key: `${name}:${id}`, points: points + 1, expiresAt: now() + duration })
        return nothing
      },
      delete: (id) => removeThrottle(database, { key: `${name}:${id}` }),
    }
  }

/** In the memory of this process. */
export const memoryLimiter = (name: string, { failures, seconds }: Limit): RateLimiterMemory =>
  new RateLimiterMemory({ keyPrefix: name, points: failures, duration: seconds })

/** Counters in the store that the host chose. */
export const limitersIn = ({ store }: Throttling, context: LimiterContext): CreateLimiter => {
  if (store === 'memory') return memoryLimiter
  if (store === 'database') return databaseLimiter(context)
  return (name, limit) =>
    new RateLimiterRedis({
      storeClient: store,
      // node-redis speaks its own dialect; ioredis has `status`.
      useRedisPackage: !('status' in store),
      keyPrefix: `latchkey:${context.database.prefix}${name}`,
      points: limit.failures,
      duration: limit.seconds,
      // Without Redis each process counts for itself, which still limits.
      insuranceLimiter: memoryLimiter(name, limit),
      rejectIfRedisNotReady: true,
    })
}
