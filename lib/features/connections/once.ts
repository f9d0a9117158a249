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
  /** Begins anew for an owner. */
  forget(owner: string): void
}

export interface OnceSettings {
  /** The length of a window. */
  readonly seconds: number
  /** The most things of a window. Those beyond are taken as seen. */
  readonly most: number
  /** Epoch seconds. */
  now(): number
}

/**
 * Creates a memory of what was seen, so that what strangers repeat costs nothing.
 *
 * @example const once = createOnce({ seconds: 600, most: 100, now: server.now })
 */
export const createOnce = ({ seconds, most, now }: OnceSettings): Once => {
  const seen = new Map<string, Map<string, string | undefined>>()
  let window = 0
  let count = 0
  return {
    isFirst: (owner, what, id) => {
      const current = Math.floor(now() / seconds)
      if (current !== window) {
        seen.clear()
        window = current
        count = 0
      }
      const known = seen.get(owner)
      if (known?.has(what) || count >= most) return false
      count += 1
      if (known) known.set(what, id)
      else seen.set(owner, new Map([[what, id]]))
      return true
    },
    firstId: (owner, what) => seen.get(owner)?.get(what),
    forget: (owner) => void seen.delete(owner),
  }
}
