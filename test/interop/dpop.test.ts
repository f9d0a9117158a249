import * as oauth from 'oauth4webapi'
import * as openid from 'openid-client'
import { pushedRequests } from '../../lib/features/index.ts'
import { callback } from '../support/host.ts'
import { answer, type Provider, startProvider } from '../support/stock-client.ts'
import { ada } from '../support/tokens.ts'

// Stock clients with DPoP (RFC 9449), where each proof needs a nonce of the server and where none does.

const scope = 'openid profile email notes:read'
const claims = { sub: '1', name: ada.full_name, email: ada.email, email_verified: true }
const http = { [oauth.allowInsecureRequests]: true }

describe.each(['none', 'required'] as const)('with nonces: %s', (nonces) => {
  let provider: Provider
  let api: URL
  beforeAll(async () => {
    provider = await startProvider({
      options: { protocol: { dpop: { nonces } }, features: [pushedRequests()] },
    })
    api = new URL('/api/notes', provider.issuer)
  })
  afterAll(() => provider?.close())

  test('openid-client pushes, signs in, reads UserInfo, calls the API and refreshes', async () => {
    const config = await openid.discovery(new URL(provider.issuer), 'native', undefined, openid.None(), {
      execute: [openid.allowInsecureRequests],
    })
    const DPoP = openid.getDPoPHandle(config, await openid.randomDPoPKeyPair())
    const pkceCodeVerifier = openid.randomPKCECodeVerifier()
    const parameters = {
      redirect_uri: callback,
      scope,
      code_challenge_method: 'S256',
      code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
    }
    const url = await openid.buildAuthorizationUrlWithPAR(config, parameters, { DPoP })
    const back = await answer(provider.browser(), url)
    const tokens = await openid.authorizationCodeGrant(config, back, { pkceCodeVerifier }, undefined, {
      DPoP,
    })
    expect(tokens.token_type).toBe('dpop')
    expect(await openid.fetchUserInfo(config, tokens.access_token, '1', { DPoP })).toEqual(claims)
    const call = [config, tokens.access_token, api, 'GET', undefined, undefined] as const
    const response = await openid.fetchProtectedResource(...call, { DPoP })
    expect(await response.json()).toEqual({ subject: '1' })
    await expect(openid.fetchProtectedResource(...call)).rejects.toMatchObject({ status: 401 })

    const refreshed = await openid.refreshTokenGrant(config, tokens.refresh_token ?? '', undefined, { DPoP })
    expect(await openid.fetchUserInfo(config, refreshed.access_token, '1', { DPoP })).toEqual(claims)
  })

  test('oauth4webapi signs in with dpop_jkt, reads UserInfo, calls the API and refreshes', async () => {
    const issuer = new URL(provider.issuer)
    const as = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, http))
    const client: oauth.Client = { client_id: 'native' }
    const DPoP = oauth.DPoP(client, await oauth.generateKeyPair('ES256', { extractable: true }))
    const options = { ...http, DPoP }
    /** Each server says once which nonce it wants. */
    const twice = async <T>(request: () => Promise<T>): Promise<T> =>
      request().catch((error) => {
        if (oauth.isDPoPNonceError(error)) return request()
        throw error
      })

    const verifier = oauth.generateRandomCodeVerifier()
    const url = new URL(as.authorization_endpoint ?? '')
    url.search = new URLSearchParams({
      client_id: 'native',
      response_type: 'code',
      redirect_uri: callback,
      scope,
      code_challenge_method: 'S256',
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      dpop_jkt: await DPoP.calculateThumbprint(),
    }).toString()
    const back = oauth.validateAuthResponse(as, client, await answer(provider.browser(), url))
    const tokens = await twice(async () => {
      const request = [as, client, oauth.None(), back, callback, verifier, options] as const
      return oauth.processAuthorizationCodeResponse(
        as,
        client,
        await oauth.authorizationCodeGrantRequest(...request),
      )
    })
    expect(tokens.token_type).toBe('dpop')
    const userInfo = (accessToken: string): Promise<unknown> =>
      twice(async () => {
        const response = await oauth.userInfoRequest(as, client, accessToken, options)
        return oauth.processUserInfoResponse(as, client, '1', response)
      })
    expect(await userInfo(tokens.access_token)).toEqual(claims)
    const called = await twice(() =>
      oauth.protectedResourceRequest(tokens.access_token, 'GET', api, undefined, undefined, options),
    )
    expect(await called.json()).toEqual({ subject: '1' })
    const refreshed = await twice(async () => {
      const request = [as, client, oauth.None(), tokens.refresh_token ?? '', options] as const
      return oauth.processRefreshTokenResponse(as, client, await oauth.refreshTokenGrantRequest(...request))
    })
    expect(await userInfo(refreshed.access_token)).toEqual(claims)
  })
})
