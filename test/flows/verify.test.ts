import type { RequestListener } from 'node:http'
import supertest from 'supertest'
import { resourceServer } from '../../lib/guard/index.ts'
import { ownTokens } from '../../lib/guard/require-token.ts'
import { parseRequirement } from '../../lib/guard/requirement.ts'
import { verifyBy } from '../../lib/guard/verify.ts'
import type { AuthRouterOptions, RequireTokenOptions, VerifyRequest } from '../../lib/index.ts'
import { serverBehind } from '../../lib/router.ts'
import { openServer, type TestServer } from '../support/client-server.ts'
import { createDpopKey, type DpopKey, dpopProof } from '../support/dpop-client.ts'
import { clients, type Host, startHost } from '../support/host.ts'
import { createAuthority, selfSigned } from '../support/mutual-tls.ts'
import { answerOf, type Fields, post, tokensFor, web } from '../support/tokens.ts'

// `oauth.verify` for requests of Node and web-standard ones, beside the guard of Express: the same rules and the same answers.

const jwtApi = 'https://jwt.example.com/notes'
const header = 'X-Client-Cert'
const options: Partial<AuthRouterOptions> = {
  trustProxy: 1,
  acrValues: ['mfa'],
  protocol: { dpop: { nonces: 'required' }, mutualTls: { header } },
  resources: { [jwtApi]: { scopes: ['notes:read'], accessToken: 'jwt' } },
}

type Asked = readonly [scope?: string, options?: RequireTokenOptions]
type Headers = Readonly<Record<string, string>>

/** An answer as a client sees it. */
interface Seen {
  readonly status: number
  readonly headers: Headers
  readonly body: unknown
}

let server: TestServer
let host: Host
let origin: string
beforeAll(async () => {
  server = await openServer()
  origin = server.origin
  const bound = { ...clients[0]!, client_id: 'bound', tls_client_certificate_bound_access_tokens: true }
  host = await startHost({ clients: [...clients, bound], options: { ...options, issuer: `${origin}/oauth` } })
  server.serve(host.app)
})
afterAll(async () => {
  await server.close()
  await host.close()
})

/** What the headers of refusals say; the rest is the framework's. */
const told = ['www-authenticate', 'dpop-nonce', 'content-type', 'cache-control', 'x-content-type-options']
const toldIn = (headers: Headers): Headers =>
  Object.fromEntries(
    Object.entries(headers)
      .map(([name, value]) => [name.toLowerCase(), value] as const)
      .filter(([name]) => told.includes(name)),
  )
const parsed = (body: string): unknown => (body === '' ? '' : JSON.parse(body))

/** A program without Express that answers with what `verify` found. */
const listenerOf =
  (verify: VerifyRequest, [scope, given]: Asked): RequestListener =>
  async (req, res) => {
    const found = await verify(req, scope, given ?? {})
    res.writeHead(found.auth ? 200 : found.status, { ...found.headers })
    res.end(found.auth ? JSON.stringify(found.auth) : found.body)
  }

const seen = ({ status, headers, text = '' }: supertest.Response): Seen => ({
  status,
  headers: toldIn(headers),
  body: parsed(text),
})

type Method = 'get' | 'head'
type Call = (asked: Asked, headers: Headers, method?: Method) => Promise<Seen>

const atExpress: Call = async ([scope, given], headers, method = 'get') => {
  const path = `/guarded-${Math.random().toString(36).slice(2)}`
  host.app.get(path, host.oauth.requireToken(scope, given ?? {}), (req, res) => void res.json(req.auth))
  const { body, ...rest } = seen(await supertest(host.app)[method](path).set(headers))
  const { 'content-type': type, ...others } = rest.headers
  return { ...rest, headers: rest.status === 200 ? others : { ...others, 'content-type': type ?? '' }, body }
}
const atNode: Call = async (asked, headers, method = 'get') =>
  seen(await supertest(listenerOf(host.oauth.verify, asked))[method]('/notes').set(headers))
const atWeb: Call = async ([scope, given], headers, method = 'get') => {
  const request = new Request('https://anything.example/notes?a=1', { method: method.toUpperCase(), headers })
  const found = await host.oauth.verify(request, scope, given ?? {})
  if (found.auth)
    return { status: 200, headers: toldIn(found.headers), body: JSON.parse(JSON.stringify(found.auth)) }
  return { status: found.status, headers: toldIn(found.headers), body: parsed(found.body) }
}

const bearer = (token: string): Headers => ({ Authorization: `Bearer ${token}` })
const clientToken = async (fields: Fields = {}): Promise<string> =>
  (await answerOf(post(host, { ...web, grant_type: 'client_credentials', scope: 'notes:read', ...fields })))
    .access_token
const userToken = async (scope = 'openid notes:read'): Promise<string> =>
  (await tokensFor(host, { scope })).access_token

type Case = readonly [name: string, status: number, asked: Asked, headers: () => Promise<Headers>]

const cases: readonly Case[] = [
  ['a token of a user', 200, ['notes:read'], async () => bearer(await userToken())],
  ['no token', 401, ['notes:read', { ask: 'notes:write' }], async () => ({})],
  ['an unknown token', 401, ['notes:read'], async () => bearer('lk_at_unknown')],
  ['a malformed header', 400, ['notes:read'], async () => ({ Authorization: 'Bearer two words' })],
  ['a token without the scope', 403, ['notes:read notes:write'], async () => bearer(await userToken())],
  ['a token of a client', 403, ['notes:read'], async () => bearer(await clientToken())],
  [
    'one where no user is required',
    200,
    ['notes:read', { user: false }],
    async () => bearer(await clientToken()),
  ],
  ['a token for no resource', 401, [undefined, { resource: jwtApi }], async () => bearer(await userToken())],
  [
    'a JWT',
    200,
    ['notes:read', { resource: jwtApi, user: false }],
    async () => bearer(await clientToken({ resource: jwtApi })),
  ],
  [
    'a login that is not enough',
    401,
    ['notes:read', { acr: 'mfa', maxAge: 60 }],
    async () => bearer(await userToken()),
  ],
  [
    'the scheme DPoP without a token that is bound',
    401,
    ['notes:read'],
    async () => ({ Authorization: `DPoP ${await userToken()}` }),
  ],
]

test.each(cases)(
  '%s: %i everywhere, with the answer of the guard',
  async (_name, status, asked, headersOf) => {
    const headers = await headersOf()
    const expected = await atExpress(asked, headers)
    expect(expected.status).toBe(status)
    expect(expected.headers['www-authenticate'] === undefined).toBe(status === 200)
    for (const call of [atNode, atWeb]) expect(await call(asked, headers)).toEqual(expected)
  },
)

test('the answer to HEAD has no body, and its headers do not claim one', async () => {
  const expected = await atExpress(['notes:read'], {}, 'head')
  expect(expected.status).toBe(401)
  for (const call of [atNode, atWeb]) expect(await call(['notes:read'], {}, 'head')).toEqual(expected)
  const { headers } = await host.oauth.verify(new Request('https://a.example/', { method: 'HEAD' }))
  expect(Object.keys(headers).map((name) => name.toLowerCase())).not.toContain('content-length')
})

describe('a token that is bound to a key', () => {
  let key: DpopKey
  let token: string
  let nonce: string
  beforeAll(async () => {
    key = await createDpopKey()
    const fields = { ...web, grant_type: 'client_credentials', scope: 'notes:read' }
    const send = async () =>
      post(host, fields).set(
        'DPoP',
        await dpopProof(key, 'POST', `${origin}/oauth/token`, { claims: { nonce } }),
      )
    nonce = (await send()).headers['dpop-nonce'] ?? ''
    token = (await send()).body.access_token
  })
  const asked: Asked = ['notes:read', { user: false }]
  const proved = async (url: string, claims = {}): Promise<Headers> => ({
    Authorization: `DPoP ${token}`,
    DPoP: await dpopProof(key, 'GET', url, { token, claims: { nonce, ...claims } }),
  })

  test.each([
    ['Node', atNode],
    ['the web', atWeb],
  ])('at %s passes with a proof, once, and every answer carries the next nonce', async (_name, call) => {
    const headers = await proved(`${origin}/notes`)
    const passed = await call(asked, headers)
    expect([passed.status, passed.headers['dpop-nonce']]).toEqual([200, expect.stringMatching(/^[\w-]{43}$/)])
    const again = await call(asked, headers)
    expect(again).toMatchObject({ status: 401, body: { error: 'invalid_dpop_proof' } })
    const stale = await call(asked, await proved(`${origin}/notes`, { nonce: 'stale' }))
    expect(stale.body).toMatchObject({ error: 'use_dpop_nonce' })
    expect(stale.headers['dpop-nonce']).toBe(passed.headers['dpop-nonce'])
    expect(stale.headers['www-authenticate']).toMatch(/^DPoP realm="api", error="use_dpop_nonce"/)
  })

  test.each([
    ['Node', atNode],
    ['the web', atWeb],
  ])('at %s does not pass with a proof for another path or server', async (_name, call) => {
    for (const url of [`${origin}/other`, 'https://anything.example/notes'])
      expect(await call(asked, await proved(url))).toMatchObject({
        status: 401,
        body: { error: 'invalid_dpop_proof' },
      })
  })
})

describe('a token that is bound to a certificate', () => {
  const pem = (certificate: string): string => encodeURIComponent(certificate)
  test('passes with the header of a trusted proxy at Node, and never on an unknown connection', async () => {
    const authority = createAuthority('/CN=Authority')
    const own = authority.issue({ subject: '/CN=web' })
    const other = selfSigned({ subject: '/CN=other' })
    host.app.set('trust proxy', 1)
    const fields = { ...web, client_id: 'bound', grant_type: 'client_credentials', scope: 'notes:read' }
    const { access_token } = await answerOf(post(host, fields).set(header, pem(own.cert)))
    host.app.set('trust proxy', false)
    const asked: Asked = ['notes:read', { user: false }]
    const call = (at: Call, cert: string) => at(asked, { ...bearer(access_token), [header]: pem(cert) })
    expect((await call(atNode, own.cert)).status).toBe(200)
    expect((await call(atNode, other.cert)).body).toMatchObject({ error: 'invalid_token' })
    expect((await call(atWeb, own.cert)).body).toMatchObject({ error: 'invalid_token' })
  })
})

test('a wrong scope or option is an error of the caller, not an answer', async () => {
  const request = new Request('https://a.example/')
  await expect(host.oauth.verify(request, 'notes:raed')).rejects.toThrow('notes:raed')
  await expect(host.oauth.verify(request, 'notes:read', { acr: 'unheard' })).rejects.toThrow('acrValues')
})

describe('the arguments of verify()', () => {
  const request = () => new Request('https://a.example/')
  test('are checked once, and not with each request', async () => {
    const source = ownTokens(serverBehind(host.oauth)!)
    const checked: unknown[] = []
    const verify = verifyBy(
      source,
      (...given) => {
        checked.push(given)
        return parseRequirement(...given)
      },
      () => false,
    )
    for (const scope of ['notes:read', 'notes:write', 'notes:read', undefined, undefined]) {
      expect(await verify(request(), scope)).toMatchObject({ status: 401 })
      expect(await verify(request(), scope, { user: false })).toMatchObject({ status: 401 })
    }
    expect(checked).toHaveLength(6)
  })

  test('decide for each call, also if options of other calls look alike', async () => {
    const token = bearer(await clientToken())
    const { verify } = host.oauth
    const call = async (...[scope, given]: Asked) =>
      (await verify(new Request('https://a.example/', { headers: token }), scope, given ?? {})).status
    expect(await call('notes:read', { user: false })).toBeUndefined()
    expect(await call('notes:read')).toBe(403)
    const changing = { user: false }
    expect(await call('notes:read', changing)).toBeUndefined()
    changing.user = true
    expect(await call('notes:read', changing)).toBe(403)
    for (const wrong of [{ maxAge: () => 60 }, { maxAge: Number.NaN }, { maxAge: 60n }, { maxAge: null }]) {
      const given = { user: false, ...wrong } as unknown as RequireTokenOptions
      await expect(call('notes:read', given)).rejects.toThrow('maxAge must be')
    }
  })
})

test('verify() of an API in another process has the same rules, and fetches keys only', async () => {
  const quiet = { info: () => {}, warn: () => {}, error: () => {} }
  const api = resourceServer({ issuer: `${origin}/oauth`, audience: jwtApi, logger: quiet })
  const token = await clientToken({ resource: jwtApi })
  const calling = (headers: Headers) => new Request('https://jwt.example.com/notes', { headers })
  const passed = await api.verify(calling(bearer(token)), 'notes:read', { user: false })
  expect(passed.auth?.clientId).toBe('web')
  const refused = await api.verify(calling(bearer(token)), 'notes:write', { user: false })
  expect(refused).toMatchObject({ status: 403, body: expect.stringContaining('insufficient_scope') })
  expect(refused.headers['WWW-Authenticate']).toContain('scope="notes:write"')
  const listener = listenerOf(api.verify, ['notes:read', { user: false }])
  expect((await supertest(listener).get('/').set(bearer(token))).status).toBe(200)
})

test('a database that is gone is 503, and the log has the reason', async () => {
  const logged: unknown[] = []
  const gone = await startHost({
    options: { logger: { info: () => {}, warn: () => {}, error: (line) => logged.push(line) } },
  })
  const { access_token } = await answerOf(post(gone, { ...web, grant_type: 'client_credentials' }))
  const { client } = gone.database.knex
  client.logger.warn = () => {}
  const away = jest.spyOn(client.pool, 'acquire')
  away.mockImplementation(() => ({ promise: Promise.reject(new Error('connect ECONNREFUSED')) }))
  const request = new Request('https://a.example/', { headers: bearer(access_token) })
  const found = await gone.oauth.verify(request)
  expect(found).toMatchObject({ status: 503, body: expect.stringContaining('temporarily_unavailable') })
  expect(logged).toEqual([expect.stringContaining('temporarily_unavailable')])
  away.mockRestore()
})

test('a web-standard request without an address is no reason for a warning about the proxy', async () => {
  const warnings: unknown[] = []
  const quiet = await startHost({
    options: { logger: { info: () => {}, warn: (line) => warnings.push(line), error: () => {} } },
  })
  const { status } = await quiet.oauth.verify(new Request('https://a.example/notes'), 'notes:read')
  expect({ status, warnings }).toEqual({ status: 401, warnings: [] })
  await quiet.close()
})
