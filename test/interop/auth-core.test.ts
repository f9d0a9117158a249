// @auth/core signs in at an `oidc` provider and knows only its issuer: PKCE, state and nonce, its
// credentials by Basic, and the ID token verified.

import { Auth, type AuthConfig } from '@auth/core'
import express, { type Express, type RequestHandler } from 'express'
import { secret } from '../support/host.ts'
import { type Answer, formOf, type RawBrowser } from '../support/raw-browser.ts'
import { ada } from '../support/tokens.ts'
import { startWebClient, type WebClient, type WebClientPlace } from './web-client.ts'

const config = ({ issuer }: WebClientPlace, idToken: boolean): AuthConfig => ({
  secret,
  trustHost: true,
  basePath: '/auth',
  logger: { error: () => {}, warn: () => {}, debug: () => {} },
  providers: [
    {
      id: 'latchkey',
      name: 'Latchkey',
      type: 'oidc',
      issuer,
      clientId: 'app',
      clientSecret: secret,
      checks: ['pkce', 'state', 'nonce'],
      idToken,
    },
  ],
  callbacks: {
    jwt: ({ token, profile, account }) => (profile ? { ...token, profile, scope: account?.scope } : token),
    session: ({ session, token }) => ({ ...session, profile: token.profile, scope: token.scope }),
  },
})

/** Auth() speaks the Request and Response of the Fetch standard. */
const handler =
  (origin: string, config: AuthConfig): RequestHandler =>
  async (req, res) => {
    const { method } = req
    const headers = Object.entries(req.headers).map(([name, value]): [string, string] => [
      name,
      String(value),
    ])
    const body = method === 'POST' ? req.body : undefined
    const response = await Auth(new Request(origin + req.originalUrl, { method, headers, body }), config)
    for (const [name, value] of response.headers) if (name !== 'set-cookie') res.setHeader(name, value)
    res.setHeader('set-cookie', response.headers.getSetCookie())
    res.status(response.status).send(await response.text())
  }

const app = (place: WebClientPlace, idToken: boolean): Express =>
  express()
    .use('/auth', express.text({ type: 'application/x-www-form-urlencoded' }))
    .use('/auth', handler(place.origin, config(place, idToken)))
    .get('/', (_req, res) => void res.send('welcome'))

/** Its own sign-in page has a form with a button for each provider. */
const begin = async (atClient: RawBrowser): Promise<Answer> => {
  const { action, fields } = formOf((await atClient.open('/auth/signin')).html, 'Sign in with Latchkey')
  return atClient.follow(await atClient.post(action, fields))
}

describe.each([
  ['the ID token', true],
  ['UserInfo', false],
])('@auth/core, with the profile from %s', (_, idToken) => {
  let client: WebClient
  beforeAll(async () => {
    const settings = { callback: '/auth/callback/latchkey', registration: { require_pkce: true } }
    client = await startWebClient({ ...settings, app: (place) => app(place, idToken) })
  })
  afterAll(() => client?.close())

  test('ends in a session of the client for the user', async () => {
    const { request, page, atClient } = await client.signIn(begin)
    expect(Object.fromEntries(request.searchParams)).toMatchObject({
      code_challenge_method: 'S256',
      state: expect.any(String),
      nonce: expect.any(String),
    })
    expect(page.html).toBe('welcome')
    const session = JSON.parse((await atClient.open('/auth/session')).html)
    expect(session).toMatchObject({
      user: { name: ada.full_name, email: ada.email },
      profile: { sub: '1', name: ada.full_name, email: ada.email, email_verified: true },
      scope: 'openid profile email',
    })
    expect('iss' in session.profile).toBe(idToken)
  })
})
