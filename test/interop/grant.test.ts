// grant signs in at a provider that it does not know, with PKCE, state and nonce, its secret in the form or by Basic.

import express, { type Express } from 'express'
import session from 'express-session'
import grant from 'grant'
import type { ClientSeed } from '../../lib/index.ts'
import { secret } from '../support/host.ts'
import { ada } from '../support/tokens.ts'
import { startWebClient, type WebClient, type WebClientPlace } from './web-client.ts'

const app = (
  { issuer, origin }: WebClientPlace,
  method: ClientSeed['token_endpoint_auth_method'],
): Express => {
  const latchkey = {
    authorize_url: `${issuer}/authorize`,
    access_url: `${issuer}/token`,
    profile_url: `${issuer}/userinfo`,
    oauth: 2,
    scope_delimiter: ' ',
    key: 'app',
    secret,
    token_endpoint_auth_method: method,
    scope: ['openid', 'profile', 'email'],
    state: true,
    nonce: true,
    pkce: true,
    overrides: { anew: { custom_params: { prompt: 'consent' } } },
    response: ['tokens', 'raw', 'jwt', 'profile'],
    callback: '/signed-in',
    transport: 'session',
  }
  return express()
    .use(session({ secret, resave: false, saveUninitialized: true }))
    .use(grant.express({ defaults: { origin }, latchkey }))
    .get('/signed-in', (req, res) => void res.json((req.session as { grant?: object }).grant))
}

describe.each(['client_secret_post', 'client_secret_basic'] as const)('grant with %s', (method) => {
  let client: WebClient
  beforeAll(async () => {
    const registration = { token_endpoint_auth_method: method, require_pkce: true }
    const settings = { callback: '/connect/latchkey/callback', registration }
    client = await startWebClient({ ...settings, app: (place) => app(place, method) })
  })
  afterAll(() => client?.close())

  test('ends at the client with an ID token for it, the profile and all tokens', async () => {
    const { request, page } = await client.signIn('/connect/latchkey')
    const { code_challenge_method, state, nonce } = Object.fromEntries(request.searchParams)
    expect({ code_challenge_method, state }).toEqual({
      code_challenge_method: 'S256',
      state: expect.any(String),
    })
    const claims = { sub: '1', name: ada.full_name, email: ada.email, email_verified: true }
    expect(JSON.parse(page.html).response).toMatchObject({
      access_token: expect.any(String),
      refresh_token: expect.any(String),
      profile: claims,
      jwt: { id_token: { payload: { ...claims, iss: client.provider.issuer, aud: 'app', nonce } } },
    })
  })

  test('Cancel ends at the client with access_denied', async () => {
    const { page } = await client.signIn('/connect/latchkey/anew', 'deny')
    expect(JSON.parse(page.html).response).toMatchObject({ error: 'access_denied' })
  })
})
