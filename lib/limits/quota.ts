import { hashSecret } from '../keys/secrets.ts'
import type { Options } from '../options/options.ts'
import { refusal } from '../protocol/refusal.ts'
import { type Counter, type Counters, counterOf, limitNamed } from './counters.ts'
import { networkOf, siteOf } from './network.ts'

/** Whose use counts: the address of the request, the host that is asked and who causes it, the user, or the authorization. */
export interface QuotaUse {
  /** The name of the limit. */
  readonly name: string
  readonly address?: string
  readonly host?: string
  /** Of a host: who causes the request. Each has a count of their own, so that none takes anything from the others. */
  readonly by?: string
  readonly subject?: string
  readonly authorizationId?: string
  /**
   * The number of uses, among those that are counted together, that do not count after all. It is asked only where the quota
   * is exceeded, and excuses at most nine of ten uses.
   *
   * @param since epoch seconds
   */
  readonly excused?: (from: UseOrigin, since: number) => Promise<number>
}

/** Which uses are counted together: those of the network of the address, or of all networks of its site. */
export type UseOrigin = 'network' | 'site'

/**
 * Counts uses that cost the server something although nothing has failed.
 *
 * @throws OAuthError with status 429 if one of these quotas is exceeded
 */
export type TakeQuota = (uses: readonly QuotaUse[]) => Promise<void>

/** An IPv6 /48, which one subscriber may have whole, has so many times the quota of one /64. */
const networksOfSite = 10

/** Excused uses may exceed the limit so many times. */
const mostExcused = 10

/** A counter, and what excuses its uses. */
interface CountedUse {
  readonly counter: Counter
  readonly excused?: ((since: number) => Promise<number>) | undefined
}

const countedUses = (
  { name, address, host, by, subject, authorizationId, excused }: QuotaUse,
  limits: Options['limits']['quotas'],
): CountedUse[] => {
  const limit = limitNamed(limits, name)
  if (address === undefined) {
    const whose = host === undefined ? (subject ?? authorizationId ?? '') : JSON.stringify([host, by])
    // A host name or an id can be longer than a key.
    return counterOf(name, limit, hashSecret(whose)).map((counter) => ({ counter }))
  }
  const ofSite = limit && { ...limit, max: limit.max * networksOfSite }
  const from = (origin: UseOrigin, counters: readonly Counter[]): CountedUse[] =>
    counters.map((counter) => ({ counter, excused: excused && ((since) => excused(origin, since)) }))
  return [
    ...from('network', counterOf(name, limit, networkOf(address))),
    ...from('site', counterOf(`${name}Site`, ofSite, siteOf(address))),
  ]
}

/**
 * @param counters in a store that all processes share
 * @param now epoch seconds
 */
export const createTakeQuota =
  (limits: Options['limits']['quotas'], counters: Counters, now: () => number): TakeQuota =>
  async (uses) => {
    const counted = uses.flatMap((use) => countedUses(use, limits))
    if (counted.length === 0) return
    const counts = await counters.increment(counted.map(({ counter }) => counter))
    const waits: number[] = []
    for (const [place, { failures, seconds }] of counts.entries()) {
      const { counter, excused } = counted[place] ?? {}
      if (counter === undefined || failures <= counter.limit.max) continue
      const { limit } = counter
      const mayExcuse = excused !== undefined && failures <= limit.max * mostExcused
      const left = mayExcuse ? failures - (await excused(now() + seconds - limit.seconds)) : failures
      if (left > limit.max) waits.push(seconds)
    }
    if (waits.length === 0) return
    throw refusal('requests_too_many', {
      status: 429,
      headers: { 'Retry-After': String(Math.max(...waits)) },
    })
  }
