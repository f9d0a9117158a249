// About 60 MB. At 1,000 requests a second, the proofs of two minutes are 120,000.
const maxEntries = 400_000

/** Records the hash of a proof until a time in epoch seconds; returns false if it was recorded before. */
export type UsedProofs = (hash: string, expiresAt: number) => boolean

/**
 * Remembers in the memory of this process which proofs were used. Beyond 400,000 proofs the oldest are forgotten.
 *
 * @param now epoch seconds
 */
export const createUsedProofs = (now: () => number): UsedProofs => {
  const used = new Map<string, number>()
  return (hash, expiresAt) => {
    if (used.has(hash)) return false
    // The order of insertion is nearly that of expiry.
    for (const [oldest, end] of used) {
      if (end > now() && used.size < maxEntries) break
      used.delete(oldest)
    }
    used.set(hash, expiresAt)
    return true
  }
}
