import { temporarilyUnavailable } from './database/errors.ts'
import { migrateDatabase } from './database/migrate.ts'
import { openDatabase } from './database/open.ts'
import { schemaVersion } from './database/schema-version.ts'
import type { Database } from './database/types.ts'
import type { EventDetails } from './events/event.ts'
import { createEvents, type Events } from './events/events.ts'
import { type KeyRing, openKeyRing } from './keys/key-ring.ts'
import { openPairwiseSalt } from './keys/pairwise-salt.ts'
import type { Options } from './options/resolve.ts'
import { type ClientJwks, createClientJwks } from './outbound/client-jwks.ts'
import { createOutbound, type Outbound } from './outbound/outbound.ts'
import { claimsByScope, type ScopeClaims } from './protocol/claims.ts'
import { OAuthError } from './protocol/errors.ts'
import { createThrottle, type Throttle } from './throttle/throttle.ts'
import { createUsers } from './users/index.ts'
import type { Users } from './users/users.ts'

/** Everything a request needs, composed once; the first argument of every handler and rule that does I/O. */
export interface AuthorizationServer {
  readonly options: Options
  readonly issuer: string
  readonly database: Database
  readonly users: Users
  /** Claims by scope: the standard ones, and those of the option `scopes`. */
  readonly scopeClaims: ScopeClaims
  /** Tells whoever listens what happened. */
  readonly events: Events
  /** Limits on failures. */
  readonly throttle: Throttle
  /** Asks hosts that clients named, safely. */
  readonly outbound: Outbound
  /** Keys that clients publish. */
  readonly clientJwks: ClientJwks
  /** @throws Error before {@link ready} */
  readonly keys: KeyRing
  /** @throws Error before {@link ready} */
  readonly pairwiseSalt: Buffer
  /** Epoch seconds. */
  now(): number
  /** Settles when schema and keys are there and up to date; after a failure the next call tries again. */
  ready(): Promise<void>
  /** Whether {@link ready} would have nothing to do. */
  isReady(): boolean
  /** Lets work go on beside the request that began it; a failure is logged. */
  runInBackground(work: Promise<void>): void
  /** Aborted by {@link close}: work aside comes to its end. */
  readonly closing: AbortSignal
  /** Waits for work aside and closes the database pool if the kit opened it. */
  close(): Promise<void>
}

/**
 * In development the schema migrates by itself; in production somebody must have said so.
 *
 * @returns the migrations that only a newer version knows: while a deployment is under way, old code runs on its schema
 * @throws Error naming what the database lacks and the command to run, or that this version is too old for it
 */
export const prepareSchema = async (options: Options, database: Database): Promise<readonly string[]> => {
  const { pending, newer } = await schemaVersion(database)
  if (pending.length > 0 && options.production) {
    throw new Error(`latchkey: the database lacks ${pending.join(', ')}; run: npx latchkey migrate`)
  }
  if (pending.length > 0) await migrateDatabase(database)
  return newer
}

/** Milliseconds that a request waits for the server to be ready; a migration takes as long as it takes. */
const timeoutMs = 8000

/**
 * {@link AuthorizationServer.ready} for a request, which somebody waits for: what was begun goes on without it.
 *
 * @throws OAuthError `temporarily_unavailable` when the server is not ready in time, or cannot be
 */
export const readyInTime = (server: Pick<AuthorizationServer, 'ready'>): Promise<void> =>
  new Promise((resolve, reject) => {
    const fail = (error: unknown): void =>
      reject(error instanceof OAuthError ? error : temporarilyUnavailable(error))
    const timer = setTimeout(() => fail(new Error(`not ready within ${timeoutMs} ms`)), timeoutMs)
    server
      .ready()
      .then(resolve, fail)
      .finally(() => clearTimeout(timer))
  })

/**
 * Composes the server; nothing is read from the database before {@link AuthorizationServer.ready}.
 *
 * @throws Error when the database driver is missing or not supported
 */
export const createAuthorizationServer = (options: Options): AuthorizationServer => {
  const { database, hostKnex, close } = openDatabase(options.database, options.tablePrefix, options)
  const now = (): number => Math.floor(Date.now() / 1000)
  const events = createEvents(options.logger, now)
  const outbound = createOutbound(options.outbound)
  let keys: KeyRing | undefined
  let pairwiseSalt: Buffer | undefined
  let starting: Promise<void> | undefined
  const closing = new AbortController()
  const aside = new Set<Promise<void>>()

  const runInBackground = (work: Promise<void>): void => {
    const settled = work
      .catch((error: unknown) => options.logger.error('latchkey: work beside a request failed', error))
      .finally(() => aside.delete(settled))
    aside.add(settled)
  }

  const start = async (): Promise<void> => {
    const newer = await prepareSchema(options, database)
    if (newer.length > 0) {
      options.logger.info(`latchkey: the database is newer than this version, by ${newer.join(', ')}`)
    }
    pairwiseSalt = await openPairwiseSalt(database, options.secrets)
    const keyPublished = (key: EventDetails['key.published']): void =>
      events.announce('key.published', undefined, key)
    keys = await openKeyRing(database, { ...options, keyPublished }, now)
  }
  const ready = (): Promise<void> => {
    starting ??= start().catch((error: unknown) => {
      starting = undefined
      throw error
    })
    return starting.then(() => keys?.refresh())
  }

  return {
    options,
    issuer: options.issuer,
    database,
    users: createUsers({ users: options.users, knex: hostKnex, database, logger: options.logger }),
    scopeClaims: claimsByScope(options.scopes),
    events,
    throttle: createThrottle(options.throttle, { database, now }),
    outbound,
    clientJwks: createClientJwks({ outbound, logger: options.logger, now }),
    get keys() {
      if (keys === undefined) throw new Error('latchkey: keys are read before the server is ready')
      return keys
    },
    get pairwiseSalt() {
      if (pairwiseSalt === undefined) throw new Error('latchkey: the salt is read before the server is ready')
      return pairwiseSalt
    },
    now,
    ready,
    isReady: () => keys?.isFresh() === true,
    runInBackground,
    closing: closing.signal,
    close: async () => {
      closing.abort()
      await Promise.all(aside)
      await keys?.settled()
      await close()
    },
  }
}
