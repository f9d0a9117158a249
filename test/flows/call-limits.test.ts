import { randomBytes } from 'node:crypto'
import express from 'express'
import createKnex, { type Knex } from 'knex'
import { createClient } from 'redis'
import supertest from 'supertest'
import { resourceServer } from '../../lib/guard/index.ts'
import type { AuthRouterOptions, CallLimitOptions, ClientSeed } from '../../lib/index.ts'
import { migrate, OptionsError, seedClients } from '../../lib/index.ts'
import { openServer } from '../support/client-server.ts'
import { stopClock } from '../support/clock.ts'
import { freePort } from '../support/free-ports.ts'
import { clients, type Host, secret, startHost } from '../support/host.ts'
import { type HostFolder, openHostFolder } from '../support/host-folder.ts'
import { describeWith, services } from '../support/services.ts'
import { countStatements } from '../support/statement-count.ts'
import { ada, answerOf, bob, type Fields, post, tokensFor, web } from '../support/tokens.ts'

// Limits of guards: how many calls a client or a user may make.

const other: ClientSeed = { ...clients[0]!, client_id: 'other' }
const perClient = { max: 2, seconds: 60, by: 'client' } as const

const open: Host[] = []
const start = async (options: Partial<AuthRouterOptions> = {}): Promise<Host> => {
  const host = await startHost({ clients: [...clients, other], options })
  open.push(host)
  return host
}
afterEach(async () => {
  jest.restoreAllMocks()
  for (const host of open.splice(0)) await host.close()
})

const clientToken = async (host: Host, fields: Fields = {}): Promise<string> =>
  (await answerOf(post(host, { ...web, grant_type: 'client_credentials', scope: 'notes:read', ...fields })))
    .access_token
const guard = (host: Host, path: string, limit?: CallLimitOptions, scope = 'notes:read') => {
  const options = { user: false, ...(limit && { limit }) }
  host.app.get(path, host.oauth.requireToken(scope, options), (_req, res) => void res.json({}))
}
const call = (host: Pick<Host, 'app'>, path: string, token: string) =>
  supertest(host.app).get(path).set('Authorization', `Bearer ${token}`)
const statuses = async (host: Host, path: string, tokens: readonly string[]): Promise<number[]> => {
  const found: number[] = []
  for (const token of tokens) found.push((await call(host, path, token)).status)
  return found
}

test('each answer says what is left, and beyond the limit it is 429 until the period ends', async () => {
  const host = await start()
  guard(host, '/a', perClient)
  const token = await clientToken(host)
  const clock = stopClock()
  const answers = [await call(host, '/a', token), await call(host, '/a', token)]
  expect(
    answers.map(({ status, headers }) => [status, headers['ratelimit-policy'], headers.ratelimit]),
  ).toEqual([
    [200, '"client";q=2;w=60', '"client";r=1;t=60'],
    [200, '"client";q=2;w=60', '"client";r=0;t=60'],
  ])
  clock.travel(20)
  const { status, headers, body } = await call(host, '/a', token)
  expect([status, body.error, headers['retry-after'], headers.ratelimit]).toEqual([
    429,
    'temporarily_unavailable',
    '40',
    '"client";r=0;t=40',
  ])
  expect(headers['www-authenticate']).toBeUndefined()
  clock.travel(41)
  expect((await call(host, '/a', token)).headers.ratelimit).toBe('"client";r=1;t=60')
})

test('by client: all tokens of a client count together, and those of another apart', async () => {
  const host = await start()
  guard(host, '/a', perClient)
  const own = [await clientToken(host), await clientToken(host)]
  expect(await statuses(host, '/a', [...own, ...own])).toEqual([200, 200, 429, 429])
  expect(await statuses(host, '/a', [await clientToken(host, { client_id: 'other' })])).toEqual([200])
})

test('by user: a user counts with all clients, and a client that acts for itself as a client', async () => {
  const host = await start()
  guard(host, '/a', { max: 2, seconds: 60, by: 'user' })
  const scope = 'openid notes:read'
  const ada = (await tokensFor(host, { scope })).access_token
  const adaElsewhere = (await tokensFor(host, { scope, client_id: 'other' }, { client_id: 'other' }))
    .access_token
  const bobs = (await tokensFor(host, { scope }, {}, { as: bob })).access_token
  expect(await statuses(host, '/a', [ada, adaElsewhere, ada])).toEqual([200, 200, 429])
  expect(await statuses(host, '/a', [bobs, await clientToken(host)])).toEqual([200, 200])
})

test.each(['jwt', 'opaque'] as const)(
  'by user: pairwise subjects in %s tokens are one user',
  async (accessToken) => {
    const resource = 'https://notes.example.com'
    const pairwise: ClientSeed = { ...other, client_id: 'pairwise', subject_type: 'pairwise' }
    const host = await startHost({
      clients: [...clients, pairwise],
      options: { resources: { [resource]: { scopes: ['notes:read'], accessToken } } },
    })
    open.push(host)
    const limit = { max: 2, seconds: 60, by: 'user' } as const
    const requireToken = host.oauth.requireToken('notes:read', { resource, limit })
    host.app.get('/a', requireToken, (req, res) => void res.json(req.auth.subject))
    const tokenAt = async (client_id: string, as = ada) =>
      (
        await tokensFor(
          host,
          { scope: 'openid notes:read', client_id, resource },
          { client_id, resource },
          { as },
        )
      ).access_token
    const [known, hidden] = [await tokenAt('web'), await tokenAt('pairwise')]
    const { body } = await call(host, '/a', hidden)
    expect(body === '1').toBe(accessToken === 'opaque')
    expect(await statuses(host, '/a', [known, hidden, known])).toEqual([200, 429, 429])
    expect(await statuses(host, '/a', [await tokenAt('pairwise', bob)])).toEqual([200])
  },
)

test('guards with the same name count together; others only with the same scope and numbers', async () => {
  const host = await start()
  const named = { ...perClient, name: 'search' }
  guard(host, '/a', named)
  guard(host, '/b', named, 'notes:write')
  guard(host, '/c', perClient)
  guard(host, '/d', perClient)
  guard(host, '/e', { ...perClient, max: 3 })
  guard(host, '/f', perClient, 'notes:write')
  const token = await clientToken(host, { scope: 'notes:read notes:write' })
  const seen: Record<string, string | undefined> = {}
  for (const path of ['/a', '/b', '/c', '/d', '/e', '/f'])
    seen[path] = (await call(host, path, token)).headers.ratelimit?.replace(/;t=\d+$/, '')
  expect(seen).toEqual({
    '/a': '"search";r=1',
    '/b': '"search";r=0',
    '/c': '"client";r=1',
    '/d': '"client";r=0',
    '/e': '"client";r=2',
    '/f': '"client";r=1',
  })
})

test('what the other rules refuse does not count', async () => {
  const host = await start()
  guard(host, '/a', perClient, 'notes:write')
  const [less, enough] = [await clientToken(host), await clientToken(host, { scope: 'notes:write' })]
  expect(await statuses(host, '/a', [less, less, less, enough, enough, enough])).toEqual([
    403, 403, 403, 200, 200, 429,
  ])
})

test('a guard without a limit takes no statement more, and one with a limit takes one', async () => {
  const host = await start()
  guard(host, '/free')
  guard(host, '/limited', perClient)
  const token = await clientToken(host)
  const count = await countStatements(host.database.knex, [])
  await call(host, '/free', token)
  const free = count.ours.length
  count.reset()
  await call(host, '/limited', token)
  expect([free, count.ours.length]).toEqual([1, 2])
})

test('verify() counts the same calls, and returns the headers', async () => {
  const host = await start()
  guard(host, '/a', perClient)
  const token = await clientToken(host)
  await call(host, '/a', token)
  const request = new Request('https://a.example/a', { headers: { Authorization: `Bearer ${token}` } })
  const verify = () => host.oauth.verify(request, 'notes:read', { user: false, limit: perClient })
  expect((await verify()).headers).toMatchObject({ RateLimit: expect.stringContaining('r=0') })
  expect(await verify()).toMatchObject({ status: 429, headers: { 'Retry-After': expect.any(String) } })
})

test.each<[object, string]>([
  [{ max: 0, seconds: 60, by: 'client' }, 'limit.max must be a whole number, at least 1'],
  [{ max: 1, seconds: 60 }, 'limit.by is required'],
  [{ max: 1, by: 'client' }, 'limit.seconds is required'],
  [{ max: 1, seconds: 60, by: 'address' }, "limit.by must be 'client' or 'user'"],
  [{ max: 1, seconds: 60, by: 'user', name: 'a "name"' }, 'limit.name must be at most 40'],
])('%j stops the start', async (limit, message) => {
  const host = await start()
  expect(() => host.oauth.requireToken('notes:read', { limit: limit as CallLimitOptions })).toThrow(message)
})

describe('an API in another process', () => {
  const audience = 'https://jwt.example.com/notes'
  test('refuses a limit without a store, and counts with one', async () => {
    const server = await openServer()
    const issuer = `${server.origin}/oauth`
    const resources = { [audience]: { scopes: ['notes:read'], accessToken: 'jwt' as const } }
    const host = await start({ issuer, resources })
    server.serve(host.app)
    const logger = { info: () => {}, warn: () => {}, error: () => {} }
    const bare = resourceServer({ issuer, audience, logger })
    expect(() => bare.requireToken('notes:read', { limit: perClient })).toThrow('limits: { store }')
    expect(() => resourceServer({ issuer, audience, limits: { store: 'database' as never } })).toThrow(
      OptionsError,
    )
    const api = resourceServer({ issuer, audience, logger, limits: { store: 'memory' } })
    const app = express().get(
      '/a',
      api.requireToken('notes:read', { user: false, limit: perClient }),
      (_req, res) => void res.json({}),
    )
    const token = await clientToken(host, { resource: audience })
    const found = []
    for (let calls = 0; calls < 3; calls += 1) found.push((await call({ app }, '/a', token)).status)
    expect(found).toEqual([200, 200, 429])
    await server.close()
  })
})

/** A server, or an API that is apart from it, in a process of its own. */
const program = `
import express from 'express'
import knex from 'knex'
import { createClient } from 'redis'
import { authRouter } from 'latchkey'
import { resourceServer } from 'latchkey/guard'

const { ROLE, STORE, REDIS, DATABASE, PREFIX, ISSUER, AUDIENCE, PORT } = process.env
const store = STORE === 'redis' ? createClient({ url: REDIS }) : 'database'
if (STORE === 'redis') await store.connect()
const resources = { [AUDIENCE]: { scopes: ['notes:read'], accessToken: 'jwt' } }
const database = { knex: knex({ client: 'pg', connection: DATABASE }), tablePrefix: PREFIX }
const app = express()
const guards = ROLE === 'api'
  ? resourceServer({ issuer: ISSUER, audience: AUDIENCE, limits: { store } })
  : authRouter({ issuer: ISSUER, database, resources, scopes: { 'notes:read': 'Read' }, limits: { store } , secrets: ['a secret of the tests that is long enough'] })
if (ROLE !== 'api') app.use('/oauth', guards)
const limit = { max: 20, seconds: 600, by: 'client' }
app.get('/a', guards.requireToken('notes:read', { user: false, resource: AUDIENCE, limit }), (req, res) => res.json({}))
app.listen(PORT)
`

describeWith('postgresql', 'two processes', () => {
  const PREFIX = `c${randomBytes(4).toString('hex')}_`
  const AUDIENCE = 'https://jwt.example.com/notes'
  let knex: Knex
  let folder: HostFolder
  beforeAll(async () => {
    knex = createKnex({ client: 'pg', connection: services.postgresql })
    const scopes = { 'notes:read': 'Read', 'notes:write': 'Write' }
    const options = { database: { knex, tablePrefix: PREFIX }, scopes }
    await migrate(knex, options)
    await seedClients(knex, [clients[0]!], options)
    folder = openHostFolder({ 'app.mjs': program })
  })
  afterAll(async () => {
    folder?.remove()
    const { rows } = await knex.raw('select tablename from pg_tables where tablename like ?', [`${PREFIX}%`])
    for (const { tablename } of rows) await knex.raw('drop table if exists ?? cascade', [tablename])
    await knex.destroy()
  })
  afterEach(() => folder.stop())

  /** Two processes of a role, and 60 calls at once of one client, half of them at each. */
  const passedIn = async (role: string, store: string): Promise<Record<string, number>> => {
    const [front, one, two] = [await freePort(), await freePort(), await freePort()]
    const env = { STORE: store, REDIS: services.redis, DATABASE: services.postgresql, PREFIX, AUDIENCE }
    const ISSUER = `http://localhost:${front}/oauth`
    await folder.start('app.mjs', { ...env, ISSUER, ROLE: 'server', PORT: String(front) })
    const ports = role === 'server' ? [front, one] : [one, two]
    for (const port of ports)
      if (port !== front) await folder.start('app.mjs', { ...env, ISSUER, ROLE: role, PORT: String(port) })
    const body = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: 'web',
      client_secret: secret,
      scope: 'notes:read',
      resource: AUDIENCE,
    })
    const { access_token } = await (await fetch(`${ISSUER}/token`, { method: 'POST', body })).json()
    const headers = { Authorization: `Bearer ${access_token}` }
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, index) => fetch(`http://localhost:${ports[index % 2]}/a`, { headers })),
    )
    const counts: Record<string, number> = {}
    for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1
    return counts
  }

  test('let pass together what the limit allows, on PostgreSQL', async () => {
    expect(await passedIn('server', 'database')).toEqual({ 200: 20, 429: 40 })
  })

  describeWith('redis', 'with Redis', () => {
    test.each(['server', 'api'])('let pass together what the limit allows, each a %s', async (role) => {
      const redis = createClient({ url: services.redis })
      await redis.connect()
      for await (const keys of redis.scanIterator({ MATCH: 'latchkey:*calls-client*' }))
        for (const key of keys) await redis.del(key)
      await redis.close()
      expect(await passedIn(role, 'redis')).toEqual({ 200: 20, 429: 40 })
    })
  })
})
