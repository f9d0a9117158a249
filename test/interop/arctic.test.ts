// arctic signs in with PKCE and without, by Basic with a secret and by client_id in the form without one,
// refreshes and revokes.

import { CodeChallengeMethod, decodeIdToken, generateCodeVerifier, generateState, OAuth2Client } from 'arctic'
import { callback, secret } from '../support/host.ts'
import { answer, type Provider, startProvider } from '../support/stock-client.ts'
import { ada } from '../support/tokens.ts'

const scopes = ['openid', 'profile', 'email']
const claims = { sub: '1', name: ada.full_name, email: ada.email, email_verified: true }

describe('arctic', () => {
  let provider: Provider
  beforeAll(async () => {
    provider = await startProvider({ options: { codeChallengeMethods: ['S256', 'plain'] } })
  })
  afterAll(() => provider?.close())

  const at = (path: string): string => provider.issuer + path
  const web = (): OAuth2Client => new OAuth2Client('web', secret, callback)
  const native = (): OAuth2Client => new OAuth2Client('native', null, callback)

  /** A whole login; with PKCE when there is a method. */
  const signIn = async (client: OAuth2Client, method?: CodeChallengeMethod) => {
    const state = generateState()
    const verifier = method === undefined ? null : generateCodeVerifier()
    const url =
      method === undefined || verifier === null
        ? client.createAuthorizationURL(at('/authorize'), state, scopes)
        : client.createAuthorizationURLWithPKCE(at('/authorize'), state, method, verifier, scopes)
    const back = (await answer(provider.browser(), url)).searchParams
    expect(back.get('state')).toBe(state)
    return client.validateAuthorizationCode(at('/token'), back.get('code') ?? '', verifier)
  }

  const userInfo = async (accessToken: string): Promise<unknown> => {
    const response = await fetch(at('/userinfo'), { headers: { authorization: `Bearer ${accessToken}` } })
    return response.ok ? response.json() : response.status
  }

  test.each<[string, () => OAuth2Client, CodeChallengeMethod | undefined]>([
    ['a secret by Basic and no PKCE', web, undefined],
    ['a secret by Basic and PKCE', web, CodeChallengeMethod.S256],
    ['client_id in the form and PKCE', native, CodeChallengeMethod.S256],
    ['client_id in the form and PKCE of the plain method', native, CodeChallengeMethod.Plain],
  ])('signs in with %s, refreshes and revokes', async (_, client, method) => {
    const tokens = await signIn(client(), method)
    expect(decodeIdToken(tokens.idToken())).toMatchObject({ ...claims, iss: provider.issuer })
    expect(tokens.scopes()).toEqual(scopes)
    expect(tokens.accessTokenExpiresInSeconds()).toBe(3600)

    const refreshed = await client().refreshAccessToken(at('/token'), tokens.refreshToken(), [
      'openid',
      'email',
    ])
    expect(refreshed.scopes()).toEqual(['openid', 'email'])
    const { name: _name, ...withoutName } = claims
    expect(await userInfo(refreshed.accessToken())).toEqual(withoutName)

    await client().revokeToken(at('/revoke'), refreshed.refreshToken())
    expect(await userInfo(refreshed.accessToken())).toBe(401)
    await expect(
      client().refreshAccessToken(at('/token'), refreshed.refreshToken(), []),
    ).rejects.toMatchObject({
      code: 'invalid_grant',
    })
  })

  test('a wrong secret and a missing PKCE challenge are errors that it can read', async () => {
    const stranger = new OAuth2Client('web', 'not the secret of this client', callback)
    const refused = stranger.validateAuthorizationCode(at('/token'), 'a code', null)
    await expect(refused).rejects.toMatchObject({ code: 'invalid_client', description: expect.any(String) })
    const url = native().createAuthorizationURL(at('/authorize'), 'a state', scopes)
    const back = await answer(provider.browser(), url)
    expect(Object.fromEntries(back.searchParams)).toMatchObject({
      error: 'invalid_request',
      state: 'a state',
    })
  })
})
