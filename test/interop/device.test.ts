import * as oauth from 'oauth4webapi'
import * as openid from 'openid-client'
import { device } from '../../lib/features/index.ts'
import { connect, deviceClients } from '../support/device.ts'
import { clients } from '../support/host.ts'
import { type Provider, startProvider } from '../support/stock-client.ts'

let provider: Provider
let config: openid.Configuration
beforeAll(async () => {
  provider = await startProvider({
    clients: [...clients, ...deviceClients],
    options: { features: [device({ interval: 1 })] },
  })
  config = await openid.discovery(new URL(provider.issuer), 'tv', undefined, openid.None(), {
    execute: [openid.allowInsecureRequests],
  })
})
afterAll(() => provider.close())

test('openid-client starts the device authorization, polls, and gets its tokens', async () => {
  const scope = 'openid profile offline_access'
  const codes = await openid.initiateDeviceAuthorization(config, { scope })
  const polling = openid.pollDeviceAuthorizationGrant(config, codes)
  await connect(provider.browser(), codes.user_code)
  const tokens = await polling
  expect(tokens.claims()).toMatchObject({ iss: provider.issuer, aud: 'tv', sub: '1' })
  const { name } = await openid.fetchUserInfo(config, tokens.access_token, '1')
  expect(name).toBe('Ada Lovelace')
  const renewed = await openid.refreshTokenGrant(config, tokens.refresh_token ?? '')
  expect(renewed.access_token).not.toBe(tokens.access_token)
})

test('openid-client reports that the user denied the device', async () => {
  const codes = await openid.initiateDeviceAuthorization(config, { scope: 'openid' })
  const polling = openid.pollDeviceAuthorizationGrant(config, codes)
  const agent = provider.browser()
  const form = await agent.open('/oauth/device')
  const signIn = await agent.submit(form, 'user_code', { user_code: codes.user_code })
  await Promise.all([
    expect(polling).rejects.toMatchObject({ error: 'access_denied' }),
    agent.decide(await agent.signIn(signIn), 'deny'),
  ])
})

test('oauth4webapi waits for the user as the errors say, and gets tokens', async () => {
  const insecure = { [oauth.allowInsecureRequests]: true }
  const issuer = new URL(provider.issuer)
  const found = await oauth.discoveryRequest(issuer, insecure)
  const server = await oauth.processDiscoveryResponse(issuer, found)
  const tv = { client_id: 'tv' }
  const asked = await oauth.deviceAuthorizationRequest(
    server,
    tv,
    oauth.None(),
    { scope: 'openid' },
    insecure,
  )
  const codes = await oauth.processDeviceAuthorizationResponse(server, tv, asked)
  const poll = async () => {
    const code = codes.device_code
    const answer = await oauth.deviceCodeGrantRequest(server, tv, oauth.None(), code, insecure)
    return oauth.processDeviceCodeResponse(server, tv, answer)
  }
  await expect(poll()).rejects.toMatchObject({ error: 'authorization_pending' })
  await connect(provider.browser(), codes.user_code)
  const tokens = await poll()
  expect(oauth.getValidatedIdTokenClaims(tokens)).toMatchObject({ aud: 'tv', sub: '1' })
})
