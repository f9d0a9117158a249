/** Random numbers from a seed: the same seed repeats a failure. */
export interface Chance {
  /** At least 0, less than 1. */
  next(): number
  /** An integer from 1 to `most`. */
  upTo(most: number): number
  /** Waits for a random number of milliseconds less than `below`. */
  pause(below: number): Promise<void>
  /** The same items in random order. */
  shuffled<T>(items: readonly T[]): T[]
}

/** What random tests start from: TEST_SEED, which is a number made of the commit unless it is set. */
export const testSeed = Number(process.env.TEST_SEED)

export const createChance = (seed = testSeed): Chance => {
  let state = seed
  // A linear congruential generator, using the upper bits.
  const next = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return (state >>> 8) / 2 ** 24
  }
  return {
    next,
    upTo: (most) => 1 + Math.floor(next() * most),
    pause: (below) => new Promise((resolve) => setTimeout(resolve, next() * below)),
    shuffled: (items) =>
      items
        .map((item) => ({ item, rank: next() }))
        .sort((one, other) => one.rank - other.rank)
        .map(({ item }) => item),
  }
}
