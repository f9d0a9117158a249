import express from 'express'
import supertest from 'supertest'
import { pushedRequests, registration } from '../../lib/features/index.ts'
import { resourceServer } from '../../lib/guard/index.ts'
import { type AuthRouterOptions, type ClientSeed, defineGrant } from '../../lib/index.ts'
import { urlsBelow } from '../../lib/web/http/dpop.ts'
import { openServer, type TestServer } from '../support/client-server.ts'
import { createDpopKey, type DpopKey, dpopProof, withProof } from '../support/dpop-client.ts'
import { kept } from '../support/features.ts'
import { callback, clients, type Host, pkce, secret, startHost } from '../support/host.ts'
import { claimsOf } from '../support/outcomes.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import type { Claims } from '../support/signing-client.ts'
import {
  codeFor,
  expectError,
  type Fields,
  guarded,
  introspect,
  post,
  redeem,
  type TokenAnswer,
  userinfo,
  web,
} from '../support/tokens.ts'

// Access tokens that are bound to a key (RFC 9449).

const jwtApi = 'https://jwt.example.com/notes'
const opaqueApi = 'https://opaque.example.com/notes'
const { verifier, challenge } = pkce()
const s256 = { code_challenge: challenge, code_challenge_method: 'S256' }
const native = { client_id: 'native', client_secret: undefined, code_verifier: verifier }
const scope = 'openid notes:read'

const ownGrant = 'urn:example:grant-type:own'
const exchangeGrant = 'urn:ietf:params:oauth:grant-type:token-exchange'

const options: Partial<AuthRouterOptions> = {
  protocol: {
    dpop: true,
    tokenExchange: { allow: () => true },
    grants: [defineGrant({ grantType: ownGrant, exchange: () => ({ subject: 1, scopes: ['notes:read'] }) })],
  },
  features: [registration(), pushedRequests()],
  resources: {
    [jwtApi]: { scopes: ['notes:read'], accessToken: 'jwt' },
    [opaqueApi]: { scopes: ['notes:read'], introspection: ['web'] },
  },
}
const every: ClientSeed = {
  ...clients[0],
  client_id: 'every',
  grant_types: ['authorization_code', 'refresh_token', 'client_credentials', ownGrant, exchangeGrant],
}
const bound: ClientSeed = { ...clients[0], client_id: 'bound', dpop_bound_access_tokens: true }

let server: TestServer
let host: Host
let issuer: string
let key: DpopKey
let thief: DpopKey
/** Ada's browser. */
let agent: RawBrowser
beforeAll(async () => {
  server = await openServer()
  issuer = `${server.origin}/oauth`
  host = await startHost({ clients: [...clients, every, bound], options: { ...options, issuer } })
  server.serve(host.app)
  agent = new RawBrowser(host.app)
  const answer: express.RequestHandler = (req, res) => void res.json(req.auth)
  host.app.get('/plain', host.oauth.requireToken('notes:read'), answer)
  host.app.get('/jwt', host.oauth.requireToken('notes:read', { resource: jwtApi }), answer)
  host.app.get('/opaque', host.oauth.requireToken('notes:read', { resource: opaqueApi }), answer)
  key = await createDpopKey()
  thief = await createDpopKey()
})
afterAll(async () => {
  await server.close()
  await host.close()
})

const tokenUrl = (): string => `${issuer}/token`

/** A token request with a proof of this key, or without one. */
const request = async (
  fields: Fields,
  by: DpopKey | undefined,
  claims: Claims = {},
): Promise<supertest.Response> => {
  const sent = post(host, fields)
  return by ? sent.set('DPoP', await dpopProof(by, 'POST', tokenUrl(), { claims })) : sent
}

const tokens = async (fields: Fields, by: DpopKey | undefined = key): Promise<TokenAnswer> => {
  const res = await request(fields, by)
  if (res.status !== 200) throw new Error(`expected tokens, got ${res.status}: ${res.text}`)
  return res.body
}

const codeFields = async (parameters: Fields = {}, fields: Fields = {}): Promise<Fields> => ({
  grant_type: 'authorization_code',
  redirect_uri: callback,
  code: await codeFor(host, { scope, ...parameters }, { agent }),
  ...(parameters.client_id === 'native' ? native : web),
  ...fields,
})

const tokensFor = async (resource?: string, by: DpopKey | undefined = key): Promise<TokenAnswer> =>
  tokens(await codeFields({ resource }, { resource }), by)

const dpopError = (res: supertest.Response): string | undefined =>
  /^DPoP realm="api", error="(\w+)"/.exec(res.headers['www-authenticate'] ?? '')?.[1]

/** Where a token is used: the URL that proofs name, the path and the app. */
const remote = (audience: string, options: object = {}) => {
  const quiet = { info: () => {}, warn: () => {}, error: () => {} }
  const introspection = audience === opaqueApi ? { clientId: 'web', clientSecret: secret } : undefined
  const guards = resourceServer({
    issuer,
    audience,
    ...(introspection && { introspection }),
    logger: quiet,
    ...options,
  })
  return express().get('/notes', guards.requireToken('notes:read'), (req, res) => void res.json(req.auth))
}
const places: Readonly<
  Record<string, { resource?: string; url: () => string; app?: () => express.Express }>
> = {
  UserInfo: { url: () => `${issuer}/userinfo` },
  'a guard': { url: () => `${server.origin}/plain` },
  'a guard of JWTs': { resource: jwtApi, url: () => 'https://jwt.example.com/jwt' },
  'a guard of a resource': { resource: opaqueApi, url: () => `${server.origin}/opaque` },
  'a remote guard of JWTs': {
    resource: jwtApi,
    url: () => jwtApi,
    app: () => remote(jwtApi, { dpop: true }),
  },
  'a remote guard that introspects': {
    resource: opaqueApi,
    url: () => opaqueApi,
    app: () => remote(opaqueApi, { dpop: true }),
  },
}

describe.each(Object.entries(places))('at %s', (name, { resource, url, app }) => {
  let at: express.Express
  let token: string
  beforeAll(async () => {
    at = app?.() ?? host.app
    token = (await tokensFor(resource)).access_token
  })
  const get = () => supertest(at).get(new URL(url()).pathname)

  test('the holder of the key uses the token, also with a query, and each proof once', async () => {
    const { status, body } = await withProof(get().query({ a: '1' }), key, url(), token)
    expect(status).toBe(200)
    if (name !== 'UserInfo') {
      expect(body).toMatchObject({
        binding: { type: 'dpop', thumbprint: key.thumbprint },
        claims: { cnf: { jkt: key.thumbprint } },
      })
    }
    const headers = { Authorization: `DPoP ${token}`, DPoP: await dpopProof(key, 'GET', url(), { token }) }
    expect((await get().set(headers)).status).toBe(200)
    expect(dpopError(await get().set(headers))).toBe('invalid_dpop_proof')
    for (const claims of [{ htu: 'https://evil.example/notes' }, { htm: 'POST' }, { ath: 'x' }, { iat: 1 }])
      expect(dpopError(await withProof(get(), key, url(), token, claims))).toBe('invalid_dpop_proof')
  })

  test('a thief cannot use the token', async () => {
    const asBearer = await get().set('Authorization', `Bearer ${token}`)
    expectError(asBearer, 401, 'invalid_token')
    expect(asBearer.headers['www-authenticate']).toMatch(
      /^Bearer realm="api", error="invalid_token".*, DPoP realm="api", algs="ES256 /,
    )
    const proof = await dpopProof(key, 'GET', url(), { token })
    expectError(await get().set({ Authorization: `Bearer ${token}`, DPoP: proof }), 401, 'invalid_token')
    const alone = await get().set('Authorization', `DPoP ${token}`)
    expectError(alone, 401, 'invalid_dpop_proof')
    expect(alone.headers['www-authenticate']).toMatch(/ algs="ES256 [^"]*"[^"]*, Bearer realm="api"$/)
    expect(dpopError(await withProof(get(), thief, url(), token))).toBe('invalid_token')
  })

  test('the URL does not follow the header Host, and the scheme DPoP takes no bearer token', async () => {
    const evil = `http://evil.example${new URL(url()).pathname}`
    const forwarded = { Host: 'evil.example', 'X-Forwarded-Host': 'evil.example' }
    expect(dpopError(await withProof(get().set(forwarded), key, evil, token))).toBe('invalid_dpop_proof')
    const { access_token } = (await request(await codeFields({ resource }, { resource }), undefined)).body
    expect(dpopError(await withProof(get(), key, url(), access_token))).toBe('invalid_token')
    expect((await get().set('Authorization', `Bearer ${access_token}`)).status).toBe(200)
  })
})

describe('the token endpoint', () => {
  test('answers a proof with a token bound to its key: in the answer, introspection and JWTs', async () => {
    const opaque = await tokensFor(opaqueApi)
    expect(opaque).toMatchObject({ token_type: 'DPoP', access_token: expect.stringMatching(/^lk_at_/) })
    expect((await introspect(host, opaque.access_token)).body).toMatchObject({
      active: true,
      token_type: 'DPoP',
      cnf: { jkt: key.thumbprint },
    })
    const { access_token: jwt } = await tokensFor(jwtApi)
    expect(claimsOf(jwt).cnf).toEqual({ jkt: key.thumbprint })
    const own = await tokens({ ...web, grant_type: 'client_credentials', scope: 'notes:read' })
    expect(own.token_type).toBe('DPoP')
  })

  test('refuses two proofs, a used or old one, and one for another request; the code stays usable', async () => {
    const fields = await codeFields()
    const other = { htu: 'http://localhost:3000/oauth/par' }
    for (const claims of [other, { htm: 'GET' }, { iat: 1 }])
      expectError(await request(fields, key, claims), 400, 'invalid_dpop_proof')
    const proof = await dpopProof(key, 'POST', tokenUrl())
    expect((await post(host, fields).set('DPoP', proof)).body.token_type).toBe('DPoP')
    const own = { ...web, grant_type: 'client_credentials' }
    expectError(await post(host, own).set('DPoP', proof), 400, 'invalid_dpop_proof')
    const two = [await dpopProof(key, 'POST', tokenUrl()), await dpopProof(key, 'POST', tokenUrl())]
    expectError(await post(host, own).set('DPoP', two as never), 400, 'invalid_dpop_proof')
  })

  test('refreshes for a public client with the same key only', async () => {
    const { refresh_token } = await tokens(await codeFields({ client_id: 'native', ...s256 }))
    const refreshing = { ...native, code_verifier: undefined, grant_type: 'refresh_token', refresh_token }
    for (const by of [undefined, thief]) expectError(await request(refreshing, by), 400, 'invalid_grant')
    const refreshed = await tokens(refreshing)
    expect(refreshed.token_type).toBe('DPoP')
    const next = { ...refreshing, refresh_token: refreshed.refresh_token }
    // A thief of a used token does not end the grant either.
    for (const fields of [refreshing, next]) expectError(await request(fields, thief), 400, 'invalid_grant')
    expect((await tokens(next)).token_type).toBe('DPoP')
  })

  test('does not use up the proof of a request that the grant refuses (L3)', async () => {
    const proof = await dpopProof(key, 'POST', tokenUrl())
    const send = (fields: Fields) => post(host, fields).set('DPoP', proof)
    const fields = await codeFields({ client_id: 'native', ...s256 })
    expectError(await send({ ...fields, code: 'lk_ac_unknown' }), 400, 'invalid_grant')
    expectError(await send({ ...fields, code_verifier: pkce().verifier }), 400, 'invalid_grant')
    expect((await send(fields)).body.token_type).toBe('DPoP')
  })

  test('uses a proof once, with every grant (L3)', async () => {
    const own = { ...web, client_id: 'every' }
    const first = await request(await codeFields({ client_id: 'every' }, own), undefined)
    const { refresh_token, access_token } = first.body
    const subject_token_type = 'urn:ietf:params:oauth:token-type:access_token'
    const requests: Fields[] = [
      await codeFields({ client_id: 'every' }, own),
      { ...own, grant_type: 'refresh_token', refresh_token },
      { ...own, grant_type: 'client_credentials' },
      { ...own, grant_type: ownGrant },
      { ...own, grant_type: exchangeGrant, subject_token: access_token, subject_token_type },
    ]
    const proof = await dpopProof(key, 'POST', tokenUrl())
    await post(host, { ...own, grant_type: 'client_credentials' })
      .set('DPoP', proof)
      .expect(200)
    for (const fields of requests)
      expectError(await post(host, fields).set('DPoP', proof), 400, 'invalid_dpop_proof')
    // None of them was used up by that.
    for (const fields of requests) expect((await tokens(fields)).token_type).toBe('DPoP')
  })

  test('binds a public client’s refresh tokens to the first key that a refresh proves', async () => {
    const { body } = await request(await codeFields({ client_id: 'native', ...s256 }), undefined)
    const refreshing = (refresh_token: string) =>
      ({ ...native, code_verifier: undefined, grant_type: 'refresh_token', refresh_token }) as const
    const next = refreshing((await tokens(refreshing(body.refresh_token))).refresh_token)
    for (const by of [undefined, thief]) expectError(await request(next, by), 400, 'invalid_grant')
    expect((await tokens(next)).token_type).toBe('DPoP')
  })

  test('lets a confidential client change its key, or do without', async () => {
    const { refresh_token } = await tokensFor()
    const first = await tokens({ ...web, grant_type: 'refresh_token', refresh_token }, thief)
    expect((await introspect(host, first.access_token)).body.cnf).toEqual({ jkt: thief.thumbprint })
    const fields = { ...web, grant_type: 'refresh_token', refresh_token: first.refresh_token }
    expect((await request(fields, undefined)).body.token_type).toBe('Bearer')
  })

  test('requires a proof of a client with dpop_bound_access_tokens', async () => {
    const fields = { ...web, client_id: 'bound', grant_type: 'client_credentials' }
    expectError(await request(fields, undefined), 400, 'invalid_dpop_proof')
    expect((await tokens(fields)).token_type).toBe('DPoP')
    const metadata = { redirect_uris: [callback], dpop_bound_access_tokens: true }
    const { body } = await supertest(host.app).post('/oauth/register').send(metadata).expect(201)
    expect(body.dpop_bound_access_tokens).toBe(true)
  })
})

describe('a code that is bound to a key', () => {
  const par = (fields: Fields) =>
    supertest(host.app)
      .post('/oauth/par')
      .type('form')
      .send({ ...web, ...fields })
  const asked = { response_type: 'code', redirect_uri: callback, scope }
  const pushed = async (fields: Fields, by?: DpopKey): Promise<Fields> => {
    const sent = par({ ...asked, ...fields })
    const res = await (by ? sent.set('DPoP', await dpopProof(by, 'POST', `${issuer}/par`)) : sent)
    return { request_uri: res.body.request_uri, redirect_uri: undefined, response_type: undefined }
  }

  test.each<[string, () => Promise<Fields>]>([
    ['dpop_jkt at /authorize', async () => ({ dpop_jkt: key.thumbprint })],
    ['dpop_jkt at /par', () => pushed({ dpop_jkt: key.thumbprint })],
    ['a proof at /par', () => pushed({}, key)],
  ])('by %s is redeemed with that key only', async (_case, parameters) => {
    const fields = await codeFields(await parameters())
    for (const by of [undefined, thief]) expectError(await request(fields, by), 400, 'invalid_grant')
    expect((await tokens(fields)).token_type).toBe('DPoP')
  })

  test('needs a proof at /par that was not used, also by a request that was refused (L3)', async () => {
    const proof = await dpopProof(key, 'POST', `${issuer}/par`)
    const push = (fields: Fields) =>
      par({ response_type: 'code', redirect_uri: callback, scope, ...fields }).set('DPoP', proof)
    expectError(await push({ dpop_jkt: thief.thumbprint }), 400, 'invalid_request')
    expect((await push({})).status).toBe(201)
    expectError(await push({}), 400, 'invalid_dpop_proof')
  })

  test('is refused for a malformed dpop_jkt, and for a proof of another key', async () => {
    expectError(await par({ ...asked, dpop_jkt: 'x' }), 400, 'invalid_request')
    const proof = await dpopProof(thief, 'POST', `${issuer}/par`)
    expectError(await par({ ...asked, dpop_jkt: key.thumbprint }).set('DPoP', proof), 400, 'invalid_request')
    const atToken = await dpopProof(key, 'POST', tokenUrl())
    expectError(await par(asked).set('DPoP', atToken), 400, 'invalid_dpop_proof')
  })
})

describe('nonces', () => {
  const aNonce = expect.stringMatching(/^[\w-]{43}$/)
  const required: Partial<AuthRouterOptions> = { protocol: { dpop: { nonces: 'required' } } }
  const fields = { ...web, grant_type: 'client_credentials', scope: 'notes:read' }
  const url = 'http://localhost:3000/oauth/token'
  const send = async (at: Pick<Host, 'app'>, nonce?: string) =>
    post(at, fields).set('DPoP', await dpopProof(key, 'POST', url, { claims: { nonce } }))

  test('every process with the secret accepts them, at the token endpoint and at guards', async () => {
    const one = await startHost({ options: required })
    const other = await startHost({
      options: {
        ...required,
        secrets: ['another secret that is long enough too', 'a secret of the tests that is long enough'],
      },
    })
    const refused = await send(one)
    expectError(refused, 400, 'use_dpop_nonce')
    const nonce = refused.headers['dpop-nonce'] ?? ''
    expect(nonce).toEqual(aNonce)
    for (const at of [one, other]) {
      const { status, headers, body } = await send(at, nonce)
      expect({ status, next: headers['dpop-nonce'] }).toEqual({ status: 200, next: aNonce })
      const get = () => supertest(at.app).get('/api/notes')
      const notes = 'http://localhost:3000/api/notes'
      const first = await withProof(get(), key, notes, body.access_token)
      expect([first.status, dpopError(first)]).toEqual([401, 'use_dpop_nonce'])
      expect(first.headers['dpop-nonce']).toEqual(aNonce)
      expect((await withProof(get(), key, notes, body.access_token, { nonce })).status).toBe(200)
    }
    expectError(await send(one, `${nonce.slice(1)}x`), 400, 'use_dpop_nonce')
    await Promise.all([one.close(), other.close()])
  })

  test('an API in another process has its own', async () => {
    const options = { nonceSecrets: ['the secret of an API that is long enough'] }
    const [one, other] = [remote(jwtApi, { dpop: options }), remote(jwtApi, { dpop: options })]
    const { access_token } = await tokensFor(jwtApi)
    const first = await withProof(supertest(one).get('/notes'), key, jwtApi, access_token)
    expect(dpopError(first)).toBe('use_dpop_nonce')
    const nonce = first.headers['dpop-nonce']
    const next = await withProof(supertest(other).get('/notes'), key, jwtApi, access_token, { nonce })
    expect(next.status).toBe(200)
  })
})

test('an API can share used proofs, and can be called elsewhere', async () => {
  const used = new Set<string>()
  const isFirstUse = async (hash: string): Promise<boolean> => used.size < used.add(hash).size
  const options = { dpop: { isFirstUse, baseUrls: ['https://api.example.com/v1'] } }
  const url = 'https://api.example.com/v1/notes'
  const { access_token: token } = await tokensFor(jwtApi)
  const headers = { Authorization: `DPoP ${token}`, DPoP: await dpopProof(key, 'GET', url, { token }) }
  const statuses = []
  for (const api of [remote(jwtApi, options), remote(jwtApi, options)])
    statuses.push((await supertest(api).get('/notes').set(headers)).status)
  expect(statuses).toEqual([200, 401])
})

test('metadata, documents about resources, and CORS say what is on', async () => {
  const { body: metadata } = await supertest(host.app).get('/oauth/.well-known/openid-configuration')
  expect(metadata.dpop_signing_alg_values_supported).toContain('ES256')
  const path = '/.well-known/oauth-protected-resource/notes'
  const { body: document } = await supertest(host.app).get(path).set('Host', 'jwt.example.com')
  const { dpop_signing_alg_values_supported } = metadata
  expect(document).toMatchObject({ dpop_signing_alg_values_supported })
  const { headers } = await post(host, {})
  expect(headers['access-control-expose-headers']).toBe('WWW-Authenticate, DPoP-Nonce')
})

test('a verifier of the MCP SDK, which sees no request, refuses a bound token', async () => {
  const { access_token } = await tokensFor(jwtApi)
  const verifying = host.oauth.tokenVerifier(jwtApi).verifyAccessToken(access_token)
  await expect(verifying).rejects.toMatchObject({ message: expect.stringContaining('bound to a key') })
})

test('the URL does not follow a request target with a host either', () => {
  const originalUrl = 'http://evil.example/notes?a=1'
  expect(urlsBelow(['https://api.example.com/v1'])({ originalUrl } as never)).toEqual([
    'https://api.example.com/v1/notes',
  ])
})

test('with used proofs in memory guards take no statement, and the token endpoint still does', async () => {
  const one = await startHost({ options: { protocol: { dpop: { usedProofs: 'memory' } } } })
  const [at, notes] = ['http://localhost:3000/oauth/token', 'http://localhost:3000/api/notes']
  const fields = { ...web, grant_type: 'client_credentials', scope: 'notes:read' }
  const { body } = await post(one, fields).set('DPoP', await dpopProof(key, 'POST', at))
  const token = body.access_token
  const headers = { Authorization: `DPoP ${token}`, DPoP: await dpopProof(key, 'GET', notes, { token }) }
  const statuses = []
  for (const _ of [1, 2]) statuses.push((await supertest(one.app).get('/api/notes').set(headers)).status)
  expect(statuses).toEqual([200, 401])
  expect(await one.table('replays').select('hash')).toHaveLength(1)
})

test('a bound token for a resource is for nothing once the host has no resources', async () => {
  const { access_token } = await tokensFor(opaqueApi)
  const options = { issuer, protocol: { dpop: true }, features: kept }
  const later = await startHost({ database: host.database, options })
  const use = (token: string) =>
    withProof(supertest(later.app).get('/api/notes'), key, `${server.origin}/api/notes`, token)
  expect((await use((await tokensFor()).access_token)).status).toBe(200)
  expect(dpopError(await use(access_token))).toBe('invalid_token')
})

describe('where it is off', () => {
  test('a remote guard refuses bound tokens', async () => {
    const { access_token } = await tokensFor(jwtApi)
    const get = () => supertest(remote(jwtApi)).get('/notes')
    const res = await withProof(get(), key, jwtApi, access_token)
    expectError(res, 401, 'invalid_token')
    expect(res.headers['www-authenticate']).not.toContain('DPoP')
    expectError(await get().set('Authorization', `Bearer ${access_token}`), 401, 'invalid_token')
  })

  test('proofs and dpop_jkt are ignored, and nothing speaks of them', async () => {
    const off = await startHost()
    const res = await redeem(off, await codeFor(off, { scope, dpop_jkt: 'x' })).set('DPoP', 'x')
    expect(res.body.token_type).toBe('Bearer')
    expect((await guarded(off, res.body.access_token)).status).toBe(200)
    expect((await userinfo(off, 'x')).headers['www-authenticate']).not.toContain('DPoP')
    const { body } = await supertest(off.app).get('/oauth/.well-known/openid-configuration')
    expect(body).not.toHaveProperty('dpop_signing_alg_values_supported')
    await off.close()
  })
})
