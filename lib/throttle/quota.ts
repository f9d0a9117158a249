import { hashSecret } from '../keys/secrets.ts'
import type { Options, QuotaSchemas } from '../options/options.ts'
import { OAuthError } from '../protocol/errors.ts'
import { type Counters, counterOf } from './counters.ts'
import { networkOf, siteOf } from './network.ts'

/** Whose use counts: the address of the request, the host that a document is read from, the user, or the authorization. */
export interface QuotaUse {
  /** The name of the limit. */
  readonly name: keyof QuotaSchemas
  readonly address?: string
  readonly host?: string
  readonly subject?: string
  readonly authorizationId?: string
}

/**
 * Counts uses that cost the server something although nothing has failed.
 *
 * @throws OAuthError with status 429 if one of these quotas is exceeded
 */
export type TakeQuota = (uses: readonly QuotaUse[]) => Promise<void>

/** How many times the quota of one /64 an IPv6 /48 has, which one subscriber may have whole. */
const networksOfSite = 10

/**
 * @param counters in a store that all processes share
 */
export const createTakeQuota =
  (limits: Options['limits']['quotas'], counters: Counters): TakeQuota =>
  async (uses) => {
    const counted = uses.flatMap(({ name, address, host, subject, authorizationId }) => {
      const limit = limits[name]
      // A host name or an id can be longer than a key.
      if (address === undefined)
        return counterOf(name, limit, hashSecret(host ?? subject ?? authorizationId ?? ''))
      const ofSite = limit && { ...limit, max: limit.max * networksOfSite }
      return [
        ...counterOf(name, limit, networkOf(address)),
        ...counterOf(`${name}Site`, ofSite, siteOf(address)),
      ]
    })
    if (counted.length === 0) return
    const counts = await counters.increment(counted)
    const waits = counts.flatMap(({ failures, seconds }, place) => {
      const limit = counted[place]?.limit
      return limit && failures > limit.max ? [seconds] : []
    })
    if (waits.length === 0) return
    throw new OAuthError('temporarily_unavailable', 'too many requests, try again later', {
      status: 429,
      headers: { 'Retry-After': String(Math.max(...waits)) },
    })
  }
