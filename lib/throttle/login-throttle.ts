import type { LoginLimits } from '../options/throttle.ts'
import type { Counter, Counters } from './counters.ts'
import { networkOf } from './network.ts'

/** Who tries to log in. */
export interface LoginAttempt {
  /** Stands for the login name that was entered, whether or not it exists. */
  readonly account: string
  readonly address: string
  /** A browser in which this account has logged in before. */
  readonly browser: string | undefined
}

/** The result of an attempt; times are seconds until the next attempt is allowed. */
export type LoginOutcome<User> =
  | { readonly outcome: 'succeeded'; readonly user: User }
  | { readonly outcome: 'failed'; readonly lockedFor: number | undefined }
  | { readonly outcome: 'refused'; readonly retryAfter: number }

export interface LoginThrottle {
  /**
   * Checks the credentials if the limits allow one more failure. It reserves that failure first, and gives it back if
   * the credentials are right, so that concurrent attempts cannot exceed the limit.
   *
   * @param authenticate checks the credentials; if it throws, the attempt does not count
   */
  attempt<User>(
    attempt: LoginAttempt,
    authenticate: () => Promise<User | undefined>,
  ): Promise<LoginOutcome<User>>
}

const day = 86_400
/** Seconds; no lock lasts longer, unless the limit itself does. */
const maxLock = 3600

/** @param counters in a store that all processes share */
export const createLoginThrottle = (limits: LoginLimits, counters: Counters): LoginThrottle => {
  const counterOf = (name: keyof LoginLimits, key: string): Counter[] => {
    const limit = limits[name]
    return limit ? [{ name, limit, key }] : []
  }

  /** A browser that the account knows has its own count: failures elsewhere cannot lock its user out. */
  const countersOf = ({ account, address, browser }: LoginAttempt) => {
    const network = networkOf(address)
    const [own] = counterOf('loginAccountAddress', `${account}:${browser ?? network}`)
    const others =
      browser === undefined
        ? [...counterOf('loginAddress', network), ...counterOf('loginAccount', account)]
        : []
    return { own, others }
  }

  /** How often an account was locked during a day; no limit. */
  const locksOf = ({ key }: Counter): Counter => ({
    name: 'loginLocks',
    limit: { failures: Number.MAX_SAFE_INTEGER, seconds: day },
    key,
  })

  /** The last allowed failure locks, and each lock of a day lasts twice as long as the one before. */
  const lock = async (own: Counter): Promise<number> => {
    const [count] = await counters.increment([locksOf(own)])
    const { seconds: base } = own.limit
    const seconds = Math.min(base * 2 ** ((count?.failures ?? 1) - 1), Math.max(base, maxLock))
    await counters.block(own, seconds)
    return seconds
  }

  return {
    attempt: async (attempt, authenticate) => {
      const { own, others } = countersOf(attempt)
      const reserved = own ? [own, ...others] : others
      const counts = await counters.increment(reserved)
      const refused = counts.find(({ failures }, place) => failures > (reserved[place]?.limit.failures ?? 0))
      if (refused) {
        // Undone, so that a burst does not extend the lock.
        await counters.decrement(reserved)
        return { outcome: 'refused', retryAfter: refused.seconds }
      }
      let user: Awaited<ReturnType<typeof authenticate>>
      try {
        user = await authenticate()
      } catch (error) {
        await counters.decrement(reserved)
        throw error
      }
      if (user === undefined) {
        const isLast = own !== undefined && counts[0]?.failures === own.limit.failures
        return { outcome: 'failed', lockedFor: isLast ? await lock(own) : undefined }
      }
      // Someone who knows the password has nothing to guess.
      await counters.decrement(others, own ? [own, locksOf(own)] : [])
      return { outcome: 'succeeded', user }
    },
  }
}
