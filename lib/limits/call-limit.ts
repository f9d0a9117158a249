import { hashSecret } from '../keys/secrets.ts'
import type { Limit } from '../options/limits.ts'
import { refusal } from '../protocol/refusal.ts'
import type { Counters } from './counters.ts'

/** A limit on the calls of an API. */
export interface CallLimit extends Limit {
  /** Its name in headers, of at most 40 letters, digits, `-` and `_`. */
  readonly name: string
  /** Calls count together if they have this name and this scope. */
  readonly scope: string
}

/**
 * Counts a call. A period begins with the first call.
 *
 * @param of whose call it is
 * @returns headers of the answer (draft-ietf-httpapi-ratelimit-headers-10 §3, §4)
 * @throws OAuthError with status 429, which has these headers and `Retry-After`
 */
export type CountCall = (limit: CallLimit, of: string) => Promise<Readonly<Record<string, string>>>

/** @param counters in a store that all processes share */
export const createCountCall =
  (counters: Counters): CountCall =>
  async (limit, of) => {
    const { name, scope, max, seconds } = limit
    // Ids and scopes can be longer than a key.
    const key = hashSecret(JSON.stringify([scope, of]))
    const [count] = await counters.increment([{ name: `calls-${name}`, limit, key }])
    const { failures: calls, seconds: wait } = count ?? { failures: 0, seconds }
    const headers = {
      'RateLimit-Policy': `"${name}";q=${max};w=${seconds}`,
      RateLimit: `"${name}";r=${Math.max(0, max - calls)};t=${wait}`,
    }
    if (calls <= max) return headers
    throw refusal('requests_too_many', {
      status: 429,
      headers: { ...headers, 'Retry-After': String(wait) },
    })
  }
