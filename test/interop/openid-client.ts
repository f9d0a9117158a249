import { exportJWK, generateKeyPair } from 'jose'
import * as openid from 'openid-client'
import { callback, secret } from '../support/host.ts'
import { answer, type Provider, type Start, startProvider } from '../support/stock-client.ts'
import { ada } from '../support/tokens.ts'

const scope = 'openid profile email notes:read'
const claims = { sub: '1', name: ada.full_name, email: ada.email, email_verified: true }

interface SignedIn {
  readonly tokens: Awaited<ReturnType<typeof openid.authorizationCodeGrant>>
  readonly nonce: string
}

/** A login as the documentation of openid-client shows it; PKCE where a verifier is given. */
const signIn = async (
  provider: Provider,
  config: openid.Configuration,
  { verifier, decision }: { verifier?: string; decision?: 'deny' } = {},
): Promise<SignedIn> => {
  const state = openid.randomState()
  const nonce = openid.randomNonce()
  const challenge = verifier && {
    code_challenge: await openid.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  }
  const url = openid.buildAuthorizationUrl(config, {
    redirect_uri: callback,
    scope,
    state,
    nonce,
    max_age: '300',
    ...challenge,
    // A consent that is remembered would not be asked for again.
    ...(decision && { prompt: 'consent' }),
  })
  const back = await answer(provider.browser(), url, decision)
  const tokens = await openid.authorizationCodeGrant(config, back, {
    expectedState: state,
    expectedNonce: nonce,
    pkceCodeVerifier: verifier,
    maxAge: 300,
    idTokenExpected: true,
  })
  return { tokens, nonce }
}

/** Everything that openid-client does with Latchkey, which verifies each answer; in whatever Express the file has. */
export const describeOpenidClient = (express: string, start: Start = startProvider): void => {
  describe.each(['/oauth', '/'])(`openid-client in ${express}, Latchkey mounted at %s`, (mount) => {
    let provider: Provider
    beforeAll(async () => {
      provider = await start({ mount })
    })
    afterAll(() => provider?.close())

    const discover = (clientId: string, authentication: openid.ClientAuth) =>
      openid.discovery(new URL(provider.issuer), clientId, undefined, authentication, {
        execute: [openid.allowInsecureRequests, openid.enableNonRepudiationChecks],
      })

    const notesOf = async (config: openid.Configuration, accessToken: string): Promise<unknown> => {
      const api = new URL('/api/notes', provider.issuer)
      const response = await openid.fetchProtectedResource(config, accessToken, api, 'GET')
      return response.json()
    }

    test('a public client signs in with PKCE, reads UserInfo, calls the API and refreshes', async () => {
      const config = await discover('native', openid.None())
      const { tokens, nonce } = await signIn(provider, config, { verifier: openid.randomPKCECodeVerifier() })
      expect(tokens.claims()).toMatchObject({ ...claims, iss: provider.issuer, aud: 'native', nonce })
      expect(await openid.fetchUserInfo(config, tokens.access_token, '1')).toEqual(claims)
      expect(await notesOf(config, tokens.access_token)).toEqual({ subject: '1' })

      const refreshed = await openid.refreshTokenGrant(config, tokens.refresh_token ?? '')
      expect(refreshed.refresh_token).not.toBe(tokens.refresh_token)
      expect(refreshed.access_token).not.toBe(tokens.access_token)
      expect(refreshed.claims()).toMatchObject({ sub: '1', auth_time: tokens.claims()?.auth_time })
      expect(await openid.fetchUserInfo(config, refreshed.access_token, '1')).toEqual(claims)
    })

    test.each([
      ['in the form', openid.ClientSecretPost(secret)],
      ['by Basic', openid.ClientSecretBasic(secret)],
    ])('a confidential client with its secret %s signs in without PKCE and refreshes', async (_, auth) => {
      const config = await discover('web', auth)
      const { tokens, nonce } = await signIn(provider, config)
      expect(tokens.claims()).toMatchObject({ ...claims, aud: 'web', nonce })
      expect(await openid.fetchUserInfo(config, tokens.access_token, '1')).toEqual(claims)
      const refreshed = await openid.refreshTokenGrant(config, tokens.refresh_token ?? '', {
        scope: 'openid email',
      })
      expect(refreshed.scope).toBe('openid email')
      expect(await openid.fetchUserInfo(config, refreshed.access_token, '1')).toEqual({
        sub: '1',
        email: ada.email,
        email_verified: true,
      })
    })

    test('a confidential client may use PKCE as well, and a wrong verifier is refused', async () => {
      const config = await discover('web', openid.ClientSecretPost(secret))
      const verifier = openid.randomPKCECodeVerifier()
      const { tokens } = await signIn(provider, config, { verifier })
      expect(tokens.claims()?.sub).toBe('1')

      const url = openid.buildAuthorizationUrl(config, {
        redirect_uri: callback,
        scope,
        code_challenge_method: 'S256',
        code_challenge: await openid.calculatePKCECodeChallenge(verifier),
      })
      const back = await answer(provider.browser(), url)
      const redeemed = openid.authorizationCodeGrant(config, back, {
        pkceCodeVerifier: openid.randomPKCECodeVerifier(),
      })
      await expect(redeemed).rejects.toMatchObject({ error: 'invalid_grant', status: 400 })
    })

    test('client credentials give a token for the API, and no ID token', async () => {
      const config = await discover('web', openid.ClientSecretBasic(secret))
      const tokens = await openid.clientCredentialsGrant(config, { scope: 'notes:read' })
      expect(tokens).toMatchObject({ token_type: 'bearer', scope: 'notes:read' })
      expect(tokens).not.toHaveProperty('refresh_token')
      expect(tokens).not.toHaveProperty('id_token')
      expect(await notesOf(config, tokens.access_token)).toEqual({ subject: null })
    })

    test('the ID token is checked against /jwks: with other keys the login fails', async () => {
      const config = await discover('web', openid.ClientSecretPost(secret))
      const { publicKey } = await generateKeyPair('RS256', { extractable: true })
      const keys = [{ ...(await exportJWK(publicKey)), alg: 'RS256', use: 'sig', kid: 'of somebody else' }]
      openid.setJwksCache(config, { jwks: { keys }, uat: Math.floor(Date.now() / 1000) })
      await expect(signIn(provider, config)).rejects.toMatchObject({ code: 'OAUTH_KEY_SELECTION_FAILED' })
    })

    test('Cancel and a wrong secret reach the client as the errors that it knows', async () => {
      const config = await discover('web', openid.ClientSecretPost(secret))
      const denied = signIn(provider, config, { decision: 'deny' })
      await expect(denied).rejects.toMatchObject({ code: 'OAUTH_AUTHORIZATION_RESPONSE_ERROR' })
      await expect(denied).rejects.toMatchObject({ error: 'access_denied' })
      const stranger = await discover('web', openid.ClientSecretPost('not the secret of this client'))
      const refused = openid.clientCredentialsGrant(stranger, { scope: 'notes:read' })
      await expect(refused).rejects.toMatchObject({ status: 401, error: 'invalid_client' })
    })
  })
}
