import type { RateLimiterAbstract } from 'rate-limiter-flexible'
import type { Limit } from '../options/options.ts'
import { OAuthError } from '../protocol/errors.ts'
import { memoryLimiter } from './limiters.ts'
import { networkOf } from './network.ts'

/** Who fails: an address, and at some places in whose name. */
export interface Failing {
  readonly address: string
  readonly name?: string
}

/** Counts failures of programs, which cost nothing until they happen. */
export interface FailureThrottle {
  /** @throws OAuthError with status 429 when so many have failed that this one is not looked at */
  assertOpen(failing: Failing): Promise<void>
  /** @returns the error to answer with instead, once the limit is passed */
  failed(failing: Failing): Promise<OAuthError | undefined>
}

const tooMany = (milliseconds: number): OAuthError =>
  new OAuthError('temporarily_unavailable', 'too many requests have failed, try again later', {
    status: 429,
    headers: { 'Retry-After': String(Math.max(1, Math.ceil(milliseconds / 1000))) },
  })

/** An address may fail so much more often in all names together; it also bounds what is kept in memory. */
const names = 10

/** @param limit of one name at one address, or of the address where there are no names */
export const createFailureThrottle = (name: string, limit: Limit | false): FailureThrottle => {
  if (!limit) return { assertOpen: async () => {}, failed: async () => undefined }
  const byName = memoryLimiter(name, limit)
  const byAddress = memoryLimiter(`${name}:address`, { ...limit, failures: limit.failures * names })

  const countersOf = ({ address, name: inName }: Failing): [RateLimiterAbstract, string][] => {
    const network = networkOf(address)
    return inName === undefined
      ? [[byName, network]]
      : [
          [byAddress, network],
          [byName, `${network} ${inName}`],
        ]
  }

  return {
    assertOpen: async (failing) => {
      for (const [limiter, key] of countersOf(failing)) {
        const state = await limiter.get(key)
        if (state && state.consumedPoints >= limiter.points) throw tooMany(state.msBeforeNext)
      }
    },
    failed: async (failing) => {
      for (const [limiter, key] of countersOf(failing)) {
        const state = await limiter.penalty(key)
        if (state.consumedPoints > limiter.points) return tooMany(state.msBeforeNext)
      }
      return undefined
    },
  }
}
