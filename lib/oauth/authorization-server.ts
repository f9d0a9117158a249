import { createHash, type KeyObject } from 'node:crypto'
import type { EventDescriptions } from '../events/description.ts'
import { coreEvents } from '../events/descriptions.ts'
import type { EventDetails } from '../events/event.ts'
import { createEventLog, type EventCompanion, type EventLog } from '../events/event-log.ts'
import { createEvents, type Events } from '../events/events.ts'
import type { Observe } from '../events/sighting.ts'
import { createTracing, type Tracing } from '../events/tracing.ts'
import { type KeyRing, openKeyRing } from '../keys/key-ring.ts'
import { namingSecretFile } from '../keys/left-secret.ts'
import { openPairwiseSalt } from '../keys/pairwise-salt.ts'
import { createUsedProofs, type UsedProofs } from '../keys/used-proofs.ts'
import { subscriberOf } from '../limits/network.ts'
import { createThrottle, type Throttle } from '../limits/throttle.ts'
import { featureNamed } from '../options/features.ts'
import { plainLogger, type WarnOnce, warnOnce } from '../options/logger.ts'
import { providerIcons } from '../options/login.ts'
import type { Options } from '../options/options.ts'
import type { Resource } from '../options/resources.ts'
import { scopesOfClaims } from '../options/users.ts'
import { createReaches, type Reaches } from '../outbound/reach.ts'
import { claimsByScope, type ScopeClaims } from '../protocol/claims.ts'
import { HostError } from '../protocol/problem.ts'
import { databaseLocation } from '../storage/database/location.ts'
import { type Migrations, migrateDatabase } from '../storage/database/migrate.ts'
import { type OpenedDatabase, openDatabase } from '../storage/database/open.ts'
import { lackOf, schemaVersion } from '../storage/database/schema-version.ts'
import type { Database } from '../storage/database/types.ts'
import { isClientAllowed } from '../storage/repositories/client-usage.ts'
import { findClient } from '../storage/repositories/clients.ts'
import type { RemoveExpired } from '../storage/repositories/pruning/expired.ts'
import type { AnswerCounter } from '../users/answer-counters.ts'
import { createUsers } from '../users/index.ts'
import { createPasswordVerifier, type PasswordVerifier } from '../users/passwords/password-verifier.ts'
import type { Users } from '../users/users.ts'
import { createLanguages, type Languages, type Texted } from '../web/pages/i18n/languages.ts'
import { warnOfOldCopies } from '../web/pages/template-version.ts'
import { createViews, type Views } from '../web/pages/views.ts'
import type { ClientData } from './clients/client-data.ts'
import type { Added } from './extension-point.ts'

/**
 * An endpoint without its handlers. Discovery, limits on failures and the audiences of client assertions derive from
 * the list of these.
 */
export interface EndpointDescription {
  /** Path below the mount, such as `/token`. */
  readonly path: string
  /** The metadata field that publishes its URL (RFC 8414 §2); without one the endpoint is not published. */
  readonly metadataName?: string
  /** Whether clients authenticate here (RFC 6749 §2.3). */
  readonly authenticatesClient?: boolean
  /** The limit of its failures: a name in the option `limits.failures`. */
  readonly limit?: string
  /** Whether a front end of the host may render its pages (`pages.url`). */
  readonly isInteraction?: boolean
  /** Of a page with a sign-in form of its own: the parameters of its URL that the form keeps. */
  readonly signInParameters?: readonly string[]
}

/** Data of a feature about users. The rows outlive the feature, so this also runs after `.off()`. */
export interface UserData {
  /** Returns what is stored about a user: fields of `UserExport`, without secrets. */
  export(database: Database, subject: string): Promise<object>
  /** Ends what the user could still use without a login, in the transaction in which their logins have ended. */
  revoke(tx: Database, subject: string): Promise<unknown>
  /** Removes every row about a user. It can be repeated after an error. */
  erase(server: ServerSetup, subject: string): Promise<unknown>
  /** Counts wrong answers of a user and may lock the user out; operators see the lock and remove it. @default none */
  readonly answerCounter?: AnswerCounter
}

/** Data of a feature about organizations. The rows outlive the feature, so this also runs after `.off()`. */
export interface OrganizationData {
  /** Returns what is stored about an organization: fields of `OrganizationExport`, without secrets. */
  export(server: ServerSetup, organization: string): Promise<object>
  /** Ends what works for the organization, and removes every row about it. It can be repeated after an error. */
  erase(server: ServerSetup, organization: string): Promise<unknown>
}

/** A feature as the server knows it. */
export interface KnownFeature extends Texted {
  readonly storage?: {
    readonly users: UserData | undefined
    readonly clients: ClientData | undefined
    readonly organizations?: OrganizationData
    /** Removes its expired rows. */
    readonly expired: readonly RemoveExpired[]
  }
  /** The folder of its templates, if it is outside this package. */
  readonly views?: URL
  /** For operators: a description of each type of event that it announces. */
  readonly events?: EventDescriptions<string>
}

/** A feature that takes part in the start of the server. */
export interface StartedFeature {
  /** Prepares what requests need, when the server starts. The server is not ready if it throws. */
  start?(): Promise<void>
  /** Observers, each made once, before any request. */
  readonly observe?: {
    /** Receives all that the server sees of clients and announces as no event. */
    sightings?(server: ServerSetup): Observe
    /** Writes beside stored events, in their transaction. */
    events?(server: ServerSetup): EventCompanion
  }
}

/** The server before its schema and keys are loaded: enough to route requests and to render errors. */
export interface ServerSetup {
  readonly options: Options
  readonly issuer: string
  /** Short and stable for one issuer, so that two routers of one process or host share neither cookies nor session data. */
  readonly fingerprint: string
  readonly endpoints: readonly EndpointDescription[]
  /** The features of the list, also after `.off()`: what they store outlives them. */
  readonly installed: readonly KnownFeature[]
  /** The additions of the features that are on, by extension point. */
  readonly added: Added
  /** Whether a feature is on, by the name of its function: `server.has('pushedRequests')`. */
  has(name: string): boolean
  readonly database: Database
  readonly users: Users
  /** Checks slow hashes, a few at a time: of passwords, and of secrets that were imported. */
  readonly passwords: PasswordVerifier
  readonly events: Events
  /** Stores the events, if `storedEvents` is on. */
  readonly eventLog: EventLog | undefined
  /** Receives what is seen of clients; undefined if no feature asks for it. */
  readonly observe: Observe | undefined
  /** Spans of requests, statements, outbound requests and password checks. */
  readonly tracing: Tracing
  /** Limits on failures. */
  readonly throttle: Throttle
  /** The HTTP clients: for URLs that the host named, and for those of strangers. */
  readonly reach: Reaches
  /** DPoP proofs that were used in this process, if they are not recorded in the database. */
  readonly usedProofs: UsedProofs
  readonly languages: Languages
  /** The resources of the host; empty if it has none. */
  readonly resources: readonly Resource[]
  /** Claims by scope: the standard ones and the host's. */
  readonly scopeClaims: ScopeClaims
  readonly views: Views
  /** The scopes that guards in this process require. */
  readonly guardedScopes: Set<string>
  /** Logs a warning the first time that it is given, with details such as its cause. */
  readonly warnOnce: WarnOnce
  /** Epoch seconds. */
  now(): number
  /**
   * Prepares schema and keys, once. After a failure the next call tries again.
   *
   * @returns the server with its keys
   */
  ready(): Promise<AuthorizationServer>
  /** The server, if {@link ready} would have nothing to do. */
  current(): AuthorizationServer | undefined
  /** Counts an authorization; true after every part of the option `limits.authorizationsPerClient`. */
  isSurplusCheckDue(): boolean
  /** Runs background work; logs failures; {@link close} waits for it. */
  runInBackground(work: Promise<unknown>): void
  /** Waits until no background work is left. */
  settled(): Promise<void>
  /** Aborted by {@link close}, so that background work ends. */
  readonly closing: AbortSignal
  /** Waits for the start and for background work, and closes the database pool if Latchkey opened it. */
  close(): Promise<void>
}

/** Everything a request needs, composed once; the first argument of every handler and rule that does I/O. */
export interface AuthorizationServer extends ServerSetup {
  readonly keys: KeyRing
  /** The secret in pairwise subject identifiers (OIDC Core §8.1). */
  readonly pairwiseSalt: KeyObject
}

/**
 * Requires the tables of this version.
 *
 * @returns migrations that only a newer version knows: during a deployment, old code runs on the new schema
 * @throws Error naming what the database lacks and the command to run, or that this version is too old for it
 */
export const assertSchema = async (
  database: Database,
  migrations: Migrations,
): Promise<readonly string[]> => {
  const { pending, newer } = await schemaVersion(database, migrations)
  if (pending.length > 0) {
    throw new HostError(lackOf(pending), { fix: 'run: npx latchkey migrate' })
  }
  return newer
}

/**
 * A client must not have the id of a resource: the audience of its ID tokens would be that of access tokens.
 *
 * @throws Error that names it
 */
const assertResourcesAreNoClients = async (
  database: Database,
  { resources }: Options,
  now: number,
): Promise<void> => {
  for (const clientId of Object.keys(resources)) {
    if (await findClient(database, { clientId, now })) {
      throw new HostError(`${clientId} is both a resource and the id of a client`, {
        fix: 'rename one of them',
      })
    }
  }
}

/** Creates or updates the tables in development. In production you run `npx latchkey migrate`. */
const migrateInDevelopment = async (
  { production, logger }: Options,
  { database, hostKnex }: OpenedDatabase,
  migrations: Migrations,
): Promise<void> => {
  if (production) return
  const names = await migrateDatabase(database, migrations)
  // The first one makes the first table.
  if (!names.some((name) => name.startsWith('001_'))) return
  logger.info(
    `latchkey: created its tables in ${databaseLocation(hostKnex)}; next, register a client: npx latchkey client create --help`,
  )
}

/** The most requests to URLs of self-described clients at one time. A client has its host for itself, a network has not. */
const strangersAtOnce = {
  networks: { all: 40, perHost: 8, perCause: 4 },
  clients: { all: 40, perHost: 8, perCause: 8 },
}

/** The shares of outbound requests: of the host, of each network, and of each client in use. */
const reachesOf = ({
  options: { outbound, logger },
  database,
  tracing,
  throttle,
  now,
}: Pick<ServerSetup, 'options' | 'database' | 'tracing' | 'throttle' | 'now'>): Reaches => {
  const { allow, allowSelfDescribed, proxy } = outbound
  return createReaches(
    {
      host: { allow, proxy, tracing },
      strangers: {
        allow: allowSelfDescribed,
        proxy,
        tracing,
        count: (host, by) => throttle.takeQuota([{ name: 'clientHost', host, by }]),
      },
      atOnce: strangersAtOnce,
      isAllowed: (clientId) => isClientAllowed(database, { clientId }),
      networkOf: subscriberOf,
    },
    { logger, now },
  )
}

/** The parts that a server is composed of. */
export interface ServerParts extends Pick<ServerSetup, 'endpoints' | 'installed' | 'added'> {
  /** The features that are on. */
  readonly features: readonly StartedFeature[]
  readonly migrations: Migrations
  /**
   * Requires the list to have every feature that the database keeps rows of.
   *
   * @returns the migrations among these that only a newer version knows
   */
  assertListed(database: Database, unknown: readonly string[]): Promise<readonly string[]>
}

/** The types of events that anyone can cause as often as they like. */
const briefEvents = (installed: readonly KnownFeature[]): ReadonlySet<string> =>
  new Set(
    [coreEvents, ...installed.map(({ events }) => events ?? {})].flatMap((descriptions) =>
      Object.entries(descriptions).flatMap(([type, { isBrief }]) => (isBrief ? [type] : [])),
    ),
  )

/**
 * Composes the server. It reads nothing from the database before {@link ServerSetup.ready}.
 *
 * @param parts what the router mounts, and the features
 * @throws Error when the database driver is missing or not supported
 */
export const createAuthorizationServer = (
  given: Options,
  { endpoints, installed, added, features, migrations, assertListed }: ServerParts,
): ServerSetup => {
  const options: Options = { ...given, logger: plainLogger(given.logger) }
  const opened = openDatabase(options.database.knex, options.database.tablePrefix, options.database)
  const tracing = createTracing()
  const { hostKnex, close } = opened
  const database: Database = { ...opened.database, tracing }
  const now = (): number => Math.floor(Date.now() / 1000)
  const throttle = createThrottle(options.limits, { database, now })
  const languages = createLanguages(options, installed)
  const closing = new AbortController()
  const background = new Set<Promise<void>>()
  const passwords = createPasswordVerifier({ tracing })
  // A user may have a third more than the option says until the next check, so that most codes need none.
  const { authorizationsPerClient: maxAuthorizations } = options.limits
  const checkEvery = Math.max(1, Math.floor((maxAuthorizations || 0) / 3))
  let issued = 0
  let ready: AuthorizationServer | undefined
  let starting: Promise<AuthorizationServer> | undefined

  const runInBackground = (work: Promise<void>): void => {
    const settled = work
      .catch((error: unknown) => options.logger.error('latchkey: background work failed', error))
      .finally(() => background.delete(settled))
    background.add(settled)
  }

  const settled = async (): Promise<void> => {
    // Background work may begin more of it, as by its events.
    while (background.size > 0) await Promise.all(background)
  }

  const companions: EventCompanion[] = []
  const eventLog = options.storedEvents
    ? createEventLog({
        logger: options.logger,
        database,
        lifetime: options.lifetimes.event,
        brief: briefEvents(installed),
        networkOf: subscriberOf,
        now,
        companions,
        closing: closing.signal,
        runInBackground,
      })
    : undefined
  const events = createEvents(options.logger, now, eventLog)

  const observers: Observe[] = []
  const observe: Observe = (sighting) =>
    observers.map((observer) => observer(sighting)).find((id) => id !== undefined)

  const start = async (): Promise<AuthorizationServer> => {
    await tracing.load()
    await migrateInDevelopment(options, opened, migrations)
    const newer = await assertListed(database, await assertSchema(database, migrations))
    if (newer.length > 0) {
      options.logger.info(`latchkey: the database is newer than this version, by ${newer.join(', ')}`)
    }
    await assertResourcesAreNoClients(database, options, now())
    await setup.users.assertTable?.()
    const keyPublished = (key: EventDetails['key.published']): void =>
      events.announce('key.published', undefined, key)
    for (const feature of features) await feature.start?.()
    try {
      // The keys first: with a wrong secret they do not open, and no salt is made that the right one could not open.
      const keys = await openKeyRing(database, { ...options, keyPublished }, now)
      const pairwiseSalt = await openPairwiseSalt(database, options.secrets)
      ready = { ...setup, keys, pairwiseSalt }
      return ready
    } catch (error) {
      throw namingSecretFile(error, options)
    }
  }

  const setup: ServerSetup = {
    options,
    issuer: options.issuer,
    fingerprint: createHash('sha256').update(options.issuer).digest('hex').slice(0, 8),
    endpoints,
    installed,
    added,
    has: (name) => featureNamed(options, name) !== undefined,
    database,
    passwords,
    users: createUsers({ ...options, secret: options.secrets[0], knex: hostKnex, database, passwords }),
    events,
    eventLog,
    observe: features.some((feature) => feature.observe?.sightings !== undefined) ? observe : undefined,
    tracing,
    throttle,
    reach: reachesOf({ options, database, tracing, throttle, now }),
    usedProofs: createUsedProofs(now),
    languages,
    resources: Object.values(options.resources),
    scopeClaims: claimsByScope(options.scopes, scopesOfClaims(options.users)),
    views: createViews({
      pages: options.pages,
      pictures: providerIcons(options.login),
      partials: Object.values(options.protocol.authorizationDetails).flatMap(({ partial }) => partial ?? []),
      folders: installed.flatMap(({ views }) => views ?? []),
      basePath: options.basePath,
      languages,
      ...(options.production && { cache: true }),
    }),
    guardedScopes: new Set(),
    warnOnce: warnOnce(options.logger),
    now,
    ready: async () => {
      starting ??= start().catch((error: unknown) => {
        starting = undefined
        throw error
      })
      const server = await starting
      await server.keys.refresh()
      return server
    },
    current: () => (ready?.keys.isFresh() ? ready : undefined),
    isSurplusCheckDue: () => {
      issued = (issued + 1) % checkEvery
      return issued === 0
    },
    runInBackground,
    settled,
    closing: closing.signal,
    close: async () => {
      closing.abort()
      // Its statements would wait for a pool that the host closes next, and never get an answer.
      await starting?.catch(() => {})
      await settled()
      await ready?.keys.settled()
      await close()
    },
  }
  for (const { observe: each } of features) {
    if (each?.sightings) observers.push(each.sightings(setup))
    if (each?.events) companions.push(each.events(setup))
  }
  const { views } = options.pages
  if (views !== undefined && !options.production) warnOfOldCopies(views, options.logger)
  return setup
}
