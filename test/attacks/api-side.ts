import { createPrivateKey, type JsonWebKey, sign } from 'node:crypto'
import type { ClientSeed } from '../../lib/index.ts'
import { openJwk } from '../../lib/keys/sealed-jwk.ts'
import { callback, clients, pkce, secret } from '../support/host.ts'
import { codeOf, expectJsonError } from '../support/outcomes.ts'
import { type Answer, RawBrowser } from '../support/raw-browser.ts'
import { ada, given, type TokenAnswer } from '../support/tokens.ts'
import { type Asked, type Fields, type Form, type Target, writesNothing } from './target.ts'

export type { Asked } from './target.ts'

export const otherSecret = 'another-client-secret-of-more-than-32-characters'
export const web = { client_id: 'web', client_secret: secret }
export const other = { client_id: 'other', client_secret: otherSecret }
export const native = { client_id: 'native', client_secret: undefined }
export const mobile = { client_id: 'mobile', client_secret: undefined }

const everything = 'openid profile email offline_access notes:read notes:write'

/** The usual clients, and those from which an attacker would try what belongs to them. */
export const rivals: ClientSeed[] = [
  ...clients,
  {
    ...other,
    redirect_uris: [callback],
    grant_types: ['authorization_code', 'refresh_token', 'client_credentials'],
    scope: everything,
  },
  {
    client_id: 'mobile',
    token_endpoint_auth_method: 'none',
    redirect_uris: [callback, 'http://127.0.0.1/callback'],
    scope: everything,
  },
]

export const verifier = 'v'.repeat(43)
/** What an authorization request carries for {@link verifier}. */
export const s256 = { code_challenge: pkce(verifier).challenge, code_challenge_method: 'S256' }

export const jsonOf = (answer: Answer): Record<string, unknown> => JSON.parse(answer.html)

export const tokensOf = (answer: Answer): TokenAnswer => {
  if (answer.status !== 200) throw new Error(`expected tokens, got ${answer.status}: ${answer.html}`)
  return JSON.parse(answer.html)
}

const statuses: Readonly<Record<string, number>> = {
  invalid_client: 401,
  invalid_token: 401,
  insufficient_scope: 403,
  temporarily_unavailable: 503,
}

/** As {@link expectJsonError}, by default with the status of the error. */
export const expectRefusal = (answer: Answer, error: string, status = statuses[error] ?? 400): void =>
  expectJsonError(answer, status, error)

/** Everything by which a client could tell two answers apart; a session cookie of the host's is always another one. */
export const comparable = ({ status, html, headers }: Answer) => {
  const { date: _, 'set-cookie': __, ...rest } = headers
  return { status, html, headers: rest }
}

const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

/** A JWT by the server's own RS256 key, as it would sign another kind of token than it does. */
export const signedByServer = async (
  { host: { database } }: Target,
  header: object,
  claims: object,
): Promise<string> => {
  const row = await database.table('signing_keys').where({ algorithm: 'RS256' }).first()
  const opened = openJwk(['a secret of the tests that is long enough'], row.private_key)
  const key = createPrivateKey({ key: opened?.jwk as JsonWebKey, format: 'jwk' })
  const input = `${encoded({ alg: 'RS256', kid: row.kid, ...header })}.${encoded(claims)}`
  return `${input}.${sign('sha256', Buffer.from(input), key).toString('base64url')}`
}

/** What {@link apiSide} says of tokens that nothing has happened to. */
export const alive = { access: 200, refresh: 200 }
export const dead = { access: 401, refresh: 400 }

/**
 * The requests that a client or an attacker sends to the API side of a target, and a user who signs in once and allows
 * what clients ask for.
 *
 * @example
 * describe('a stolen code', () => {
 *   const { codeFor, redeem } = apiSide(targetIn(plainMount))
 *   test('…', async () => expectRefusal(await redeem(await codeFor(), other), 'invalid_grant'))
 * })
 */
export const apiSide = (target: () => Target) => {
  const browsers = new Map<string, RawBrowser>()
  const ask = (path: string, form: Asked | string, headers?: Fields): Promise<Answer> => {
    const body: Form | string = typeof form === 'string' ? form : given(form)
    return target().post(`${target().base}${path}`, body, headers)
  }
  const token = (form: Asked | string, headers?: Fields) => ask('/token', form, headers)
  const redeem = (code: string, fields: Asked = {}) =>
    token({ grant_type: 'authorization_code', code, redirect_uri: callback, ...web, ...fields })
  const refresh = (refresh_token: string, fields: Asked = {}) =>
    token({ grant_type: 'refresh_token', refresh_token, ...web, ...fields })
  const withBearer = (value: string): Fields => ({ Authorization: `Bearer ${value}` })
  const userinfo = (value: string) => target().get(`${target().base}/userinfo`, withBearer(value))

  /** The browser of a person, which stays signed in. */
  const browserOf = ({ email } = ada): RawBrowser => {
    const browser = browsers.get(email) ?? target().browser()
    browsers.set(email, browser)
    return browser
  }
  const authorizeUrl = (parameters: Asked = {}): string => {
    const usual = { response_type: 'code', client_id: 'web', redirect_uri: callback, scope: 'openid' }
    return `${target().base}/authorize?${new URLSearchParams(given({ ...usual, ...parameters }))}`
  }
  const codeFor = async (parameters: Asked = {}, as = ada): Promise<string> => {
    const answer = await browserOf(as).grant(authorizeUrl(parameters), as.email, as.password)
    return codeOf(answer, { iss: target().issuer, redirectUri: parameters.redirect_uri ?? callback })
  }
  const tokensFor = async (parameters: Asked = {}, fields: Asked = {}, as = ada): Promise<TokenAnswer> =>
    tokensOf(await redeem(await codeFor(parameters, as), fields))

  return {
    ask,
    /** Asserts that a request is refused, as {@link expectRefusal} says, and writes nothing. */
    expectRefused: async (send: () => Promise<Answer>, error: string, status?: number): Promise<Answer> => {
      const answer = await writesNothing(target(), send)
      expectRefusal(answer, error, status)
      return answer
    },
    token,
    redeem,
    refresh,
    userinfo,
    introspect: (value: string, fields: Asked = {}) =>
      ask('/introspect', { token: value, ...web, ...fields }),
    revoke: (value: string, fields: Asked = {}) => ask('/revoke', { token: value, ...web, ...fields }),
    own: (fields: Asked = {}) => token({ grant_type: 'client_credentials', ...web, ...fields }),
    /** The host's own API, which asks for the scope `notes:read`. */
    guarded: (value: string) => new RawBrowser(target().host.app).get('/api/notes', withBearer(value)),
    browserOf,
    authorizeUrl,
    codeFor,
    tokensFor,
    /** Tokens of the public client `native`. */
    nativeTokens: (parameters: Asked = {}): Promise<TokenAnswer> =>
      tokensFor({ client_id: 'native', ...s256, ...parameters }, { ...native, code_verifier: verifier }),
    /** Whether access and refresh token still work; asking uses the refresh token up. */
    standing: async (tokens: TokenAnswer, fields: Asked = {}) => ({
      access: (await userinfo(tokens.access_token)).status,
      refresh: (await refresh(tokens.refresh_token, fields)).status,
    }),
    table: (name: string) => target().table(name),
    person: (person = ada) => target().person(person),
  }
}
