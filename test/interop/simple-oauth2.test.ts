// simple-oauth2 sends credentials by Basic, form-encoded as RFC 6749 §2.3.1 says, for every grant and to revoke.

import { AuthorizationCode, ClientCredentials } from 'simple-oauth2'
import { callback } from '../support/host.ts'
import { answer, type Provider, startProvider } from '../support/stock-client.ts'
import { ada } from '../support/tokens.ts'

// All of it means something in a form, in a URL or in a Basic header unless it is encoded.
const client = {
  id: "reports+billing&co:(50%)/~=?#*'!",
  secret: `a secret: 100% +&=?#/ "quoted" ~!*'()\\ and long enough`,
}

describe('simple-oauth2', () => {
  let provider: Provider
  let auth: Record<string, string>
  beforeAll(async () => {
    const registration = {
      client_id: client.id,
      client_secret: client.secret,
      redirect_uris: [callback],
      token_endpoint_auth_method: 'client_secret_basic' as const,
      grant_types: ['authorization_code' as const, 'refresh_token' as const, 'client_credentials' as const],
      scope: 'openid profile email notes:read',
    }
    provider = await startProvider({ clients: [registration] })
    auth = { tokenHost: new URL(provider.issuer).origin }
  })
  afterAll(() => provider?.close())

  /** What the API says of the token's user; undefined when it takes it no more. */
  const ask = async (path: string, token: string | undefined): Promise<unknown> => {
    const url = new URL(path, provider.issuer)
    const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } })
    return response.ok ? response.json() : undefined
  }

  const signIn = async (): ReturnType<AuthorizationCode['getToken']> => {
    const code = new AuthorizationCode({ client, auth })
    const scope = ['openid', 'profile', 'email']
    const url = code.authorizeURL({ redirect_uri: callback, scope, state: 'a state' })
    const back = (await answer(provider.browser(), url)).searchParams
    expect(back.get('state')).toBe('a state')
    return code.getToken({ code: back.get('code') ?? '', redirect_uri: callback })
  }

  test('signs in, refreshes and revokes with an id and a secret that need encoding', async () => {
    const first = await signIn()
    expect(first.expired(3500)).toBe(false)
    expect(await ask('/oauth/userinfo', first.token.access_token)).toMatchObject({ name: ada.full_name })

    const second = await first.refresh({ scope: 'openid email' })
    expect(second.token).toMatchObject({ scope: 'openid email', refresh_token: expect.any(String) })
    const claims = { sub: '1', email: ada.email, email_verified: true }
    expect(await ask('/oauth/userinfo', second.token.access_token)).toEqual(claims)

    await second.revoke('access_token')
    expect(await ask('/oauth/userinfo', second.token.access_token)).toBeUndefined()
    const third = await second.refresh()
    await third.revokeAll()
    await expect(third.refresh()).rejects.toMatchObject({
      data: { payload: { error: 'invalid_grant' }, res: { statusCode: 400 } },
    })
  })

  test('revoking the refresh token ends its access tokens too', async () => {
    const signedIn = await signIn()
    await signedIn.revoke('refresh_token')
    expect(await ask('/oauth/userinfo', signedIn.token.access_token)).toBeUndefined()
  })

  test('client credentials give a token for the API', async () => {
    const { token } = await new ClientCredentials({ client, auth }).getToken({ scope: 'notes:read' })
    expect(token).not.toHaveProperty('refresh_token')
    expect(await ask('/api/notes', token.access_token)).toEqual({ subject: null })
  })

  test('a wrong secret is refused as the library expects it', async () => {
    const stranger = new ClientCredentials({ client: { ...client, secret: `${client.secret}.` }, auth })
    await expect(stranger.getToken({ scope: 'notes:read' })).rejects.toMatchObject({
      data: { payload: { error: 'invalid_client' }, res: { statusCode: 401 } },
    })
  })
})
