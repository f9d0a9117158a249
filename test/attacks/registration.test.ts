import express from 'express'
import supertest from 'supertest'
import { clientMetadataDocuments, registration } from '../../lib/features/index.ts'
import { type ClientSeed, OAuthError, seedClients } from '../../lib/index.ts'
import { clientMetadataNames } from '../../lib/protocol/clients/client-metadata.ts'
import { openDatabase } from '../../lib/storage/database/open.ts'
import { removeExpiredRows } from '../../lib/storage/repositories/pruning/schedule.ts'
import { openServer } from '../support/client-server.ts'
import { stopClock } from '../support/clock.ts'
import { expired } from '../support/features.ts'
import { authorizeUrl, callback, type Host, secret, startHost } from '../support/host.ts'
import { codeOf, expectExpiredPage } from '../support/outcomes.ts'
import { fc, runs } from '../support/property.ts'
import { RawBrowser } from '../support/raw-browser.ts'

let host: Host
beforeAll(async () => {
  host = await startHost({ options: { features: [registration()], limits: false } })
})
afterAll(() => host.close())
beforeEach(async () => {
  for (const name of ['client_registrations', 'clients', 'consents', 'authorizations'])
    await host.table(name).delete()
})
afterEach(() => jest.restoreAllMocks())

const register = (members: object) => supertest(host.app).post('/oauth/register').send(members)

test('whatever a client says about itself, it gets no right of the host and causes no fault', async () => {
  const privileged = {
    first_party: true,
    may_introspect: true,
    require_pkce: true,
    refresh_token_rotation: false,
    id_token_scope_claims: true,
    access_token_lifetime: 9,
    response_modes: ['query'],
    client_id: 'web',
    self_described: 'document',
    scope_follows_resources: false,
    key_is_optional: true,
    disabled: true,
    scope: 'notes:write',
  }
  const odd = ['__proto__', 'client_name#de', 'toString']
  const names = [...clientMetadataNames, ...Object.keys(privileged), ...odd]
  const keySets = [{ keys: [] }, { keys: [{ kty: 'oct', k: 'x' }] }]
  const value = fc.oneof(
    fc.constantFrom<unknown>(null, true, 0, '', 'none', callback, [callback], ['client_credentials'], {}),
    fc.constantFrom<unknown>(['code', 'id_token'], ...keySets, [[]], '\0'),
    fc.jsonValue(),
  )
  const said = fc.dictionary(fc.constantFrom(...names), value, { maxKeys: 8 })
  await fc.assert(
    fc.asyncProperty(said, fc.boolean(), async (members, isPlain) => {
      const good = { redirect_uris: [callback], client_name: 'Any', token_endpoint_auth_method: 'none' }
      const { status, body } = await register({ ...privileged, ...members, ...(isPlain ? good : {}) })
      expect([201, 400]).toContain(status)
      if (status === 400) return
      const { metadata, secret_hash } = await host
        .table('clients')
        .where({ client_id: body.client_id })
        .first()
      const stored = JSON.parse(metadata)
      expect(stored).toMatchObject({
        first_party: false,
        self_described: 'registration',
        require_pkce: false,
        refresh_token_rotation: true,
        id_token_scope_claims: false,
        scope_follows_resources: true,
        scope: 'openid profile email address phone offline_access',
      })
      expect(Object.keys(stored).join()).not.toMatch(/may_introspect|lifetime|response_modes|key_is_optional/)
      expect(stored.grant_types).not.toContain('client_credentials')
      expect(secret_hash === null).toBe(!('client_secret' in body))
    }),
    { numRuns: runs(100) },
  )
})

/** Registers as many clients as there may be, less one. */
const flood = async (created_at: number, origin: object = {}): Promise<void> => {
  const rows = Array.from({ length: 9999 }, (_, count) => `flood-${String(count).padStart(4, '0')}`)
  const insert = (name: string, row: object) => {
    const values = rows.map((client_id) => ({ client_id, ...row }))
    return host.database.knex.batchInsert(host.database.tablePrefix + name, values, 200)
  }
  await insert('clients', { metadata: '{}', created_at: 1, updated_at: 1 })
  await insert('client_registrations', { created_at, expires_at: created_at + 30 * 86_400, ...origin })
}
const status = async () => (await register({ redirect_uris: [callback] })).status

test('a flood fills the table to a limit; then old unused clients make room, but no recent ones', async () => {
  const clock = stopClock()
  await flood(clock.now())
  expect([await status(), await status()]).toEqual([201, 503])
  clock.travel(3601)
  expect(await status()).toBe(201)
  expect(await host.table('client_registrations').pluck('client_id')).toHaveLength(9901)
  expect(await host.table('clients').where({ client_id: 'flood-0000' })).toEqual([])
})

test('a flood from few networks keeps no one else from registering, and removes no client of others', async () => {
  const clock = stopClock()
  const { body: first } = await register({ redirect_uris: [callback] })
  await flood(clock.now(), { site: 'a flooder', network: 'a flooder' })
  expect([await status(), await status()]).toEqual([201, 201])
  const left = await host.table('client_registrations').where({ site: 'a flooder' })
  expect(left).toHaveLength(9999 - 10)
  const own = host.table('client_registrations').where({ client_id: first.client_id })
  expect(await own).toHaveLength(1)
  // The flooder itself gets no more.
  const [{ site }] = await own
  await host.table('client_registrations').where({ site: 'a flooder' }).update({ site })
  const more = left
    .slice(0, 8)
    .map((row: object, number: number) => ({ ...row, site, client_id: `more-${number}` }))
  await host.table('client_registrations').insert(more)
  expect(await status()).toBe(503)
})

test('ten recent clients of a network stay, however many networks there are', async () => {
  await flood(stopClock().now())
  const site = host.database.knex.raw('substr(client_id, 1, 9)')
  await host.table('client_registrations').where('client_id', 'like', 'flood-%').update({ site })
  expect([await status(), await status()]).toEqual([201, 503])
})

test('a client that expires soon makes no room while it is younger than others (M14)', async () => {
  const { now } = stopClock()
  await flood(now() - 7200)
  await host.table('clients').insert({ client_id: 'young', metadata: '{}', created_at: 1, updated_at: 1 })
  const young = { client_id: 'young', created_at: now() - 5400, expires_at: now() + 80_000 }
  await host.table('client_registrations').insert(young)
  expect(await status()).toBe(201)
  expect(await host.table('clients').where({ client_id: 'young' })).toHaveLength(1)
  expect(await host.table('client_registrations')).toHaveLength(9901)
})

test('clients that the host has disabled take no room, and stay (M13)', async () => {
  const { now } = stopClock()
  await flood(now())
  for (const client_id of ['flood-0001', 'flood-0002']) await host.oauth.clients.disable(client_id)
  expect([await status(), await status(), await status(), await status()]).toEqual([201, 201, 201, 503])
  const disabled = host.table('clients').whereNotNull('disabled_at').orderBy('client_id').pluck('client_id')
  expect(await disabled).toEqual(['flood-0001', 'flood-0002'])
})

test('clients that users have allowed something take no room, and make none (I5)', async () => {
  const clock = stopClock()
  await flood(clock.now())
  const { body } = await register({ redirect_uris: [callback] })
  const asked = { client_id: body.client_id, scope: 'openid' }
  codeOf(await new RawBrowser(host.app).grant(authorizeUrl(asked)))
  await host.table('client_registrations').where({ client_id: body.client_id }).update({ created_at: 1 })
  clock.travel(3500)
  expect([await status(), await status()]).toEqual([201, 503])
  clock.travel(101)
  expect(await status()).toBe(201)
  expect(await host.table('clients').where({ client_id: body.client_id })).toHaveLength(1)
})

test('pruning removes clients that an interrupted removal left, and everything about them', async () => {
  const { body } = await register({ redirect_uris: [callback] })
  const { client_id, registration_access_token: token } = body
  const row = { client_id, subject: '1', scopes: '', created_at: 1, updated_at: 1 }
  await host.table('consents').insert({ ...row, terms: '{}' })
  await host.table('client_registrations').where({ client_id }).update({ expires_at: null })
  const { knex, tablePrefix } = host.database
  const remove = () =>
    supertest(host.app).delete(`/oauth/register/${client_id}`).set('Authorization', `Bearer ${token}`)
  await knex.schema.renameTable(`${tablePrefix}access_tokens`, `${tablePrefix}hidden`)
  expect((await remove()).status).toBe(503)
  await knex.schema.renameTable(`${tablePrefix}hidden`, `${tablePrefix}access_tokens`)
  expect((await remove()).status).toBe(401)
  await expect(host.oauth.clients.enable(client_id)).rejects.toMatchObject({ code: 'invalid_client' })
  const { database } = openDatabase(knex, tablePrefix)
  await removeExpiredRows(database, { now: 1000, expired, refreshGracePeriod: 10 })
  for (const name of ['clients', 'client_registrations', 'consents'])
    expect(await host.table(name).where({ client_id })).toEqual([])
})

describe('what a client says about itself is refused', () => {
  const members = { redirect_uris: [callback] }
  const deep = `{"note":${'['.repeat(100_000)}${']'.repeat(100_000)}}`
  const body = (more: object) => JSON.stringify({ ...members, ...more })
  const refused = { status: 400, code: 'invalid_client_metadata' }
  test.each([
    ['beyond 16 kB', body({ note: 'x'.repeat(16_384) })],
    [
      'beyond 50 redirect URIs',
      body({ redirect_uris: Array.from({ length: 51 }, (_, place) => `${callback}${place}`) }),
    ],
    ['beyond 50 keys', body({ jwks: { keys: Array(51).fill({ kty: 'RSA' }) } })],
    ['with a list of more than 50 entries', body({ note: { inner: Array(51).fill(1) } })],
    ['beyond any depth', deep, { status: 413, code: 'invalid_request' }],
  ])('%s, whoever has parsed the body (M16)', async (_, text, expected = refused) => {
    const app = express().use(express.json({ limit: '1mb' }), host.app)
    const answer = await supertest(app).post('/oauth/register').type('json').send(text)
    expect({ status: answer.status, code: answer.body.error }).toEqual(expected)
  })

  test('but not up to these limits (M16)', async () => {
    const redirect_uris = Array.from({ length: 50 }, (_, place) => `${callback}${place}`)
    const { length } = JSON.stringify({ redirect_uris, note: '' })
    expect((await register({ redirect_uris, note: 'x'.repeat(16_384 - length) })).status).toBe(201)
    expect((await register({ redirect_uris, note: 'x'.repeat(16_385 - length) })).status).toBe(400)
  })
})

test('a client that is removed as unused at the moment of consent gets nothing', async () => {
  const { body } = await register({ redirect_uris: [callback] })
  const agent = new RawBrowser(host.app)
  const asked = authorizeUrl({ client_id: body.client_id, scope: 'openid' })
  const page = await agent.signIn(await agent.open(asked))
  // The first half of its removal: the client itself is read before.
  await host.table('client_registrations').delete()
  expectExpiredPage(await agent.decide(page, 'allow'))
  expect([...(await host.table('authorizations')), ...(await host.table('consents'))]).toEqual([])
})

test('many users who arrive with a new document at once all continue', async () => {
  const server = await openServer()
  const client_id = `${server.origin}/client.json`
  let read = 0
  server.serve((_req, res) => {
    read += 1
    const document = { client_id, client_name: 'Any', redirect_uris: [callback] }
    res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document))
  })
  const options = {
    features: [clientMetadataDocuments()],
    outbound: { allowSelfDescribed: [server.origin] },
  }
  const { app, close, database } = await startHost({ options })
  const asked = authorizeUrl({ client_id, code_challenge: 'x'.repeat(43), code_challenge_method: 'S256' })
  const pages = await Promise.all(Array.from({ length: 8 }, () => new RawBrowser(app).open(asked)))
  expect(new Set(pages.map(({ url }) => url.pathname))).toEqual(new Set(['/oauth/login']))
  expect(read).toBeGreaterThan(0)
  expect(await database.table('client_registrations')).toHaveLength(1)
  await close()
  await server.close()
})

// CVE-2026-22752: what a client says of itself is checked before it is ever shown or followed.
describe('a client cannot be registered', () => {
  const good: ClientSeed = { client_id: 'odd', client_secret: secret, redirect_uris: [callback] }
  const expectNotRegistered = async (members: object): Promise<void> => {
    const { knex, tablePrefix } = host.database
    const registering = seedClients(knex, [{ ...good, ...members }], { database: { tablePrefix } })
    await expect(registering).rejects.toThrow(OAuthError)
    expect(await host.table('clients')).toEqual([])
  }
  const scripts = ['javascript:alert(1)', 'JavaScript:alert(1)', 'data:text/html,x', 'file:///etc/passwd']
  const inner = ['http://a.example/', 'http://10.0.0.1/x', 'http://localhost.evil.example/x']
  const disguised = ['https://x:y@evil.example/', 'https://a.example@evil.example/', 'https://аpp.example/']

  test.each(['redirect_uris', 'post_logout_redirect_uris'])('with a hostile address in %s', async (name) => {
    const places = ['https://*.example.com/', 'https://a.example/#x', 'app:/x', 'https://a.example/../x']
    for (const uri of [...scripts, ...inner, ...disguised, ...places])
      await expectNotRegistered({ [name]: [uri] })
  })

  test.each([
    'client_uri',
    'policy_uri',
    'tos_uri',
    'logo_uri',
    'sector_identifier_uri',
    'jwks_uri',
    'backchannel_logout_uri',
  ])('with a hostile %s (RFC 7591 §5)', async (name) => {
    const relative = ['', '/jwks', '//a.example/', ' https://a.example/x']
    const split = ['https://a.example\\@evil.example/x', 'https://a.example/x\r\nHost: evil.example']
    const others = ['gopher://127.0.0.1:6379/_FLUSHALL', 'https://a.example/\0']
    for (const uri of [...scripts, ...inner, ...disguised, ...relative, ...split, ...others])
      await expectNotRegistered({
        ...(name === 'jwks_uri' && { token_endpoint_auth_method: 'private_key_jwt' }),
        ...(name === 'jwks_uri' && { client_secret: undefined }),
        [name]: uri,
      })
  })

  test('with a name that turns text around or breaks a line', async () => {
    for (const sign of ['\u202e', '\u2066', '\u061c', '\0', '\n'])
      await expectNotRegistered({ client_name: `Bank${sign}` })
  })
})
