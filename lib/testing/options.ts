import { assertNames, assertRecord, assertType, refuse } from '../options/check.ts'
import type { Browser } from './browser.ts'
import type { Answer } from './wire.ts'

/** A client that is registered in the test database. */
export interface AttackClient {
  /** Its id. */
  client_id: string
  /** Absent: a public client. */
  client_secret?: string
  /** One of its redirect URIs, as registered. */
  redirect_uri: string
  /** Its other redirect URIs, so that they are not treated as forged ones. @default [] */
  redirect_uris?: readonly string[]
  /** The scopes to request. @default 'openid' */
  scope?: string
}

/** Options of `attack()`. */
export interface AttackOptions {
  /** The issuer, or the path at which the router is mounted, such as `'/oauth'`. */
  issuer: string
  /** The client that signs the user in. */
  client: AttackClient
  /** A user who may sign in. The attacks sign in as this user and allow the client. */
  user: { username: string; password: string }
  /**
   * Signs in on the host's own login page, which is `page`. Afterwards the authorization request is opened again,
   * whatever the function returns.
   * @default fills in Latchkey's page
   * @example login: (browser, page) => browser.submit(page, { email: 'ada@example.com', password: 'her password' })
   */
  login?: (browser: Browser, page: Answer) => unknown
  /**
   * Headers that a proxy adds to every request. @default `X-Forwarded-Proto: https` if the issuer is https and the app
   * listens on plain http
   */
  headers?: Readonly<Record<string, string>>
  /** A second registered client, to try the first client's codes and tokens. @default such attacks are skipped */
  otherClient?: { client_id: string; client_secret?: string }
  /** The path of a GET route behind `requireToken()`. @default such attacks are skipped */
  api?: string
  /**
   * The number of wrong passwords that the limits allow, 5 by default. One more is tried, twice, with accounts that do
   * not exist. This address may be locked afterwards. @default not tried
   */
  wrongPasswords?: number
}

const names = [
  'issuer',
  'client',
  'user',
  'login',
  'headers',
  'otherClient',
  'api',
  'wrongPasswords',
] as const
const clientNames = ['client_id', 'client_secret', 'redirect_uri', 'redirect_uris', 'scope']

const assertText = (name: string, value: unknown): void => {
  if (typeof value !== 'string' || value === '') refuse(`${name} is required`)
}

/** @throws OptionsError naming what is missing or unknown */
export const assertAttackOptions = (options: AttackOptions): void => {
  assertRecord('the options of attack()', options)
  assertNames('', options, names)
  assertText('issuer', options.issuer)
  if (!options.issuer.startsWith('/') && !URL.canParse(options.issuer)) {
    refuse('issuer must be a URL, or the path of the mount, starting with /')
  }
  assertRecord('client', options.client)
  assertNames('client.', options.client, clientNames)
  assertText('client.client_id', options.client.client_id)
  assertText('client.redirect_uri', options.client.redirect_uri)
  if (!URL.canParse(options.client.redirect_uri)) refuse('client.redirect_uri must be a URL')
  assertRecord('user', options.user)
  assertText('user.username', options.user.username)
  assertText('user.password', options.user.password)
  assertType('login', options.login, 'function')
  assertType('api', options.api, 'string')
  if (options.otherClient !== undefined) assertText('otherClient.client_id', options.otherClient.client_id)
  const { wrongPasswords } = options
  if (wrongPasswords !== undefined && !(Number.isInteger(wrongPasswords) && wrongPasswords > 0)) {
    refuse('wrongPasswords must be a number of attempts')
  }
}
