/** Numbers of chance that are the same in every run, so that a failure can be had again. */
export interface Chance {
  /** From 0 up to, and without, 1. */
  next(): number
  /** From 1 up to this. */
  upTo(most: number): number
  /** Milliseconds of chance below this, waited for. */
  pause(below: number): Promise<void>
  /** The same items in an order of chance. */
  shuffled<T>(items: readonly T[]): T[]
}

/** @param seed FAULT_SEED unless given; another one by hand finds other moments */
export const createChance = (seed = Number(process.env.FAULT_SEED ?? 20_261_121)): Chance => {
  let state = seed
  // A linear congruential generator, of which the upper half is used.
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
