import type { Limit } from '../options/limits.ts'
import type { Options } from '../options/options.ts'
import type { OAuthError } from '../protocol/errors.ts'
import { refusal } from '../protocol/refusal.ts'
import { type CountCall, createCountCall } from './call-limit.ts'
import { type Counter, type Counters, limitNamed, memoryCounters } from './counters.ts'
import { type CountersContext, countersIn } from './database-counters.ts'
import { createGuessThrottle, type GuessThrottle } from './guess.ts'
import { createLoginThrottle, type LoginThrottle } from './login-throttle.ts'
import { networkOf } from './network.ts'
import { createTakeQuota, type TakeQuota } from './quota.ts'

/** Every limit on failures. */
export interface Throttle {
  readonly login: LoginThrottle
  /** Limits on what people type and others could guess. */
  readonly guess: GuessThrottle
  /** The limit that an endpoint names. */
  of(endpoint: { readonly limit?: string }): FailureThrottle
  /** Counts uses that cost the server something although nothing has failed. */
  readonly takeQuota: TakeQuota
  /** Counts uses that are so frequent that a statement for each would cost more than it saves: each process counts in memory. */
  readonly takeLocalQuota: TakeQuota
  /** Counts calls of the host's own API, for guards with a limit. */
  readonly countCall: CountCall
}

/** @param limits the option */
export const createThrottle = (limits: Options['limits'], context: CountersContext): Throttle => {
  const { failures, quotas, store } = limits
  const counters = countersIn(store, context)
  const memory = memoryCounters(context.now)
  const throttles: Readonly<Record<string, FailureThrottle>> = Object.fromEntries(
    Object.entries(failures).map(([name, limit]) => [name, createFailureThrottle(name, limit, memory)]),
  )
  const unlimited = createFailureThrottle('', false, memory)
  return {
    login: createLoginThrottle(failures, counters, context.now),
    guess: createGuessThrottle(failures, counters, context.now),
    of: ({ limit: name }) => {
      if (name === undefined) return unlimited
      limitNamed(failures, name)
      return throttles[name] ?? unlimited
    },
    takeQuota: createTakeQuota(quotas, counters, context.now),
    takeLocalQuota: createTakeQuota(quotas, memory, context.now),
    countCall: createCountCall(counters),
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
  refusal('failures_too_many', {
    status: 429,
    headers: { 'Retry-After': String(seconds) },
  })

/** An address may fail so many times more often under all names together; this also bounds the memory used. */
const names = 10

/** @param limit for one name at one address, or for the address if the endpoint has no names */
const createFailureThrottle = (name: string, limit: Limit | false, memory: Counters): FailureThrottle => {
  if (!limit) return { assertOpen: async () => {}, failed: async () => undefined }
  const ofAddress = { ...limit, max: limit.max * names }
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
      const full = counts.find(({ failures }, place) => failures >= (counters[place]?.limit.max ?? 0))
      if (full) throw tooMany(full.seconds)
    },
    failed: async (failing) => {
      for (const counter of countersOf(failing)) {
        const [count] = await memory.increment([counter])
        if (count && count.failures > counter.limit.max) return tooMany(count.seconds)
      }
      return undefined
    },
  }
}
