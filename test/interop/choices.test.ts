// Clients that know nothing of choices sign in and refresh, and each answer has authorization_details that they never asked for.
import * as mcp2 from '@modelcontextprotocol/client'
import * as mcp1 from '@modelcontextprotocol/sdk/client/auth.js'
import * as openid from 'openid-client'
import { callback, clients, secret } from '../support/host.ts'
import { answer, type Provider, startProvider } from '../support/stock-client.ts'

const scope = 'openid notes:read offline_access'
const said = [{ type: 'project', actions: ['notes:read'] }]

let provider: Provider
beforeAll(async () => {
  provider = await startProvider({
    clients: [
      { ...clients[0]!, scope },
      { ...clients[1]!, client_id: 'mcp', scope, grant_types: ['authorization_code', 'refresh_token'] },
    ],
    options: {
      scopes: { 'notes:read': 'See notes' },
      choices: {
        project: {
          name: { one: 'project', other: 'projects' },
          scopes: ['notes:read'],
          list: () => ({ items: [{ id: 'p1', name: 'Hiring plan' }] }),
          find: () => [{ id: 'p1', name: 'Hiring plan' }],
        },
      },
    },
  })
})
afterAll(() => provider.close())

const userOf = async (token: string | undefined): Promise<unknown> => {
  const headers = { authorization: `Bearer ${token}` }
  return (await fetch(`${provider.issuer}/userinfo`, { headers })).json()
}

test('openid-client, which is built on oauth4webapi, hands the objects on and verifies all else', async () => {
  const config = await openid.discovery(new URL(provider.issuer), 'web', secret, undefined, {
    execute: [openid.allowInsecureRequests],
  })
  const pkceCodeVerifier = openid.randomPKCECodeVerifier()
  const url = openid.buildAuthorizationUrl(config, {
    redirect_uri: callback,
    scope,
    code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
  })
  const back = await answer(provider.browser(), url)
  const tokens = await openid.authorizationCodeGrant(config, back, { pkceCodeVerifier })
  expect(tokens.authorization_details).toEqual(said)
  const fresh = await openid.refreshTokenGrant(config, String(tokens.refresh_token))
  expect(fresh.authorization_details).toEqual(said)
  expect(await userOf(fresh.access_token)).toMatchObject({ sub: '1' })
})

test.each([
  ['1', mcp1],
  ['2', mcp2 as unknown as typeof mcp1],
])('the client of MCP SDK %s signs in, refreshes and stores what it knows', async (_, sdk) => {
  const metadata = await sdk.discoverAuthorizationServerMetadata(provider.issuer)
  const about = { metadata, clientInformation: { client_id: 'mcp' } }
  const { authorizationUrl, codeVerifier } = await sdk.startAuthorization(provider.issuer, {
    ...about,
    redirectUrl: callback,
    scope,
  })
  const back = await answer(provider.browser(), authorizationUrl)
  // SDK 2 checks the issuer of the answer too (RFC 9207).
  const iss = { iss: String(back.searchParams.get('iss')) }
  const tokens = await sdk.exchangeAuthorization(provider.issuer, {
    ...about,
    ...iss,
    authorizationCode: String(back.searchParams.get('code')),
    codeVerifier,
    redirectUri: callback,
  })
  const fresh = await sdk.refreshAuthorization(provider.issuer, {
    ...about,
    refreshToken: String(tokens.refresh_token),
  })
  expect(fresh.refresh_token).not.toBe(tokens.refresh_token)
  expect(await userOf(fresh.access_token)).toMatchObject({ sub: '1' })
})
