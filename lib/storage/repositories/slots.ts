import { randomInt } from 'node:crypto'

/**
 * Chooses a number below `max` that none of a user's rows has. The numbers are unique per user, so parallel requests cannot
 * exceed the limit. It chooses one of several, so parallel requests seldom choose the same.
 *
 * @returns undefined if all numbers are taken
 */
export const freeSlot = (taken: readonly number[], max: number): number | undefined => {
  const most = Math.min(max, taken.length + 16)
  const free = Array.from({ length: most }, (_, slot) => slot).filter((slot) => !taken.includes(slot))
  return taken.length >= max || free.length === 0 ? undefined : free[randomInt(free.length)]
}
