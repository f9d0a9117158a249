import type { Knex } from 'knex'
import { isLoopbackHost } from '../protocol/clients/redirect-uri.ts'
import { refuse } from './check.ts'
import {
  type CheckedMembers,
  custom,
  flag,
  type GivenMembers,
  isRecord,
  list,
  type ObjectSchema,
  object,
  type Schema,
  text,
  withDefault,
} from './schema.ts'

const checkedIssuer = (issuer: unknown, path: string): string | undefined => {
  if (typeof issuer !== 'string' || !URL.canParse(issuer)) return undefined
  const url = new URL(issuer)
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopbackHost(url.hostname))) {
    refuse(`${path} must use https, except on localhost, *.localhost, 127.0.0.1 and [::1]`)
  }
  if (url.search !== '' || url.hash !== '' || issuer.includes('?') || issuer.includes('#')) {
    refuse(`${path} must have neither query nor fragment`)
  }
  if (url.username !== '' || url.password !== '') refuse(`${path} must not contain credentials`)
  if (issuer.endsWith('/')) {
    const end = [...issuer].findLastIndex((character) => character !== '/')
    refuse(`${path} must not end with a slash`, `write ${issuer.slice(0, end + 1)}`)
  }
  const normal = url.href.replace(/\/$/, '')
  if (normal !== issuer) refuse(`${path} must be written as ${normal}`)
  return issuer
}

export const issuer = custom<string>('an absolute URL', checkedIssuer)

const secret = text(
  'a string of at least 32 bytes; generate one with `openssl rand -base64 32`',
  (value) => Buffer.byteLength(value) >= 32,
)

/** Secrets. Those that are not set are left out. */
export const secrets = custom<readonly (string | undefined)[], readonly [string, ...string[]]>(
  'a list, newest first',
  (values, path) => {
    if (!Array.isArray(values)) return undefined
    const [newest, ...older] = values
      .filter((value) => value !== undefined && value !== '')
      .map((value, place) => secret.check(value, `${path}[${place}]`) ?? '')
    if (newest !== undefined) return [newest, ...older]
    return refuse(
      `${path} is empty: is the environment variable set? Generate a secret with \`openssl rand -base64 32\``,
    )
  },
)

/** The part of `console` that Latchkey uses. */
export interface Logger {
  /** An event of normal operation. */
  info(message: string, ...details: unknown[]): void
  /** Something that an operator should look at. */
  warn(message: string, ...details: unknown[]): void
  /** A failure, with its cause. */
  error(message: string, ...details: unknown[]): void
}

const isLogger = (value: unknown): value is Logger =>
  ['info', 'warn', 'error'].every((name) => typeof Reflect.get(Object(value), name) === 'function')

export const logger = withDefault(
  console,
  custom<Logger>('an object with the functions info, warn and error', (value) =>
    isLogger(value) ? value : undefined,
  ),
)

export const origins = list(
  text(
    "an origin, such as 'https://app.example.com'",
    (value) => URL.canParse(value) && new URL(value).origin === value,
  ),
  { what: 'a list of origins' },
)

const isProxy = (value: string): boolean => {
  if (!URL.canParse(value)) return false
  const { protocol, pathname, search, hash } = new URL(value)
  return /^https?:$/.test(protocol) && `${pathname}${search}${hash}` === '/'
}

/** The URL of a proxy for requests to other servers. */
export const proxy = text(
  "the URL of an http or https proxy without a path, such as 'http://proxy.example.com:3128'",
  isProxy,
)

const outboundMembers = {
  /**
   * Origins that may use http or a private address, in your options and in the metadata of clients that you register. Their
   * names are resolved with `/etc/hosts`. Any other origin needs https and a public address, and is resolved by DNS alone.
   */
  allow: withDefault([], origins),
  /**
   * Origins that may use http or a private address in URLs of self-described clients. Anyone can make the server send GET requests to them, so list only
   * servers that nothing but clients use.
   */
  allowSelfDescribed: withDefault([], origins),
  /**
   * The URL of the proxy for requests to all other origins, such as `'http://proxy.example.com:3128'`:
   * docs/operation.md#outbound-proxy. Latchkey does not read `HTTPS_PROXY` and `NO_PROXY`. @default requests go straight to
   * the servers
   */
  proxy,
}

type OutboundSchemasMembers = typeof outboundMembers

/** The members of `outbound`. */
export interface OutboundSchemas extends OutboundSchemasMembers {}

export const outbound: ObjectSchema<OutboundSchemas> = object(outboundMembers)

/** The name of what is not set in a connection, as when a variable of the environment is missing. The driver would try its defaults. */
const missingIn = (connection: unknown): string | undefined => {
  if (!connection) return ''
  if (!isRecord(connection)) return undefined
  const isEmpty = (name: string): boolean => name in connection && !connection[name]
  if (isEmpty('connectionString') && !connection.host) return '.connectionString'
  const names = Object.keys(connection)
  return names.length > 0 && names.every(isEmpty) ? '' : undefined
}

const knex = custom<Knex | Knex.Config>('a Knex instance or configuration', (value) => {
  const config: unknown = typeof value === 'function' ? Object(Reflect.get(value, 'client')).config : value
  const missing = isRecord(config) && 'connection' in config ? missingIn(config.connection) : undefined
  if (missing !== undefined) {
    refuse(
      `the option database has no connection${missing}: is a variable such as DATABASE_URL missing? If it is in a file .env, ` +
        "read that in the file with your options: import 'dotenv/config', or process.loadEnvFile()",
    )
  }
  return typeof value === 'function' || isRecord(value) ? (value as Knex | Knex.Config) : undefined
})

/** The prefix of table names. */
export const tablePrefix = withDefault(
  'latchkey_',
  text('at most 20 characters of a–z, 0–9 and _', (value) => /^[a-z0-9_]{0,20}$/.test(value)),
)

const databaseMembers = {
  /**
   * Your Knex instance, which you close yourself, or a Knex configuration, which Latchkey opens and closes. @default SQLite in
   * `./latchkey.sqlite`, in development
   */
  knex,
  /** The prefix of every table name: at most 20 characters of a–z, 0–9 and _. */
  tablePrefix,
  /**
   * Prepares statements on the database server. Turn it off behind PgBouncer in transaction mode, or a similar pooler:
   * docs/operation.md#poolers.
   */
  preparedStatements: flag(true),
  /**
   * Removes expired rows about every ten minutes: docs/operation.md#expired-rows. Turn it off if you run `latchkey prune` on
   * a schedule.
   */
  prune: flag(true),
}

type DatabaseSchemasMembers = typeof databaseMembers

/** The members of `database`. */
export interface DatabaseSchemas extends DatabaseSchemasMembers {}

const settings: ObjectSchema<DatabaseSchemas> = object(
  databaseMembers,
  'a Knex instance or configuration, or an object with knex',
)

const isKnex = (value: unknown): boolean =>
  typeof value === 'function' ||
  (isRecord(value) && ['client', 'dialect', 'connection'].some((name) => name in value))

/** The database and how it is used. */
export interface DatabaseOptions extends GivenMembers<DatabaseSchemas> {}

/** The database alone, or in an object with how it is used. */
export const database: Schema<Knex | Knex.Config | DatabaseOptions, CheckedMembers<DatabaseSchemas>> = {
  ...settings,
  check: (value, path) => {
    if (!isKnex(value)) return settings.check(value, path)
    if (isRecord(value) && 'knex' in value)
      refuse(`${path} has the settings of Knex beside knex`, `write them in ${path}.knex`)
    const misplaced = isRecord(value) && Object.keys(settings.members).find((name) => name in value)
    if (misplaced) refuse(`${path}.${misplaced} must stand beside knex: ${path}: { knex: {…}, ${misplaced} }`)
    return settings.check({ knex: value }, path)
  },
}
