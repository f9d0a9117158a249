import { statSync } from 'node:fs'
import type { Knex } from 'knex'
import { isLoopbackHost } from '../protocol/clients/redirect-uri.ts'
import { codeChallengeMethods } from '../protocol/requests/pkce.ts'
import { checkedProviders } from './branding.ts'
import { assertNames, assertRecord, assertSeconds, assertType, refuse } from './check.ts'
import { isOrigin } from './features.ts'
import type {
  AuthRouterOptions,
  Lifetimes,
  Logger,
  LoginOptions,
  OutboundOptions,
  TotpLoginOptions,
} from './options.ts'

// One check per option. Each throws OptionsError.

const defaultLifetimes: Lifetimes = {
  code: 60,
  pushedRequest: 60,
  accessToken: 3600,
  jwtAccessToken: 600,
  idToken: 3600,
  refreshTokenIdle: 30 * 86_400,
  refreshTokenAbsolute: 365 * 86_400,
  signingKey: 90 * 86_400,
  signingKeyLead: 86_400,
  sessionIdle: 1800,
  sessionAbsolute: 12 * 3600,
  unusedClient: 30 * 86_400,
  event: 90 * 86_400,
}

export const checkedIssuer = (issuer: unknown): string => {
  if (typeof issuer !== 'string' || !URL.canParse(issuer)) return refuse('issuer must be an absolute URL')
  const url = new URL(issuer)
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopbackHost(url.hostname))) {
    refuse('issuer must use https, except on localhost, 127.0.0.1 and [::1]')
  }
  if (url.search !== '' || url.hash !== '' || issuer.includes('?') || issuer.includes('#')) {
    refuse('issuer must have neither query nor fragment')
  }
  if (url.username !== '' || url.password !== '') refuse('issuer must not contain credentials')
  if (issuer.endsWith('/')) {
    const end = [...issuer].findLastIndex((character) => character !== '/')
    refuse(`issuer must not end with a slash; write ${issuer.slice(0, end + 1)}`)
  }
  const normal = url.href.replace(/\/$/, '')
  if (normal !== issuer) refuse(`issuer must be written as ${normal}`)
  return issuer
}

export const checkedDatabase = (database: unknown): Knex | Knex.Config =>
  typeof database === 'function' || (typeof database === 'object' && database !== null)
    ? (database as Knex | Knex.Config)
    : refuse('database must be a Knex instance or configuration')

export const checkedSecrets = (secrets: unknown, name = 'secrets'): [string, ...string[]] => {
  if (!Array.isArray(secrets)) return refuse(`${name} must be a list, newest first`)
  const [newest, ...older] = secrets
    .filter((secret) => secret !== undefined && secret !== '')
    .map(checkedSecret)
  if (newest === undefined) {
    return refuse(
      `${name} is empty: is the environment variable set? Generate a secret with \`openssl rand -base64 32\``,
    )
  }
  return [newest, ...older]
}

export const checkedSecret = (secret: unknown): string =>
  typeof secret === 'string' && Buffer.byteLength(secret) >= 32
    ? secret
    : refuse('secrets must be strings of at least 32 bytes; generate one with `openssl rand -base64 32`')

export const checkedPrefix = (prefix: unknown): string =>
  typeof prefix === 'string' && /^[a-z0-9_]{0,20}$/.test(prefix)
    ? prefix
    : refuse('tablePrefix must be at most 20 characters long and contain only a–z, 0–9 and _')

export const checkedFlag = (name: string, flag: unknown): boolean =>
  typeof flag === 'boolean' ? flag : refuse(`${name} must be true or false`)

/** The option `login`, with the second factors that Latchkey keeps; undefined is off. */
export interface CheckedLogin extends Omit<LoginOptions, 'totp'> {
  readonly totp?: TotpLoginOptions | undefined
}

const checkedTotp = (
  { totp = false, secondFactor, url }: LoginOptions,
  acrValues: readonly string[],
): TotpLoginOptions | undefined => {
  if (totp === false) return undefined
  const options = totp === true ? {} : totp
  assertRecord('login.totp', options)
  assertNames('login.totp.', options, ['acr'])
  if (url !== undefined || secondFactor !== undefined) {
    refuse(
      'login.totp cannot be used with login.url or login.secondFactor, which ask for a second factor themselves',
    )
  }
  if (options.acr !== undefined && !acrValues.includes(options.acr)) {
    refuse('login.totp.acr must be one of the option acrValues')
  }
  return options
}

export const checkedLogin = (login: LoginOptions, acrValues: readonly string[] = []): CheckedLogin => {
  assertRecord('login', login)
  assertNames('login.', login, [
    'url',
    'identifier',
    'providers',
    'passkeys',
    'current',
    'remember',
    'forget',
    'secondFactor',
    'totp',
    'acr',
  ])
  assertType('login.url', login.url, 'string')
  assertType('login.current', login.current, 'function')
  assertType('login.remember', login.remember, 'function')
  assertType('login.forget', login.forget, 'function')
  assertType('login.secondFactor', login.secondFactor, 'function')
  if (login.url !== undefined && login.secondFactor !== undefined) {
    refuse('login.secondFactor is for the built-in page: with login.url your page asks for the second factor')
  }
  if (login.acr !== undefined && !acrValues.includes(login.acr)) {
    refuse('login.acr must be one of the option acrValues')
  }
  const totp = checkedTotp(login, acrValues)
  if (login.url !== undefined && login.current === undefined) {
    refuse(
      'login.current is required with login.url: it returns the user who is logged in when the browser comes back',
    )
  }
  const { identifier = 'either', providers } = login
  if (!['email', 'username', 'either'].includes(identifier)) {
    refuse("login.identifier must be 'email', 'username' or 'either'")
  }
  if (providers === undefined) return { ...login, totp }
  if (login.current === undefined) {
    refuse('login.current is required with login.providers: it returns the user whom your page signed in')
  }
  return { ...login, totp, providers: checkedProviders(providers) }
}

export const checkedOrganizations = (
  organizations: AuthRouterOptions['organizations'],
): AuthRouterOptions['organizations'] => {
  assertType('organizations', organizations, 'function')
  return organizations
}

export const checkedAdmin = (admin: AuthRouterOptions['admin']): AuthRouterOptions['admin'] => {
  assertType('admin', admin, 'function')
  return admin
}

export const checkedSession = (session: AuthRouterOptions['session']): AuthRouterOptions['session'] =>
  session === undefined || session === 'own' || session === 'host' || typeof session === 'function'
    ? session
    : refuse("session must be 'own', 'host' or a session middleware")

// As in a scope, because challenges and `acr_values` separate the values by spaces (RFC 9470 §3).
const isAcrValue = (value: unknown): boolean =>
  typeof value === 'string' && value.length <= 255 && /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(value)

export const checkedAcrValues = (values: readonly string[]): readonly string[] =>
  Array.isArray(values) && values.every(isAcrValue)
    ? values
    : refuse("acrValues must be a list of strings without spaces, such as 'urn:example:acr:mfa'")

export const checkedLifetimes = (lifetimes: Partial<Lifetimes>): Lifetimes => {
  assertRecord('lifetimes', lifetimes)
  assertNames('lifetimes.', lifetimes, Object.keys(defaultLifetimes))
  const given = Object.entries(lifetimes).filter(([, value]) => value !== undefined)
  for (const [name, value] of given) assertSeconds(`lifetimes.${name}`, value, 1)
  // RFC 9126 §2.2; FAPI 2.0 allows less than 600.
  if (Number(lifetimes.pushedRequest ?? 0) > 600) refuse('lifetimes.pushedRequest must not exceed 600')
  return { ...defaultLifetimes, ...Object.fromEntries(given) }
}

export const checkedGracePeriod = (seconds: number): number => {
  assertSeconds('refreshTokenGracePeriod', seconds, 0)
  return seconds
}

export const checkedMaxAuthorizations = (max: unknown): number | false =>
  max === false || (Number.isSafeInteger(max) && Number(max) > 0)
    ? (max as number | false)
    : refuse('maxAuthorizationsPerClient must be a whole number of at least 1, or false')

export const checkedMethods = (methods: readonly ('S256' | 'plain')[]): readonly ('S256' | 'plain')[] =>
  Array.isArray(methods) &&
  methods.length > 0 &&
  methods.every((method) => codeChallengeMethods.includes(method))
    ? methods
    : refuse("codeChallengeMethods must contain 'S256', 'plain' or both")

export const checkedViews = (views: unknown): string | undefined => {
  if (views === undefined) return undefined
  if (typeof views !== 'string' || !statSync(views, { throwIfNoEntry: false })?.isDirectory()) {
    return refuse('views must be an existing folder of templates')
  }
  return views
}

export const checkedOutbound = (outbound: OutboundOptions): Required<OutboundOptions> => {
  assertRecord('outbound', outbound)
  assertNames('outbound.', outbound, ['allow'])
  const { allow = [] } = outbound
  return Array.isArray(allow) && allow.every(isOrigin)
    ? { allow }
    : refuse("outbound.allow must be a list of origins, such as 'http://127.0.0.1:4001'")
}

export const checkedLogger = (logger: Logger): Logger => {
  for (const name of ['info', 'warn', 'error'] as const) {
    if (typeof logger?.[name] !== 'function') refuse(`logger must have the functions info, warn and error`)
  }
  return logger
}
