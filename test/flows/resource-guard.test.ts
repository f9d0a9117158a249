import type { Request, RequestHandler } from 'express'
import supertest from 'supertest'
import { type SigningKey, signJwt } from '../../lib/keys/jwt.ts'
import { replaceKeys, rotateKeys } from '../../lib/keys/key-rotation.ts'
import { serverBehind } from '../../lib/router.ts'
import { stopClock } from '../support/clock.ts'
import type { Host } from '../support/host.ts'
import {
  files,
  mail,
  notes,
  photos,
  resourceOptions,
  startResourceHost,
  tokenRequest,
  tokensOf,
} from '../support/resource-host.ts'
import { countStatements } from '../support/statement-count.ts'
import { answerOf, type TokenAnswer } from '../support/tokens.ts'
import { told } from '../support/told.ts'

let host: Host
const scope = 'openid notes:read files:read'
const answer: RequestHandler = (req, res) => void res.json(req.auth)

beforeAll(async () => {
  const { scopes } = resourceOptions
  const write = { description: 'Write notes for you', implies: ['notes:read'] }
  host = await startResourceHost({ options: { scopes: { ...scopes, 'notes:write': write } } })
  const { requireToken } = host.oauth
  host.app.get('/none', requireToken(), answer)
  host.app.get('/notes', requireToken('notes:read', { resource: notes }), answer)
  host.app.get('/files', requireToken('files:read', { resource: 'HTTPS://files.EXAMPLE.com' }), answer)
})
afterAll(() => host.close())
afterEach(() => jest.restoreAllMocks())

const call = (path: string, token: string) =>
  supertest(host.app).get(path).set('Authorization', `Bearer ${token}`)

test.each<[string, string[], string[]]>([
  ['no resource', [], ['/none']],
  ['a resource', [notes], ['/notes']],
  ['this resource and another', [mail, notes], ['/notes']],
  ['another resource', [mail], []],
  ['a resource with JWTs', [files], ['/files']],
  ['this resource and another one with JWTs', [photos, files], ['/files']],
  ['another resource with JWTs', [photos], []],
])('a token for %s passes the guards of its resources only', async (_case, resources, passed) => {
  const { access_token } = await tokensOf(host, resources, { scope })
  const statuses = await Promise.all(
    ['/none', '/notes', '/files'].map(async (path) => [path, (await call(path, access_token)).status]),
  )
  expect(Object.fromEntries(statuses)).toEqual(
    Object.fromEntries(
      ['/none', '/notes', '/files'].map((path) => [path, passed.includes(path) ? 200 : 401]),
    ),
  )
})

test.each([
  ['/notes', notes],
  ['/files', files],
])('req.auth has what MCP handlers read: %s', async (path, resource) => {
  const { access_token: token } = await tokensOf(host, [resource], { scope })
  const { body } = await call(path, token)
  expect(body).toMatchObject({
    ...{ token, clientId: 'web', subject: '1', scopes: expect.arrayContaining(['openid']) },
    ...{
      expiresAt: expect.any(Number),
      resource: new URL(resource).href,
      resourceMetadataUrl: expect.stringContaining('/.well-known/oauth-protected-resource'),
    },
    claims: { aud: resource, sub: '1', client_id: 'web', auth_time: expect.any(Number) },
  })
})

test('a JWT takes no statement, an opaque token one', async () => {
  const { knex } = host.database
  const [opaque, jwt] = [await tokensOf(host, [notes], { scope }), await tokensOf(host, [files], { scope })]
  const count = await countStatements(knex, [host.usersTable])
  const statementsOf = async (path: string, { access_token }: TokenAnswer): Promise<number> => {
    await call(path, access_token).expect(200)
    count.reset()
    await call(path, access_token).expect(200)
    return count.ours.length
  }
  expect([await statementsOf('/notes', opaque), await statementsOf('/files', jwt)]).toEqual([1, 0])
})

test('a client finds the server of a resource from the first answer on', async () => {
  const refused = await supertest(host.app).get('/notes')
  expect({ status: refused.status, challenge: refused.headers['www-authenticate'] }).toEqual({
    status: 401,
    challenge: `Bearer realm="api", scope="notes:read", resource_metadata="https://app.example.com/.well-known/oauth-protected-resource/mcp"`,
  })
  const get = async (path: string) => (await supertest(host.app).get(path)).body
  const { resource, authorization_servers } = await get('/.well-known/oauth-protected-resource/mcp')
  expect({ resource, authorization_servers }).toEqual({
    resource: notes,
    authorization_servers: ['http://localhost:3000/oauth'],
  })
  for (const path of [
    '/.well-known/oauth-authorization-server/oauth',
    '/.well-known/openid-configuration/oauth',
    '/oauth/.well-known/openid-configuration',
  ]) {
    expect((await get(path)).issuer).toBe(authorization_servers[0])
  }
})

describe('a JWT is refused if its key is', () => {
  const day = 86_400
  const ready = () => serverBehind(host.oauth)!.ready()
  const jwtBy = async (key: SigningKey, now: number): Promise<string> => {
    const claims = {
      iss: 'http://localhost:3000/oauth',
      aud: files,
      sub: '1',
      client_id: 'web',
      scope: 'files:read',
    }
    return signJwt(key, { ...claims, iat: now, exp: now + 600 }, 'at+jwt')
  }
  const request = { algorithms: ['RS256'] as const }

  test('withdrawn', async () => {
    const clock = stopClock()
    const { database, options, keys } = await ready()
    const key = keys.signingKey('RS256')
    expect((await call('/files', await jwtBy(key, clock.now()))).status).toBe(200)
    await replaceKeys(database, { ...options, keyPublished: () => {} }, { ...request, now: clock.now() })
    clock.travel(61)
    expect((await call('/files', await jwtBy(key, clock.now()))).status).toBe(401)
    expect((await call('/files', await jwtBy(keys.signingKey('RS256'), clock.now()))).status).toBe(200)
  })

  test('no longer published, although hints with it are still read', async () => {
    const clock = stopClock()
    const { database, options, keys } = await ready()
    const key = keys.signingKey('RS256')
    await rotateKeys(database, { ...options, keyPublished: () => {} }, { ...request, now: clock.now() })
    for (let days = 0; days < 4; days += 1) {
      clock.travel(day)
      await supertest(host.app).get('/oauth/jwks')
    }
    const jwt = await jwtBy(key, clock.now())
    expect(await keys.open(jwt, 'at+jwt')).toBeDefined()
    expect((await call('/files', jwt)).status).toBe(401)
  })
})

test('a route takes a session of the host or a token, each by its own guard', async () => {
  const withToken = host.oauth.requireToken('notes:read', { resource: notes })
  const withSession: RequestHandler = (req, res, next) => {
    if (req.headers.cookie === 'host=ada') next()
    else res.status(302).location('/login').end()
  }
  const either: RequestHandler = (req, res, next) =>
    (req.headers.authorization === undefined ? withSession : withToken)(req as Request, res, next)
  host.app.get('/either', either, (req, res) => void res.json({ subject: req.auth?.subject ?? 'ada' }))
  const { access_token } = await tokensOf(host, [notes], { scope })
  const get = () => supertest(host.app).get('/either')
  const statuses = await Promise.all([
    get().set('Cookie', 'host=ada'),
    get(),
    call('/either', access_token),
    call('/either', 'x').set('Cookie', 'host=ada'),
  ])
  expect(statuses.map(({ status, body }) => [status, body.subject])).toEqual([
    [200, 'ada'],
    [302, undefined],
    [200, '1'],
    [401, undefined],
  ])
})

test('a guard for an unknown resource is refused when it is made', () => {
  const near = 'https://files.example.org'
  expect(() => host.oauth.requireToken('files:read', { resource: near })).toThrow(
    `latchkey: requireToken('files:read'): ${near} is not in the option resources; did you mean ${files}?`,
  )
  expect(() => host.oauth.tokenVerifier(near)).toThrow('is not in the option resources')
})

describe.each([
  ['@modelcontextprotocol/express', '@modelcontextprotocol/express', false],
  ['@modelcontextprotocol/sdk 1', '@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js', true],
])('requireBearerAuth() of %s', (_name, module, needsClass) => {
  type RequireBearerAuth = (options: Readonly<Record<string, unknown>>) => RequestHandler
  const { requireBearerAuth } = jest.requireActual<{ requireBearerAuth: RequireBearerAuth }>(module)
  const { InvalidTokenError } = jest.requireActual<{ InvalidTokenError: new (message: string) => Error }>(
    '@modelcontextprotocol/sdk/server/auth/errors.js',
  )

  test('accepts what oauth.tokenVerifier() verifies, and answers what it refuses', async () => {
    const { oauth, app } = host
    const { knex: database, tablePrefix } = host.database
    const table = `${tablePrefix}access_tokens`
    const options = needsClass ? { InvalidTokenError } : {}
    const guard = (scopes: string[], more = {}): RequestHandler =>
      requireBearerAuth({
        verifier: oauth.tokenVerifier(notes, { ...options, ...more }),
        requiredScopes: scopes,
        expectedResource: notes,
        resourceMetadataUrl: 'https://app.example.com/.well-known/oauth-protected-resource/mcp',
      })
    const path = `/mcp-${needsClass}`
    app.get(path, guard(['notes:read'], { user: false }), answer)
    app.get(`${path}/user`, guard([]), answer)
    const write = { grant_type: 'client_credentials', scope: 'notes:write' }
    const tokens = {
      user: (await tokensOf(host, [notes], { scope })).access_token,
      other: (await tokensOf(host, [mail], { scope })).access_token,
      poor: (await tokensOf(host, [notes], { scope: 'openid' })).access_token,
      implying: (await answerOf(tokenRequest(host, write, [notes]))).access_token,
    }
    expect((await call(path, tokens.user)).body).toMatchObject({
      ...{
        token: tokens.user,
        clientId: 'web',
        subject: '1',
        scopes: ['openid', 'notes:read'],
        resource: notes,
      },
    })
    expect((await call(path, tokens.implying)).status).toBe(200)
    for (const [token, status, error] of [
      [tokens.other, 401, 'invalid_token'],
      ['x', 401, 'invalid_token'],
      [tokens.poor, 403, 'insufficient_scope'],
    ] as const) {
      const refused = await call(path, token)
      expect({ status: refused.status, error: refused.body.error }).toEqual({ status, error })
      expect(refused.headers['www-authenticate']).toContain(`error="${error}"`)
    }
    expect((await call(`${path}/user`, tokens.implying)).status).toBe(needsClass ? 401 : 403)
    await database.schema.renameTable(table, `${table}_away`)
    const away = await call(path, tokens.user)
    await database.schema.renameTable(`${table}_away`, table)
    expect(away.status).toBe(500)
    expect(told.at(-1)).toContain('latchkey: an access token could not be verified')
  })
})
