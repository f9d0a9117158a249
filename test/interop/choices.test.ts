// Clients that know nothing of choices sign in and refresh, and each answer has authorization_details that they never asked for.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as mcp2 from '@modelcontextprotocol/client'
import * as mcp1 from '@modelcontextprotocol/sdk/client/auth.js'
import * as oauth from 'oauth4webapi'
import * as openid from 'openid-client'
import { callback, clients, secret } from '../support/host.ts'
import { describeWith, services } from '../support/services.ts'
import { answer, type Provider, startProvider } from '../support/stock-client.ts'
import { type StockProgram, startProgram } from './stock-program.ts'

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

test('oauth4webapi hands the objects on after a sign-in and after a refresh', async () => {
  const http = { [oauth.allowInsecureRequests]: true }
  const issuer = new URL(provider.issuer)
  const as = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, http))
  const client = { client_id: 'mcp' }
  const verifier = oauth.generateRandomCodeVerifier()
  const url = new URL(as.authorization_endpoint ?? '')
  url.search = new URLSearchParams({
    client_id: 'mcp',
    response_type: 'code',
    redirect_uri: callback,
    scope,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  }).toString()
  const back = await answer(provider.browser(), url)
  const parameters = oauth.validateAuthResponse(as, client, back, oauth.expectNoState)
  const response = await oauth.authorizationCodeGrantRequest(
    ...([as, client, oauth.None(), parameters, callback, verifier, http] as const),
  )
  const tokens = await oauth.processAuthorizationCodeResponse(as, client, response)
  expect(tokens.authorization_details).toEqual(said)
  const again = await oauth.refreshTokenGrantRequest(
    ...([as, client, oauth.None(), String(tokens.refresh_token), http] as const),
  )
  const fresh = await oauth.processRefreshTokenResponse(as, client, again)
  expect(fresh.authorization_details).toEqual(said)
})

describe('a program in another language signs in and refreshes, and hands the objects on', () => {
  let program: StockProgram | undefined
  const compiled = mkdtempSync(join(tmpdir(), 'latchkey-go-'))
  afterEach(() => program?.stop())
  afterAll(() => rmSync(compiled, { recursive: true, force: true }))

  const run = async (of: StockProgram, settings: object): Promise<unknown> => {
    const { issuer } = provider
    const given = { issuer, client_id: 'web', redirect_uri: callback, client_secret: secret }
    const url = await of.say({ ...given, ...settings })
    return of.say((await answer(provider.browser(), String(url))).href)
  }

  describeWith('authlib', 'with Authlib', () => {
    test('with a secret', async () => {
      program = startProgram(services.authlib, [join(__dirname, 'authlib-client.py')])
      const shown = await run(program, { method: 'client_secret_basic', scope })
      expect(shown).toMatchObject({ subject: '1', details: [said, said] })
    })
  })

  describeWith('go-oidc', 'with go-oidc', () => {
    test('with a secret', async () => {
      const environment = { GO111MODULE: 'off', GOPATH: services['go-oidc'], GOCACHE: compiled }
      program = startProgram('go', ['run', join(__dirname, 'go-oidc-client.go')], environment)
      const shown = await run(program, { scopes: scope.split(' ') })
      expect(shown).toMatchObject({ subject: '1', details: [said, said] })
      // Go first compiles its standard library, which takes half a minute on a busy machine.
    }, 180_000)
  })
})
