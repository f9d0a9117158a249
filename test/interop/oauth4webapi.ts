import * as oauth from 'oauth4webapi'
import { callback, secret } from '../support/host.ts'
import { answer, type Provider, type Start, startProvider } from '../support/stock-client.ts'
import { ada } from '../support/tokens.ts'

const http = { [oauth.allowInsecureRequests]: true }
const scope = 'openid profile email notes:read'
const claims = { sub: '1', name: ada.full_name, email: ada.email, email_verified: true }

interface StockClient {
  readonly as: oauth.AuthorizationServer
  readonly client: oauth.Client
  readonly authentication: oauth.ClientAuth
}

/** What comes back at the client, not yet looked at. */
const authorize = async (
  provider: Provider,
  { as, client }: StockClient,
  parameters: Readonly<Record<string, string>>,
  decision?: 'deny',
): Promise<URL> => {
  const url = new URL(as.authorization_endpoint ?? '')
  const request = { client_id: client.client_id, response_type: 'code', redirect_uri: callback, scope }
  url.search = new URLSearchParams({ ...request, ...parameters }).toString()
  return answer(provider.browser(), url, decision)
}

/** A login in which each answer is validated; PKCE where a verifier is given. */
const signIn = async (
  provider: Provider,
  stock: StockClient,
  verifier?: string,
): Promise<oauth.TokenEndpointResponse> => {
  const { as, client, authentication } = stock
  const state = oauth.generateRandomState()
  const nonce = oauth.generateRandomNonce()
  const challenge = verifier && {
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  }
  const back = await authorize(provider, stock, { state, nonce, max_age: '300', ...challenge })
  const parameters = oauth.validateAuthResponse(as, client, back, state)
  const proof = verifier ?? oauth.nopkce
  const response = await oauth.authorizationCodeGrantRequest(
    ...([as, client, authentication, parameters, callback, proof, http] as const),
  )
  const tokens = await oauth.processAuthorizationCodeResponse(as, client, response, {
    expectedNonce: nonce,
    maxAge: 300,
    requireIdToken: true,
  })
  await oauth.validateApplicationLevelSignature(as, response, http)
  return tokens
}

const userInfoOf = async ({ as, client }: StockClient, accessToken: string): Promise<unknown> => {
  const response = await oauth.userInfoRequest(as, client, accessToken, http)
  return oauth.processUserInfoResponse(as, client, '1', response)
}

const refresh = async (
  { as, client, authentication }: StockClient,
  refreshToken: string,
): Promise<oauth.TokenEndpointResponse> => {
  const response = await oauth.refreshTokenGrantRequest(as, client, authentication, refreshToken, http)
  const tokens = await oauth.processRefreshTokenResponse(as, client, response)
  await oauth.validateApplicationLevelSignature(as, response, http)
  return tokens
}

/** Everything that oauth4webapi does with Latchkey, which is strict about each answer. */
export const describeOauth4webapi = (express: string, start: Start = startProvider): void => {
  describe.each(['/oauth', '/'])(`oauth4webapi in ${express}, Latchkey mounted at %s`, (mount) => {
    let provider: Provider
    let as: oauth.AuthorizationServer
    beforeAll(async () => {
      provider = await start({ mount })
      as = await discover('oauth2')
    })
    afterAll(() => provider?.close())

    const discover = async (algorithm: 'oauth2' | 'oidc'): Promise<oauth.AuthorizationServer> => {
      const issuer = new URL(provider.issuer)
      const response = await oauth.discoveryRequest(issuer, { ...http, algorithm })
      return oauth.processDiscoveryResponse(issuer, response)
    }
    const native = (): StockClient => ({
      as,
      client: { client_id: 'native' },
      authentication: oauth.None(),
    })
    const web = (authentication = oauth.ClientSecretPost(secret)): StockClient => ({
      as,
      client: { client_id: 'web' },
      authentication,
    })

    test('RFC 8414 and OpenID Connect Discovery find the same metadata', async () => {
      const openid = await discover('oidc')
      expect(openid).toEqual(as)
      expect(openid.issuer).toBe(provider.issuer)
    })

    test('a public client signs in with PKCE, reads UserInfo and refreshes', async () => {
      const tokens = await signIn(provider, native(), oauth.generateRandomCodeVerifier())
      expect(oauth.getValidatedIdTokenClaims(tokens)).toMatchObject({ ...claims, aud: 'native' })
      expect(await userInfoOf(native(), tokens.access_token)).toEqual(claims)
      const refreshed = await refresh(native(), tokens.refresh_token ?? '')
      expect(refreshed.refresh_token).not.toBe(tokens.refresh_token)
      expect(await userInfoOf(native(), refreshed.access_token)).toEqual(claims)
    })

    test.each([
      ['in the form', oauth.ClientSecretPost(secret)],
      ['by Basic', oauth.ClientSecretBasic(secret)],
    ])('a confidential client with its secret %s signs in without PKCE and refreshes', async (_, auth) => {
      const tokens = await signIn(provider, web(auth))
      expect(oauth.getValidatedIdTokenClaims(tokens)).toMatchObject({ ...claims, aud: 'web' })
      const refreshed = await refresh(web(auth), tokens.refresh_token ?? '')
      expect(await userInfoOf(web(auth), refreshed.access_token)).toEqual(claims)
    })

    test('client credentials give a token, and no ID token', async () => {
      const { client, authentication } = web(oauth.ClientSecretBasic(secret))
      const response = await oauth.clientCredentialsGrantRequest(
        ...([as, client, authentication, { scope: 'notes:read' }, http] as const),
      )
      const tokens = await oauth.processClientCredentialsResponse(as, client, response)
      expect(tokens).toMatchObject({ token_type: 'bearer', scope: 'notes:read' })
      expect(tokens).not.toHaveProperty('id_token')
    })

    test('iss is promised and sent, so that a mixed-up or missing one is noticed (RFC 9207)', async () => {
      const back = await authorize(provider, web(), { state: 's' })
      expect(oauth.validateAuthResponse(as, web().client, back, 's').get('iss')).toBe(provider.issuer)
      const without = new URL(back)
      without.searchParams.delete('iss')
      expect(() => oauth.validateAuthResponse(as, web().client, without, 's')).toThrow(/"iss".* missing/)
      const foreign = new URL(back)
      foreign.searchParams.set('iss', 'https://other.example')
      expect(() => oauth.validateAuthResponse(as, web().client, foreign, 's')).toThrow(/"iss"/)
    })

    test('Cancel comes back as access_denied with iss and state', async () => {
      const back = await authorize(provider, web(), { state: 'a b&c', prompt: 'consent' }, 'deny')
      expect(() => oauth.validateAuthResponse(as, web().client, back, 'a b&c')).toThrow(
        expect.objectContaining({ code: oauth.AUTHORIZATION_RESPONSE_ERROR, error: 'access_denied' }),
      )
    })

    test('refusals are the errors that RFC 6749 and RFC 6750 write', async () => {
      const { client, authentication } = native()
      const refused = await oauth.refreshTokenGrantRequest(
        ...([as, client, authentication, 'lk_rt_nobody', http] as const),
      )
      await expect(oauth.processRefreshTokenResponse(as, client, refused)).rejects.toMatchObject({
        code: oauth.RESPONSE_BODY_ERROR,
        error: 'invalid_grant',
        status: 400,
      })
      await expect(userInfoOf(web(), 'lk_at_nobody')).rejects.toMatchObject({
        code: oauth.WWW_AUTHENTICATE_CHALLENGE,
        status: 401,
        cause: [{ scheme: 'bearer', parameters: { error: 'invalid_token' } }],
      })
    })
  })
}
