import type { Request, RequestHandler } from 'express'
import type { Knex } from 'knex'
import type { Organization } from '../protocol/organization.ts'

/** What a host may pass to `authRouter()`. Every field has a default in development; see README for the table. */
export interface AuthRouterOptions {
  /**
   * The issuer identifier (RFC 8414 §2): the public URL of the mount, without a trailing slash.
   * Required in production; https unless the host is loopback.
   * @default `http://localhost:${PORT ?? 3000}/oauth` in development
   */
  issuer?: string
  /**
   * The Knex instance the host owns, or a Knex configuration the kit opens and closes itself.
   * Required in production.
   * @default a better-sqlite3 file, `./latchkey.sqlite`, in development
   */
  database?: Knex | Knex.Config
  /**
   * Secrets of at least 32 bytes that seal signing keys and sign cookies and forms, newest first.
   * Required in production.
   * @default read from, or written once to, `.latchkey-secret` beside the SQLite file in development
   */
  secrets?: readonly (string | undefined)[]
  /**
   * Whether statements are prepared on the database server, and on a PostgreSQL pool that the kit opens sent without
   * waiting. `false` for a pooler that gives each transaction another connection, such as PgBouncer in transaction mode.
   * @default true
   */
  prepared?: boolean
  /** Put before every table name of the kit. @default 'oauth_' */
  tablePrefix?: string
  /** Whether this process removes expired rows, a few at a time, about every ten minutes. @default true */
  cleanUp?: boolean
  /** Where users live: a mapping onto the host's table, or functions. @default the kit's own `users` table */
  users?: UserMapping | UserFunctions
  /**
   * The workspaces of a user, for a host that serves several. The user chooses one for each client, and tokens carry
   * its id. Asked again whenever a token is used, so it should be quick; `req` is there on the pages only.
   * @default the host has none
   */
  organizations?: (
    user: HostUser,
    req?: Request,
  ) => readonly Organization[] | Promise<readonly Organization[]>
  /** The host's own login page instead of the kit's, and what the host remembers after a login. */
  login?: LoginOptions
  /**
   * Whose session the pages use: the kit's, the host's `req.session`, or a session middleware the kit runs itself.
   * @default the kit's, until a `req.session` with `regenerate()` is first seen, then the host's for good
   */
  session?: 'own' | 'host' | RequestHandler
  /** Scopes beyond the standard ones, each with the sentence that the consent page shows. */
  scopes?: Readonly<Record<string, string | ScopeOptions>>
  /** Lifetimes in seconds; see {@link Lifetimes} for the defaults. */
  lifetimes?: Partial<Lifetimes>
  /** Seconds in which a client may repeat a refresh and get the same successor; 0 turns it off. @default 10 */
  refreshTokenGracePeriod?: number
  /** PKCE methods that clients may use (RFC 7636 §4.2). @default ['S256', 'plain'] */
  codeChallengeMethods?: readonly ('S256' | 'plain')[]
  /** How many failures are allowed before the answer is 429; see {@link ThrottleOptions}. `false` turns all limits off. */
  throttle?: ThrottleOptions | false
  /** What is off unless a host turns it on. */
  features?: Features
  /** A folder of templates that replace the kit's own of the same name. */
  views?: string
  /** The language of a page that nobody has asked for in one of the others. @default 'en' */
  language?: string
  /**
   * Languages of the pages by their tag (BCP 47): one of the host's own, other words in one of ours, or `false` to turn
   * one of ours off. @default ours: ar, de, en, es, fr, ja
   */
  locales?: Readonly<Record<string, LocaleOptions | false>>
  /** Name, logo, colour and links of the product on the pages. */
  branding?: Branding
  /**
   * Origins for which outbound requests (keys of clients, logout notices) may use http and private addresses: tests
   * and internal networks. To anywhere else they go over https to public addresses. @default []
   */
  allowOutbound?: readonly string[]
  /** Receives what the operator should know. @default console */
  logger?: Logger
}

/** What is off unless a host turns it on. */
export interface Features {
  /**
   * The implicit and hybrid response types (`token`, `id_token`, `code id_token`, …) for clients whose
   * `response_types` name them. Deprecated (RFC 9700 §2.1.2): a token in a URL leaks through history, logs, referrers
   * and scripts, and nothing binds it to the client that asked for it. A browser-only client uses the authorization
   * code with PKCE instead. Turn it on only for an old client that cannot be changed. @default false
   */
  implicit?: boolean
}

/** So many failures in so much time. */
export interface Limit {
  failures: number
  seconds: number
}

/** What is limited, with its own way to count; only failures count, and an account's name stands for nobody's existence. */
export interface Limits {
  /** Wrong passwords for one account from one address; each further lock of a day lasts twice as long, at most an hour. @default 5 in 15 minutes */
  loginAccountAddress: Limit | false
  /** Wrong passwords from one address. @default 20 in 15 minutes */
  loginAddress: Limit | false
  /** Wrong passwords for one account from anywhere but browsers that it has been used in. @default 50 in a day */
  loginAccount: Limit | false
  /** Failed client authentication at `/token`, for one client from one address. @default 30 in a minute */
  token: Limit | false
  /** The same at `/introspect`. @default 60 in a minute */
  introspect: Limit | false
  /** The same at `/revoke`. @default 60 in a minute */
  revoke: Limit | false
  /** Dead tokens at `/userinfo` from one address; a valid token always passes. @default 60 in a minute */
  userinfo: Limit | false
}

/** A client of the packages `redis` (node-redis 4 and later) or `ioredis`. */
export interface RedisClient {
  multi(...parameters: never[]): unknown
}

/** Limits on failures: guesses of passwords and secrets. */
export interface ThrottleOptions {
  /**
   * Where failed logins are counted: in the kit's database or in Redis for all processes together, or in the memory of
   * each. What clients fail at is counted in memory always: they guess at 256 bits, and it shall cost no statement.
   * @default 'database'
   */
  store?: 'database' | 'memory' | RedisClient
  /** Other limits than the defaults, by name; `false` turns one off. */
  limits?: Partial<Limits>
}

/** Lifetimes in seconds. */
export interface Lifetimes {
  /** Authorization code. @default 60 */
  code: number
  /** Opaque access token. @default 3600 */
  accessToken: number
  /** ID token. @default 3600 */
  idToken: number
  /** A refresh token that is not used dies after this. @default 2592000 (30 days) */
  refreshTokenIdle: number
  /** No refresh reaches beyond this after the consent. @default 31536000 (1 year) */
  refreshTokenAbsolute: number
  /** A signing key gets a successor at this age. @default 7776000 (90 days) */
  signingKey: number
  /**
   * Its successor is published for so long before it signs, so that no client meets a key that its cache does not
   * hold: longer than libraries keep keys. @default 86400 (1 day)
   */
  signingKeyLead: number
  /** A login without activity in the kit's own session. @default 1800 (30 minutes) */
  sessionIdle: number
  /** A login, whatever the activity. @default 43200 (12 hours) */
  sessionAbsolute: number
}

/** A row of the host's user table, exactly as the host's own Knex instance returns it. */
export type UserRow = Record<string, unknown>

/** A claim is a column name of the user row, or a function of the row. */
export type ClaimMapping = string | ((row: UserRow) => unknown)

/** The host's user table, described. */
export interface UserMapping {
  /** The table, as the host's own code names it. */
  table: string
  /** Which columns hold the identifier (becomes `sub`), the login name and the password hash. */
  columns: { id: string; username: string; password: string }
  /** Claim name → column or function of the row. @default {} */
  claims?: Readonly<Record<string, ClaimMapping>>
  /** False for a user who may not log in or be served any more. @default every row is active */
  isActive?: (row: UserRow) => boolean
  /** Checks a password whose stored hash is none of bcrypt, argon2 or scrypt. Awaited. */
  verify?: (password: string, row: UserRow) => boolean | Promise<boolean>
}

/** A user as the function form knows one: any object with an `id` that never changes and is never reused. */
export interface HostUser {
  id: string | number
  [field: string]: unknown
}

/** The host's users behind functions, for whatever is not one table. */
export interface UserFunctions<User extends HostUser = HostUser> {
  /** The user with this id; undefined when gone or disabled. */
  find(id: string): User | undefined | Promise<User | undefined>
  /** The user whom these credentials prove; undefined otherwise. Equal timing for unknown users is the host's. */
  authenticate(username: string, password: string, req: Request): User | undefined | Promise<User | undefined>
  /** All claims of the user that these scopes may reveal; the kit filters by what was consented. */
  claims?(user: User, scopes: readonly string[]): Record<string, unknown> | Promise<Record<string, unknown>>
}

/** What the host's own login knows of the current request. */
export interface HostLogin {
  /** The user's id, as `users` finds it. */
  subject: string | number
  /** When the user last proved who they are, in epoch seconds. */
  time: number
  /** Authentication methods (RFC 8176). @default ['pwd'] */
  methods?: readonly string[]
}

/** Login on the host's own page, or hooks around the kit's. */
export interface LoginOptions {
  /** The host's login page; it sends the browser back to `return_to`. @default the kit's own page */
  url?: string
  /** Who is logged in at the host, if anyone. Required with `url`. */
  current?: (
    req: Request,
  ) => HostLogin | undefined | null | false | '' | 0 | Promise<HostLogin | undefined | null | false>
  /** With the kit's page and the host's session: writes what the host expects there after a login. */
  remember?: (req: Request, user: HostUser) => void | Promise<void>
}

/** A language of the host's own, or other words in one of ours. */
export interface LocaleOptions {
  /** @default that of the script of the language */
  direction?: 'ltr' | 'rtl'
  /** Texts by key; one that is missing is ours, or where we have none that of the default language. */
  texts: Readonly<Record<string, string>>
}

/** What a scope is called in one language. */
export interface ScopeWords {
  /** One sentence for the consent page, seen from the user: "See your orders". */
  description: string
  /** More about it, folded away on the page. */
  details?: string
}

/** A scope of the host's; its words are in the default language. */
export interface ScopeOptions extends ScopeWords {
  /** The same words in other languages, by their tag: `{ de: { description: 'Ihre Bestellungen sehen' } }`. */
  locales?: Readonly<Record<string, ScopeWords>>
  /** Claims that the scope reveals in UserInfo. @default [] */
  claims?: readonly string[]
  /** Whether the user may untick it. @default false */
  optional?: boolean
  /** Under which heading the consent page lists it. @default 'change' for names that say so (`write`, `delete`, …), else 'read' */
  group?: 'identity' | 'read' | 'change'
  /**
   * `'high'` for what can do harm: the consent page says so in words, and an optional one starts unticked until the
   * user has allowed it. @default 'normal'
   */
  risk?: 'normal' | 'high'
}

/** The product, as the pages name it. */
export interface Branding {
  /** @default 'Latchkey' */
  name?: string
  /** Path of the product's mark on the host's own origin; pages load nothing from elsewhere. @default the name's initial on a tinted disc */
  logo?: string
  /**
   * The product's colour, `#rgb` or `#rrggbb`, for buttons and links on light and on dark pages. Where it could not be
   * read or seen there, the nearest lightness of its hue is taken. @default '#2b54c4', and a paler one on dark pages
   */
  accent?: string
  /** Links of the host's that the pages show where they belong. */
  links?: { forgotPassword?: string; signUp?: string; help?: string; privacy?: string }
}

/** The part of `console` that the kit uses. */
export interface Logger {
  info(message: string, ...details: unknown[]): void
  warn(message: string, ...details: unknown[]): void
  error(message: string, ...details: unknown[]): void
}
