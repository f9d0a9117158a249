import type { Count, Counter, Counters } from './counters.ts'

/** Counters that allow an attempt if none of them has reached its limit. */
export type Group = readonly Counter[]

export type Counts = ReadonlyMap<Counter, Count>

/** One failure that is counted before it has happened. */
export interface Reservation {
  /** The groups that allow the attempt. */
  readonly open: readonly Group[]
  readonly counts: Counts
  /** Every counter in which the failure is counted. */
  readonly reserved: readonly Counter[]
  /** Those among them that do not allow the attempt; undo them unless it succeeds. */
  readonly beyond: readonly Counter[]
  /** Seconds; 0 if a group is open. */
  readonly retryAfter: number
}

const countsOf = (counters: readonly Counter[], counts: readonly Count[]): Counts =>
  new Map(counters.flatMap((counter, place) => (counts[place] ? [[counter, counts[place]]] : [])))

/** Seconds until no counter of a group is above its limit, `more` failures included; 0 if none is. */
const waitFor = (group: Group, counts: Counts, more = 0): number =>
  Math.max(
    0,
    ...group.map((counter) => {
      const count = counts.get(counter)
      return count && count.failures + more > counter.limit.failures ? count.seconds : 0
    }),
  )

/**
 * Reserves a failure in every group that still allows one. After it has refused an attempt it reads before it counts, for
 * as long as that attempt has to wait: what it refuses then writes nothing, and everything else costs no read.
 *
 * @param now epoch seconds
 */
export const createReserve = (counters: Counters, now: () => number) => {
  let readFirstUntil = 0
  return async (groups: readonly Group[]): Promise<Reservation> => {
    const all = groups.flat()
    const read = countsOf(all, now() < readFirstUntil ? await counters.read(all) : [])
    const tried = groups.filter((group) => waitFor(group, read, 1) === 0)
    const reserved = tried.flat()
    const counts = countsOf(reserved, await counters.increment(reserved))
    const open = tried.filter((group) => waitFor(group, counts) === 0)
    const waits = groups.map((group) => waitFor(group, read, 1) || waitFor(group, counts))
    readFirstUntil = Math.max(readFirstUntil, now() + Math.max(...waits))
    const beyond = reserved.filter((counter) => !open.flat().includes(counter))
    return { open, counts, reserved, beyond, retryAfter: Math.min(...waits) }
  }
}
