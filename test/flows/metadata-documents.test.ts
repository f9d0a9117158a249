import type { RequestListener } from 'node:http'
import supertest from 'supertest'
import { clientMetadataDocuments, registration, trustedIssuers } from '../../lib/features/index.ts'
import type { AuthRouterOptions, Limit } from '../../lib/index.ts'
import { openDatabase } from '../../lib/storage/database/open.ts'
import { removeExpiredRows } from '../../lib/storage/repositories/pruning/schedule.ts'
import { openServer, type TestServer } from '../support/client-server.ts'
import { type Clock, stopClock } from '../support/clock.ts'
import { expiredIn } from '../support/features.ts'
import { authorizeUrl, callback, type Host, issuer, pkce, startHost } from '../support/host.ts'
import { codeOf, expectErrorPage } from '../support/outcomes.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import { asserted, assertion, type ClientKey, createClientKey } from '../support/signing-client.ts'
import { expectError, post, userinfo } from '../support/tokens.ts'

type Members = Readonly<Record<string, unknown>>

let server: TestServer
/** A host with the defaults, for all tests that do not start another. */
let usual: Host
let host: Host
let clock: Clock
let id: string
/** Paths that were read. */
let read: string[]
let answer: RequestListener

beforeAll(async () => {
  server = await openServer()
  server.serve((req, res) => {
    read.push(String(req.url))
    answer(req, res)
  })
  usual = await startWith({})
})
afterAll(() => usual.close())
afterAll(() => server.close())
let number = 0
beforeEach(() => {
  clock = stopClock()
  host = usual
  number += 1
  id = `${server.origin}/client-${number}.json`
  read = []
  serve({})
})
afterEach(() => (host === usual ? undefined : host.close()))
afterEach(() => jest.restoreAllMocks())

const documentOf = (members: Members = {}): Members => ({
  client_id: id,
  client_name: 'Document client',
  redirect_uris: [callback],
  token_endpoint_auth_method: 'none',
  grant_types: ['authorization_code', 'refresh_token'],
  ...members,
})

/** What the server of the document answers from now on. */
const respond = (status: number, headers: Record<string, string>, body: string) => {
  answer = (_req, res) => void res.writeHead(status, headers).end(body)
}
const json = { 'content-type': 'application/json' }
const serve = (members: Members, headers: Record<string, string> = json) =>
  respond(200, headers, JSON.stringify(documentOf(members)))

type Limits = Readonly<Partial<Record<'document' | 'clientHost', Limit>>>
type Documents = Parameters<typeof clientMetadataDocuments>[0]

/** The same host; nothing answers at this port. */
const otherPort = () => `https://${new URL(server.origin).hostname}:1`

const startWith = (
  documents: Documents = {},
  limits?: Limits,
  options: Partial<AuthRouterOptions> = {},
): Promise<Host> =>
  startHost({
    options: {
      ...options,
      features: [
        clientMetadataDocuments({
          ...(limits?.document && { limits: { document: limits.document } }),
          ...documents,
        }),
      ],
      outbound: { allowSelfDescribed: [server.origin, otherPort()] },
      limits: limits ? { quotas: limits.clientHost ? { clientHost: limits.clientHost } : {} } : false,
      lifetimes: { code: 900 },
    },
  })
const start = async (documents: Documents = {}, limits?: Limits) => {
  host = await startWith(documents, limits)
}

const proof = pkce()
const asked = (client_id = id) =>
  authorizeUrl({
    client_id,
    scope: 'openid offline_access',
    code_challenge: proof.challenge,
    code_challenge_method: 'S256',
  })
const open = (client_id = id, agent = new RawBrowser(host.app)) => agent.open(asked(client_id))
const redeem = (code: string, fields: Record<string, string> = { client_id: id }) =>
  post(host, {
    grant_type: 'authorization_code',
    code,
    redirect_uri: callback,
    code_verifier: proof.verifier,
    ...fields,
  })
const refresh = (refresh_token: string) =>
  post(host, { grant_type: 'refresh_token', refresh_token, client_id: id })
/** A request that ends before the document's server answers, so what it reads is read in the background. */
const unanswered = async <T>(request: Promise<T>): Promise<T> => {
  const later = answer
  answer = (req, res) => void request.then(() => later(req, res))
  return await request
}
/** The next read, also one in the background. */
const settled = async () => {
  for (let turn = 0; turn < 200; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}
const until = async (isDone: () => Promise<boolean>) => {
  for (let turn = 0; turn < 200 && !(await isDone()); turn += 1) await settled()
  expect(await isDone()).toBe(true)
}

test('a client with a document gets tokens and is unverified; a fresh document is read once', async () => {
  const agent = new RawBrowser(host.app)
  const page = await agent.signIn(await open(id, agent))
  expect(page.html).toContain('Unverified app')
  expect(page.html).toContain(new URL(server.origin).host)
  const code = codeOf(await agent.decide(page, 'allow'))
  const { body } = await redeem(code)
  expect(body).toMatchObject({ scope: 'openid offline_access', refresh_token: expect.any(String) })
  expect((await refresh(body.refresh_token)).status).toBe(200)
  expect(read).toEqual([new URL(id).pathname])
  expect(await host.oauth.clients.get(id)).toMatchObject({ self_described: 'document', first_party: false })
  const discovery = await supertest(host.app).get('/oauth/.well-known/openid-configuration')
  expect(discovery.body).toMatchObject({ client_id_metadata_document_supported: true })
})

test('with identityScopes off such a client gets no identity scopes; with it on again it does', async () => {
  const resource = 'https://notes.example.com/mcp'
  const resources = { [resource]: { scopes: ['notes:read', 'notes:write'] } }
  const grantWith = async (documents: Documents) => {
    host = await startWith(documents, undefined, { resources })
    const url = new URL(asked(), 'http://localhost')
    url.searchParams.set('scope', 'openid profile email offline_access notes:read')
    url.searchParams.set('resource', resource)
    const code = codeOf(await new RawBrowser(host.app).grant(url.pathname + url.search))
    return (await redeem(code, { client_id: id, resource })).body
  }
  serve({ scope: 'openid profile email offline_access notes:read' })
  const without = await grantWith({ identityScopes: false })
  expect(without).toMatchObject({ scope: 'offline_access notes:read', refresh_token: expect.any(String) })
  expect(without).not.toHaveProperty('id_token')
  expectError(await userinfo(host, without.access_token), 403, 'insufficient_scope')
  await host.close()
  expect(await grantWith({})).toMatchObject({
    scope: 'openid profile email offline_access notes:read',
    id_token: expect.any(String),
  })
})

test('a document with private_key_jwt authenticates with its keys', async () => {
  const key = await createClientKey('ES256')
  serve({ token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [key.publicJwk] } })
  const code = codeOf(await new RawBrowser(host.app).grant(asked()))
  expectError(await redeem(code), 401, 'invalid_client')
  const fields = { client_id: id, ...asserted(await assertion(id, key)) }
  expect((await redeem(code, fields as unknown as Record<string, string>)).status).toBe(200)
})

describe('a document that offers a key and no method at all, as that of ChatGPT does,', () => {
  let key: ClientKey
  beforeAll(async () => {
    key = await createClientKey('ES256')
  })
  const both = ['none', 'private_key_jwt']
  const keys = () => ({
    token_endpoint_auth_method: 'private_key_jwt',
    token_endpoint_auth_methods_supported: both,
    jwks: { keys: [key.publicJwk] },
  })
  const granted = async () => codeOf(await new RawBrowser(host.app).grant(asked()))
  const signed = async (claims: Members = {}, by = key) => ({
    client_id: id,
    ...asserted(await assertion(id, by, claims)),
  })
  const endpoint = (path: string) => `${issuer}${path}`

  test.each([
    ['the issuer', () => issuer],
    ['the issuer in a list', () => [issuer]],
    ['the endpoint that is called', () => endpoint('/token')],
  ])('accepts an assertion for %s', async (_, aud) => {
    serve(keys())
    expect((await redeem(await granted(), await signed({ aud: aud() }))).status).toBe(200)
  })

  test.each([
    ['the issuer and the endpoint', () => [issuer, endpoint('/token')]],
    ['another endpoint', () => endpoint('/introspect')],
    ['another server', () => 'https://other.example.com/token'],
    ['the endpoint with a slash more', () => endpoint('/token/')],
  ])('refuses an assertion for %s', async (_, aud) => {
    serve(keys())
    const code = await granted()
    expectError(await redeem(code, await signed({ aud: aud() })), 401, 'invalid_client')
    expect((await redeem(code, await signed())).status).toBe(200)
  })

  test('also works without the key, then with the rules of a public client', async () => {
    serve(keys())
    const withoutProof = authorizeUrl({ client_id: id, scope: 'openid offline_access' })
    const refused = await new RawBrowser(host.app).get(`${withoutProof}&prompt=none`)
    expect(refused.location?.searchParams.get('error')).toBe('invalid_request')
    const { body } = await redeem(await granted())
    const introspect = (fields: Members) =>
      supertest(host.app)
        .post('/oauth/introspect')
        .type('form')
        .send({ token: body.access_token, ...fields })
    expectError(await introspect({ client_id: id }), 401, 'invalid_client')
    expect((await introspect(await signed())).body).toMatchObject({ active: true })
    const next = await refresh(body.refresh_token)
    expect(next.body.refresh_token).not.toBe(body.refresh_token)
  })

  test('takes no wrong key for none', async () => {
    serve(keys())
    const code = await granted()
    const stranger = await createClientKey('ES256')
    expectError(await redeem(code, await signed({}, stranger)), 401, 'invalid_client')
    expect((await redeem(code)).status).toBe(200)
  })

  test('is used without a method that this server does not accept from it', async () => {
    serve({ token_endpoint_auth_method: 'tls_client_auth', token_endpoint_auth_methods_supported: both })
    expect((await redeem(await granted())).status).toBe(200)
  })
})

const long = 'x'.repeat(66_000)
test.each<[string, () => unknown]>([
  ['another client_id', () => serve({ client_id: `${server.origin}/other.json` })],
  ['a client_id with a slash more', () => serve({ client_id: `${server.origin}/client.json/` })],
  ['no name', () => serve({ client_name: undefined })],
  ['no redirect URIs', () => serve({ redirect_uris: undefined })],
  ['a method with a secret', () => serve({ token_endpoint_auth_method: 'client_secret_basic' })],
  ['a secret', () => serve({ client_secret: 'x' })],
  [
    'a list of methods with secrets',
    () =>
      serve({
        token_endpoint_auth_method: 'client_secret_basic',
        token_endpoint_auth_methods_supported: ['client_secret_post'],
      }),
  ],
  ['keys in the network', () => serve({ jwks_uri: 'https://10.0.0.1/jwks' })],
  ['a name with two alphabets in a word', () => serve({ client_name: 'P\u0430ypal' })],
  ['a redirect URI by http', () => serve({ redirect_uris: ['http://app.example.com/callback'] })],
  ['only client credentials', () => serve({ grant_types: ['client_credentials'] })],
  ['HTML', () => serve({}, { 'content-type': 'text/html' })],
  ['more than 64 kB', () => serve({ contacts: [long] })],
  ['something else than JSON', () => respond(200, json, '{')],
  ['a list', () => respond(200, json, '[]')],
  ['404', () => respond(404, json, JSON.stringify(documentOf()))],
  ['a redirect', () => respond(302, { ...json, location: `${server.origin}/other.json` }, '')],
  ['nothing', () => (answer = (_req, res) => void res.destroy())],
])('refuses a document with %s, and stores nothing', async (_, change) => {
  change()
  expectErrorPage(await open(), 400)
  expect(read).toEqual([new URL(id).pathname])
  expect(await host.table('client_registrations').where({ client_id: id })).toEqual([])
  expect(await host.table('clients').where({ client_id: id })).toEqual([])
  serve({})
  expect((await open()).url.pathname).toBe('/oauth/login')
})

test.each<[string, (origin: string) => string]>([
  ['http elsewhere', () => 'http://client.example.com/client.json'],
  ['a private address', () => 'https://127.0.0.1/client.json'],
  ['an IPv6 address', () => 'https://[::1]/client.json'],
  ['a name of this machine', () => 'https://localhost/client.json'],
  ['no path', (origin) => `${origin}/`],
  ['a fragment', (origin) => `${origin}/client.json#x`],
  ['credentials', (origin) => `${origin.replace('//', '//a:b@')}/client.json`],
  ['dot segments', (origin) => `${origin}/a/../client.json`],
  ['encoded dot segments', (origin) => `${origin}/a/%2e%2e/client.json`],
  ['capitals in the host', (origin) => `${origin.replace('localhost', 'LOCALHOST')}/client.json`],
  ['256 characters', (origin) => `${origin}/${'x'.repeat(256)}`],
])('a URL with %s is not read', async (_, url) => {
  expectErrorPage(await open(url(server.origin)), 400)
  expect(read).toEqual([])
})

test('the token endpoint, HEAD and a client of the host with such an id read no document', async () => {
  expectError(await refresh('x'), 401, 'invalid_client')
  await new RawBrowser(host.app).send('HEAD', asked())
  await host.oauth.clients.create({ client_id: id, redirect_uris: [callback], client_name: 'Of the host' })
  expect((await open()).html).not.toContain('Unverified app')
  expect(read).toEqual([])
})

test.each<[string, (origin: string) => Documents, string]>([
  ['deniedOrigins', (origin) => ({ deniedOrigins: [origin] }), 'error-id'],
  [
    'allowedOrigins with another origin',
    () => ({ allowedOrigins: ['https://client.example.com'] }),
    'error-id',
  ],
  ['allowedOrigins', (origin) => ({ allowedOrigins: [origin] }), 'name="password"'],
  ['a function that refuses', () => ({ allow: () => false }), 'error-id'],
])('%s', async (_, documents, shown) => {
  await start(documents(server.origin))
  expect((await open()).html).toContain(shown)
})

test('a client of an origin that the host vouches for is not called unverified and stays fresh', async () => {
  await start({ verifiedOrigins: ['https://client.example.com'] })
  expect((await open()).html).toContain('Unverified app')
  await start({ verifiedOrigins: [server.origin] })
  expect((await open()).html).not.toContain('Unverified app')
  serve({ client_name: 'Renamed' })
  clock.travel(86_401)
  await open()
  await until(async () => (await host.oauth.clients.get(id))?.client_name === 'Renamed')
})

test.each([
  ['cache-control', 'max-age=600', 599, 601],
  ['cache-control', 'no-store', 299, 301],
  ['cache-control', 'max-age=1', 299, 301],
  ['cache-control', 'max-age=9999999', 86_399, 86_401],
  ['x-nothing', '', 3599, 3601],
])(
  '%s: %s is fresh for a while, and is then read again in the background',
  async (name, value, fresh, stale) => {
    serve({}, { ...json, [name]: value })
    await open()
    clock.travel(fresh)
    await open()
    await settled()
    expect(read).toHaveLength(1)
    serve({ client_name: 'Renamed' })
    clock.travel(stale - fresh)
    expect((await unanswered(open())).html).toContain('Document client')
    await until(async () => (await host.oauth.clients.get(id))?.client_name === 'Renamed')
    expect(read).toHaveLength(2)
  },
)

test('a document that was read while the clock was 30 days ahead is read again', async () => {
  clock.travel(30 * 86_400)
  await open()
  clock.travel(-30 * 86_400)
  serve({ client_name: 'Renamed' })
  await open()
  await until(async () => (await host.oauth.clients.get(id))?.client_name === 'Renamed')
})

test('a client ends with its document, or when the document was unavailable for two days', async () => {
  const code = codeOf(await new RawBrowser(host.app).grant(asked()))
  const { refresh_token: first } = (await redeem(code)).body
  respond(503, {}, '')
  clock.travel(86_400 + 60)
  const { body } = await refresh(first)
  expect(body).toHaveProperty('refresh_token')
  await settled()
  clock.travel(86_400 + 60)
  expectError(await refresh(body.refresh_token), 401, 'invalid_client')
  serve({})
  clock.travel(61)
  const { refresh_token: third } = (await refresh(body.refresh_token)).body
  respond(404, {}, '')
  clock.travel(3601)
  const { refresh_token: fourth } = (await unanswered(refresh(third))).body
  const readAt = async () =>
    (await host.table('client_registrations').where({ client_id: id }).first()).read_at
  await until(async () => Number(await readAt()) === 0)
  expectError(await refresh(fourth), 401, 'invalid_client')
  expectErrorPage(await open(), 400)
})

test('a read that fails says nothing about one that another process has just made', async () => {
  await open()
  clock.travel(2 * 86_400 - 3600)
  const row = () => host.table('client_registrations').where({ client_id: id })
  const another = { read_at: clock.now(), fresh_until: clock.now() + 3600 }
  let asked = false
  answer = async (_req, res) => {
    await row().update(another)
    res.writeHead(404).end(() => {
      asked = true
    })
  }
  await open()
  await until(async () => asked)
  await settled()
  const { read_at, fresh_until } = await row().first()
  expect({ read_at: Number(read_at), fresh_until: Number(fresh_until) }).toEqual(another)
})

test('without the feature a client whose document was read before is unknown', async () => {
  const code = codeOf(await new RawBrowser(host.app).grant(asked()))
  const { refresh_token } = (await redeem(code)).body
  const { knex: database, tablePrefix, usersTable } = { ...host.database, ...host }
  const users = { table: usersTable, columns: { id: 'id', username: 'email', password: 'password_hash' } }
  host = await startHost({
    database: host.database,
    options: { database: { knex: database, tablePrefix }, users, features: [clientMetadataDocuments.off()] },
  })
  host = { ...host, close: () => host.oauth.close() }
  expectErrorPage(await open(), 400)
  expectError(await refresh(refresh_token), 401, 'invalid_client')
})

test('redirect URIs that change between consent and use ask again', async () => {
  serve({}, { ...json, 'cache-control': 'no-cache' })
  const agent = new RawBrowser(host.app)
  const grant = () => agent.get(asked())
  codeOf(await agent.grant(asked()))
  const code = codeOf(await grant())
  const change = async (...redirect_uris: string[]) => {
    serve({ redirect_uris }, { ...json, 'cache-control': 'no-cache' })
    clock.travel(301)
    await grant()
    await until(
      async () => String((await host.oauth.clients.get(id))?.redirect_uris) === String(redirect_uris),
    )
  }
  await change(`${callback}/new`, callback)
  expect((await grant()).location?.pathname).toBe('/oauth/consent')
  await change(`${callback}/new`)
  const refused = await redeem(code)
  expectError(refused, 400, 'invalid_grant')
  expect(refused.body.error_description).toContain('no longer registered')
})

test('a client that a user has allowed something stays; an unused one is removed after a day', async () => {
  const used = id
  codeOf(await new RawBrowser(host.app).grant(asked()))
  id = `${server.origin}/unused.json`
  serve({})
  await open(id)
  const left = () => host.table('clients').whereIn('client_id', [used, id]).pluck('client_id')
  expect(await left()).toHaveLength(2)
  clock.travel(86_400 + 60)
  const { database } = openDatabase(host.database.knex, host.database.tablePrefix)
  await removeExpiredRows(database, {
    now: clock.now(),
    expired: expiredIn(host.oauth),
    refreshGracePeriod: 10,
  })
  expect(await left()).toEqual([used])
})

test('URLs without a document are limited by address, and store nothing', async () => {
  await start({}, { document: { max: 3, seconds: 600 } })
  respond(404, {}, '')
  const statuses: number[] = []
  for (let count = 0; count < 5; count += 1) statuses.push((await open(`${server.origin}/${count}`)).status)
  expect(statuses).toEqual([400, 400, 400, 429, 429])
  expect(read).toHaveLength(3)
  expect(await host.table('client_registrations')).toEqual([])
})

test('URLs without a document are limited by host, whatever the port (M14)', async () => {
  await start({}, { clientHost: { max: 1, seconds: 600 } })
  respond(404, {}, '')
  await open(`${server.origin}/a`)
  expect((await open(`${server.origin}/b`)).status).toBe(429)
  expect((await open(`${otherPort()}/c`)).status).toBe(429)
})

test('a document of more than 16 kB is not used (M16)', async () => {
  serve({ note: 'x'.repeat(16_384) })
  expect((await open(id)).status).toBe(400)
  expect(await host.table('clients').where({ client_id: id })).toEqual([])
})

test('reading a known document again counts for its host too, and the client works meanwhile', async () => {
  await start({}, { clientHost: { max: 1, seconds: 86_400 } })
  await open()
  clock.travel(3601)
  expect((await open()).status).toBe(200)
  await settled()
  expect(read).toHaveLength(1)
})

test('a sector is confirmed by its list of redirect URIs', async () => {
  const { app, close } = await startHost({
    options: { features: [registration()], outbound: { allowSelfDescribed: [server.origin] } },
  })
  const register = (sector: string) =>
    supertest(app)
      .post('/oauth/register')
      .send({
        redirect_uris: [callback],
        subject_type: 'pairwise',
        sector_identifier_uri: `${server.origin}${sector}`,
      })
  respond(200, json, JSON.stringify(['https://other.example.com/callback']))
  expectError(await register('/sector'), 400, 'invalid_client_metadata')
  respond(404, json, JSON.stringify([callback]))
  expectError(await register('/sector'), 400, 'invalid_client_metadata')
  respond(200, json, JSON.stringify([callback, 'https://other.example.com/callback']))
  expect((await register('/sector')).status).toBe(201)
  await close()
})

describe('an assertion of a trusted issuer (I4)', () => {
  const jwtBearer = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
  const idp = 'https://idp.example.com'
  let idpKey: ClientKey
  const trusting = () =>
    trustedIssuers({ issuers: { [idp]: { jwks: { keys: [idpKey.publicJwk as never] } } } })
  const startTrusting = async (limits?: Limits) => {
    idpKey = await createClientKey('ES256', 'idp')
    host = await startHost({
      options: {
        features: [clientMetadataDocuments({ limits: limits ?? false }), trusting()],
        outbound: { allowSelfDescribed: [server.origin] },
        ...(!limits && { limits: false }),
      },
    })
  }
  const ask = async (fields: Record<string, string> = {}) => {
    const claims = { iss: idp, sub: '1', client_id: id }
    const jwt = await assertion(id, idpKey, claims, { typ: 'oauth-id-jag+jwt' })
    return post(host, { grant_type: jwtBearer, client_id: id, assertion: jwt, ...fields })
  }

  test('gives tokens to a client that nobody has opened before, which then stays', async () => {
    await startTrusting()
    const key = await createClientKey('ES256')
    serve({
      grant_types: ['authorization_code', jwtBearer],
      token_endpoint_auth_method: 'private_key_jwt',
      jwks: { keys: [key.publicJwk] },
    })
    expectError(await ask(), 401, 'invalid_client')
    const own = () => assertion(id, key).then(asserted)
    const { body } = await ask(await own())
    const use = () => supertest(host.app).get('/api/notes').auth(body.access_token, { type: 'bearer' })
    // The host lets such clients have no scope, but the token is one of the user.
    expectError(await use(), 403, 'insufficient_scope')
    await host.oauth.users.revokeAll('1')
    expectError(await use(), 401, 'invalid_token')
    expect(read).toHaveLength(1)
    clock.travel(86_400 + 60)
    const { database } = openDatabase(host.database.knex, host.database.tablePrefix)
    await removeExpiredRows(database, {
      now: clock.now(),
      expired: expiredIn(host.oauth),
      refreshGracePeriod: 10,
    })
    expect(await host.table('clients').where({ client_id: id })).toHaveLength(1)
  })

  test('reads documents under the same quotas, and stores none that is invalid', async () => {
    await startTrusting({ document: { max: 2, seconds: 600 } })
    respond(404, {}, '')
    const statuses: number[] = []
    for (let count = 0; count < 4; count += 1) {
      id = `${server.origin}/gone-${count}.json`
      statuses.push((await ask()).status)
    }
    expect(statuses).toEqual([401, 401, 429, 429])
    expect(read).toHaveLength(2)
    expect(await host.table('client_registrations')).toEqual([])
  })

  test('is for clients whose document names the grant; other grants read no unknown document', async () => {
    await startTrusting()
    expectError(await ask(), 400, 'unauthorized_client')
    id = `${server.origin}/never-opened.json`
    serve({})
    expectError(await ask({ grant_type: 'refresh_token', refresh_token: 'x' }), 401, 'invalid_client')
    expect(read).toHaveLength(1)
  })

  test('is not for clients that register themselves', async () => {
    await startTrusting()
    const other = await startHost({
      options: {
        features: [registration(), trusting()],
      },
    })
    const metadata = { redirect_uris: [callback], grant_types: ['authorization_code', jwtBearer] }
    const { body } = await supertest(other.app).post('/oauth/register').send(metadata).expect(201)
    expect(body.grant_types).toEqual(['authorization_code'])
    await other.close()
  })
})
