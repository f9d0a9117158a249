import type { Request, RequestHandler } from 'express'
import type { Knex } from 'knex'
import type { SecurityProfile } from '../protocol/clients/security-profile.ts'
import type { Organization } from '../protocol/requests/organization.ts'
import type { AuthorizationDetailsType } from './authorization-details-options.ts'
import type { DeveloperCheck, DeveloperOptions } from './developer-options.ts'
import type { DeviceAuthorizationOptions } from './device-options.ts'
import type { DpopOptions } from './dpop-options.ts'
import type { GrantDefinition } from './grant-options.ts'
import type { MutualTlsOptions } from './mutual-tls-options.ts'
import type { Branding, LocaleOptions, ScopeOptions } from './page-options.ts'
import type { PersonalTokenOptions } from './personal-token-options.ts'
import type { MetadataDocumentOptions, RegistrationOptions } from './registration-options.ts'
import type { ResourceOptions } from './resource-options.ts'
import type { TokenExchangeOptions } from './token-exchange-options.ts'
import type { TrustedIssuerOptions } from './trusted-issuer-options.ts'
import type { HostUser, LoginOptions, UserFunctions, UserMapping } from './user-options.ts'

export type { AuthorizationDetailsType, DetailField } from './authorization-details-options.ts'
export type { DeveloperCheck, DeveloperOptions } from './developer-options.ts'
export type { DeviceAuthorizationOptions } from './device-options.ts'
export type { DpopOptions } from './dpop-options.ts'
export type { GrantDecision, GrantDefinition, GrantRequest } from './grant-options.ts'
export type { MutualTlsOptions } from './mutual-tls-options.ts'
export type {
  Branding,
  LocaleOptions,
  LogoPair,
  Picture,
  ScopeOptions,
  ScopeWords,
} from './page-options.ts'
export type { PasskeyOptions } from './passkey-options.ts'
export type { PersonalTokenOptions } from './personal-token-options.ts'
export type {
  ClientPolicy,
  MetadataDocumentOptions,
  RegistrationOptions,
  RegistrationRequest,
} from './registration-options.ts'
export type { ResourceOptions, ResourceTokenRequest } from './resource-options.ts'
export type {
  TokenExchangeDecision,
  TokenExchangeOptions,
  TokenExchangeRequest,
} from './token-exchange-options.ts'
export type { TrustedIssuerOptions } from './trusted-issuer-options.ts'
export type {
  ClaimMapping,
  HostLogin,
  HostUser,
  LoginOptions,
  LoginProof,
  LoginProvider,
  SecondFactor,
  SecondFactorRequest,
  TotpLoginOptions,
  UserFunctions,
  UserMapping,
  UserRow,
} from './user-options.ts'

/** The options of `authRouter()`. Every option has a default in development. */
export interface AuthRouterOptions {
  /**
   * The issuer identifier (RFC 8414 §2): the public URL of the mount, without a trailing slash. It must use https,
   * except on a loopback address. Required in production.
   * @default `http://localhost:${PORT ?? 3000}/oauth` in development
   */
  issuer?: string
  /**
   * The Knex instance of the host, or a Knex configuration that Latchkey opens and closes. Required in production.
   * @default a better-sqlite3 file, `./latchkey.sqlite`, in development
   */
  database?: Knex | Knex.Config
  /**
   * Secrets of at least 32 bytes, newest first. They encrypt the signing keys and sign cookies and forms. Required in
   * production.
   * @default a secret written once to `.latchkey-secret`, beside the SQLite file, in development
   */
  secrets?: readonly (string | undefined)[]
  /**
   * Prepares SQL statements on the database server. Set it to false behind a pooler that changes the connection between
   * transactions, such as PgBouncer in transaction mode. @default true
   */
  preparedStatements?: boolean
  /** Prefix of all table names. @default 'oauth_' */
  tablePrefix?: string
  /** Removes expired rows in this process, about every ten minutes. @default true */
  prune?: boolean
  /**
   * Stores every event for `lifetimes.event`, in the background. Errors of API endpoints then have an `error_id`, and
   * `latchkey explain` says what such an id, or the one on an error page, is about. @default false
   */
  storeEvents?: boolean
  /** Where users live: the host's table, or functions. @default a table of Latchkey's own */
  users?: UserMapping | UserFunctions
  /**
   * Returns the organizations that a user belongs to. The user chooses one per client, and tokens carry its id. It runs
   * again whenever a token is used, so keep it fast. `req` is set on the pages only. @default no organizations
   */
  organizations?: (
    user: HostUser,
    req?: Request,
  ) => readonly Organization[] | Promise<readonly Organization[]>
  /**
   * Turns on the admin pages at `/admin`, and says who may use them. It runs at every request of these pages, and is their only
   * guard. `true` or the id of the administrator, which events have as `actor`, allows the request. Nothing else does.
   * @default no admin pages
   * @example (req) => req.user?.isAdmin === true && req.user.id
   */
  admin?: (req: Request) => boolean | string | Promise<boolean | string>
  /** The host's own login page, or hooks around the built-in one. @default the built-in login page */
  login?: LoginOptions
  /**
   * Where the pages keep their login: in a cookie of Latchkey's own, in the host's `req.session` as express-session makes
   * it, or in the session of a middleware to run. @default 'own'
   */
  session?: 'own' | 'host' | RequestHandler
  /** Scopes beyond the standard ones, each with the sentence that the consent page shows. @default {} */
  scopes?: Readonly<Record<string, string | ScopeOptions>>
  /**
   * APIs that have access tokens of their own, by URL (RFC 8707): `{ 'https://app.example.com/mcp': { scopes: ['notes:read'] } }`.
   * @default {}: the parameter `resource` is ignored
   */
  resources?: Readonly<Record<string, ResourceOptions>>
  /**
   * The authentication levels (`acr`) that logins of the host can have, as `login.current` reports them. Clients request
   * one of them with `acr_values`, and guards require one with `{ acr }` (RFC 9470). @default none
   */
  acrValues?: readonly string[]
  /**
   * Issuers whose assertions clients may exchange for access tokens (RFC 7523 §2.1), by their `iss`: identity providers of
   * organizations (ID-JAG), or token services of workloads. @default {}: the grant is off
   */
  trustedIssuers?: Readonly<Record<string, TrustedIssuerOptions>>
  /**
   * Types of `authorization_details` that clients may request (RFC 9396), such as a payment: how they are checked, and what
   * the consent page says about them. @default {}: the parameter is ignored
   */
  authorizationDetails?: Readonly<Record<string, AuthorizationDetailsType>>
  /** Grants of your own at the token endpoint, each made with `defineGrant()` (RFC 6749 §4.5). @default [] */
  grants?: readonly GrantDefinition[]
  /**
   * Lets users register clients of their own at `/developer`: a function that says which users may, or the function with
   * limits. @default off
   */
  developers?: DeveloperCheck | DeveloperOptions
  /** Lifetimes in seconds. @default see {@link Lifetimes} */
  lifetimes?: Partial<Lifetimes>
  /**
   * Seconds in which a client may repeat a refresh and get the same new refresh token. 0 turns it off, so that one lost
   * response ends the grant. @default 10
   */
  refreshTokenGracePeriod?: number
  /**
   * How many authorizations one user can have for one client, where every sign-in creates one. The oldest end, at the
   * latest when there are a third more. Those with `offline_access` are counted apart. `false` turns it off. @default 100
   */
  maxAuthorizationsPerClient?: number | false
  /** PKCE methods to accept (RFC 7636 §4.2). @default ['S256', 'plain'] */
  codeChallengeMethods?: readonly ('S256' | 'plain')[]
  /** Limits on failed logins and failed client authentication. `false` turns all limits off. @default see {@link Limits} */
  throttle?: ThrottleOptions | false
  /** Optional protocol features. @default all off */
  features?: Features
  /**
   * Holds every client to the FAPI 2.0 Security Profile, as `security_profile` holds one. Clients that do not comply are not
   * served. @default none
   */
  securityProfile?: SecurityProfile
  /** A folder of templates that replace the built-in templates of the same name. @default the built-in templates */
  views?: string
  /** The language of pages, unless the user prefers another available one. @default 'en' */
  defaultLocale?: string
  /**
   * Languages of the pages by language tag (BCP 47): new ones, changed texts, or `true` and `false` to turn a built-in
   * one on and off.
   * @default those of the built-in languages ar, de, en, es, fr and ja in which all `scopes` have texts
   */
  locales?: Readonly<Record<string, LocaleOptions | boolean>>
  /** Name, logo, colour and links of the product on the pages. @default { name: 'Latchkey' } */
  branding?: Branding
  /** Rules for outbound HTTP requests: clients' keys and logout notifications. @default { allow: [] } */
  outbound?: OutboundOptions
  /** Receives log messages. @default console */
  logger?: Logger
}

/** Optional protocol features. */
export interface Features {
  /**
   * The implicit and hybrid response types (`token`, `id_token`, `code id_token`, …) for clients that register them.
   * Deprecated (RFC 9700 §2.1.2): a token in a URL leaks through history, logs, referrers and scripts. New clients use
   * the authorization code with PKCE. @default false
   */
  implicit?: boolean
  /**
   * Dynamic client registration at `/register` (RFC 7591) and its management (RFC 7592), as MCP clients need it.
   * @default false
   */
  registration?: boolean | RegistrationOptions
  /**
   * Clients whose `client_id` is the https URL of a document with their metadata, which Latchkey reads
   * (draft-ietf-oauth-client-id-metadata-document). @default false
   */
  clientMetadataDocuments?: boolean | MetadataDocumentOptions
  /**
   * Authorization requests as JWTs that clients sign (RFC 9101, OIDC Core §6): in `request`, or at a `request_uri` that the
   * client registered and Latchkey fetches. @default false
   */
  requestObjects?: boolean
  /**
   * Clients exchange access tokens of users that they received for tokens at other resources, as far as your policy allows
   * (RFC 8693). @default false
   */
  tokenExchange?: false | TokenExchangeOptions
  /**
   * Pushed authorization requests at `/par` (RFC 9126): clients send their requests directly, and the browser carries a
   * reference. `'required'` refuses all other requests. @default false
   */
  pushedRequests?: boolean | 'required'
  /**
   * Logout pages of clients in hidden frames (OIDC Front-Channel Logout), for clients that cannot receive back-channel
   * logout. Browsers that block third-party cookies make most of them useless. @default false
   */
  frontChannelLogout?: boolean
  /**
   * Tokens for devices without a browser or a keyboard, such as TVs and command lines, which show a code that their user
   * types at `/device` (RFC 8628). @default false
   */
  deviceAuthorization?: boolean | DeviceAuthorizationOptions
  /**
   * Certificates of clients (RFC 8705): `tls_client_auth`, `self_signed_tls_client_auth`, and tokens that only the holder of
   * the certificate can use. `true` reads the certificates of the TLS connections of the app. @default false
   */
  mutualTls?: boolean | MutualTlsOptions
  /**
   * Access tokens that only the holder of a key can use (RFC 9449): a client that sends DPoP proofs gets them, and UserInfo and
   * guards in this process require a proof with each. @default false
   */
  dpop?: boolean | DpopOptions
  /**
   * Access tokens that users make for themselves at `/account/tokens`, for scripts and tools. `requireToken()` accepts them
   * for APIs without a resource. `true` allows all scopes of the option `scopes`. @default false
   */
  personalAccessTokens?: boolean | PersonalTokenOptions
}

/** Rules for outbound HTTP requests. */
export interface OutboundOptions {
  /**
   * Origins that may use http or a private address, such as `'http://127.0.0.1:4001'` in tests. Requests to any other
   * origin must use https and a public address. @default []
   */
  allow?: readonly string[]
}

/** A number of failures in a period of time. */
export interface Limit {
  /** How many failures are allowed. */
  failures: number
  /** The period in which they count. */
  seconds: number
}

/** The limits, each counted separately. Only failures count. `false` turns a limit off. */
export interface Limits {
  /**
   * Wrong passwords for one account from one address. Each further lock within a day lasts twice as long, up to an
   * hour. @default 5 in 15 minutes
   */
  loginAccountAddress: Limit | false
  /** Wrong passwords from one address. @default 20 in 15 minutes */
  loginAddress: Limit | false
  /** Wrong passwords from one /48 of IPv6 addresses, which one subscriber may have whole. @default 200 in 15 minutes */
  loginNetwork: Limit | false
  /** Wrong passwords for one account from all addresses. @default 50 in a day */
  loginAccount: Limit | false
  /**
   * Codes typed at `/device` that no device waits with, from one address. Within these three limits anyone may try; a
   * signed-in user also has `userCodeUser`. @default 20 in 15 minutes
   */
  userCodeAddress: Limit | false
  /** The same from one /48 of IPv6 addresses. @default 200 in 15 minutes */
  userCodeNetwork: Limit | false
  /** The same from all addresses. @default 1000 in an hour */
  userCodeTotal: Limit | false
  /** The same of one signed-in user. @default 10 in 15 minutes */
  userCodeUser: Limit | false
  /** Failed client authentication at `/token`, per client and address. @default 30 in a minute */
  token: Limit | false
  /** Failed client authentication at `/introspect`, per client and address. @default 60 in a minute */
  introspect: Limit | false
  /** Failed client authentication at `/revoke`, per client and address. @default 60 in a minute */
  revoke: Limit | false
  /** Failed client authentication at `/par`, per client and address. @default 30 in a minute */
  par: Limit | false
  /** Invalid tokens at `/userinfo` from one address. A valid token always passes. @default 60 in a minute */
  userinfo: Limit | false
  /** Wrong tokens at `/register` from one address. @default 30 in a minute */
  register: Limit | false
  /** Registrations and their changes from one address; each counts. @default 60 in an hour */
  registration: Limit | false
  /** The same in a day. @default 300 in a day */
  registrationDaily: Limit | false
  /** New metadata documents that requests from one address make the server read; each counts. @default 60 in an hour */
  document: Limit | false
  /** New metadata documents read from one host; each counts. @default 600 in an hour */
  documentHost: Limit | false
  /** Failed client authentication at `/device_authorization`, per client and address. @default 30 in a minute */
  device_authorization: Limit | false
  /** Requests at `/device_authorization` from one address; each counts. @default 100 in an hour */
  deviceCode: Limit | false
  /** Clients that one user registers at `/developer`; each counts. @default 30 in a day */
  developerClient: Limit | false
  /** Codes that are sent to one user as a second factor; each counts. @default 10 in an hour */
  secondFactorSend: Limit | false
}

/** A client of the package `redis` (version 4 or later) or `ioredis`. */
export interface RedisClient {
  /** Runs a script, as `redis` and `ioredis` do. */
  eval(...parameters: never[]): unknown
}

/** Limits on failures: guesses of passwords and secrets. */
export interface ThrottleOptions {
  /**
   * Where failed logins are counted: in the database or in Redis for all processes together, or in the memory of each
   * process. Failed client authentication is always counted in memory; 256-bit secrets do not justify a query.
   * @default 'database'
   */
  store?: 'database' | 'memory' | RedisClient
  /** Limits that differ from the defaults. @default {} */
  limits?: Partial<Limits>
}

/** Lifetimes in seconds. */
export interface Lifetimes {
  /** Authorization code. @default 60 */
  code: number
  /** Pushed request, until a browser opens it (RFC 9126 §2.2); at most 600. @default 60 */
  pushedRequest: number
  /** Opaque access token. @default 3600 (1 hour) */
  accessToken: number
  /** JWT access token, which nothing can end earlier at an API that only checks the signature. @default 600 (10 minutes) */
  jwtAccessToken: number
  /** ID token. @default 3600 (1 hour) */
  idToken: number
  /** Refresh token that is not used. @default 2592000 (30 days) */
  refreshTokenIdle: number
  /** All refresh tokens of one grant, counted from the user's consent. @default 31536000 (1 year) */
  refreshTokenAbsolute: number
  /** Age at which a signing key gets a successor. @default 7776000 (90 days) */
  signingKey: number
  /**
   * Time between publishing a signing key and signing with it. It must exceed the time for which clients cache keys.
   * @default 86400 (1 day)
   */
  signingKeyLead: number
  /** Login without activity, in Latchkey's own session. @default 1800 (30 minutes) */
  sessionIdle: number
  /** Login, regardless of activity. @default 43200 (12 hours) */
  sessionAbsolute: number
  /** Self-registered client that no user has allowed anything. @default 2592000 (30 days) */
  unusedClient: number
  /** Event in the database, with the option `storeEvents`. @default 7776000 (90 days) */
  event: number
}

/** The part of `console` that Latchkey uses. */
export interface Logger {
  /** What happened in normal operation. */
  info(message: string, ...details: unknown[]): void
  /** What an operator should look at. */
  warn(message: string, ...details: unknown[]): void
  /** A failure, with its cause. */
  error(message: string, ...details: unknown[]): void
}
