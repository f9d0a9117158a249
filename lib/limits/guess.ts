import type { Options } from '../options/options.ts'
import { type Counter, type Counters, counterOf, createReserve, type Group, limitNamed } from './counters.ts'

/** The counter of a wrong guess: the name of a limit, and whose guess it is. */
export interface GuessCounter {
  readonly name: string
  /** Undefined if it is unknown; then nothing counts under this limit. */
  readonly key: string | undefined
}

/** Whose guess it is. */
export interface Guesser {
  /** These limits are for everyone. */
  readonly everyone: readonly GuessCounter[]
  /** A known user has a separate counter, so guesses from elsewhere cannot lock them out. */
  readonly user: GuessCounter
}

/** `refused`: nothing was looked up. */
export type GuessOutcome<Found> =
  | { readonly outcome: 'found'; readonly found: Found }
  | { readonly outcome: 'wrong' }
  | { readonly outcome: 'refused'; readonly retryAfter: number }

/**
 * Looks up what someone typed if the limits allow one more wrong guess. Like the login throttle, it reserves that failure
 * first, so that concurrent guesses cannot exceed a limit.
 */
export type GuessThrottle = <Found>(
  guesser: Guesser,
  find: () => Promise<Found | undefined>,
) => Promise<GuessOutcome<Found>>

/**
 * @param counters in a store that all processes share
 * @param now epoch seconds
 */
export const createGuessThrottle = (
  limits: Options['limits']['failures'],
  counters: Counters,
  now: () => number,
): GuessThrottle => {
  const reserve = createReserve(counters, now)

  const limited = ({ name, key }: GuessCounter): Counter[] => counterOf(name, limitNamed(limits, name), key)
  const groupsOf = ({ everyone, user }: Guesser): Group[] => {
    const shared = everyone.flatMap(limited)
    // Without limits for everyone, a user needs no exemption from them.
    return shared.length === 0 ? [] : [shared, limited(user)].filter((group) => group.length > 0)
  }

  return async (guesser, find) => {
    const groups = groupsOf(guesser)
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
