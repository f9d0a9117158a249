import type { RequestHandler } from 'express'
import type { Knex } from 'knex'
import { type AccessSchemas, access } from './access.ts'
import { type Choice, type ChoiceSchemas, choices } from './choices/option.ts'
import { type ConfiguredFeature, type Feature, type FeatureFor, features } from './features.ts'
import { lifetimes } from './lifetimes.ts'
import { type Limit, limits } from './limits.ts'
import { type LoginSchemas, login } from './login.ts'
import { pages } from './pages.ts'
import { protocol } from './protocol.ts'
import { type Resource, resources } from './resources.ts'
import {
  type CheckedMembers,
  custom,
  flag,
  type Given,
  type GivenMembers,
  list,
  object,
  oneOf,
  text,
  withDefault,
} from './schema.ts'
import { scopes } from './scopes.ts'
import { database, issuer, logger, outbound, secrets } from './server.ts'
import { trustProxy } from './trust-proxy.ts'
import {
  type HostUser,
  type OrganizationsSchema,
  organizations,
  type UserFunctions,
  type UserMapping,
  users,
} from './users.ts'

/** A session middleware of the host, such as that of express-session. */
export interface SessionMiddleware extends RequestHandler {}

const session = custom<'own' | 'host' | SessionMiddleware>(
  "'own', 'host' or a session middleware",
  (value) =>
    value === 'own' || value === 'host' || typeof value === 'function'
      ? (value as SessionMiddleware)
      : undefined,
)

// As in a scope, because challenges and `acr_values` separate the values by spaces (RFC 9470 §3).
const acrValue = text(
  "a string without spaces, such as 'urn:example:acr:mfa'",
  (value) => value.length <= 255 && /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(value),
)

/** The schema of all options. A feature has a schema of its own. */
export const optionTree = object({
  /**
   * The issuer identifier (RFC 8414 §2): the public https URL of the mount, without a trailing slash. Tokens, cookies and
   * links are built from it, never from a request's `Host` header. Required in production. @default
   * `http://localhost:${PORT ?? 3000}/oauth`, in development
   */
  issuer,
  /** A Knex instance or configuration, or an object with more settings. Required in production. */
  database,
  /**
   * Secrets of at least 32 bytes, newest first. They encrypt the signing keys in the database and sign cookies and forms:
   * docs/operation.md#replacing-the-secret. Required in production. @default read from `.latchkey-secret`, written once beside the SQLite
   * file, in development; add it to `.gitignore`
   */
  secrets,
  /** Has the functions `info`, `warn` and `error`, which get log messages. @default `console` */
  logger,
  /**
   * The proxies whose headers `oauth.handler` and `oauth.verify` trust: their number, or a list such as `['10.0.0.0/8',
   * 'loopback']`. An Express app has the setting `trust proxy` instead: docs/production.md#proxy.
   */
  trustProxy,
  /** Rules for outbound HTTP requests. */
  outbound,
  /** Your users, in a table or behind functions: docs/users.md. @default a table of Latchkey's own */
  users,
  /**
   * Returns the organizations of a user, who chooses one per client: docs/users.md#organizations. It runs whenever a token
   * is used, so keep it fast. `req` is set on the pages only. @default none
   */
  organizations,
  /** Who may use which client. @default every user may use every client */
  access,
  /** Your own login page, or hooks around the built-in one: docs/users.md#your-own-login-page. */
  login,
  /**
   * Where the pages keep their login: in Latchkey's `'own'` cookie, in your `req.session` (`'host'`), or in the session of a
   * middleware: docs/users.md#sessions. @default `'own'`
   */
  session,
  /**
   * Your own scopes, by name, beside `openid`, `profile`, `email`, `address`, `phone` and `offline_access`. Each is its
   * description for the consent page, or an object.
   */
  scopes,
  /**
   * Things that users choose among when they allow a client, such as projects, by kind: docs/choices.md. An authorization
   * then says which of them the client may use. @default a scope is about everything of the user
   */
  choices,
  /**
   * APIs that have access tokens of their own, by URL (RFC 8707): docs/resources.md. Without it the parameter `resource` is
   * ignored.
   */
  resources,
  /**
   * The authentication levels (`acr`) that logins of your app can have, such as `['password', 'mfa']`:
   * docs/users.md#authentication-levels.
   */
  acrValues: withDefault([], list(acrValue, { what: 'a list of strings without spaces' })),
  /**
   * The PKCE methods to accept (RFC 7636 §4.2): `'S256'`, or also `'plain'`. The latter is only for an old client that
   * cannot hash, because it does not protect the code from those who see the request.
   */
  codeChallengeMethods: withDefault(
    ['S256'],
    list(oneOf('S256', 'plain'), { what: "a list with 'S256', 'plain' or both", min: 1 }),
  ),
  /**
   * Lifetimes in seconds. Without the scope `offline_access`, all tokens end when the user signs out, or `sessionAbsolute` after the
   * login.
   */
  lifetimes,
  /** Limits on guesses of passwords and secrets, and on what costs the server something: docs/options.md#how-limits-count. */
  limits,
  /** Name, look, templates and languages of the pages: docs/pages.md. */
  pages,
  /** Extensions of OAuth and OpenID Connect. Each is named as its specification names it. */
  protocol,
  /**
   * Stores every event for `lifetimes.event`: docs/events.md#stored-events. `latchkey explain` then says what the id of an
   * error is about.
   */
  storedEvents: flag(false),
  /** Product features, such as `passkeys()`: functions of `latchkey/features`. */
  features,
})

type Tree = typeof optionTree

/** The options whose functions get a user of the host. */
interface OptionsAboutUsers<User extends object, Kind extends string> {
  /** Your users: a table, or functions. @default Latchkey's own table */
  users?: UserMapping<User> | UserFunctions<User>
  /** The organizations that a user belongs to. @default none */
  organizations?: Given<OrganizationsSchema<User>>
  /** Who may use which client. @default every user may use every client */
  access?: GivenMembers<AccessSchemas<User>>
  /** Your own login page, or hooks around the built-in one. */
  login?: GivenMembers<LoginSchemas<User>>
  /** Things that users choose among, by kind. @default none */
  choices?: Readonly<Record<Kind, GivenMembers<ChoiceSchemas<User>>>>
}

/**
 * The options of `authRouter()`. Every option has a default in development.
 *
 * @typeParam User the host's type of a user, if it has one: a row of its table, or what its functions return
 * @typeParam Features the list of features, which says what the router has
 * @typeParam Kind the names of `choices`
 */
export interface AuthRouterOptions<
  User extends object = HostUser,
  Features extends readonly FeatureFor<User>[] = readonly Feature[],
  Kind extends string = string,
> extends Omit<GivenMembers<Tree['members']>, keyof OptionsAboutUsers<User, Kind> | 'features'>,
    OptionsAboutUsers<User, Kind> {
  /** Product features: functions of `latchkey/features`, such as `[passkeys()]`. @default none */
  features?: Features
}

type Limits = CheckedMembers<Tree['members']>['limits']

/** Checked options with every default filled in. */
export interface Options extends Omit<CheckedMembers<Tree['members']>, 'features' | 'limits' | 'choices'> {
  readonly features: readonly ConfiguredFeature[]
  /** With those of the features. */
  readonly limits: Limits & {
    readonly failures: Readonly<Record<string, Limit | false>>
    readonly quotas: Readonly<Record<string, Limit | false>>
  }
  readonly issuer: string
  /** The path of the issuer, '' for the root. All links begin with it. */
  readonly basePath: string
  /** True when the issuer is the development default, which may not match the actual mount. */
  readonly issuerIsGuess: boolean
  readonly production: boolean
  readonly database: CheckedMembers<Tree['members']>['database'] & { readonly knex: Knex | Knex.Config }
  readonly secrets: readonly [string, ...string[]]
  /** By canonical identifier; empty if the host has none. */
  readonly resources: Readonly<Record<string, Resource>>
  /** Empty if the host has none. */
  readonly choices: readonly Choice[]
}

/**
 * Returns the options as they are. In a file of their own it keeps what the list of features adds to the router.
 *
 * @example
 * // latchkey.config.ts
 * export default defineConfig({ database, users, features: [passkeys()] })
 * // app.ts
 * const oauth = authRouter(config)
 * await oauth.passkeys.removeAll(id)
 */
export const defineConfig = <
  User extends object = HostUser,
  const Features extends readonly FeatureFor<User>[] = readonly Feature[],
>(
  options: AuthRouterOptions<User, Features>,
): AuthRouterOptions<User, Features> => options
