import { longestLock } from '../protocol/stored-time.ts'
import {
  type Counter,
  type Counters,
  type Counts,
  counterOf,
  createReserve,
  type Group,
  type Locked,
} from './counters.ts'
import { byAccount, createLoginCounters, type LoginAttempt, type LoginLimits } from './login-counters.ts'
import { shownNetwork } from './network.ts'

/** The result of an attempt; times are seconds until the next attempt is allowed. */
export type LoginOutcome<User> =
  | { readonly outcome: 'succeeded'; readonly user: User }
  | {
      readonly outcome: 'failed'
      readonly lockedFor: number | undefined
      /** The next failure is the last one that is allowed: of this name, whether it exists or not. */
      readonly isLastTry?: boolean
      /**
       * The address is beyond its limit, and only names that have signed in there are checked. Answer as if the attempt was
       * refused, so that the answer does not show which names these are.
       */
      readonly retryAfter?: number
    }
  | { readonly outcome: 'refused'; readonly retryAfter: number }

export interface LoginThrottle {
  /** Whether any limit on wrong passwords is on. */
  readonly isLimited: boolean
  /**
   * Checks the credentials if the limits allow one more failure. It reserves that failure first, and gives it back if
   * the credentials are right, so that concurrent attempts cannot exceed the limit.
   *
   * Known devices have their own counter, so attacks from elsewhere cannot lock out the device's user. If an address is
   * beyond its limit, names that have signed in there in the last 30 days are still checked, so one person cannot lock out
   * all others behind a shared address. What counts by account applies to them as before.
   *
   * @param authenticate checks the credentials; if it throws, the attempt does not count
   */
  attempt<User extends { readonly subject: string }>(
    attempt: LoginAttempt,
    authenticate: () => Promise<User | undefined>,
  ): Promise<LoginOutcome<User>>
  /**
   * Where sign-ins under a login name are refused now, those that wait longest first, at most 1,000.
   *
   * @param account as in {@link LoginAttempt}
   */
  locks(account: string): Promise<readonly LoginLock[]>
  /**
   * Lets sign-ins under a login name go on everywhere. Limits of an address stay: they protect other accounts.
   *
   * @returns whether any was refused
   * @throws Error if the store of the counts is unavailable
   */
  unlock(account: string): Promise<boolean>
}

/** Sign-ins under a login name are refused. */
export interface LoginLock {
  /** The address from which they are: an IPv4 address or an IPv6 /64; undefined for all addresses. */
  readonly network: string | undefined
  /** Until the next attempt is checked. */
  readonly seconds: number
}

const day = 86_400
/** Counters that lock when they reach their limit; the others only fill up. */
const locking = ['loginAccountAddress', 'loginDevice']
const locksName = 'loginLocks'

/** Counts how often a counter was locked during a day; it limits nothing. */
const locksOf = ({ key }: Counter): Counter => ({
  name: locksName,
  limit: { max: Number.MAX_SAFE_INTEGER, seconds: day },
  key,
})

/** The number of further failures that a group allows. */
const triesLeft = (group: Group, counts: Counts): number =>
  Math.min(...group.map((counter) => counter.limit.max - (counts.get(counter)?.failures ?? 0)))

/**
 * @param counters in a store that all processes share
 * @param now epoch seconds
 */
export const createLoginThrottle = (
  limits: LoginLimits,
  counters: Counters,
  now: () => number,
): LoginThrottle => {
  const reserve = createReserve(counters, now)
  const of = createLoginCounters(limits)
  const isByAddress = Boolean(limits.loginAddress || limits.loginNetwork)

  /**
   * Reserves a failure for a name that has signed in at this address; undefined if there is none, or too many failed.
   *
   * @param full the names of the counters that have refused the attempt
   */
  const reserveReturning = async (attempt: LoginAttempt, full: readonly string[]) => {
    if (!isByAddress || full.some((name) => byAccount.includes(name))) return undefined
    const [signIns] = await counters.read([of.signIns(attempt)])
    if (!signIns?.failures) return undefined
    const reservation = await reserve([of.returning(attempt)])
    if (reservation.open.length > 0) return reservation
    await counters.decrement(reservation.beyond)
    return undefined
  }

  /** Each lock of a day lasts twice as long as the one before. */
  const lock = async (counter: Counter): Promise<number> => {
    const [count] = await counters.increment([locksOf(counter)])
    const { seconds: base } = counter.limit
    const seconds = Math.min(base * 2 ** ((count?.failures ?? 1) - 1), Math.max(base, longestLock))
    await counters.lock(counter, seconds)
    return seconds
  }

  /** Locks every counter that this failure filled. */
  const lockFull = async (group: Group, counts: Counts): Promise<number | undefined> => {
    const full = group.filter(
      (counter) => locking.includes(counter.name) && counts.get(counter)?.failures === counter.limit.max,
    )
    const locks: number[] = []
    for (const counter of full) locks.push(await lock(counter))
    return locks.length > 0 ? Math.max(...locks) : undefined
  }

  const { loginAccountAddress, loginAddress, loginNetwork, loginAccount } = limits

  const listLocked = (account: string): Promise<readonly Locked[]> =>
    loginAccountAddress
      ? counters.listLocked({ name: 'loginAccountAddress', limit: loginAccountAddress, owner: account })
      : Promise.resolve([])

  /** The lock of an account as a whole, as a list. */
  const lockedEverywhere = async (account: string): Promise<Locked[]> => {
    const whole = counterOf('loginAccount', loginAccount, account)
    const counts = await counters.read(whole)
    return whole.flatMap(({ name, key, limit }, place) => {
      const { failures, seconds } = counts[place] ?? { failures: 0, seconds: 0 }
      return failures >= limit.max ? [{ name, key, seconds }] : []
    })
  }

  return {
    isLimited: Boolean(loginAccountAddress || loginAddress || loginNetwork || loginAccount),
    attempt: async (attempt, authenticate) => {
      const [everyone, device] = [of.everyone(attempt), of.device(attempt)]
      // Without limits for everyone, a device needs no exemption from them.
      const groups = [everyone, device].filter((group) => group.length > 0 && everyone.length > 0)
      if (groups.length === 0) {
        const user = await authenticate()
        return user ? { outcome: 'succeeded', user } : { outcome: 'failed', lockedFor: undefined }
      }
      const first = await reserve(groups)
      const { retryAfter } = first
      // Undone, so that a burst does not extend the lock.
      if (first.open.length === 0) await counters.decrement(first.beyond)
      const reservation = first.open.length > 0 ? first : await reserveReturning(attempt, first.full)
      if (reservation === undefined) return { outcome: 'refused', retryAfter }
      const { open, counts, reserved, beyond } = reservation
      const isReturning = reservation !== first
      const user = await authenticate().catch(async (error: unknown) => {
        await counters.decrement(reserved)
        throw error
      })
      const isKnown = user !== undefined && attempt.device?.isOf(user.subject) === true
      const mayPass = isReturning || open.includes(everyone) || isKnown
      if (user === undefined || !mayPass) {
        await counters.decrement(beyond)
        const isLastTry = Math.max(...open.map((group) => triesLeft(group, counts))) === 1
        const lockedFor = await lockFull(open.flat(), counts)
        return { outcome: 'failed', lockedFor, isLastTry, ...(isReturning && { retryAfter }) }
      }
      // Only the browser's own count: others may have failed in the rest.
      const reset = isKnown ? device.flatMap((counter) => [counter, locksOf(counter)]) : []
      await Promise.all([
        counters.decrement(
          reserved.filter((counter) => !reset.includes(counter)),
          reset,
        ),
        isByAddress && !isKnown && counters.increment([of.signIns(attempt)]),
      ])
      return { outcome: 'succeeded', user }
    },
    locks: async (account) => {
      const everywhere = await lockedEverywhere(account)
      const locked = await listLocked(account)
      return [
        ...everywhere.map(({ seconds }) => ({ network: undefined, seconds })),
        ...locked.map(({ key, seconds }) => ({
          network: shownNetwork(key.slice(account.length + 1)),
          seconds,
        })),
      ].sort((one, other) => other.seconds - one.seconds)
    },
    unlock: async (account) => {
      const everywhere = await lockedEverywhere(account)
      const locked = await listLocked(account)
      await counters.clear([
        ...everywhere,
        ...locked.flatMap(({ name, key }) => [
          { name, key },
          { name: locksName, key },
        ]),
      ])
      return everywhere.length + locked.length > 0
    },
  }
}
