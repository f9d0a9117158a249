import { hashSecret } from '../keys/secrets.ts'
import type { UserCodeLimits } from '../options/throttle.ts'
import { type Counter, type Counters, createReserve, type Group } from './counters.ts'
import { networkOf, siteOf } from './network.ts'

/** Who types a user code. */
export interface UserCodeAttempt {
  readonly address: string
  /** Undefined if no user is signed in. */
  readonly subject: string | undefined
}

/** `refused`: the code was not looked up. */
export type UserCodeOutcome<Found> =
  | { readonly outcome: 'found'; readonly found: Found }
  | { readonly outcome: 'wrong' }
  | { readonly outcome: 'refused'; readonly retryAfter: number }

/**
 * Looks a user code up if the limits allow one more wrong one. Like the login throttle, it reserves that failure first,
 * so that concurrent guesses cannot exceed a limit. A signed-in user has a separate counter, so guesses from elsewhere
 * cannot lock them out.
 */
export type UserCodeThrottle = <Found>(
  attempt: UserCodeAttempt,
  find: () => Promise<Found | undefined>,
) => Promise<UserCodeOutcome<Found>>

/**
 * @param counters in a store that all processes share
 * @param now epoch seconds
 */
export const createUserCodeThrottle = (
  limits: UserCodeLimits,
  counters: Counters,
  now: () => number,
): UserCodeThrottle => {
  const reserve = createReserve(counters, now)

  const counterOf = (name: keyof UserCodeLimits, key: string | undefined): Counter[] => {
    const limit = limits[name]
    return limit && key !== undefined ? [{ name, limit, key }] : []
  }

  const groupsOf = ({ address, subject }: UserCodeAttempt): Group[] => {
    const everyone = [
      ...counterOf('userCodeAddress', networkOf(address)),
      ...counterOf('userCodeNetwork', siteOf(address)),
      ...counterOf('userCodeTotal', 'all'),
    ]
    const user = counterOf('userCodeUser', subject && hashSecret(subject))
    // Without limits for everyone, a user needs no exemption from them.
    return everyone.length === 0 ? [] : [everyone, user].filter((group) => group.length > 0)
  }

  return async (attempt, find) => {
    const groups = groupsOf(attempt)
    const { open, reserved, beyond, retryAfter } = await reserve(groups)
    if (open.length === 0 && groups.length > 0) {
      await counters.decrement(beyond)
      return { outcome: 'refused', retryAfter }
    }
    const found = await find().catch(async (error: unknown) => {
      await counters.decrement(reserved)
      throw error
    })
    await counters.decrement(found === undefined ? beyond : reserved)
    return found === undefined ? { outcome: 'wrong' } : { outcome: 'found', found }
  }
}
