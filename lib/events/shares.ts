/**
 * The outcome for one more thing: it is `within` the share, the first one in this window that is beyond any (`reached`), or
 * another one that is `beyond`.
 */
export type ShareOutcome = 'within' | 'reached' | 'beyond'

export interface SharesSettings {
  /** The length of a window. */
  readonly seconds: number
  /** The most things of one share in a window. */
  readonly each: number
  /** The most things of all shares together. */
  readonly all: number
  /** Epoch seconds. */
  now(): number
}

/**
 * Counts things by whose they are, in this process, so that one who causes many leaves room for those of others.
 *
 * @example const take = createShares({ seconds: 600, each: 100, all: 5000, now: server.now })
 */
export const createShares = ({ seconds, each, all, now }: SharesSettings): ((of: string) => ShareOutcome) => {
  const counts = new Map<string, number>()
  let window = 0
  let sum = 0
  let isReached = false
  return (of) => {
    const current = Math.floor(now() / seconds)
    if (current !== window) {
      counts.clear()
      window = current
      sum = 0
      isReached = false
    }
    const count = counts.get(of) ?? 0
    if (count < each && sum < all) {
      counts.set(of, count + 1)
      sum += 1
      return 'within'
    }
    if (isReached) return 'beyond'
    isReached = true
    return 'reached'
  }
}
