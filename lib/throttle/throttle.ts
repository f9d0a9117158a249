import { assertNames } from '../options/check.ts'
import type { Limit } from '../options/options.ts'
import { defaultLoginLimits, defaultQuotas, type LoginLimits, type Throttling } from '../options/throttle.ts'
import { OAuthError } from '../protocol/errors.ts'
import { type Counter, type Counters, type CountersContext, countersIn, memoryCounters } from './counters.ts'
import { createGuessThrottle, type GuessThrottle } from './guess.ts'
import { createLoginThrottle, type LoginThrottle } from './login-throttle.ts'
import { networkOf } from './network.ts'
import { createTakeQuota, type TakeQuota } from './quota.ts'

/** An endpoint at which programs can fail. */
export interface LimitedEndpoint {
  /** Its path without the slash is the name of its limit: `token`. */
  readonly path: string
  /** The default; without one the endpoint has no limit. */
  readonly limit?: Limit
}

/** Every limit on failures. */
export interface Throttle {
  readonly login: LoginThrottle
  /** Limits on what people type and others could guess. */
  readonly guess: GuessThrottle
  /** The limit of an endpoint. */
  of(endpoint: LimitedEndpoint): FailureThrottle
  /** Counts uses that cost the server something although nothing has failed. */
  readonly takeQuota: TakeQuota
}

const nameOf = ({ path }: LimitedEndpoint): string => path.slice(1)

const noLimits: LoginLimits = {
  loginAccountAddress: false,
  loginAddress: false,
  loginNetwork: false,
  loginAccount: false,
}

/**
 * @param throttling undefined turns every limit off
 * @param added the limits of features, with their defaults
 * @throws OptionsError when the option `throttle.limits` has a name that no limit has
 */
export const createThrottle = (
  throttling: Throttling | undefined,
  endpoints: readonly LimitedEndpoint[],
  context: CountersContext,
  added: Readonly<Record<string, Limit>> = {},
): Throttle => {
  const limited = endpoints.filter(({ limit }) => limit !== undefined)
  const { limits } = throttling ?? { limits: noLimits }
  const defaults = new Map(
    Object.entries({
      ...defaultLoginLimits,
      ...defaultQuotas,
      ...added,
      ...Object.fromEntries(limited.map((endpoint) => [nameOf(endpoint), endpoint.limit])),
    }),
  )
  assertNames('throttle.limits.', limits, [...defaults.keys()])
  const chosen = new Map<string, Limit | false>(Object.entries(limits))
  const limitOf = (name: string): Limit | false =>
    throttling !== undefined && (chosen.get(name) ?? defaults.get(name) ?? false)
  const memory = memoryCounters(context.now)
  const counters = countersIn(throttling?.store ?? 'memory', context)
  return {
    login: createLoginThrottle(limits, counters, context.now),
    guess: createGuessThrottle(limitOf, counters, context.now),
    of: (endpoint) => createFailureThrottle(nameOf(endpoint), limitOf(nameOf(endpoint)), memory),
    takeQuota: createTakeQuota(limitOf, counters),
  }
}

/** Who fails: an address, and at some endpoints the name it uses. */
export interface Failing {
  readonly address: string
  readonly name?: string
}

/** Counts failures of clients and APIs, in memory: requests that succeed cost nothing. */
interface FailureThrottle {
  /** @throws OAuthError with status 429 if the limit is reached */
  assertOpen(failing: Failing): Promise<void>
  /**
   * Counts a failure.
   *
   * @returns the error to send instead if the limit is exceeded
   */
  failed(failing: Failing): Promise<OAuthError | undefined>
}

const tooMany = (seconds: number): OAuthError =>
  new OAuthError('temporarily_unavailable', 'too many requests have failed, try again later', {
    status: 429,
    headers: { 'Retry-After': String(seconds) },
  })

/** How many times more often an address may fail under all names together; this also bounds the memory used. */
const names = 10

/** @param limit for one name at one address, or for the address if the endpoint has no names */
const createFailureThrottle = (name: string, limit: Limit | false, memory: Counters): FailureThrottle => {
  if (!limit) return { assertOpen: async () => {}, failed: async () => undefined }
  const ofAddress = { ...limit, failures: limit.failures * names }
  const countersOf = ({ address, name: inName }: Failing): Counter[] => {
    const key = networkOf(address)
    return inName === undefined
      ? [{ name, limit, key }]
      : [
          { name: `${name}:address`, limit: ofAddress, key },
          { name, limit, key: `${key} ${inName}` },
        ]
  }
  return {
    assertOpen: async (failing) => {
      const counters = countersOf(failing)
      const counts = await memory.read(counters)
      const full = counts.find(({ failures }, place) => failures >= (counters[place]?.limit.failures ?? 0))
      if (full) throw tooMany(full.seconds)
    },
    failed: async (failing) => {
      for (const counter of countersOf(failing)) {
        const [count] = await memory.increment([counter])
        if (count && count.failures > counter.limit.failures) return tooMany(count.seconds)
      }
      return undefined
    },
  }
}
