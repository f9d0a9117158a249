import express, { type ErrorRequestHandler, type RequestHandler } from 'express'
import supertest from 'supertest'
import { stopClock } from '../support/clock.ts'
import { type Host, startHost } from '../support/host.ts'
import { answerOf, bob, expectError, post, tokensFor, web } from '../support/tokens.ts'

let host: Host
const reached = jest.fn()

beforeAll(async () => {
  host = await startHost()
  const { requireToken } = host.oauth
  const answer: RequestHandler = (req, res) => {
    reached()
    res.json({ ...req.auth })
  }
  host.app.all('/api/any', requireToken(undefined, { user: false }), answer)
  host.app.get('/api/read', requireToken('notes:read', { user: false }), answer)
  host.app.get('/api/both', requireToken('notes:read notes:write', { user: false }), answer)
  host.app.get('/api/user', requireToken('notes:read'), answer)
})
afterAll(() => host.close())
beforeEach(() => reached.mockClear())
afterEach(() => jest.restoreAllMocks())

const get = (path: string, token: string) =>
  supertest(host.app).get(path).set('Authorization', `Bearer ${token}`)
const userToken = async (scope: string, as = bob): Promise<string> =>
  (await tokensFor(host, { scope }, {}, { as })).access_token
const clientToken = async (scope: string): Promise<string> =>
  (await answerOf(post(host, { grant_type: 'client_credentials', scope, ...web }))).access_token

const expectRefused = (res: supertest.Response, status: number, error: string, challenge: RegExp): void => {
  expectError(res, status, error)
  expect(res.headers['www-authenticate']).toMatch(challenge)
  expect(reached).not.toHaveBeenCalled()
}

test('a valid token passes, and req.auth describes it', async () => {
  const clock = stopClock()
  const [iat, exp] = [clock.now(), clock.now() + 3600]
  const token = await userToken('openid notes:read')
  const res = await get('/api/read', token)
  const claims = {
    iss: 'http://localhost:3000/oauth',
    client_id: 'web',
    scope: 'openid notes:read',
    iat,
    exp,
    auth_time: iat,
  }
  expect({ status: res.status, body: res.body }).toEqual({
    status: 200,
    body: {
      token,
      subject: '2',
      clientId: 'web',
      scopes: ['openid', 'notes:read'],
      expiresAt: exp,
      claims: { ...claims, sub: '2' },
    },
  })
})

test('a client’s own token has no subject', async () => {
  const { body } = await get('/api/read', await clientToken('notes:read'))
  expect(body).toMatchObject({ clientId: 'web', scopes: ['notes:read'] })
  for (const fields of [body, body.claims]) expect(fields).not.toHaveProperty('sub')
  expect(body).not.toHaveProperty('subject')
})

describe('guard.auth(req)', () => {
  const guard = () => host.oauth.requireToken('notes:read')
  const answers = async (first: RequestHandler, token: string): Promise<supertest.Response> => {
    const { auth } = guard()
    const app = express().use(first)
    app.get('/', (req, res) => void res.json({ subject: auth(req).subject }))
    app.use(
      ((error: Error, _req, res, _next) => void res.status(500).json(error.message)) as ErrorRequestHandler,
    )
    return supertest(app).get('/').set('Authorization', `Bearer ${token}`)
  }

  test('returns what the guard found, for handlers that are registered apart from it', async () => {
    const res = await answers(guard(), await userToken('notes:read'))
    expect({ status: res.status, body: res.body }).toEqual({ status: 200, body: { subject: '2' } })
  })

  test('throws where the guard did not run, or a weaker one did', async () => {
    const others: [RequestHandler, string][] = [
      [(_req, _res, next) => next(), 'did not run'],
      [host.oauth.requireToken('notes:read', { user: false }), 'does not belong to a user'],
      [host.oauth.requireToken(undefined, { user: false }), 'does not belong to a user'],
    ]
    for (const [other, message] of others) {
      const res = await answers(other, await clientToken('notes:read'))
      expect({ status: res.status, body: res.body }).toEqual({
        status: 500,
        body: expect.stringContaining(message),
      })
    }
  })
})

test('without a scope any valid token passes', async () => {
  expect((await get('/api/any', await userToken('openid'))).status).toBe(200)
})

test('several scopes must all be there', async () => {
  expect((await get('/api/both', await clientToken('notes:read notes:write'))).status).toBe(200)
  reached.mockClear()
  expectRefused(
    await get('/api/both', await clientToken('notes:read')),
    403,
    'insufficient_scope',
    /error="insufficient_scope", error_description="the access token lacks the scope notes:write", scope="notes:read notes:write"$/,
  )
})

test('no token gets a challenge without an error, with the scopes of the route', async () => {
  const res = await supertest(host.app).get('/api/read')
  expectRefused(res, 401, 'invalid_token', /^Bearer realm="api", scope="notes:read"$/)
})

test('the token of a user who is disabled is refused from that moment', async () => {
  const users = () => host.database.knex(host.usersTable).where({ id: 2 })
  const token = await userToken('notes:read')
  await users().update({ disabled_at: 1 })
  const refused = await get('/api/read', token)
  await users().update({ disabled_at: null })
  expectRefused(refused, 401, 'invalid_token', /error="invalid_token"/)
  expect((await get('/api/read', token)).status).toBe(200)
})

test('a guard refuses tokens without a user, unless it is told otherwise', async () => {
  expect((await get('/api/user', await userToken('notes:read'))).status).toBe(200)
  reached.mockClear()
  const res = await get('/api/user', await clientToken('notes:read'))
  expectRefused(res, 403, 'insufficient_scope', /error="insufficient_scope"/)
})

test('a guard for a malformed scope is refused when it is made', () => {
  const guarding = () => host.oauth.requireToken('notes:"read"')
  expect(guarding).toThrow(expect.objectContaining({ code: 'invalid_scope' }))
})

test.each([
  ['notes:raed', 'notes:raed', 'notes:read'],
  ['notes:read notes:wrte', 'notes:wrte', 'notes:write'],
])('a guard for %s, which no token can have, is refused when it is made', (scope, unknown, meant) => {
  expect(() => host.oauth.requireToken(scope)).toThrow(
    expect.objectContaining({
      name: 'OptionsError',
      message: `latchkey: requireToken('${scope}'): ${unknown} is not in the option scopes; did you mean ${meant}?`,
    }),
  )
})

test('an unavailable database does not make a token invalid', async () => {
  const { knex, tablePrefix } = host.database
  const token = await clientToken('notes:read')
  await knex.schema.renameTable(`${tablePrefix}access_tokens`, `${tablePrefix}away`)
  const away = await get('/api/read', token)
  await knex.schema.renameTable(`${tablePrefix}away`, `${tablePrefix}access_tokens`)
  expectError(away, 503, 'temporarily_unavailable')
  expect(away.headers).not.toHaveProperty('www-authenticate')
  expect((await get('/api/read', token)).status).toBe(200)
})
