import { hashSecret } from '../keys/secrets.ts'
import type { Limit } from '../options/options.ts'
import { OAuthError } from '../protocol/errors.ts'
import { type Counters, counterOf } from './counters.ts'
import { networkOf } from './network.ts'

/** Whose use counts: the address of the request, the host that a document is read from, or the user. */
export interface QuotaUse {
  /** The name of the limit. */
  readonly name: string
  readonly address?: string
  readonly host?: string
  readonly subject?: string
}

/**
 * Counts uses that cost the server something although nothing has failed.
 *
 * @throws OAuthError with status 429 if one of these quotas is exceeded
 */
export type TakeQuota = (uses: readonly QuotaUse[]) => Promise<void>

/**
 * @param limitOf the limit of a name; false if it is off
 * @param counters in a store that all processes share
 */
export const createTakeQuota =
  (limitOf: (name: string) => Limit | false, counters: Counters): TakeQuota =>
  async (uses) => {
    const counted = uses.flatMap(({ name, address, host, subject }) => {
      // A host name or an id can be longer than a key.
      const key = address === undefined ? hashSecret(host ?? subject ?? '') : networkOf(address)
      return counterOf(name, limitOf(name), key)
    })
    if (counted.length === 0) return
    const counts = await counters.increment(counted)
    const waits = counts.flatMap(({ failures, seconds }, place) => {
      const limit = counted[place]?.limit
      return limit && failures > limit.failures ? [seconds] : []
    })
    if (waits.length === 0) return
    throw new OAuthError('temporarily_unavailable', 'too many requests, try again later', {
      status: 429,
      headers: { 'Retry-After': String(Math.max(...waits)) },
    })
  }
