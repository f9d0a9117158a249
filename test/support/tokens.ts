import supertest from 'supertest'
import { authorizeUrl, callback, type Host, people, secret } from './host.ts'
import { expectJsonError } from './outcomes.ts'
import { locationOf, RawBrowser } from './raw-browser.ts'

export type Fields = Readonly<Record<string, string | undefined>>

/** The confidential client of the tests, with its secret in the form body. */
export const web = { client_id: 'web', client_secret: secret }

export const ada = people[0]!
export const bob = people[1]!

export interface Person {
  readonly email: string
  readonly password: string
}

/** Who walks through login and consent, in which browser. */
export interface Visit {
  readonly agent?: RawBrowser
  readonly as?: Person
}

/** The successful answer of the token endpoint; `refresh_token` and `id_token` may be missing from it. */
export interface TokenAnswer {
  access_token: string
  token_type: string
  expires_in: number
  scope: string
  refresh_token: string
  id_token: string
}

/** Without the fields that are undefined. */
export const given = (fields: Fields): Record<string, string> =>
  Object.fromEntries(
    Object.entries(fields).filter((entry): entry is [string, string] => entry[1] !== undefined),
  )

/** Where a person ends who signs in and allows as far as they are asked: at the client's redirect URI. */
export const authorize = async (
  host: Pick<Host, 'app'>,
  parameters: Fields,
  visit: Visit = {},
): Promise<URL> => {
  const { agent = new RawBrowser(host.app), as = ada } = visit
  const url = authorizeUrl(given({ client_id: 'web', ...parameters }))
  return locationOf(await agent.grant(url, as.email, as.password))
}

/** An authorization code, fresh from login and consent. */
export const codeFor = async (
  host: Pick<Host, 'app'>,
  parameters: Fields = {},
  visit: Visit = {},
): Promise<string> => {
  const location = await authorize(host, { scope: 'openid profile email', ...parameters }, visit)
  const code = location.searchParams.get('code')
  if (code === null) throw new Error(`expected a code, got ${location.search}`)
  return code
}

/** A POST to the token endpoint: fields, or a body as it shall stand on the wire. */
export const post = (host: Pick<Host, 'app'>, body: Fields | string): supertest.Test =>
  supertest(host.app)
    .post('/oauth/token')
    .type('form')
    .send(typeof body === 'string' ? body : new URLSearchParams(given(body)).toString())

/** Redeems a code as the client `web`, unless fields say otherwise. */
export const redeem = (host: Pick<Host, 'app'>, code: string, fields: Fields = {}): supertest.Test =>
  post(host, { grant_type: 'authorization_code', code, redirect_uri: callback, ...web, ...fields })

/** Refreshes as the client `web`, unless fields say otherwise. */
export const refresh = (host: Pick<Host, 'app'>, token: string, fields: Fields = {}): supertest.Test =>
  post(host, { grant_type: 'refresh_token', refresh_token: token, ...web, ...fields })

/** Login, consent and redemption in one. */
export const tokensFor = async (
  host: Pick<Host, 'app'>,
  parameters: Fields = {},
  fields: Fields = {},
  visit: Visit = {},
): Promise<TokenAnswer> => answerOf(redeem(host, await codeFor(host, parameters, visit), fields))

/** The tokens of an answer that must be a success. */
export const answerOf = async (request: PromiseLike<supertest.Response>): Promise<TokenAnswer> => {
  const res = await request
  if (res.status !== 200) throw new Error(`expected tokens, got ${res.status}: ${res.text}`)
  return res.body
}

/** A form that the client `web` sends to an endpoint, unless fields say otherwise. */
const sendTo =
  (path: string) =>
  (host: Pick<Host, 'app'>, token: string | undefined, fields: Fields = {}) =>
    supertest(host.app)
      .post(path)
      .type('form')
      .send(new URLSearchParams(given({ token, ...web, ...fields })).toString())
export const introspect = sendTo('/oauth/introspect')
export const revoke = sendTo('/oauth/revoke')

/** A guarded route of the host's. */
export const guarded = (host: Pick<Host, 'app'>, token: string, path = '/api/notes'): supertest.Test =>
  supertest(host.app).get(path).set('Authorization', `Bearer ${token}`)

export const userinfo = (host: Pick<Host, 'app'>, accessToken: string): supertest.Test =>
  supertest(host.app).get('/oauth/userinfo').set('Authorization', `Bearer ${accessToken}`)

export const expectError = (
  { status, text, headers }: supertest.Response,
  expected: number,
  error: string,
): void => expectJsonError({ status, html: text, headers }, expected, error)
