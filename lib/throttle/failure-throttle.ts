import type { RateLimiterAbstract } from 'rate-limiter-flexible'
import type { Limit } from '../options/options.ts'
import { OAuthError } from '../protocol/errors.ts'
import { memoryLimiter } from './counters.ts'
import { networkOf } from './network.ts'

/** Who fails: an address, and at some endpoints the name it uses. */
export interface Failing {
  readonly address: string
  readonly name?: string
}

/** Counts failures of clients and APIs, in memory: requests that succeed cost nothing. */
export interface FailureThrottle {
  /** @throws OAuthError with status 429 if the limit is reached */
  assertOpen(failing: Failing): Promise<void>
  /**
   * Counts a failure.
   *
   * @returns the error to send instead if the limit is exceeded
   */
  failed(failing: Failing): Promise<OAuthError | undefined>
}

const tooMany = (milliseconds: number): OAuthError =>
  new OAuthError('temporarily_unavailable', 'too many requests have failed, try again later', {
    status: 429,
    headers: { 'Retry-After': String(Math.max(1, Math.ceil(milliseconds / 1000))) },
  })

/** How many times more often an address may fail under all names together; this also bounds the memory used. */
const names = 10

/** @param limit for one name at one address, or for the address if the endpoint has no names */
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
