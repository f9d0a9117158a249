import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import express, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express'
import supertest from 'supertest'
import { type ResourceServerOptions, resourceServer } from '../../lib/guard/index.ts'
import { type SigningKey, signJwt } from '../../lib/keys/jwt.ts'
import { rotateKeys } from '../../lib/keys/key-rotation.ts'
import { signingAlgorithms } from '../../lib/protocol/clients/client-metadata.ts'
import { serverBehind } from '../../lib/router.ts'
import { stopClock } from '../support/clock.ts'
import { clients, type Host, secret, startHost } from '../support/host.ts'
import { answerOf, expectError, type Fields, post, tokensFor, web } from '../support/tokens.ts'
import { type ApiProcess, startApi } from './api-processes.ts'

// Guards in the process of the server, and in APIs elsewhere, which use the issuer's keys or introspection.

const resources = {
  jwt: 'https://jwt.example.com/notes',
  opaque: 'https://opaque.example.com/notes',
}
type Kind = keyof typeof resources
const kinds: Kind[] = ['jwt', 'opaque']

let host: Host
let listener: Server
let issuer: string
/** The paths of every request to the issuer. */
const asked: string[] = []
const apis = {} as Record<Kind, ApiProcess>

const introspection = { clientId: 'web', clientSecret: secret }
const optionsOf = (kind: Kind) => ({
  issuer,
  audience: resources[kind],
  implies: { 'notes:write': ['notes:read'] },
  ...(kind === 'opaque' && { introspection }),
})
const answer: RequestHandler = (req, res) => void res.json(req.auth)

beforeAll(async () => {
  listener = createServer()
  await once(listener.listen(0, '127.0.0.1'), 'listening')
  issuer = `http://127.0.0.1:${(listener.address() as AddressInfo).port}/oauth`
  const scopes = ['notes:read', 'notes:write']
  host = await startHost({
    clients,
    options: {
      issuer,
      lifetimes: { signingKeyLead: 1 },
      resources: {
        [resources.jwt]: { scopes, accessToken: 'jwt' },
        [resources.opaque]: { scopes, introspection: ['web'] },
      },
    },
  })
  listener.on('request', ({ url }) => asked.push(String(url))).on('request', host.app)
  const { requireToken: guard } = host.oauth
  for (const kind of kinds) {
    apis[kind] = await startApi(optionsOf(kind))
    host.app.get(`/own/${kind}`, guard('notes:read', { resource: resources[kind] }), answer)
  }
  const ask = { resource: resources.opaque, ask: 'notes:write' }
  host.app.get('/own/ask', guard('notes:read', ask), answer)
  host.app.get('/own/any', guard('notes:read', { resource: resources.jwt, user: false }), answer)
  host.app.get('/api/any', guard(undefined, { user: false }), answer)
  host.app.get('/api/read', guard('notes:read', { user: false }), answer)
  host.app.get('/api/both', guard('notes:read notes:write', { user: false }), answer)
  host.app.get('/api/user', guard('notes:read'), answer)
})
afterAll(async () => {
  for (const kind of kinds) await apis[kind].close()
  listener.closeAllConnections()
  listener.close()
  await host.close()
})
afterEach(() => jest.restoreAllMocks())

const userToken = async (resource?: string, scope = 'openid notes:read'): Promise<string> =>
  (await tokensFor(host, { scope, resource }, { resource })).access_token
const clientToken = async (fields: Fields): Promise<string> =>
  (await answerOf(post(host, { ...web, grant_type: 'client_credentials', ...fields }))).access_token
const get = (path: string, token: string, app = host.app) =>
  supertest(app).get(path).set('Authorization', `Bearer ${token}`)
const disableUser = (disabled_at: number | null) =>
  host.database.knex(host.usersTable).where({ id: 1 }).update({ disabled_at })
const metadataOf = (kind: Kind): string => {
  const { origin, pathname } = new URL(resources[kind])
  return `resource_metadata="${origin}/.well-known/oauth-protected-resource${pathname}"`
}
const summary = ({ status, body, headers }: supertest.Response) => ({
  status,
  error: body.error,
  challenge: headers['www-authenticate'],
})

test('the challenge without a valid token names more scopes, which are not required (mcp 6)', async () => {
  const challenge = async (path: string, token?: string) => {
    const request = supertest(host.app).get(path)
    const { status, headers } = await (token ? request.auth(token, { type: 'bearer' }) : request)
    return [status, / scope="([^"]+)"/.exec(headers['www-authenticate'] ?? '')?.[1]]
  }
  expect(await challenge('/own/ask')).toEqual([401, 'notes:read notes:write'])
  expect(await challenge('/own/ask', 'lk_at_unknown')).toEqual([401, 'notes:read notes:write'])
  const reading = await userToken(resources.opaque)
  expect(await challenge('/own/ask', reading)).toEqual([200, undefined])
  expect(await challenge('/own/ask', await userToken(resources.opaque, 'openid'))).toEqual([
    403,
    'notes:read',
  ])
  expect(() => host.oauth.requireToken('notes:read', { ask: 'notes:raed' })).toThrow('notes:raed')
})

describe('a guard in the process of the server', () => {
  test('accepts a valid token, and req.auth describes it', async () => {
    const clock = stopClock()
    const [iat, exp] = [clock.now(), clock.now() + 3600]
    const token = await userToken()
    const { status, body } = await get('/api/read', token)
    const claims = { iss: issuer, client_id: 'web', scope: 'openid notes:read', sub: '1' }
    const auth = { token, subject: '1', clientId: 'web', scopes: ['openid', 'notes:read'], expiresAt: exp }
    expect({ status, body }).toEqual({
      status: 200,
      body: { ...auth, claims: { ...claims, iat, exp, auth_time: iat } },
    })
    expect((await get('/api/user', token)).status).toBe(200)
    expect((await get('/api/any', await userToken(undefined, 'openid'))).status).toBe(200)
  })

  test('accepts the token of a client without a user only if its options allow that', async () => {
    const token = await clientToken({ scope: 'notes:read' })
    const { body } = await get('/api/read', token)
    expect(body).toMatchObject({ clientId: 'web', scopes: ['notes:read'] })
    for (const fields of [body, body.claims]) expect(fields).not.toHaveProperty('sub')
    expect(body).not.toHaveProperty('subject')
    const refused = await get('/api/user', token)
    expectError(refused, 403, 'insufficient_scope')
    expect(refused.headers['www-authenticate']).toContain('error="insufficient_scope"')
  })

  test('requires all of its scopes, and names them in the challenge', async () => {
    expect((await get('/api/both', await clientToken({ scope: 'notes:read notes:write' }))).status).toBe(200)
    const refused = await get('/api/both', await clientToken({ scope: 'notes:read' }))
    expectError(refused, 403, 'insufficient_scope')
    expect(refused.headers['www-authenticate']).toMatch(
      /error="insufficient_scope", error_description="the access token lacks the scope notes:write", scope="notes:read notes:write"$/,
    )
    const none = await supertest(host.app).get('/api/read')
    expectError(none, 401, 'invalid_token')
    expect(none.headers['www-authenticate']).toBe('Bearer realm="api", scope="notes:read"')
  })

  test('returns what it found from auth(req), and throws if it or a stricter guard did not run', async () => {
    const guard = host.oauth.requireToken('notes:read')
    const answers = async (first: RequestHandler, token: string) => {
      const app = express().use(first)
      app.get('/', (req, res) => void res.json({ subject: guard.auth(req).subject }))
      const fail: ErrorRequestHandler = (error: Error, _req, res, _next) =>
        void res.status(500).json(error.message)
      const { status, body } = await get('/', token, app.use(fail) as Express)
      return { status, body }
    }
    expect(await answers(guard, await userToken())).toEqual({ status: 200, body: { subject: '1' } })
    const others: [RequestHandler, string][] = [
      [(_req, _res, next) => next(), 'did not run'],
      [host.oauth.requireToken('notes:read', { user: false }), 'does not belong to a user'],
      [host.oauth.requireToken(undefined, { user: false }), 'does not belong to a user'],
    ]
    for (const [other, message] of others) {
      const failed = await answers(other, await clientToken({ scope: 'notes:read' }))
      expect(failed).toEqual({ status: 500, body: expect.stringContaining(message) })
    }
  })

  test('is refused when it is made for a scope that no token can have', () => {
    const guarding = (scope: string) => () => host.oauth.requireToken(scope)
    expect(guarding('notes:"read"')).toThrow(expect.objectContaining({ code: 'invalid_scope' }))
    const message = `latchkey: requireToken('notes:read notes:wrte'): notes:wrte is not in the option scopes; did you mean notes:write?`
    const refusal = expect.objectContaining({ name: 'OptionsError', message })
    expect(guarding('notes:read notes:wrte')).toThrow(refusal)
  })
})

/** An API that only knows its issuer by these options, in this process. */
const apiWith = (options: ResourceServerOptions, error = (..._line: unknown[]): void => {}): Express => {
  const logger = { info: () => {}, warn: () => {}, error }
  const { requireToken: guard } = resourceServer({ ...options, logger })
  return express().get('/any', guard('notes:read', { user: false }), answer) as Express
}

describe.each(kinds)('a guard in another process, with %s tokens', (kind) => {
  const resource = resources[kind]
  const api = () => apis[kind]

  test('gives req.auth as oauth.requireToken() does', async () => {
    const token = await userToken(resource)
    const { body: own } = await get(`/own/${kind}`, token)
    const there = await api().get('/notes', token)
    const auth = { token, subject: '1', clientId: 'web', scopes: ['openid', 'notes:read'], resource }
    expect(own).toMatchObject(auth)
    expect({ status: there.status, body: there.body }).toEqual({
      status: 200,
      body: { ...own, claims: expect.objectContaining(own.claims) },
    })
  })

  test('accepts a client’s own token where no user is required, and an implied scope suffices', async () => {
    const token = await clientToken({ scope: 'notes:write', resource })
    const any = await api().get('/any', token)
    expect(any.body).toMatchObject({ clientId: 'web', scopes: ['notes:write'] })
    expect(any.body).not.toHaveProperty('subject')
    expect(any.body.claims).not.toHaveProperty('sub')
    const refused = summary(await api().get('/notes', token))
    expect(refused).toMatchObject({ status: 403, error: 'insufficient_scope' })
  })

  test('refuses with the challenges of oauth.requireToken()', async () => {
    const read = `scope="notes:read", ${metadataOf(kind)}`
    const bare = { status: 401, error: 'invalid_token', challenge: `Bearer realm="api", ${read}` }
    expect(summary(await api().get('/notes'))).toEqual(bare)
    const token = await userToken(resource)
    const lacking = summary(await api().get('/write', token))
    expect(lacking).toMatchObject({ status: 403, error: 'insufficient_scope' })
    expect(lacking.challenge).toMatch(/, scope="notes:write", resource_metadata="/)
    const level = summary(await api().get('/mfa', token))
    expect(level).toMatchObject({ status: 401, error: 'insufficient_user_authentication' })
    expect(level.challenge).toContain('acr_values="mfa", max_age="60"')
    const other = resources[kind === 'jwt' ? 'opaque' : 'jwt']
    for (const wrong of ['x', 'a.b.c', await userToken(other), await clientToken({ scope: 'notes:read' })]) {
      const refused = summary(await api().get('/any', wrong))
      expect(refused).toMatchObject({ status: 401, error: 'invalid_token' })
      expect(refused.challenge).toContain(read)
    }
  })

  test('answers 503 if it cannot reach the issuer', async () => {
    const lines: string[] = []
    const away = apiWith({ ...optionsOf(kind), issuer: 'http://127.0.0.1:9/oauth' }, (line) => {
      lines.push(String(line))
    })
    const refused = await get('/any', await clientToken({ scope: 'notes:read', resource }), away)
    expect(lines).toEqual([
      expect.stringMatching(
        `^latchkey: temporarily_unavailable ${refused.body.error_id} \\(docs/errors.md#temporarily_unavailable\\): .`,
      ),
    ])
    expect(summary(refused)).toEqual({ status: 503, error: 'temporarily_unavailable', challenge: undefined })
  })
})

describe('introspection by a guard', () => {
  test('is cached only with cacheSeconds and for valid tokens; a JWT is valid until it expires', async () => {
    const caching = apiWith({
      ...optionsOf('opaque'),
      introspection: { ...introspection, cacheSeconds: 60 },
    })
    const [seen, unseen] = [await userToken(resources.opaque), await userToken(resources.opaque)]
    const jwt = await userToken(resources.jwt)
    const status = async (token: string): Promise<number> => (await get('/any', token, caching)).status
    const answers = [await status(seen), (await apis.opaque.get('/notes', seen)).status]
    expect(answers).toEqual([200, 200])
    await disableUser(1)
    const disabled = [await status(seen), await status(unseen)]
    const elsewhere = [await apis.opaque.get('/notes', seen), await apis.jwt.get('/notes', jwt)]
    await disableUser(null)
    expect([...disabled, await status(unseen)]).toEqual([200, 401, 200])
    expect(elsewhere.map((each) => each.status)).toEqual([401, 200])
  })

  test('without an audience accepts only access tokens for no resource', async () => {
    const api = apiWith({ issuer, introspection })
    const { access_token, refresh_token } = await tokensFor(host, { scope: 'openid notes:read' })
    const tokens = [access_token, refresh_token, await userToken(resources.opaque)]
    const answers = await Promise.all(tokens.map((token) => get('/any', token, api)))
    expect(answers.map(({ status }) => status)).toEqual([200, 401, 401])
  })

  test('with credentials that the issuer refuses is an error of the API, not of the token', async () => {
    const wrong = { clientId: 'web', clientSecret: 'wrong' }
    const misconfigured = apiWith({ ...optionsOf('opaque'), introspection: wrong })
    const refused = await get('/any', await userToken(resources.opaque), misconfigured)
    expect(summary(refused)).toEqual({ status: 500, error: 'server_error', challenge: undefined })
  })
})

describe('a JWT', () => {
  const now = Math.floor(Date.now() / 1000)
  const claims = () => ({
    iss: issuer,
    aud: resources.jwt,
    sub: '1',
    client_id: 'web',
    scope: 'notes:read',
    iat: now,
    exp: now + 600,
    jti: 'x',
  })
  const issuersKey = async (): Promise<SigningKey> =>
    (await serverBehind(host.oauth)!.ready()).keys.signingKey('RS256')
  const status = async (jwt: string): Promise<number> => (await apis.jwt.get('/any', jwt)).status

  test.each<[string, object, string?]>([
    ['of another type', {}, 'JWT'],
    ['of another issuer', { iss: 'https://other.example.com' }],
    ['for another API', { aud: 'https://other.example.com' }],
    ['for an API whose URL begins alike', { aud: `${resources.jwt}/more` }],
    ['for no API', { aud: undefined }],
    ['that has expired', { exp: now - 1 }],
    ['that never expires', { exp: undefined }],
    ['without a client', { client_id: undefined }],
    ['that is bound to a key', { cnf: { jkt: 'x' } }],
  ])('%s is refused', async (_case, changes, typ = 'at+jwt') => {
    expect(await status(await signJwt(await issuersKey(), { ...claims(), ...changes }, typ))).toBe(401)
  })

  test('signed with an unknown key, or not at all, is refused; strangers cause one fetch a minute', async () => {
    const clock = stopClock()
    const api = apiWith(optionsOf('jwt'))
    const status = async (jwt: string): Promise<number> => (await get('/any', jwt, api)).status
    const { kid, algorithm } = await issuersKey()
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    expect(await status(await signJwt(await issuersKey(), claims(), 'at+jwt'))).toBe(200)
    clock.travel(61)
    asked.length = 0
    for (const id of [kid, 'unknown', 'another', 'a third']) {
      expect(await status(await signJwt({ kid: id, algorithm, privateKey }, claims(), 'at+jwt'))).toBe(401)
      clock.travel(1)
    }
    const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
    expect(await status(`${encode({ alg: 'none', typ: 'at+jwt', kid })}.${encode(claims())}.`)).toBe(401)
    expect(asked).toEqual(['/oauth/jwks'])
  })

  test('is accepted everywhere while the issuer rotates its keys', async () => {
    const clock = stopClock()
    const { keys, database, options, now: time } = await serverBehind(host.oauth)!.ready()
    const { kid } = keys.signingKey('RS256')
    const api = apiWith(optionsOf('jwt'))
    const quiet = { ...options, keyPublished: () => {} }
    await rotateKeys(database, quiet, { algorithms: signingAlgorithms, now: time() })
    const statuses: number[] = []
    const visit = async (): Promise<void> => {
      const token = await clientToken({ scope: 'notes:read', resource: resources.jwt })
      statuses.push((await get('/any', token, api)).status, (await get('/own/any', token)).status)
    }
    await visit()
    // The next key signs after its lead of one second; a process reads its keys every five seconds.
    clock.travel(6)
    await visit()
    await visit()
    expect(statuses).toEqual([200, 200, 200, 200, 200, 200])
    expect(keys.signingKey('RS256').kid).not.toBe(kid)
  })
})

describe('wrong options are refused at once', () => {
  const right = { issuer: 'https://app.example.com/oauth', audience: 'https://api.example.com' }
  const credentials = { clientId: 'api', clientSecret: secret }
  test.each<[object, string]>([
    [{ issuer: 'http://app.example.com/oauth' }, 'issuer must use https'],
    [{ audience: undefined }, 'audience is required without introspection'],
    [{ audience: 'api' }, 'audience must be an absolute URL'],
    [{ audiense: 'x' }, 'audiense is not an option; did you mean audience?'],
    [{ introspection: { clientId: 'api' } }, 'introspection.clientSecret is required'],
    [
      { introspection: { ...credentials, cacheSeconds: 61 } },
      'cacheSeconds must be a whole number of seconds, from 0 to 60',
    ],
    [{ implies: { a: 'b' } }, "implies['a'] must be a list of scopes"],
  ])('%j: %s', (wrong, message) => {
    expect(() => resourceServer({ ...right, ...wrong } as ResourceServerOptions)).toThrow(message)
  })

  test.each<[string | undefined, object, string]>([
    ['a"b', {}, 'scope has characters that RFC 6749 does not allow'],
    [undefined, { maxAge: -1 }, 'requireToken().maxAge must be a whole number of seconds'],
    [undefined, { acr: ' ' }, 'requireToken().acr must be a list of levels'],
    [undefined, { user: 'yes' }, 'requireToken().user must be true or false'],
  ])('of a guard for %j, %j: %s', (scope, wrong, message) => {
    const { requireToken } = resourceServer(right)
    expect(() => requireToken(scope, wrong)).toThrow(message)
  })

  test('a guard whose options come first (mcp 14)', () => {
    const { requireToken } = resourceServer(right)
    const given = { resource: right.audience } as unknown as string
    expect(() => requireToken(given)).toThrow('requireToken() takes the scopes first')
  })

  test('a guard for another resource than the audience', () => {
    const { requireToken: guard } = resourceServer(right)
    expect(() => guard('a', { resource: 'https://other.example.com' })).toThrow(
      "requireToken('a'): resource must be the audience, https://api.example.com",
    )
    expect(() => guard('a', { resource: right.audience })).not.toThrow()
  })
})
