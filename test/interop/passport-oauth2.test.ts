// passport-oauth2 signs a user in with PKCE and state, with a secret or as a public client, and learns from
// UserInfo by its token who it is.

import { Strategy } from 'passport-oauth2'
import type { ClientSeed } from '../../lib/index.ts'
import { secret } from '../support/host.ts'
import { ada } from '../support/tokens.ts'
import { passportApp } from './passport-app.ts'
import { startWebClient, type WebClient, type WebClientPlace } from './web-client.ts'

class UserInfoStrategy extends Strategy {
  readonly issuer: string
  constructor({ issuer, redirectUri }: WebClientPlace, clientSecret?: string) {
    super(
      {
        clientID: 'app',
        clientSecret,
        callbackURL: redirectUri,
        authorizationURL: `${issuer}/authorize`,
        tokenURL: `${issuer}/token`,
        scope: ['openid', 'profile', 'email'],
        state: true,
        pkce: true,
      },
      (_accessToken, refreshToken, profile, done) =>
        done(null, { ...profile, refreshes: refreshToken !== undefined }),
    )
    this.issuer = issuer
    this._oauth2.useAuthorizationHeaderforGET(true)
  }

  override userProfile(accessToken: string, done: (error: unknown, profile?: object) => void): void {
    this._oauth2.get(`${this.issuer}/userinfo`, accessToken, (error, body) =>
      error ? done(error) : done(null, JSON.parse(body)),
    )
  }
}

const kinds: [string, Partial<ClientSeed>, string | undefined][] = [
  ['a confidential client', { require_pkce: true }, secret],
  ['a public client', { token_endpoint_auth_method: 'none' }, undefined],
]

describe.each(kinds)('passport-oauth2 as %s', (_, registration, clientSecret) => {
  let client: WebClient
  beforeAll(async () => {
    const settings = { callback: '/callback', registration }
    client = await startWebClient({
      ...settings,
      app: (place) => passportApp(new UserInfoStrategy(place, clientSecret)),
    })
  })
  afterAll(() => client?.close())

  test('signs a user in with PKCE and state, and its token works at UserInfo', async () => {
    const { request, page } = await client.signIn('/login')
    expect(Object.fromEntries(request.searchParams)).toMatchObject({
      code_challenge_method: 'S256',
      code_challenge: expect.any(String),
      state: expect.any(String),
    })
    expect(JSON.parse(page.html)).toEqual({
      sub: '1',
      name: ada.full_name,
      email: ada.email,
      email_verified: true,
      refreshes: true,
    })
  })
})
