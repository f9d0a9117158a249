import express from 'express'
import supertest from 'supertest'
import { registration } from '../../lib/features/index.ts'
import { type AuthRouterOptions, type Feature, OAuthError } from '../../lib/index.ts'
import { openDatabase } from '../../lib/storage/database/open.ts'
import { removeExpiredRows } from '../../lib/storage/repositories/pruning/schedule.ts'
import { stopClock } from '../support/clock.ts'
import { expiredIn } from '../support/features.ts'
import { authorizeUrl, callback, type Host, issuer, pkce, startHost } from '../support/host.ts'
import { codeOf, expectErrorPage } from '../support/outcomes.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import { expectError, post, userinfo } from '../support/tokens.ts'

type Members = Readonly<Record<string, unknown>>

const resource = 'https://notes.example.com/mcp'

let host: Host
const start = async (features: readonly Feature[], more: Partial<AuthRouterOptions> = {}) => {
  host = await startHost({
    options: {
      features,
      resources: { [resource]: { scopes: ['notes:read', 'notes:write'] } },
      ...more,
    },
  })
}
afterEach(() => jest.restoreAllMocks())

const register = (members: Members, headers: Record<string, string> = {}) =>
  supertest(host.app).post('/oauth/register').set(headers).send(members)

/** What an MCP client sends. */
const mcp = {
  client_name: 'Notes client',
  application_type: 'native',
  token_endpoint_auth_method: 'none',
  grant_types: ['authorization_code', 'refresh_token'],
  redirect_uris: [callback, 'http://127.0.0.1/callback', 'http://localhost:8787/callback'],
}

const registered = async (members: Members = mcp): Promise<Record<string, string>> => {
  const res = await register(members)
  expect({ status: res.status, body: res.body }).toMatchObject({ status: 201 })
  return res.body
}

/** Login, consent and redemption of a public client. */
const grantTo = async (client_id: string, agent = new RawBrowser(host.app), scope = 'openid notes:read') => {
  const { verifier: code_verifier, challenge: code_challenge } = pkce()
  const asked = { client_id, scope, code_challenge, code_challenge_method: 'S256' }
  const code = codeOf(await agent.grant(authorizeUrl(asked)))
  return post(host, {
    grant_type: 'authorization_code',
    code,
    redirect_uri: callback,
    client_id,
    code_verifier,
  })
}
const authorizePage = (client_id: string, more: Record<string, string> = {}) =>
  new RawBrowser(host.app).open(
    authorizeUrl({ client_id, code_challenge: pkce().challenge, code_challenge_method: 'S256', ...more }),
  )
/** A request to the registration of a client, with its token. */
const manage = (method: 'get' | 'put' | 'delete', client_id = '', token = '') =>
  supertest(host.app)[method](`/oauth/register/${client_id}`).set('Authorization', `Bearer ${token}`)

describe('open registration', () => {
  beforeAll(() => start([registration()], { limits: false }))
  afterAll(() => host.close())

  test('answers with everything that was registered, and the client works', async () => {
    const { client_id, ...answer } = await registered({
      ...mcp,
      scope: 'openid',
      tos: 1,
      'client_name#de': 'Notizen',
    })
    expect(answer).toEqual({
      ...mcp,
      'client_name#de': 'Notizen',
      client_id_issued_at: expect.any(Number),
      response_types: ['code'],
      id_token_signed_response_alg: 'RS256',
      subject_type: 'public',
      // What it registered (mcp 8). It may ask for more, such as notes:read below.
      scope: 'openid',
      registration_access_token: expect.stringMatching(/^lk_rg_[\w-]{43}$/),
      registration_client_uri: `${issuer}/register/${client_id}`,
    })
    const { body: tokens } = await grantTo(client_id!)
    expect(tokens).toMatchObject({ scope: 'openid notes:read', refresh_token: expect.any(String) })
    await userinfo(host, tokens.access_token).expect(200)
    expect(await host.oauth.clients.get(client_id!)).toMatchObject({ self_described: 'registration' })
  })

  test('a long name is cut on the consent page, where it would hide what the client asks for', async () => {
    const name = 'The Extraordinarily Comprehensive Order and Invoice Companion for Teams'
    const { client_id = '' } = await registered({ ...mcp, client_name: name })
    const redirect_uri = mcp.redirect_uris[0] ?? ''
    const proof = { code_challenge: pkce().challenge, code_challenge_method: 'S256' }
    const agent = new RawBrowser(host.app)
    const url = authorizeUrl({ client_id, redirect_uri, scope: 'openid', ...proof })
    const page = await agent.signIn(await agent.open(url))
    expect(page.html).toContain(`<bdi>${name.slice(0, 59)}…</bdi> wants to access`)
    expect(page.html).not.toContain('for Teams')
  })

  test.each([
    ['Cursor', ['cursor://anysphere.cursor-mcp/oauth/callback', 'http://localhost:8787/callback']],
    ['Cline', ['vscode://saoudrizwan.claude-dev/mcp-auth/callback/abc']],
    ['Warp', ['warp://mcp/oauth2callback']],
  ])(
    '%s registers a scheme without a dot, and is asked for consent each time (mcp 1)',
    async (name, uris) => {
      const { client_id = '' } = await registered({ ...mcp, client_name: name, redirect_uris: uris })
      const [redirect_uri = ''] = uris
      const agent = new RawBrowser(host.app)
      const url = authorizeUrl({
        client_id,
        redirect_uri,
        scope: 'openid notes:read',
        code_challenge: pkce().challenge,
        code_challenge_method: 'S256',
      })
      codeOf(await agent.grant(url), { redirectUri: redirect_uri })
      const again = await agent.open(url)
      expect(again.html).toContain('value="allow"')
      expect(again.headers['content-security-policy']).toContain(` ${new URL(redirect_uri).protocol}`)
      expectErrorPage(
        await agent.open(url.replace('code_challenge=', 'no_challenge=')),
        400,
        'invalid_request',
      )
    },
  )

  test('the root has the metadata too, where clients of 2025 look for it (mcp 3)', async () => {
    const { body } = await supertest(host.app).get('/.well-known/oauth-authorization-server').expect(200)
    expect(body).toMatchObject({ issuer, registration_endpoint: `${issuer}/register` })
    const plain = await startHost()
    await supertest(plain.app).get('/.well-known/oauth-authorization-server').expect(404)
    await plain.close()
  })

  test('the page for a registration that was removed says what to do in the app (mcp 7)', async () => {
    const { client_id, registration_access_token: token } = await registered()
    await manage('delete', client_id, token).expect(204)
    expectErrorPage(await authorizePage(client_id!), 400, /add it again/)
  })

  test('a client that names no resource means the only one of its scopes, or of this server', async () => {
    const { client_id = '' } = await registered({ ...mcp, grant_types: ['authorization_code'] })
    for (const scope of ['notes:read', '']) {
      const { body } = await grantTo(client_id, new RawBrowser(host.app), scope)
      expect(body.scope).toBe(scope || 'notes:read notes:write')
      const token = await host.oauth.tokenVerifier(resource).verifyAccessToken(body.access_token)
      expect(token.resource?.href).toBe(resource)
    }
    const { body } = await grantTo(client_id, new RawBrowser(host.app), 'openid profile')
    await expect(host.oauth.tokenVerifier(resource).verifyAccessToken(body.access_token)).rejects.toThrow()
  })

  test('a client with refresh tokens keeps access to a resource while the user is away', async () => {
    const away = async (grant_types: string[], scope: string) => {
      const { client_id = '' } = await registered({ ...mcp, grant_types })
      const agent = new RawBrowser(host.app)
      const { body } = await grantTo(client_id, agent, scope)
      return { scope: body.scope, refreshes: body.refresh_token !== undefined }
    }
    const refreshing = ['authorization_code', 'refresh_token']
    expect(await away(refreshing, 'notes:read')).toEqual({
      scope: 'notes:read offline_access',
      refreshes: true,
    })
    expect(await away(refreshing, 'openid notes:read')).toEqual({
      scope: 'openid notes:read',
      refreshes: true,
    })
    expect(await away(['authorization_code'], 'notes:read')).toEqual({
      scope: 'notes:read',
      refreshes: false,
    })
  })

  test('leaves out a redirect URI that is not accepted, and answers with the others (mcp 1)', async () => {
    const refused = ['http://app.example.com/callback', 'intent://x/cb', 'javascript:alert(1)']
    const body = await registered({ ...mcp, redirect_uris: [...refused, callback] })
    expect(body.redirect_uris).toEqual([callback])
    const withSecret = { ...mcp, token_endpoint_auth_method: 'client_secret_basic' }
    const { redirect_uris } = await registered({ ...withSecret, redirect_uris: ['cursor://cb', callback] })
    expect(redirect_uris).toEqual([callback])
    for (const uri of [...refused, 'cursor://cb'])
      expectError(await register({ ...withSecret, redirect_uris: [uri] }), 400, 'invalid_redirect_uri')
  })

  test('has the defaults of RFC 7591, with a secret that works', async () => {
    const body = await registered({ redirect_uris: [callback], client_name: '', logo_uri: null })
    expect(body).toMatchObject({
      token_endpoint_auth_method: 'client_secret_basic',
      grant_types: ['authorization_code'],
      response_types: ['code'],
      client_secret_expires_at: 0,
      client_secret: expect.stringMatching(/^lk_cs_/),
    })
    expect(body).not.toHaveProperty('client_name')
    const { client_id = '', client_secret = '' } = body
    const code = codeOf(await new RawBrowser(host.app).grant(authorizeUrl({ client_id, scope: 'openid' })))
    const fields = { grant_type: 'authorization_code', code, redirect_uri: callback }
    const res = await post(host, fields).auth(client_id, client_secret)
    expect(res.body).toHaveProperty('id_token')
  })

  test('leaves out what a client cannot give itself', async () => {
    const device = 'urn:ietf:params:oauth:grant-type:device_code'
    const { client_id = '', ...body } = await registered({
      ...mcp,
      grant_types: [...mcp.grant_types, 'client_credentials', device],
      response_types: ['code', 'id_token'],
      require_pkce: false,
      software_statement: 'a.b.c',
      logo: 'file:///etc/passwd',
      logo_uri: 'https://notes.example.com/logo.png',
    })
    // The second page comes after what the first began in the background.
    for (const _ of ['first', 'second']) expect((await authorizePage(client_id)).status).toBe(200)
    expect(await host.table('clients').where({ client_id }).pluck('logo')).toEqual([null])
    expect(body).toMatchObject({ grant_types: mcp.grant_types, response_types: ['code'] })
    const page = await new RawBrowser(host.app).grant(authorizeUrl({ client_id, scope: 'openid' }))
    expectErrorPage(page, 400, 'code_challenge is required for this client')
    expectErrorPage(
      await authorizePage(client_id, { code_challenge_method: 'plain' }),
      400,
      /invalid_request/,
    )
  })

  const redirects = 'invalid_redirect_uri'
  const metadata = 'invalid_client_metadata'
  test.each<[string, Members, string]>([
    ['no redirect URI', { redirect_uris: [] }, metadata],
    ['a redirect URI by http', { redirect_uris: ['http://app.example.com/callback'] }, redirects],
    ['a redirect URI with a script', { redirect_uris: ['javascript:alert(1)//x.y'] }, redirects],
    ['a redirect URI with a fragment', { redirect_uris: [`${callback}#x`] }, redirects],
    ['redirect URIs in a string', { redirect_uris: callback }, metadata],
    ['only a grant type of the host', { grant_types: ['client_credentials'] }, metadata],
    ['only a response type that is off', { response_types: ['id_token token'] }, metadata],
    ['an unknown authentication method', { token_endpoint_auth_method: 'client_secret_jwt' }, metadata],
    ['private_key_jwt without keys', { token_endpoint_auth_method: 'private_key_jwt' }, metadata],
    ['certificates that are not read', { token_endpoint_auth_method: 'tls_client_auth' }, metadata],
    ['keys at this machine', { jwks_uri: 'https://127.0.0.1/jwks' }, metadata],
    ['keys at a name of the network', { jwks_uri: 'https://metadata.google.internal/jwks' }, metadata],
    ['a logout URL in the network', { backchannel_logout_uri: 'https://192.168.0.1/' }, metadata],
    ['a sector in the network', { sector_identifier_uri: 'https://10.0.0.1/sector' }, metadata],
    ['a name that turns around', { client_name: 'Ban\u202ek' }, metadata],
    ['a name with two alphabets in a word', { client_name: 'P\u0430ypal' }, metadata],
    ['such a name in another language', { 'client_name#de': 'P\u0430ypal' }, metadata],
    ['a name with a joiner', { client_name: 'Pay\u200dpal' }, metadata],
    ['a name in formula letters', { client_name: '\u{1d40f}aypal' }, metadata],
  ])('refuses %s', async (_, members, error) => {
    const before = await host.table('client_registrations').pluck('client_id')
    expectError(await register({ ...mcp, ...members }), 400, error)
    expect(await host.table('client_registrations').pluck('client_id')).toEqual(before)
  })

  test.each([['Яндекс Music'], ['東京タワーApp'], ['Notes 👩‍💻'], ['Ärzte-Portal'], ['نوتس']])(
    'accepts the name %s',
    async (client_name) => expect(await registered({ ...mcp, client_name })).toMatchObject({ client_name }),
  )

  test.each<[string, (request: supertest.Test) => supertest.Test, number]>([
    ['a form', (request) => request.type('form').send('redirect_uris=x'), 415],
    ['a list', (request) => request.send([]), 400],
    ['text that is not JSON', (request) => request.type('json').send('{'), 400],
    [
      'another charset',
      (request) => request.set('Content-Type', 'application/json; charset=latin1').send('{}'),
      415,
    ],
    ['a compressed body', (request) => request.set('Content-Encoding', 'gzip').type('json').send('{}'), 415],
    ['more than 64 kB', (request) => request.send({ ...mcp, contacts: ['x'.repeat(65_536)] }), 413],
  ])('refuses %s', async (_, send, status) => {
    expectError(await send(supertest(host.app).post('/oauth/register')), status, 'invalid_request')
  })

  test.each<[string, (size: number) => string]>([
    ['in one member', (size) => JSON.stringify({ ...mcp, other: 'x'.repeat(size) })],
    [
      'in many members',
      (size) =>
        JSON.stringify(Object.fromEntries(Array.from({ length: size / 10 }, (_, at) => [`m${at}`, at]))),
    ],
    ['on more levels than can be written', (size) => `${'{"a":'.repeat(size / 6)}1${'}'.repeat(size / 6)}`],
  ])('refuses more than 64 kB that the host has parsed: %s (M16)', async (_, body) => {
    const app = express().use(express.json({ limit: '1mb' }), host.app)
    const res = await supertest(app).post('/oauth/register').type('json').send(body(390_000))
    expectError(res, 413, 'invalid_request')
  })

  test.each<[string, object]>([
    ['a key id', { jwks: { keys: [{ kty: 'EC', crv: 'P-256', x: 'x', y: 'y', kid: 'a\u0000b' }] } }],
    ['a level', { default_acr_values: ['a\u0000'] }],
    ['a contact', { contacts: ['a\ud800'] }],
    ['a name in a language', { 'client_name#de': 'a\u0000' }],
    ['a subject of certificates', { tls_client_auth_san_uri: 'a:\u0000' }],
    ['a redirect URI', { redirect_uris: ['https://client.example.com/\u0000'] }],
    ['a scope', { scope: 'a\u0000' }],
  ])('refuses characters that no database stores and finds in %s (M19)', async (_, members) => {
    const res = await register({ ...mcp, ...members })
    expect(res.status).toBe(400)
    expect(res.body.error).toMatch(/^invalid_(client_metadata|redirect_uri)$/)
  })

  test('an address with a control character is that of no client (M19)', async () => {
    const { registration_access_token: token } = await registered()
    for (const method of ['get', 'delete'] as const) {
      const asked = supertest(host.app)
        [method]('/oauth/register/a%00b')
        .set('Authorization', `Bearer ${token}`)
      expectError(await asked, 401, 'invalid_token')
    }
  })

  test('accepts a body that the host has parsed, and requests of scripts of any origin', async () => {
    const app = express().use(express.json(), host.app)
    const res = await supertest(app).post('/oauth/register').set('Origin', 'https://a.example').send(mcp)
    expect(res.status).toBe(201)
    expect(res.headers).toMatchObject({ 'access-control-allow-origin': '*', 'cache-control': 'no-store' })
    const preflight = await supertest(app).options(`/oauth/register/${res.body.client_id}`)
    expect(preflight.headers['access-control-allow-methods']).toBe('GET, HEAD, PUT, DELETE')
  })

  test('a registration is read, replaced and removed with its token (RFC 7592)', async () => {
    const first = await registered()
    const { client_id = '', registration_access_token: token = '' } = first
    const at = (method: 'get' | 'put' | 'delete', id = client_id, bearer = token) =>
      manage(method, id, bearer)
    expect((await at('get')).body).toEqual(first)
    const other = await registered()
    for (const [id, bearer] of [
      [client_id, other.registration_access_token],
      [other.client_id, token],
      ['web', token],
      ['unknown', token],
      [client_id, 'x'],
    ]) {
      const res = await at('get', id, bearer)
      expectError(res, 401, 'invalid_token')
      expect(res.headers['www-authenticate']).toContain('Bearer realm="api", error="invalid_token"')
    }
    const { body: tokens } = await grantTo(client_id)

    const method = { token_endpoint_auth_method: 'client_secret_post' }
    const changed = { ...mcp, ...method, client_id, client_name: 'Other' }
    const wrongs = [{ client_id: 'web' }, { client_secret: 'x' }, { registration_access_token: token }]
    for (const wrong of wrongs)
      expectError(await at('put').send({ ...changed, ...wrong }), 400, 'invalid_client_metadata')
    const { body } = await at('put').send(changed)
    expect(body).toMatchObject({ client_name: 'Other', client_secret: expect.stringMatching(/^lk_cs_/) })
    const { client_secret } = body
    const again = await at('put').send({ ...changed, client_secret, grant_types: undefined })
    expect(again.body).toMatchObject({ grant_types: ['authorization_code'] })
    expect(again.body).not.toHaveProperty('client_secret')

    await host.oauth.clients.disable(client_id)
    for (const method of ['get', 'delete'] as const) expectError(await at(method), 401, 'invalid_token')
    await host.oauth.clients.enable(client_id)
    await at('delete').expect(204)
    expectError(await at('get'), 401, 'invalid_token')
    await userinfo(host, tokens.access_token).expect(401)
    for (const name of ['authorizations', 'client_registrations'])
      expect(await host.table(name).where({ client_id })).toEqual([])
    expect(await host.oauth.clients.get(client_id)).toBeUndefined()
  })

  test('the host adopts a client with update(); it then cannot change itself', async () => {
    const { client_id = '', registration_access_token: token } = await registered({
      ...mcp,
      client_uri: 'https://client.example.com/',
    })
    const signedOut = () => new RawBrowser(host.app).open(`/oauth/logout?client_id=${client_id}`)
    expect((await authorizePage(client_id)).html).toContain('Unverified app')
    expect((await signedOut()).html).not.toContain('https://client.example.com/')
    await host.oauth.clients.update(client_id, { client_name: 'Verified' })
    expect((await authorizePage(client_id)).html).not.toContain('Unverified app')
    expect((await signedOut()).html).toContain('https://client.example.com/')
    expect(await host.oauth.clients.get(client_id)).not.toHaveProperty('self_described')
    expectError(await manage('get', client_id, token), 401, 'invalid_token')
  })

  test('asks for consent again after the redirect URIs have changed, and ends the older codes', async () => {
    const { client_id = '', registration_access_token: token } = await registered()
    const agent = new RawBrowser(host.app)
    await grantTo(client_id, agent)
    const { verifier, challenge } = pkce()
    const s256 = { code_challenge: challenge, code_challenge_method: 'S256' }
    const asked = authorizeUrl({ client_id, scope: 'openid notes:read', ...s256 })
    const code = codeOf(await agent.get(asked))
    const replace = (redirect_uris: string[]) =>
      manage('put', client_id, token)
        .send({ ...mcp, client_id, redirect_uris })
        .expect(200)
    await replace([callback, `${callback}/other`])
    expect((await agent.open(asked)).url.pathname).toBe('/oauth/consent')
    await replace([`${callback}/other`])
    const fields = { grant_type: 'authorization_code', redirect_uri: callback, code_verifier: verifier }
    expectError(await post(host, { ...fields, code, client_id }), 400, 'invalid_grant')
  })

  test('a client expires if no user allows it anything', async () => {
    const clock = stopClock()
    const [unused, used, disabled] = [await registered(), await registered(), await registered()]
    await grantTo(used.client_id!)
    await host.oauth.clients.disable(disabled.client_id!)
    const { database } = openDatabase(host.database.knex, host.database.tablePrefix)
    const prune = () =>
      removeExpiredRows(database, {
        now: clock.now(),
        expired: expiredIn(host.oauth),
        refreshGracePeriod: 10,
      })
    const left = async () =>
      (await host.table('client_registrations').orderBy('created_at').pluck('client_id')).sort()
    const before = await left()
    await prune()
    expect(await left()).toEqual(before)
    clock.travel(31 * 86_400)
    await prune()
    expect(await left()).toEqual(expect.arrayContaining([used.client_id, disabled.client_id]))
    expect(await left()).not.toContain(unused.client_id)
    const refreshing = { grant_type: 'refresh_token', refresh_token: 'x', client_id: unused.client_id }
    expectError(await post(host, refreshing), 401, 'invalid_client')
    expectErrorPage(await authorizePage(unused.client_id!), 400)
  })
})

describe('who may register', () => {
  afterEach(() => host.close())
  const token = 'b5bIs2kEhSyKT2xTqRvj0eDkmAoM1pLq'

  test.each([
    ['a string', token],
    ['a function', async (given: string) => given === token],
  ])('with an initial access token, %s', async (_, initialAccessToken) => {
    await start([registration({ initialAccessToken })])
    const bearer = (value: string) => ({ Authorization: `Bearer ${value}` })
    const bare = await register(mcp)
    expectError(bare, 401, 'invalid_token')
    expect(bare.headers['www-authenticate']).toBe('Bearer realm="api"')
    expectError(await register(mcp, bearer('wrong')), 401, 'invalid_token')
    expect((await register(mcp, bearer(token))).status).toBe(201)
  })

  test('allow can refuse a client, change it, or throw an error', async () => {
    const log: unknown[] = []
    const error = (...line: unknown[]): void => void log.push(line.join(' '))
    const logger = { info: () => {}, warn: () => {}, error }
    const seen: unknown[] = []
    const policy = ({ client_name }: { client_name?: string }, request: unknown) => {
      seen.push(request)
      if (client_name === 'no') return false
      if (client_name === 'throws') throw new OAuthError('access_denied', 'ask us first', { status: 403 })
      if (client_name === 'wrong') return { scope: 'unknown' }
      return { scope: 'openid', access_token_lifetime: 60 }
    }
    await start([registration({ allow: policy })], { logger })
    expectError(await register({ ...mcp, client_name: 'no' }), 400, 'invalid_client_metadata')
    expectError(await register({ ...mcp, client_name: 'throws' }), 403, 'access_denied')
    expectError(await register({ ...mcp, client_name: 'wrong' }), 500, 'server_error')
    expect(log.join()).toContain('allow returned wrong metadata of a client: scope: unknown')
    const { client_id = '', scope } = await registered()
    expect(scope).toBe('openid')
    expect(seen.at(-1)).toEqual({ kind: 'registration', address: expect.stringContaining('127.0.0.1') })
    expect((await grantTo(client_id)).body).toMatchObject({ scope: 'openid', expires_in: 60 })
  })

  test('a client without redirect URIs is refused, whatever else it leaves out (mcp 14)', async () => {
    await start([registration()])
    for (const body of [
      {},
      { client_name: 'Nothing' },
      { grant_types: ['refresh_token'] },
      { grant_types: [] },
    ])
      expectError(await register(body), 400, 'invalid_client_metadata')
  })

  test('a policy also decides about changes', async () => {
    await start([
      registration({ allow: ({ client_name }, { clientId }) => !clientId || client_name === 'yes' }),
    ])
    const { client_id = '', registration_access_token: token } = await registered()
    const change = (client_name: string) =>
      manage('put', client_id, token).send({ ...mcp, client_id, client_name })
    expectError(await change('no'), 400, 'invalid_client_metadata')
    expect(await host.oauth.clients.get(client_id)).toMatchObject({ client_name: mcp.client_name })
    await change('yes').expect(200)
  })

  test('each address has a quota by hour and by day, which is logged once when it is reached', async () => {
    const warnings: string[] = []
    const logger = { info: () => {}, warn: (line: string) => void warnings.push(line), error: () => {} }
    const clock = stopClock()
    const limits = {
      registration: { max: 2, seconds: 3600 },
      registrationDaily: { max: 3, seconds: 86_400 },
    }
    await start([registration({ limits })], { logger })
    const app = express().set('trust proxy', 1).use(host.app)
    host.app.set('trust proxy', 1)
    const from = async (address: string) =>
      (await supertest(app).post('/oauth/register').set('X-Forwarded-For', address).send(mcp)).status
    for (const status of [201, 201, 429]) expect(await from('192.0.2.1')).toBe(status)
    expect(await from('192.0.2.2')).toBe(201)
    clock.travel(3601)
    expect(await from('192.0.2.1')).toBe(429)
    expect(warnings.filter((line) => line.includes('registration({ limits })'))).toHaveLength(1)
    clock.travel(86_400)
    expect(await from('192.0.2.1')).toBe(201)
    expect(await host.table('clients').whereNotIn('client_id', ['web', 'native'])).toHaveLength(4)
  })

  test('clients that users have allowed something do not count, up to ten times the quota (mcp 9)', async () => {
    const clock = stopClock()
    clock.travel(3600 - (clock.now() % 3600))
    await start([registration({ limits: { registration: { max: 2, seconds: 3600 } } })])
    host.app.set('trust proxy', 1)
    const from = (address: string) =>
      supertest(host.app).post('/oauth/register').set('X-Forwarded-For', address).send(mcp)
    const allowed = async (address: string) => {
      const { status, body } = await from(address)
      if (status === 201) expect(await grantTo(body.client_id)).toMatchObject({ status: 200 })
      return status
    }
    const hosted = '2001:db8:1:1::1'
    const statuses = []
    for (let times = 0; times < 20; times += 1) statuses.push(await allowed(hosted))
    expect(statuses).toEqual(Array(20).fill(201))
    // Ten times the quota is the most, even if users have allowed every client.
    expect((await from(hosted)).status).toBe(429)
    // They excuse no other network of the site.
    for (const status of [201, 201, 429]) expect((await from('2001:db8:1:2::1')).status).toBe(status)
    // And nothing later.
    clock.travel(3601)
    for (const status of [201, 201, 429]) expect((await from(hosted)).status).toBe(status)
  })

  test('clients that nobody has allowed still count (mcp 9)', async () => {
    await start([registration({ limits: { registration: { max: 2, seconds: 3600 } } })])
    const [first] = [await registered(), await registered()]
    expect((await grantTo(first.client_id!)).status).toBe(200)
    await registered()
    expect((await register(mcp)).status).toBe(429)
  })

  test('with identityScopes off such clients get no identity scopes; with it on again they do', async () => {
    await start([registration({ identityScopes: false })], { limits: false })
    const { client_id = '', scope } = await registered()
    expect(scope).toBe('offline_access notes:read notes:write')
    const asked = 'openid profile email offline_access notes:read'
    const { body } = await grantTo(client_id, new RawBrowser(host.app), asked)
    expect(body).toMatchObject({ scope: 'offline_access notes:read', refresh_token: expect.any(String) })
    expect(body).not.toHaveProperty('id_token')
    expectError(await userinfo(host, body.access_token), 403, 'insufficient_scope')
    // It registers for what it may not have, and gets the rest.
    expect((await registered({ ...mcp, scope: 'openid email notes:read' })).scope).toBe('notes:read')

    const { database } = host
    const later = async (registered: Feature) => {
      host = await startHost({
        database,
        options: {
          features: [registered],
          resources: { [resource]: { scopes: ['notes:read', 'notes:write'] } },
        },
      })
      return (await grantTo(client_id, new RawBrowser(host.app), asked)).body.scope
    }
    expect(await later(registration.off())).toBe('offline_access notes:read')
    expect(await later(registration())).toBe('openid profile email offline_access notes:read')
    expect(await later(registration({ identityScopes: false }))).toBe('offline_access notes:read')
  })

  test('all networks of one site share a quota of ten of them (M14)', async () => {
    await start([registration({ limits: { registration: { max: 1, seconds: 3600 } } })])
    host.app.set('trust proxy', 1)
    const from = async (address: string) =>
      (await supertest(host.app).post('/oauth/register').set('X-Forwarded-For', address).send(mcp)).status
    const statuses = []
    for (let network = 0; network < 12; network += 1) statuses.push(await from(`2001:db8:1:${network}::1`))
    expect(statuses).toEqual([...Array(10).fill(201), 429, 429])
    expect(await from('2001:db8:2::1')).toBe(201)
    expect(await from('192.0.2.1')).toBe(201)
  })

  test('new resources add their scopes to clients that are registered', async () => {
    await start([registration()], { resources: {} })
    const { client_id = '', scope } = await registered()
    expect(scope).toBe('openid profile email offline_access')
    const columns = { id: 'id', username: 'email', password: 'password_hash' }
    const { app } = await startHost({
      database: host.database,
      options: {
        features: [registration()],
        users: { table: host.usersTable, columns },
        resources: { [resource]: { scopes: ['notes:read'] } },
      },
    })
    host = { ...host, app }
    expect((await grantTo(client_id)).body).toMatchObject({ scope: 'openid notes:read' })
  })

  test('without the feature there is no endpoint', async () => {
    await start([])
    expect((await register(mcp)).status).toBe(404)
    const { body } = await supertest(host.app).get('/oauth/.well-known/openid-configuration')
    expect(body).not.toHaveProperty('registration_endpoint')
  })
})
