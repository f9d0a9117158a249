import {
  type Checked,
  custom,
  either,
  number,
  object,
  oneOf,
  required,
  type Schema,
  type Shape,
  withDefault,
} from './schema.ts'

/** A number of failures or uses in a period of time. */
export interface Limit {
  /** How many are allowed. */
  readonly max: number
  /** The period in which they count. */
  readonly seconds: number
}

const numbers = object(
  { max: required(number()), seconds: required(number({}, ' of seconds')) },
  'false or { max, seconds }',
)

/** A limit with its default; false turns it off. */
export const limit = (max: number, seconds: number): Schema<Limit | false, Limit | false> =>
  withDefault(
    { max, seconds },
    either(oneOf(false), (value) => value === false, numbers, numbers.what),
  )

const quarterHour = 900
const day = 86_400

/** The limits of the core that count failures. Features add theirs. */
export const failures = {
  /** Wrong passwords for one account from one address. Each further lock within a day lasts twice as long, up to an hour. */
  loginAccountAddress: limit(5, quarterHour),
  /** Wrong passwords from one IPv4 address or one IPv6 /64: docs/options.md#shared-addresses. */
  loginAddress: limit(20, quarterHour),
  /** Wrong passwords from one IPv6 /48. */
  loginNetwork: limit(200, quarterHour),
  /** Wrong passwords for one account from all addresses. */
  loginAccount: limit(50, day),
  /** Failed client authentication at `/token`, for one client from one address. */
  token: limit(30, 60),
  /** Failed client authentication at `/introspect`. */
  introspect: limit(60, 60),
  /** Failed client authentication at `/revoke`. */
  revoke: limit(60, 60),
  /** Invalid tokens at `/userinfo` from one address. A valid token always passes. */
  userinfo: limit(60, 60),
}

/** The limits of the core that count every use. Features add theirs. */
export const quotas = {
  /** Requests to one host that self-described clients name: docs/registration.md#requests-to-self-described-clients. */
  clientHost: limit(600, 3600),
  /**
   * Requests of new browsers from one address that Latchkey must store. Each process counts by itself. Raise it if more
   * people behind one address sign in within an hour.
   */
  newBrowser: limit(2000, 3600),
  /** Successful refreshes of one authorization. Each process counts by itself. */
  refresh: limit(30, 60),
}

/** A client of the package `redis` (version 4 or later) or `ioredis`. */
export interface RedisClient {
  /** Runs a script, as `redis` and `ioredis` do. */
  eval(...parameters: never[]): unknown
}

/** Where limits are counted. */
export type LimitStore = 'database' | 'memory' | RedisClient

/** Where limits are counted without a database. */
export const sharedStore = custom<Exclude<LimitStore, 'database'>>(
  "'memory' or a client of redis or ioredis",
  (value) => (isStore(value) && value !== 'database' ? value : undefined),
)

const isStore = (value: unknown): value is LimitStore =>
  value === 'database' || value === 'memory' || typeof Reflect.get(Object(value), 'eval') === 'function'

const members = object(
  {
    /** Limits on failed attempts, each `{ max, seconds }` or `false`. */
    failures: object(failures),
    /**
     * Limits on uses that cost the server something, each `{ max, seconds }` or `false`. Successful uses count too. Those of an
     * address count an IPv6 /64 as one, and allow an IPv6 /48 ten times as much; `clientHost` counts the /48.
     */
    quotas: object(quotas),
    /**
     * How many authorizations one user can have for one client, where every sign-in creates one. If there are more, the oldest
     * end; those with `offline_access` are counted apart. There can be a third more for a while.
     */
    authorizationsPerClient: withDefault(
      100,
      custom<number | false>('false or a whole number, at least 1', (value) =>
        value === false || (Number.isSafeInteger(value) && Number(value) >= 1)
          ? (value as number | false)
          : undefined,
      ),
    ),
    /**
     * Where failed logins and quotas are counted: in the `'database'`, in Redis, or with `'memory'` in each process. Failed
     * client authentication is always counted in memory.
     */
    store: withDefault(
      'database',
      custom<LimitStore>("'database', 'memory' or a client of redis or ioredis", (value) =>
        isStore(value) ? value : undefined,
      ),
    ),
  },
  'false or an object',
)

const isFalse = (value: unknown): boolean => value === false

const noneOf = (shape: object): object => Object.fromEntries(Object.keys(shape).map((name) => [name, false]))

const off: Schema<false, Checked<typeof members>> = {
  what: 'false',
  check: (_value, path) =>
    members.check(
      { failures: noneOf(failures), quotas: noneOf(quotas), authorizationsPerClient: false } as object,
      path,
    ),
}

/** The option `limits`. */
export const limits = either(off, isFalse, members, members.what)

/**
 * The limits of a feature: `false`, or an object with some of them.
 *
 * @param shape limits by name
 */
export const limitsOfFeature = (shape: Shape<object>): Schema => {
  const all: Schema = object(shape, 'false or an object')
  return either(
    { what: 'false', check: (_value, path) => all.check(noneOf(shape), path) } as Schema,
    isFalse,
    all,
    all.what,
  )
}
