import type { Logger } from '../options/server.ts'
import { type PublicJwks, usableJwks } from '../protocol/clients/jwks.ts'
import { type Cached, createCached } from './cached.ts'
import type { Outbound } from './outbound.ts'

/** The keys that clients publish at their `jwks_uri`. */
export interface ClientJwks {
  /** The keys, at most ten minutes old, or a day if the client is unavailable; undefined without keys. */
  find(uri: string): Promise<PublicJwks | undefined>
  /** Fetches the keys again because none of {@link find} matches; undefined if they were just fetched. */
  renew(uri: string): Promise<PublicJwks | undefined>
}

/** A cache of such keys. @param cause of what is fetched: one cause neither waits for another nor shares its failures */
export type ClientJwksBy = (cause: string | undefined) => ClientJwks

// A limit, so that registering clients cannot fill the memory.
const maxEntries = 1000

/**
 * Fetches a set of keys (RFC 7517 §5).
 *
 * @throws Error if the response is not a set of keys
 */
export const fetchJwks = async (outbound: Outbound, uri: string, cause?: string): Promise<PublicJwks> => {
  const { status, body } = await outbound.request(uri, {
    accept: 'application/jwk-set+json, application/json',
    ...(cause !== undefined && { cause }),
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
}): ClientJwksBy => {
  const entries = new Map<string, Cached<PublicJwks>>()

  const create = (uri: string, cause: string | undefined): Cached<PublicJwks> =>
    createCached({
      fetch: () => fetchJwks(outbound, uri, cause),
      failed: (error) => {
        const reason = error instanceof SyntaxError ? 'the response is not JSON' : String(error)
        logger.warn(`latchkey: the keys at ${uri} cannot be read: ${reason}`)
      },
      now,
    })

  const entryOf = (uri: string, cause: string | undefined): Cached<PublicJwks> => {
    const key = JSON.stringify([cause, uri])
    const entry = entries.get(key) ?? create(uri, cause)
    entries.set(key, entry)
    const [oldest] = entries.keys()
    if (entries.size > maxEntries && oldest !== undefined) entries.delete(oldest)
    return entry
  }

  return (cause) => ({
    find: (uri) => entryOf(uri, cause).find(),
    renew: (uri) => entryOf(uri, cause).renew(),
  })
}

/** The public keys of the signer of a JWT, or where they are published. */
export interface KeySource {
  readonly jwks?: PublicJwks
  readonly jwksUri?: string
}

/**
 * Opens a JWT with the keys of its signer. If none of the cached keys fits, they may have been rotated: they are
 * fetched again (OIDC Core §10.1.1).
 *
 * @param open returns undefined if none of these keys signed the JWT
 */
export const openWithKeys = async <T>(
  cache: ClientJwks,
  { jwks, jwksUri }: KeySource,
  open: (jwks: PublicJwks) => Promise<T | undefined>,
): Promise<T | undefined> => {
  if (jwks !== undefined) return open(jwks)
  if (jwksUri === undefined) return undefined
  const known = await cache.find(jwksUri)
  const opened = known && (await open(known))
  if (opened !== undefined) return opened
  const renewed = await cache.renew(jwksUri)
  return renewed && open(renewed)
}
