// What was opened for MCP clients, used by an attacker: schemes without a dot, a resource that the server chooses, and logins
// that outlive the browser session.

import supertest from 'supertest'
import { registration } from '../../lib/features/index.ts'
import { OAuthError, seedClients } from '../../lib/index.ts'
import { mcpHosts } from '../../lib/tools/doctor/mcp-hosts.ts'
import { stopClock } from '../support/clock.ts'
import { authorizeUrl, callback, type Host, pkce, startHost } from '../support/host.ts'
import { codeOf, expectErrorPage } from '../support/outcomes.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import { answerOf, expectError, post, type TokenAnswer } from '../support/tokens.ts'

const notes = 'https://notes.example.com/mcp'
const mail = 'https://mail.example.com/mcp'
const day = 86_400

let host: Host
beforeAll(async () => {
  host = await startHost({
    options: {
      scopes: { 'notes:read': 'Read your notes', 'mail:read': 'Read your mail', 'any:read': 'Read anything' },
      resources: {
        [notes]: { name: 'Notes server', scopes: ['notes:read', 'any:read'] },
        [mail]: { name: 'Mail server', scopes: ['mail:read', 'any:read'] },
      },
      features: [registration()],
      limits: false,
    },
    clients: [
      {
        client_id: 'own',
        token_endpoint_auth_method: 'none',
        redirect_uris: [callback],
        scope: 'openid notes:read',
      },
    ],
  })
})
afterAll(() => host.close())
afterEach(() => jest.restoreAllMocks())

const mcp = {
  client_name: 'Notes client',
  token_endpoint_auth_method: 'none',
  grant_types: ['authorization_code', 'refresh_token'],
  redirect_uris: [callback],
}
const register = (members: object = {}) =>
  supertest(host.app)
    .post('/oauth/register')
    .send({ ...mcp, ...members })
const registered = async (members: object = {}): Promise<string> => {
  const { status, body } = await register(members)
  expect({ status, body }).toMatchObject({ status: 201 })
  return body.client_id
}

/** An authorization request with its secret, as a public client makes it. */
const request = (client_id: string, more: Readonly<Record<string, string>> = {}) => {
  const { verifier, challenge } = pkce()
  const asked = { client_id, scope: 'notes:read', code_challenge: challenge, code_challenge_method: 'S256' }
  return { verifier, url: authorizeUrl({ ...asked, ...more }) }
}

const redeem = (client_id: string, code: string, more: Readonly<Record<string, string>>) =>
  post(host, { grant_type: 'authorization_code', client_id, code, redirect_uri: callback, ...more })

const tokensFor = async (
  client_id: string,
  more: Readonly<Record<string, string>> = {},
  agent = new RawBrowser(host.app),
): Promise<TokenAnswer> => {
  const { verifier, url } = request(client_id, more)
  return answerOf(redeem(client_id, codeOf(await agent.grant(url)), { code_verifier: verifier }))
}

const refresh = (client_id: string, refresh_token: string, more: Readonly<Record<string, string>> = {}) =>
  post(host, { grant_type: 'refresh_token', client_id, refresh_token, ...more })

const opens = async (resource: string, token: string): Promise<boolean> =>
  host.oauth
    .tokenVerifier(resource)
    .verifyAccessToken(token)
    .then(
      () => true,
      () => false,
    )

describe('a scheme without a dot', () => {
  const cursor = mcpHosts.find(({ id }) => id === 'cursor')
  const redirect_uri = 'cursor://anysphere.cursor-mcp/oauth/callback'

  // Browsers or systems act on these themselves.
  const dangerous = [
    'javascript://a.example/%0aalert(1)',
    'data://text/html,x',
    'vbscript://x/y',
    'file:///etc/passwd',
    'filesystem:/x',
    'blob:/x',
    'about:/blank',
    'intent://x/#Intent;end'.replace('#', '%23'),
    'android-app://com.example/x',
    'content://x/y',
    'ms-settings:/x',
    'ms-msdt:/id',
    'ms-excel://x/y',
    'search-ms:/query',
    'chrome://settings/x',
    'chrome-extension://x/y',
    'moz-extension://x/y',
    'edge://settings/',
    'view-source:/x',
    'devtools://x/y',
    'mailto:/x',
    'tel:/1',
    'smb://x/y',
    'ssh://x/y',
    'web+x:/y',
    'googlechromes://a.example/x',
    'x-safari-https://a.example/x',
    'applescript://x/y',
    'JAVASCRIPT://x/%0aalert(1)',
  ]
  test.each(dangerous)('is not one that browsers or systems act on: %s', async (uri) => {
    expectError(await register({ redirect_uris: [uri] }), 400, 'invalid_redirect_uri')
    const { body } = await register({ redirect_uris: [uri, callback] })
    expect(body.redirect_uris).toEqual([callback])
    const seed = { client_id: 'odd', token_endpoint_auth_method: 'none' as const, redirect_uris: [uri] }
    const { knex, tablePrefix } = host.database
    await expect(seedClients(knex, [seed], { database: { tablePrefix } })).rejects.toThrow(OAuthError)
  })

  test.each(['a-program://x/y', 'mycursor://x/y', 'cursor2://x/y', 'httpss://a.example/x'])(
    'is that of a known app, and not %s, which any program may have',
    async (uri) => {
      expectError(await register({ redirect_uris: [uri] }), 400, 'invalid_redirect_uri')
      const logout = { redirect_uris: [callback], post_logout_redirect_uris: [uri] }
      expectError(await register(logout), 400, 'invalid_redirect_uri')
      const { body } = await register({ redirect_uris: [uri, 'com.example.app:/cb'] })
      expect(body.redirect_uris).toEqual(['com.example.app:/cb'])
      const seed = { client_id: 'app', token_endpoint_auth_method: 'none' as const, redirect_uris: [uri] }
      const { knex, tablePrefix } = host.database
      await seedClients(knex, [seed], { database: { tablePrefix } })
    },
  )

  test('is for public clients only', async () => {
    const secret = { token_endpoint_auth_method: 'client_secret_basic', redirect_uris: [redirect_uri] }
    expectError(await register(secret), 400, 'invalid_redirect_uri')
  })

  test('gives an app that took the scheme a code that it cannot redeem', async () => {
    const client_id = await registered(cursor?.registration)
    const { url } = request(client_id, { redirect_uri })
    const code = codeOf(await new RawBrowser(host.app).grant(url), { redirectUri: redirect_uri })
    const stolen = (more: Readonly<Record<string, string>>) =>
      redeem(client_id, code, { redirect_uri, ...more })
    expectError(await stolen({}), 400, 'invalid_grant')
    expectError(await stolen({ code_verifier: pkce().verifier }), 400, 'invalid_grant')
  })

  test.each([
    ['no challenge', { code_challenge: '', code_challenge_method: '' }],
    ['a plain challenge', { code_challenge: 'x'.repeat(43), code_challenge_method: 'plain' }],
  ])('with %s never leads to the app', async (_, weak) => {
    const client_id = await registered(cursor?.registration)
    const answer = await new RawBrowser(host.app).open(request(client_id, { redirect_uri, ...weak }).url)
    expectErrorPage(answer, 400, 'invalid_request')
  })

  test('gets nothing without the user, although the user allowed it before', async () => {
    const client_id = await registered(cursor?.registration)
    const agent = new RawBrowser(host.app)
    codeOf(await agent.grant(request(client_id, { redirect_uri }).url), { redirectUri: redirect_uri })
    const silent = await agent.open(request(client_id, { redirect_uri, prompt: 'none' }).url)
    expect(String(silent.location)).not.toContain('code=')
    expect((await agent.open(request(client_id, { redirect_uri }).url)).html).toContain('value="allow"')
  })

  test.each([
    'cursor://evil/oauth/callback',
    'cursor://anysphere.cursor-mcp/oauth/callback/',
    'cursor://anysphere.cursor-mcp/oauth/callback?server_id=1',
    'cursor://anysphere.cursor-mcp/oauth/../callback',
    'cursor:/anysphere.cursor-mcp/oauth/callback',
    'CURSOR://anysphere.cursor-mcp/oauth/callback',
    'cursor-nightly://anysphere.cursor-mcp/oauth/callback',
  ])('is compared byte for byte: %s', async (near) => {
    const client_id = await registered(cursor?.registration)
    const answer = await new RawBrowser(host.app).open(request(client_id, { redirect_uri: near }).url)
    expectErrorPage(answer, 400, 'redirect_uri')
  })
})

describe('the resource that the server chooses', () => {
  test('is named on the consent page, and no other API accepts the token', async () => {
    const client_id = await registered()
    const agent = new RawBrowser(host.app)
    const page = await agent.signIn(await agent.open(request(client_id).url))
    expect(page.html).toContain('Notes server')
    expect(page.html).not.toContain('Mail server')
    const { access_token } = await tokensFor(client_id, {}, agent)
    expect([await opens(notes, access_token), await opens(mail, access_token)]).toEqual([true, false])
  })

  test('cannot be exchanged for another, at the token endpoint or by a refresh', async () => {
    const client_id = await registered()
    const { verifier, url } = request(client_id)
    const code = codeOf(await new RawBrowser(host.app).grant(url))
    expectError(
      await redeem(client_id, code, { code_verifier: verifier, resource: mail }),
      400,
      'invalid_target',
    )
    const { refresh_token } = await tokensFor(client_id)
    expectError(await refresh(client_id, refresh_token, { resource: mail }), 400, 'invalid_target')
    expectError(await refresh(client_id, refresh_token, { scope: 'mail:read' }), 400, 'invalid_scope')
  })

  test.each([
    ['a scope of both', 'any:read'],
    ['scopes of one each', 'notes:read mail:read'],
    ['no scope', ''],
  ])('is never a guess: %s leads to no token', async (_, scope) => {
    const client_id = await registered()
    const agent = new RawBrowser(host.app)
    const answer = await agent.open(request(client_id, { scope }).url)
    expect(`${answer.location} ${answer.html}`).toMatch(/invalid_(target|scope)/)
    expect(`${answer.location}`).not.toContain('code=')
  })

  test('is none for a client of the host, whose token then opens no resource', async () => {
    const { access_token } = await tokensFor('own')
    expect([await opens(notes, access_token), await opens(mail, access_token)]).toEqual([false, false])
  })
})

describe('a login that outlives the browser session', () => {
  test('is announced on the consent page, and only to clients that refresh', async () => {
    const lines = async (client_id: string) => {
      const agent = new RawBrowser(host.app)
      return (await agent.signIn(await agent.open(request(client_id).url))).html
    }
    const line = /Keep access while you’re away/
    const kept = await lines(await registered())
    const once = await lines(await registered({ grant_types: ['authorization_code'] }))
    expect([line.test(kept), line.test(once)]).toEqual([true, false])
  })

  test('is not for one that asks who the user is', async () => {
    const clock = stopClock()
    const client_id = await registered()
    const { refresh_token, scope } = await tokensFor(client_id, { scope: 'openid notes:read' })
    expect(scope).toBe('openid notes:read')
    clock.travel(13 * 3600)
    expectError(await refresh(client_id, refresh_token), 400, 'invalid_grant')
  })

  test('ends after a year, however often it is used', async () => {
    const clock = stopClock()
    const client_id = await registered()
    let { refresh_token } = await tokensFor(client_id)
    for (let days = 0; days < 360; days += 20) {
      clock.travel(20 * day)
      refresh_token = (await answerOf(refresh(client_id, refresh_token))).refresh_token
    }
    clock.travel(20 * day)
    expectError(await refresh(client_id, refresh_token), 400, 'invalid_grant')
  })

  test('ends for thief and user when an old token is used again', async () => {
    const clock = stopClock()
    const client_id = await registered()
    const { refresh_token: stolen } = await tokensFor(client_id)
    clock.travel(60)
    const next = await answerOf(refresh(client_id, stolen))
    clock.travel(60)
    expectError(await refresh(client_id, stolen), 400, 'invalid_grant')
    expectError(await refresh(client_id, next.refresh_token), 400, 'invalid_grant')
    expect(await opens(notes, next.access_token)).toBe(false)
  })

  test.each([
    ['is disabled', () => host.database.knex(host.usersTable).where({ id: 1 }).update({ disabled_at: 1 })],
    ['ends all of them', () => host.oauth.users.revokeAll(1)],
  ])('ends when the user %s', async (_, end) => {
    const client_id = await registered()
    const { refresh_token, access_token } = await tokensFor(client_id)
    await end()
    const refused = await refresh(client_id, refresh_token)
    const isOpen = await opens(notes, access_token)
    await host.database.knex(host.usersTable).where({ id: 1 }).update({ disabled_at: null })
    expectError(refused, 400, 'invalid_grant')
    expect(isOpen).toBe(false)
  })
})
