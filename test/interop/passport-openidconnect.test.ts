// passport-openidconnect signs a user in without PKCE: state and nonce in its session, its secret in the form,
// then UserInfo.

import { Strategy } from 'passport-openidconnect'
import { secret } from '../support/host.ts'
import { ada } from '../support/tokens.ts'
import { passportApp } from './passport-app.ts'
import { startWebClient, type WebClient, type WebClientPlace } from './web-client.ts'

const strategy = ({ issuer, redirectUri }: WebClientPlace): Strategy =>
  new Strategy(
    {
      issuer,
      clientID: 'app',
      clientSecret: secret,
      callbackURL: redirectUri,
      authorizationURL: `${issuer}/authorize`,
      tokenURL: `${issuer}/token`,
      userInfoURL: `${issuer}/userinfo`,
      scope: ['profile', 'email'],
      nonce: true,
      maxAge: 300,
      skipUserProfile: false,
    },
    (iss, profile, context, _idToken, _accessToken, refreshToken, done) =>
      done(null, { iss, ...profile, since: context.timestamp, refreshes: refreshToken !== undefined }),
  )

describe('passport-openidconnect', () => {
  let client: WebClient
  beforeAll(async () => {
    client = await startWebClient({ callback: '/callback', app: (place) => passportApp(strategy(place)) })
  })
  afterAll(() => client?.close())

  test('signs a user in without PKCE and has the claims of ID token and UserInfo', async () => {
    const { request, page } = await client.signIn('/login')
    expect(Object.fromEntries(request.searchParams)).toMatchObject({
      state: expect.any(String),
      nonce: expect.any(String),
      max_age: '300',
    })
    expect(request.searchParams.has('code_challenge')).toBe(false)
    expect(JSON.parse(page.html)).toEqual({
      iss: client.provider.issuer,
      id: '1',
      displayName: ada.full_name,
      refreshes: true,
      emails: [{ value: ada.email }],
      since: expect.any(String),
    })
  })

  test('Cancel fails the login at the client, and nothing else', async () => {
    const { page, atClient } = await client.signIn('/login-anew', 'deny')
    expect(page).toMatchObject({ status: 401, html: 'Unauthorized' })
    expect((await atClient.open('/login')).location).toBeDefined()
  })
})
