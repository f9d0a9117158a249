import { createShares, type SharesSettings } from '../../events/shares.ts'

/** Lets through what was not seen in this window of time yet, and no more than a number of things. */
export interface Once {
  /**
   * Whether this is the first time in the window.
   *
   * @param owner whom it is about, for {@link forget}
   * @param id of the request in which it is seen
   */
  isFirst(owner: string, what: string, id?: string): boolean
  /** The id of the request in which it was first seen; undefined if it is beyond the most, or has none. */
  firstId(owner: string, what: string): string | undefined
  /** Begins anew for an owner. What it has taken of its share stays taken. */
  forget(owner: string): void
}

/** The settings of shares. Whatever exceeds a share counts as seen. */
export interface OnceSettings extends SharesSettings {
  /** Whose share an owner takes. */
  shareOf(owner: string): string
  /** Called once in a window in which something is beyond a share. */
  reached(share: string): void
}

/**
 * Creates a memory of what was seen, so that what strangers repeat costs nothing.
 *
 * @example const once = createOnce({ seconds: 600, each: 100, all: 5000, now, shareOf: subscriberOf, reached: () => {} })
 */
export const createOnce = ({ shareOf, reached, ...settings }: OnceSettings): Once => {
  const { seconds, now } = settings
  const seen = new Map<string, Map<string, string | undefined>>()
  const take = createShares(settings)
  let window = 0
  return {
    isFirst: (owner, what, id) => {
      const current = Math.floor(now() / seconds)
      if (current !== window) {
        seen.clear()
        window = current
      }
      const known = seen.get(owner)
      if (known?.has(what)) return false
      const outcome = take(shareOf(owner))
      if (outcome === 'reached') reached(shareOf(owner))
      if (outcome !== 'within') return false
      if (known) known.set(what, id)
      else seen.set(owner, new Map([[what, id]]))
      return true
    },
    firstId: (owner, what) => seen.get(owner)?.get(what),
    forget: (owner) => void seen.delete(owner),
  }
}
