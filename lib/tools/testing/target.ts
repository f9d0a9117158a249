import { Browser, type Place } from './browser.ts'
import type { AttackOptions } from './options.ts'
import { described, textField } from './outcome.ts'
import type { Answer } from './wire.ts'

/** The credentials of a client; a public client has no secret. */
export interface Credentials {
  readonly client_id: string
  readonly client_secret?: string
  /** @default Basic */
  readonly method?: 'basic' | 'post'
}

/** A mounted authorization server, seen from outside over HTTP. */
export interface Target {
  readonly issuer: string
  readonly place: Place
  readonly options: AttackOptions
  readonly credentials: Credentials
  /** Whether browsers use https. */
  readonly isSecure: boolean
  /** A path below the mount. */
  path(path: string): string
  /** A new browser. */
  browser(): Browser
}

const originOf = (base: URL, issuer: string): string =>
  (issuer.startsWith('/') ? base : new URL(issuer)).origin

const lowerCase = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))

/** The header of a proxy that terminates TLS, for an app that listens on plain http. */
const proxied = (base: URL, origin: string): Record<string, string> =>
  base.protocol === 'http:' && origin.startsWith('https:') ? { 'x-forwarded-proto': 'https' } : {}

const pathOf = (issuer: string): string =>
  (issuer.startsWith('/') ? issuer : new URL(issuer).pathname).replace(/\/$/, '')

const misplaced = (path: string, answer: Answer): Error =>
  new Error(
    `latchkey/testing: GET ${path} answered ${described(answer)}. Is the router mounted there? ` +
      'Pass the full issuer URL to attack(), and the headers that your proxy adds.',
  )

/** The issuer that the app publishes, so that another server is not attacked by mistake. */
const publishedIssuer = async (browser: Browser, path: string): Promise<string> => {
  const answer = await browser.get(path)
  const issuer = textField(answer, 'issuer')
  if (answer.status !== 200 || issuer === undefined) throw misplaced(path, answer)
  return issuer
}

/**
 * Finds the authorization server in the app.
 *
 * @throws Error if the app has none, or its issuer is a different one
 */
export const openTarget = async (base: URL, options: AttackOptions): Promise<Target> => {
  const { issuer: given, client } = options
  const guess = originOf(base, given)
  const headers = lowerCase(options.headers ?? {})
  const { redirect_uri: redirectUri } = client
  const first = { base, origin: guess, headers: { ...proxied(base, guess), ...headers }, redirectUri }
  const mount = pathOf(given)
  const issuer = await publishedIssuer(new Browser(first), `${mount}/.well-known/openid-configuration`)
  if (!given.startsWith('/') && issuer !== given) {
    throw new Error(`latchkey/testing: the issuer of the app is ${issuer}, not ${given}`)
  }
  const { origin } = new URL(issuer)
  const { frontEnd: page } = options
  const frontEnd =
    page === undefined
      ? undefined
      : {
          page,
          interaction: `${pathOf(issuer)}/interaction`,
        }
  const place = { ...first, frontEnd, origin, headers: { ...proxied(base, origin), ...headers } }
  return {
    issuer,
    place,
    options,
    credentials: client,
    isSecure: origin.startsWith('https:'),
    path: (path) => `${pathOf(issuer)}${path}`,
    browser: () => new Browser(place),
  }
}
