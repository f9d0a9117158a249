/** Seconds that a lock can last longer than the period of its count. */
export const longestLock = 3600

/**
 * Whether something still waits until a time that was stored. A time that is further ahead than it can be was stored while the
 * clock was wrong, and is over.
 *
 * @param until epoch seconds
 * @param longest seconds: the longest wait there is
 * @example isAhead(lockedUntil, now, 3600) // false if it is a month ahead
 */
export const isAhead = (until: number, now: number, longest: number): boolean =>
  until > now && until <= now + longest
