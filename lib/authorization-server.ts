import type { EventDetails } from './events/event.ts'
import { createEvents, type Events } from './events/events.ts'
import { type KeyRing, openKeyRing } from './keys/key-ring.ts'
import { openPairwiseSalt } from './keys/pairwise-salt.ts'
import type { Options } from './options/resolve.ts'
import { type ClientJwks, createClientJwks } from './outbound/client-jwks.ts'
import { createOutbound, type Outbound } from './outbound/outbound.ts'
import { openDatabase } from './repositories/database.ts'
import { createLastUse, type LastUse } from './repositories/last-use.ts'
import { migrateDatabase, pendingMigrations } from './repositories/migrate.ts'
import type { Database } from './repositories/statement.ts'
import { createThrottle, type Throttle } from './throttle/throttle.ts'
import { createUsers } from './users/index.ts'
import type { Users } from './users/users.ts'

/** Everything a request needs, composed once; the first argument of every handler and rule that does I/O. */
export interface AuthorizationServer {
  readonly options: Options
  readonly issuer: string
  readonly database: Database
  readonly users: Users
  /** Tells whoever listens what happened. */
  readonly events: Events
  /** Limits on failures. */
  readonly throttle: Throttle
  /** When authorizations were last used. */
  readonly lastUse: LastUse
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
  /** Lets work go on beside the request that began it; a failure is logged. */
  runAside(work: Promise<void>): void
  /** Aborted by {@link close}: work aside comes to its end. */
  readonly closing: AbortSignal
  /** Waits for work aside and closes the database pool if the kit opened it. */
  close(): Promise<void>
}

/**
 * In development the schema migrates by itself; in production somebody must have said so.
 *
 * @throws Error naming what the database lacks and the command to run
 */
export const prepareSchema = async (options: Options, database: Database): Promise<void> => {
  if (!options.production) {
    await migrateDatabase(database)
    return
  }
  const pending = await pendingMigrations(database)
  if (pending.length > 0) {
    throw new Error(`latchkey: the database lacks ${pending.join(', ')}; run: npx latchkey migrate`)
  }
}

/**
 * Composes the server; nothing is read from the database before {@link AuthorizationServer.ready}.
 *
 * @throws Error when the database driver is missing or not supported
 */
export const createAuthorizationServer = (options: Options): AuthorizationServer => {
  const { database, hostKnex, close } = openDatabase(options.database, options.tablePrefix, options)
  const now = (): number => Math.floor(Date.now() / 1000)
  const events = createEvents(options.logger, now)
  const outbound = createOutbound({ allow: options.allowOutbound })
  let keys: KeyRing | undefined
  let pairwiseSalt: Buffer | undefined
  let starting: Promise<void> | undefined
  const closing = new AbortController()
  const aside = new Set<Promise<void>>()

  const runAside = (work: Promise<void>): void => {
    const settled = work
      .catch((error: unknown) => options.logger.error('latchkey: work beside a request failed', error))
      .finally(() => aside.delete(settled))
    aside.add(settled)
  }

  const lastUse = createLastUse(database, { now, runAside })

  const start = async (): Promise<void> => {
    await prepareSchema(options, database)
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
    events,
    throttle: createThrottle(options.throttle, { database, now }),
    lastUse,
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
    runAside,
    closing: closing.signal,
    close: async () => {
      closing.abort()
      runAside(lastUse.flush())
      await Promise.all(aside)
      await keys?.settled()
      await close()
    },
  }
}
