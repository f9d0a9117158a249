import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import supertest from 'supertest'
import { type RemoteGuardOptions, requireToken, resourceServer } from '../../lib/index.ts'
import { type SigningKey, signJwt } from '../../lib/keys/jwt.ts'
import { rotateKeys } from '../../lib/keys/key-rotation.ts'
import { signingAlgorithms } from '../../lib/protocol/client-metadata.ts'
import { serverBehind } from '../../lib/router.ts'
import { type ApiProcess, startApi } from '../support/api-processes.ts'
import { clients, type Host, secret, startHost } from '../support/host.ts'
import { answerOf, type Fields, post, tokensFor, web } from '../support/tokens.ts'

// APIs in other processes, guarded by the issuer's keys or by introspection.

jest.setTimeout(60_000)

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
  for (const kind of kinds) {
    apis[kind] = await startApi(optionsOf(kind))
    const own = host.oauth.requireToken('notes:read', { resource: resources[kind] })
    host.app.get(`/own/${kind}`, own, (req, res) => void res.json(req.auth))
  }
  const { requireToken: guard } = host.oauth
  host.app.get('/own/any', guard('notes:read', { resource: resources.jwt, user: false }), (_req, res) =>
    res.end(),
  )
})
afterAll(async () => {
  for (const kind of kinds) await apis[kind].close()
  listener.closeAllConnections()
  listener.close()
  await host.close()
})

const userToken = async (resource: string, scope = 'openid notes:read'): Promise<string> =>
  (await tokensFor(host, { scope, resource }, { resource })).access_token
const clientToken = async (fields: Fields): Promise<string> =>
  (await answerOf(post(host, { ...web, grant_type: 'client_credentials', ...fields }))).access_token
/** A route in the process of the issuer. */
const get = (path: string, token: string) =>
  supertest(host.app).get(path).set('Authorization', `Bearer ${token}`)
const metadataOf = (kind: Kind): string => {
  const { origin, pathname } = new URL(resources[kind])
  return `resource_metadata="${origin}/.well-known/oauth-protected-resource${pathname}"`
}
const summary = ({ status, body, headers }: Awaited<ReturnType<ApiProcess['get']>>) => ({
  status,
  error: body.error,
  challenge: headers['www-authenticate'],
})

describe.each(kinds)('%s', (kind) => {
  const resource = resources[kind]
  const api = () => apis[kind]

  test('req.auth is that of oauth.requireToken()', async () => {
    const token = await userToken(resource)
    const { body: own } = await get(`/own/${kind}`, token)
    const there = await api().get('/notes', token)
    expect(own).toMatchObject({
      token,
      subject: '1',
      clientId: 'web',
      scopes: ['openid', 'notes:read'],
      resource,
    })
    expect({ status: there.status, body: there.body }).toEqual({
      status: 200,
      body: { ...own, claims: expect.objectContaining(own.claims) },
    })
  })

  test('a client’s own token passes where no user is required, and an implied scope suffices', async () => {
    const token = await clientToken({ scope: 'notes:write', resource })
    const any = await api().get('/any', token)
    expect(any.body).toMatchObject({ clientId: 'web', scopes: ['notes:write'] })
    expect(any.body).not.toHaveProperty('subject')
    expect(any.body.claims).not.toHaveProperty('sub')
    expect((await api().get('/single', token)).status).toBe(200)
    expect(summary(await api().get('/notes', token))).toMatchObject({
      status: 403,
      error: 'insufficient_scope',
    })
  })

  test('refusals have the challenges of oauth.requireToken()', async () => {
    const read = `scope="notes:read", ${metadataOf(kind)}`
    expect(summary(await api().get('/notes'))).toEqual({
      ...{ status: 401, error: 'invalid_token', challenge: `Bearer realm="api", ${read}` },
    })
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

  test('an issuer that cannot be reached is 503', async () => {
    const away = await startApi({ ...optionsOf(kind), issuer: 'http://127.0.0.1:9/oauth' })
    const refused = await away.get('/any', await clientToken({ scope: 'notes:read', resource }))
    await away.close()
    expect(summary(refused)).toEqual({ status: 503, error: 'temporarily_unavailable', challenge: undefined })
  })
})

test('a disabled user is refused at once with an opaque token, and at the latest when the JWT expires', async () => {
  const [opaque, jwt] = [await userToken(resources.opaque), await userToken(resources.jwt)]
  const users = () => host.database.knex(host.usersTable).where({ id: 1 })
  await users().update({ disabled_at: 1 })
  const statuses = [
    (await apis.opaque.get('/notes', opaque)).status,
    (await apis.jwt.get('/notes', jwt)).status,
  ]
  await users().update({ disabled_at: null })
  expect(statuses).toEqual([401, 200])
})

test('answers about valid tokens are kept only if the API says so, and invalid ones never', async () => {
  const caching = await startApi({
    ...optionsOf('opaque'),
    introspection: { ...introspection, cacheSeconds: 60 },
  })
  const [seen, unseen] = [await userToken(resources.opaque), await userToken(resources.opaque)]
  const users = () => host.database.knex(host.usersTable).where({ id: 1 })
  const status = async (token: string): Promise<number> => (await caching.get('/notes', token)).status
  expect(await status(seen)).toBe(200)
  await users().update({ disabled_at: 1 })
  const disabled = [await status(seen), await status(unseen)]
  await users().update({ disabled_at: null })
  const enabled = await status(unseen)
  await caching.close()
  expect([...disabled, enabled]).toEqual([200, 401, 200])
})

test('without an audience only access tokens for no resource pass', async () => {
  const api = await startApi({ issuer, introspection })
  const { access_token, refresh_token } = await tokensFor(host, { scope: 'openid notes:read' })
  const tokens = [access_token, refresh_token, await userToken(resources.opaque)]
  const statuses = await Promise.all(tokens.map(async (token) => (await api.get('/notes', token)).status))
  await api.close()
  expect(statuses).toEqual([200, 401, 401])
})

test('credentials that the issuer refuses are the API’s fault, not the token’s', async () => {
  const misconfigured = await startApi({
    ...optionsOf('opaque'),
    introspection: { clientId: 'web', clientSecret: 'wrong' },
  })
  const refused = await misconfigured.get('/any', await userToken(resources.opaque))
  await misconfigured.close()
  expect(summary(refused)).toEqual({ status: 500, error: 'server_error', challenge: undefined })
})

describe('a JWT', () => {
  const now = Math.floor(Date.now() / 1000)
  const claims = () => ({
    ...{ iss: issuer, aud: resources.jwt, sub: '1', client_id: 'web', scope: 'notes:read' },
    ...{ iat: now, exp: now + 600, jti: 'x' },
  })
  const issuersKey = async (): Promise<SigningKey> =>
    (await serverBehind(host.oauth)!.ready()).keys.signingKey('RS256')
  const status = async (jwt: string): Promise<number> => (await apis.jwt.get('/any', jwt)).status

  test('as it should be passes', async () => {
    expect(await status(await signJwt(await issuersKey(), claims(), 'at+jwt'))).toBe(200)
  })

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

  test('of a key that the issuer does not have, or without a signature, is refused; strangers cannot cause more than one fetch', async () => {
    const { kid, algorithm } = await issuersKey()
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    expect(await status(await signJwt(await issuersKey(), claims(), 'at+jwt'))).toBe(200)
    asked.length = 0
    for (const id of [kid, 'unknown', 'another', 'a third']) {
      expect(await status(await signJwt({ kid: id, algorithm, privateKey }, claims(), 'at+jwt'))).toBe(401)
    }
    const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
    expect(await status(`${encode({ alg: 'none', typ: 'at+jwt', kid })}.${encode(claims())}.`)).toBe(401)
    expect(asked).toEqual(['/oauth/jwks'])
  })
})

test('no token is refused while the issuer rotates its keys', async () => {
  const server = await serverBehind(host.oauth)!.ready()
  const kid = (): string => server.keys.signingKey('RS256').kid
  const before = kid()
  const api = await startApi(optionsOf('jwt'))
  await rotateKeys(
    server.database,
    { ...server.options, keyPublished: () => {} },
    {
      algorithms: signingAlgorithms,
      now: server.now(),
    },
  )
  const statuses = new Set<number>()
  // The next key signs after its lead of one second.
  for (let after = 0; after < 20; after += Number(kid() !== before)) {
    const token = await clientToken({ scope: 'notes:read', resource: resources.jwt })
    statuses.add((await api.get('/any', token)).status)
    statuses.add((await get('/own/any', token)).status)
  }
  await api.close()
  expect([...statuses]).toEqual([200])
})

describe('wrong options are refused at once', () => {
  const right = { issuer: 'https://app.example.com/oauth', audience: 'https://api.example.com' }
  const credentials = { clientId: 'api', clientSecret: secret }
  test.each<[object, string]>([
    [{ ...right, issuer: 'http://app.example.com/oauth' }, 'issuer must use https'],
    [{ ...right, audience: undefined }, 'audience is required without introspection'],
    [{ ...right, audience: 'api' }, 'audience must be an absolute URL'],
    [{ ...right, audiense: 'x' }, 'audiense is not an option; did you mean audience?'],
    [
      { ...right, introspection: { clientId: 'api' } },
      'introspection must have a clientId and a clientSecret',
    ],
    [{ ...right, introspection: { ...credentials, cacheSeconds: 61 } }, 'cacheSeconds must be at most 60'],
    [{ ...right, implies: { a: 'b' } }, 'implies must map scopes to lists of scopes'],
    [{ ...right, scope: 'a"b' }, 'scope has characters that RFC 6749 does not allow'],
    [{ ...right, maxAge: -1 }, 'requireToken(): maxAge must be a whole number of seconds'],
    [{ ...right, acr: ' ' }, 'requireToken(): acr must name a level'],
    [{ ...right, user: 'yes' }, 'requireToken(): user must be a boolean'],
  ])('%j: %s', (options, message) => {
    expect(() => requireToken(options as RemoteGuardOptions)).toThrow(message)
  })

  test('a guard for another resource than the audience', () => {
    const { requireToken: guard } = resourceServer(right)
    expect(() => guard('a', { resource: 'https://other.example.com' })).toThrow(
      "requireToken('a'): resource must be the audience, https://api.example.com",
    )
    expect(() => guard('a', { resource: right.audience })).not.toThrow()
  })
})
