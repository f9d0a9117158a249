import { inspect } from 'node:util'
import express from 'express'
import supertest from 'supertest'
import { type AuthRouter, authRouter, seedUsers } from '../../lib/index.ts'
import { actingAs, actingAsClient } from '../../lib/tools/testing/index.ts'
import { stopClock } from '../support/clock.ts'
import { type Host, type HostSettings, people, startHost } from '../support/host.ts'
import { post, userinfo, web } from '../support/tokens.ts'

const open: { close(): Promise<void> }[] = []
const start = async (settings?: HostSettings): Promise<Host> => {
  const host = await startHost(settings)
  open.push(host)
  return host
}

let host: Host
beforeAll(async () => {
  host = await start()
})
afterEach(() => jest.restoreAllMocks())
afterAll(async () => {
  for (const each of open.reverse()) await each.close()
})

const get = (path: string, headers: { readonly Authorization: string }, { app }: Host = host) =>
  supertest(app).get(path).set(headers)

const introspect = (token: string, { app }: Host = host) =>
  supertest(app)
    .post('/oauth/introspect')
    .type('form')
    .send({ token, ...web })

const ada = people[0]!
const cut = people[2]!

test('a token for a resource is for that resource alone, in its format', async () => {
  const url = 'https://api.example.com'
  const resources = { [url]: { scopes: ['notes:read'], accessToken: 'jwt' } } as const
  const { oauth, app } = await start({ options: { resources } })
  for (const { token } of [
    await actingAs(oauth, ada.id, 'notes:read', { client: 'web', resource: url }),
    await actingAsClient(oauth, 'web', 'notes:read', { resource: url }),
  ]) {
    const { body } = await introspect(token, { app } as Host)
    expect(body).toMatchObject({ active: true, aud: url, scope: 'notes:read' })
  }
  await expect(actingAs(oauth, ada.id, 'notes:read', { resource: 'https://x.example' })).rejects.toThrow(
    'https://x.example is not in the option resources',
  )
})

test('a token of a login with a level passes a guard for it', async () => {
  const { oauth, app } = await start({ options: { acrValues: ['mfa'] } })
  app.get('/mfa', oauth.requireToken('notes:read', { acr: 'mfa' }), (_req, res) => void res.json({}))
  const { headers } = await actingAs(oauth, ada.id, 'notes:read', { acr: 'mfa' })
  await get('/mfa', headers, { app } as Host).expect(200)
  await get('/mfa', (await actingAs(oauth, ada.id, 'notes:read')).headers, { app } as Host).expect(401)
  await expect(actingAs(oauth, ada.id, [], { acr: 'gold' })).rejects.toThrow(
    'gold is not in the option acrValues',
  )
})

describe('actingAs', () => {
  test('gives a token with which the API answers as it does to that user', async () => {
    const { token, headers } = await actingAs(host.oauth, ada.id, 'notes:read')
    expect(token).toMatch(/^lk_at_[\w-]{43}$/)
    expect(headers).toEqual({ Authorization: `Bearer ${token}` })
    const res = await get('/api/notes', headers)
    expect({ status: res.status, body: res.body }).toEqual({ status: 200, body: { subject: '1' } })
  })

  test('gives the route the scopes, the client and an expiry in five minutes', async () => {
    const clock = stopClock()
    const app = express().get('/', host.oauth.requireToken(), (req, res) => void res.json(req.auth))
    const { headers } = await actingAs(host.oauth, ada.id, ['notes:read', 'email'])
    const res = await supertest(app).get('/').set(headers)
    expect(res.body).toMatchObject({
      subject: '1',
      clientId: 'latchkey-testing',
      scopes: ['notes:read', 'email'],
      expiresAt: clock.now() + 300,
      claims: { iat: clock.now() },
    })
    clock.travel(299)
    expect((await supertest(app).get('/').set(headers)).status).toBe(200)
    clock.travel(1)
    expect((await supertest(app).get('/').set(headers)).status).toBe(401)
  })

  test('never outlives what the host allows', async () => {
    const brief = await start({ options: { lifetimes: { accessToken: 60 } } })
    const clock = stopClock()
    const { headers } = await actingAs(brief.oauth, ada.id, 'notes:read')
    clock.travel(59)
    expect((await get('/api/notes', headers, brief)).status).toBe(200)
    clock.travel(1)
    expect((await get('/api/notes', headers, brief)).status).toBe(401)
  })

  test('gives no scope that was not asked for', async () => {
    const { headers } = await actingAs(host.oauth, ada.id)
    const res = await get('/api/notes', headers)
    expect({ status: res.status, error: res.body.error }).toEqual({
      status: 403,
      error: 'insufficient_scope',
    })
  })

  test('is known to userinfo', async () => {
    const { token } = await actingAs(host.oauth, ada.id, 'openid email')
    const { status, body } = await userinfo(host, token)
    expect({ status, body }).toEqual({
      status: 200,
      body: { sub: '1', email: 'ada@example.com', email_verified: true },
    })
  })

  test('may belong to a registered client, and only that client can introspect it', async () => {
    const { token } = await actingAs(host.oauth, ada.id, 'openid notes:read', { client: 'web' })
    expect((await introspect(token)).body).toMatchObject({
      active: true,
      client_id: 'web',
      sub: '1',
      scope: 'openid notes:read',
    })
    const { token: other } = await actingAs(host.oauth, ada.id, 'openid', { client: 'native' })
    expect((await introspect(other)).body).toEqual({ active: false })
  })

  test.each([
    ['the id', 1],
    ['the id as text', '1'],
    ['a row of the host’s table', { id: 1, email: 'ada@example.com' }],
    ['an object of a class', Object.create({ id: 1 })],
  ])('takes the user as %s', async (_, user) => {
    const { headers } = await actingAs(host.oauth, user, 'notes:read')
    expect((await get('/api/notes', headers)).body).toEqual({ subject: '1' })
  })

  test('takes a row whose id has another name, and what seedUsers() returned', async () => {
    const { usersTable, database } = host
    const columns = { id: 'email', username: 'email', password: 'password_hash' }
    const named = await start({ database, options: { users: { table: usersTable, columns } } })
    open.pop()
    const { headers } = await actingAs(named.oauth, { id: 7, email: 'bob@example.com' }, 'notes:read')
    expect((await get('/api/notes', headers, named)).body).toEqual({ subject: 'bob@example.com' })

    const own = await start({ options: { users: undefined } })
    const { knex, tablePrefix } = own.database
    const [grace] = await seedUsers(knex, [{ username: 'grace', password: 'of grace' }], {
      database: { tablePrefix },
    })
    const acting = await actingAs(own.oauth, grace!, 'notes:read')
    expect((await get('/api/notes', acting.headers, own)).body).toEqual({ subject: grace!.subject })
  })

  test('works before anything else has been asked of the router', async () => {
    const { database, usersTable } = host
    const columns = { id: 'id', username: 'email', password: 'password_hash' }
    const late = authRouter({
      database: { knex: database.knex, tablePrefix: database.tablePrefix },
      issuer: 'http://localhost:3000/oauth',
      secrets: ['a secret of the tests that is long enough'],
      users: { table: usersTable, columns },
      logger: { info: () => {}, warn: () => {}, error: () => {} },
    })
    expect((await actingAs(late, 1)).token).toMatch(/^lk_at_/)
    await late.close()
  })

  test('many at once share one client', async () => {
    const fresh = await start()
    const tokens = await Promise.all(
      Array.from({ length: 8 }, () => actingAs(fresh.oauth, ada.id, 'notes:read')),
    )
    expect(new Set(tokens.map(({ token }) => token)).size).toBe(8)
    const rows = await fresh.table('clients').where({ client_id: 'latchkey-testing' })
    expect(rows).toHaveLength(1)
  })

  test('ends when the host says that the user has changed, and when the client revokes it', async () => {
    const changed = await actingAs(host.oauth, 2, 'notes:read')
    const adas = await actingAs(host.oauth, 1, 'notes:read', { client: 'web' })
    await host.oauth.users.revokeAll(2)
    expect((await get('/api/notes', changed.headers)).status).toBe(401)
    expect((await get('/api/notes', adas.headers)).status).toBe(200)
    await supertest(host.app)
      .post('/oauth/revoke')
      .type('form')
      .send({ token: adas.token, ...web })
    expect((await get('/api/notes', adas.headers)).status).toBe(401)
  })

  test('leaves nothing but hashes in the database', async () => {
    const { token } = await actingAs(host.oauth, ada.id, 'notes:read')
    for (const table of ['access_tokens', 'authorizations', 'logins', 'clients']) {
      const rows = JSON.stringify(await host.table(table))
      expect(rows.length).toBeGreaterThan(2)
      expect(rows).not.toContain(token.slice(6))
    }
  })

  test.each([
    ['an unknown user', 404, 'there is no active user whose id is 404'],
    ['a disabled user', cut.id, 'there is no active user whose id is 3'],
    ['an object without an id', { name: 'Ada' }, 'there is no active user whose id is undefined'],
  ])('refuses %s', async (_, user, message) => {
    await expect(actingAs(host.oauth, user, 'notes:read')).rejects.toThrow(message)
  })

  test('refuses a scope that does not exist, or that the client may not ask for', async () => {
    await expect(actingAs(host.oauth, 1, 'notes:raed email')).rejects.toThrow(
      'notes:raed is not a scope that the option scopes names',
    )
    const asNative = actingAs(host.oauth, 1, 'notes:read notes:write', { client: 'native' })
    await expect(asNative).rejects.toThrow('notes:write is not a scope of the client native')
    await expect(actingAs(host.oauth, 1, 'a"b')).rejects.toThrow('scope has characters')
  })

  test('refuses a client that is unknown or disabled', async () => {
    await expect(actingAs(host.oauth, 1, '', { client: 'unknown-client' })).rejects.toThrow(
      'the client unknown-client',
    )
    const native = host.table('clients').where({ client_id: 'native' })
    await native.clone().update({ disabled_at: 1 })
    await expect(actingAs(host.oauth, 1, '', { client: 'native' })).rejects.toThrow(
      'does not exist or is disabled',
    )
    await native.clone().update({ disabled_at: null })
  })
})

describe('the client that exists for tests', () => {
  beforeAll(() => actingAs(host.oauth, 1))

  test.each([
    ['no secret', { client_id: 'latchkey-testing' }],
    ['an empty secret', { client_id: 'latchkey-testing', client_secret: '' }],
    ['some secret', { client_id: 'latchkey-testing', client_secret: 'x' }],
  ])('can get no token with %s', async (_, fields) => {
    const res = await post(host, { grant_type: 'client_credentials', ...fields })
    expect({ status: res.status, error: res.body.error }).toEqual({ status: 401, error: 'invalid_client' })
  })

  test.each(['https://client.example.com/callback', '', 'http://127.0.0.1/'])(
    'cannot redirect to %j',
    async (redirect_uri) => {
      const query = { client_id: 'latchkey-testing', response_type: 'code', redirect_uri }
      const res = await supertest(host.app).get('/oauth/authorize').query(query)
      expect({ status: res.status, location: res.headers.location }).toEqual({
        status: 400,
        location: undefined,
      })
    },
  )
})

describe('actingAsClient', () => {
  test('gives a token of the client itself, with the scopes that it may have', async () => {
    const { token, headers } = await actingAsClient(host.oauth, 'web', 'notes:read')
    const res = await get('/api/notes', headers)
    expect({ status: res.status, body: res.body }).toEqual({ status: 200, body: { subject: null } })
    expect((await introspect(token)).body).toMatchObject({ active: true, sub: 'web', scope: 'notes:read' })
    const all = await actingAsClient(host.oauth, 'web')
    expect((await introspect(all.token)).body.scope).toBe('notes:read notes:write')
  })

  test('gives one that a route for users refuses, and userinfo too', async () => {
    const app = express().get('/', host.oauth.requireToken('notes:read'), (_req, res) => void res.json({}))
    const { token, headers } = await actingAsClient(host.oauth, 'web')
    expect((await supertest(app).get('/').set(headers)).status).toBe(403)
    expect((await userinfo(host, token)).status).toBe(403)
  })

  test('gives it five minutes', async () => {
    const clock = stopClock()
    const { headers } = await actingAsClient(host.oauth, 'web')
    clock.travel(299)
    expect((await get('/api/notes', headers)).status).toBe(200)
    clock.travel(1)
    expect((await get('/api/notes', headers)).status).toBe(401)
  })

  test.each([
    ['an unregistered client', 'unknown-client', '', 'the client unknown-client'],
    [
      'a client that is not registered for it',
      'native',
      '',
      'not registered for the grant client_credentials',
    ],
    [
      'a scope that speaks of a user',
      'web',
      'openid',
      'scope includes a scope that this client may not have',
    ],
    [
      'a scope that the client is not registered for',
      'web',
      'notes:delete',
      'scope includes a scope that this client may',
    ],
  ])('refuses %s', async (_, client, scopes, message) => {
    await expect(actingAsClient(host.oauth, client, scopes)).rejects.toThrow(message)
  })
})

describe('neither works outside tests', () => {
  const environment = process.env.NODE_ENV
  afterEach(() => {
    process.env.NODE_ENV = environment
  })

  test('a router that was made in production refuses', async () => {
    process.env.NODE_ENV = 'production'
    const { database, usersTable } = host
    const columns = { id: 'id', username: 'email', password: 'password_hash' }
    const live = authRouter({
      issuer: 'http://localhost:3000/oauth',
      database: { knex: database.knex, tablePrefix: database.tablePrefix },
      secrets: ['a secret of the tests that is long enough'],
      users: { table: usersTable, columns },
      logger: { info: () => {}, warn: () => {}, error: () => {} },
    })
    await live.ready()
    process.env.NODE_ENV = 'test'
    await expect(actingAs(live, 1)).rejects.toThrow('NODE_ENV=production')
    await expect(actingAsClient(live, 'web')).rejects.toThrow('NODE_ENV=production')
    await live.close()
  })

  test('a process in production refuses', async () => {
    process.env.NODE_ENV = 'production'
    await expect(actingAs(host.oauth, 1)).rejects.toThrow('NODE_ENV=production')
    await expect(actingAsClient(host.oauth, 'web')).rejects.toThrow('NODE_ENV=production')
  })

  test.each([[express.Router()], [express()], [{}], [undefined]])('%# is not the router', async (other) => {
    const given = other as unknown as AuthRouter
    await expect(actingAs(given, 1)).rejects.toThrow('the router that authRouter() returned')
    await expect(actingAsClient(given, 'web')).rejects.toThrow('the router that authRouter() returned')
  })

  test('the router shows nothing of the server behind it', () => {
    const { oauth } = host
    expect(Object.keys(oauth)).not.toContain('server')
    expect(inspect(oauth, { depth: 10, getters: true })).not.toContain('long enough')
    expect(JSON.stringify({ ...oauth })).not.toContain('long enough')
    expect(Object.getOwnPropertySymbols({ ...oauth })).toEqual([])
  })
})
