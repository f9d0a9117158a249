import { assertNames, assertRecord, assertType, refuse } from '../options/check.ts'
import type { Browser } from './browser.ts'
import type { Answer } from './wire.ts'

/** A client that is registered in the database of the tests. */
export interface AttackClient {
  client_id: string
  /** Absent: a public client. */
  client_secret?: string
  /** One of its redirect URIs, as registered. */
  redirect_uri: string
  /** Its other redirect URIs, so that none of them is taken for a forged one. @default [] */
  redirect_uris?: readonly string[]
  /** What to ask for. @default 'openid' */
  scope?: string
}

/** What `attack()` needs to know. */
export interface AttackOptions {
  /** The issuer, or the path at which the router is mounted, such as `'/oauth'`. */
  issuer: string
  client: AttackClient
  /** Somebody who may sign in; they will, and will allow the client what it asks for. */
  user: { username: string; password: string }
  /**
   * Signs in on the login page of the host's own. `page` is that page; whatever comes back, the authorization request
   * is looked at again afterwards.
   * @default fills in the kit's page
   * @example login: (browser, page) => browser.submit(page, { email: 'ada@example.com', password: 'her password' })
   */
  login?: (browser: Browser, page: Answer) => unknown
  /**
   * Headers of a proxy, with every request. @default `X-Forwarded-Proto: https` when the issuer is https and the app
   * listens in plain http
   */
  headers?: Readonly<Record<string, string>>
  /** A second registered client, to try what belongs to the first with. @default such attacks are left out */
  otherClient?: { client_id: string; client_secret?: string }
  /** The path of a route of the host's, for GET, behind `requireToken()`. @default such attacks are left out */
  api?: string
  /**
   * How many wrong passwords the limits allow, by default 5. One more is tried, twice, with accounts that do not exist,
   * and this address may be locked afterwards. @default not tried
   */
  wrongPasswords?: number
}

const names = [
  ...['issuer', 'client', 'user', 'login', 'headers', 'otherClient', 'api', 'wrongPasswords'],
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
    refuse('issuer must be a URL, or the path of the mount, which begins with /')
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
