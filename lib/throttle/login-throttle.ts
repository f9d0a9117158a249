import { RateLimiterRes } from 'rate-limiter-flexible'
import type { Limits } from '../options/options.ts'
import type { CreateLimiter, Limiter } from './limiters.ts'
import { networkOf } from './network.ts'

/** Who tries to log in. */
export interface LoginAttempt {
  /** Stands for the login name that was typed, existing or not. */
  readonly account: string
  readonly address: string
  /** A browser in which this very account has logged in before. */
  readonly browser: string | undefined
}

/** What became of an attempt; seconds until the next one is looked at. */
export type LoginOutcome<User> =
  | { readonly outcome: 'succeeded'; readonly user: User }
  | { readonly outcome: 'failed'; readonly lockedFor: number | undefined }
  | { readonly outcome: 'refused'; readonly retryAfter: number }

export interface LoginThrottle {
  /**
   * Looks at the credentials if the limits allow one more failure. The place of that failure is taken before and given
   * back afterwards, so that however many come at once, no more are looked at than may fail.
   *
   * @param authenticate what tells whether they are right; what it throws is no failure of the user's
   */
  attempt<User>(
    attempt: LoginAttempt,
    authenticate: () => Promise<User | undefined>,
  ): Promise<LoginOutcome<User>>
}

interface Place {
  readonly limiter: Limiter
  readonly key: string
}

const day = 86_400
/** No lock lasts longer, unless the limit itself says so. */
const maxLock = 3600

const secondsOf = (result: RateLimiterRes): number => Math.max(1, Math.ceil(result.msBeforeNext / 1000))

/** Takes a place; one that is not to be had is not counted either, or a burst would prolong itself. */
const take = async ({ limiter, key }: Place): Promise<RateLimiterRes | { refused: RateLimiterRes }> => {
  try {
    return await limiter.consume(key)
  } catch (error) {
    if (!(error instanceof RateLimiterRes)) throw error
    await limiter.reward(key)
    return { refused: error }
  }
}

const giveBack = async (places: readonly Place[]): Promise<void> => {
  for (const { limiter, key } of places) await limiter.reward(key)
}

/** @param createLimiter makes counters in the store that all processes share */
export const createLoginThrottle = (limits: Limits, createLimiter: CreateLimiter): LoginThrottle => {
  const limiterOf = (name: keyof Limits): Limiter | undefined => {
    const limit = limits[name]
    return limit ? createLimiter(name, limit) : undefined
  }
  const own = limiterOf('loginAccountAddress')
  const byAddress = limiterOf('loginAddress')
  const byAccount = limiterOf('loginAccount')
  const ownSeconds = limits.loginAccountAddress ? limits.loginAccountAddress.seconds : 0
  const locks = own && createLimiter('loginLocks', { failures: Number.MAX_SAFE_INTEGER, seconds: day })

  const ownKey = ({ account, address, browser }: LoginAttempt): string =>
    browser === undefined ? `${account}:${networkOf(address)}` : `${account}:${browser}`

  /** A known browser has a count to itself: nobody who fails elsewhere can keep its user out. */
  const placesFor = (attempt: LoginAttempt): Place[] => {
    const candidates: [Limiter | undefined, string][] =
      attempt.browser === undefined
        ? [
            [own, ownKey(attempt)],
            [byAddress, networkOf(attempt.address)],
            [byAccount, attempt.account],
          ]
        : [[own, ownKey(attempt)]]
    return candidates.flatMap(([limiter, key]) => (limiter ? [{ limiter, key }] : []))
  }

  /** The last failure that was allowed closes the door, each time of a day for twice as long. */
  const lock = async (key: string): Promise<number> => {
    const { consumedPoints: times = 1 } = (await locks?.penalty(key)) ?? {}
    const seconds = Math.min(ownSeconds * 2 ** (times - 1), Math.max(ownSeconds, maxLock))
    await own?.block(key, seconds)
    return seconds
  }

  return {
    attempt: async (attempt, authenticate) => {
      const taken: Place[] = []
      let isLast = false
      for (const place of placesFor(attempt)) {
        const result = await take(place)
        if ('refused' in result) {
          await giveBack(taken)
          return { outcome: 'refused', retryAfter: secondsOf(result.refused) }
        }
        if (place.limiter === own) isLast = result.remainingPoints === 0
        taken.push(place)
      }
      let user: Awaited<ReturnType<typeof authenticate>>
      try {
        user = await authenticate()
      } catch (error) {
        await giveBack(taken)
        throw error
      }
      if (user === undefined) {
        return { outcome: 'failed', lockedFor: isLast ? await lock(ownKey(attempt)) : undefined }
      }
      await giveBack(taken.filter(({ limiter }) => limiter !== own))
      // Whoever knows the password has nothing left to guess.
      await own?.delete(ownKey(attempt))
      await locks?.delete(ownKey(attempt))
      return { outcome: 'succeeded', user }
    },
  }
}
