import type { Logger } from '../options/options.ts'
import { type PublicJwks, usableJwks } from '../protocol/jwks.ts'
import type { Outbound } from './outbound.ts'

/** A cache of the keys that clients publish at their `jwks_uri`. */
export interface ClientJwks {
  /** The keys, at most ten minutes old, or a day if the client is unavailable; undefined without keys. */
  find(uri: string): Promise<PublicJwks | undefined>
  /** Fetches the keys again because none of {@link find} matches; undefined if they were just fetched. */
  renew(uri: string): Promise<PublicJwks | undefined>
}

interface Entry {
  jwks?: PublicJwks
  fetchedAt: number
  failedAt: number
  renewedAt: number
  underway?: Promise<void>
}

// Seconds.
const lifetime = 600
const staleLifetime = 86_400
const pauseAfterRenewal = 60
const pauseAfterFailure = 10
// A limit, so that registering clients cannot fill the memory.
const maxEntries = 1000

const fetchJwks = async (outbound: Outbound, uri: string): Promise<PublicJwks> => {
  const { status, body } = await outbound.request(uri, {
    accept: 'application/jwk-set+json, application/json',
  })
  if (status !== 200) throw new Error(`the response has status ${status}`)
  const jwks = usableJwks(JSON.parse(body))
  if (jwks === undefined) throw new Error('the response is not a JWK set')
  return jwks
}

/**
 * Creates a cache of clients' keys. A missing key is fetched at once, but at most once a minute (OIDC Core §10.1.1).
 * If a client is unavailable, its cached keys remain in use.
 */
export const createClientJwks = ({
  outbound,
  logger,
  now,
}: {
  readonly outbound: Outbound
  readonly logger: Logger
  now(): number
}): ClientJwks => {
  const entries = new Map<string, Entry>()

  const entryOf = (uri: string): Entry => {
    const entry = entries.get(uri) ?? { fetchedAt: 0, failedAt: 0, renewedAt: 0 }
    entries.set(uri, entry)
    const [oldest] = entries.keys()
    if (entries.size > maxEntries && oldest !== undefined) entries.delete(oldest)
    return entry
  }

  const update = async (uri: string, entry: Entry): Promise<void> => {
    try {
      entry.jwks = await fetchJwks(outbound, uri)
      entry.fetchedAt = now()
    } catch (error) {
      entry.failedAt = now()
      if (entry.fetchedAt + staleLifetime <= now()) delete entry.jwks
      const reason = error instanceof SyntaxError ? 'the response is not JSON' : String(error)
      logger.warn(`latchkey: the keys at ${uri} cannot be read: ${reason}`)
    } finally {
      delete entry.underway
    }
  }

  /** Concurrent requests share one fetch. */
  const fetched = async (uri: string, entry: Entry): Promise<PublicJwks | undefined> => {
    entry.underway ??= update(uri, entry)
    await entry.underway
    return entry.jwks
  }

  return {
    find: async (uri) => {
      const entry = entryOf(uri)
      const isFresh = entry.fetchedAt + lifetime > now() || entry.failedAt + pauseAfterFailure > now()
      return isFresh ? entry.jwks : fetched(uri, entry)
    },
    renew: async (uri) => {
      const entry = entryOf(uri)
      if (entry.underway === undefined) {
        const isRecent = entry.fetchedAt >= now() || entry.renewedAt + pauseAfterRenewal > now()
        if (isRecent || entry.failedAt + pauseAfterFailure > now()) return undefined
        entry.renewedAt = now()
      }
      return fetched(uri, entry)
    },
  }
}
