import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import express, { type RequestHandler } from 'express'
import { createLocalJWKSet, jwtVerify } from 'jose'
import supertest from 'supertest'
import { protocolClaims } from '../../lib/protocol/claims.ts'
import { actingAs, actingAsClient } from '../../lib/tools/testing/index.ts'
import { type Clock, stopClock } from '../support/clock.ts'
import { callback, clients, type Host, issuer, secret } from '../support/host.ts'
import { claimsOf } from '../support/outcomes.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import {
  authorizeFor,
  files,
  introspectAs,
  notes,
  photos,
  startResourceHost,
  tokenRequest,
  tokensOf,
} from '../support/resource-host.ts'
import { countStatements } from '../support/statement-count.ts'
import { answerOf, expectError, type TokenAnswer, userinfo } from '../support/tokens.ts'

const own = { grant_type: 'client_credentials' }
const scope = 'openid files:read'

let host: Host
let clock: Clock
/** Tokens for `files`, for tests that do not end them. */
let tokens: TokenAnswer
beforeAll(async () => {
  host = await startResourceHost({
    options: {
      protocol: { implicit: true },
      organizations: ({ id }) => [{ id: `org-of-${id}`, name: 'Acme' }],
    },
    clients: [
      { ...clients[0], client_id: 'brief', scope, access_token_lifetime: 60 },
      { ...clients[0], client_id: 'long', scope, access_token_lifetime: 7200 },
      {
        ...clients[0],
        client_id: 'implicit',
        scope,
        response_types: ['token'],
        grant_types: ['implicit'],
      },
    ],
  })
})
beforeAll(async () => {
  tokens = await tokensOf(host, [files], { scope })
})
afterAll(() => host.close())
beforeEach(() => {
  clock = stopClock()
})
afterEach(() => jest.restoreAllMocks())

const storedTokens = async (): Promise<number> => {
  const [row] = await host.table('access_tokens').count({ count: '*' })
  return Number(row?.count)
}
const state = async (token: string): Promise<unknown> => (await introspectAs(host, 'web', token)).active
const revoke = (token: string) =>
  supertest(host.app)
    .post('/oauth/revoke')
    .type('form')
    .send({ client_id: 'web', client_secret: secret, token })

describe('a JWT access token', () => {
  test('is signed and has the claims of RFC 9068, which the host may not change, and is not stored', async () => {
    const before = await storedTokens()
    const { access_token, expires_in, id_token } = await tokensOf(host, [files], { scope })
    expect(await storedTokens()).toBe(before)
    const { body: jwks } = await supertest(host.app).get('/oauth/jwks')
    const rules = { typ: 'at+jwt', audience: files, issuer, algorithms: ['RS256'] }
    const { payload } = await jwtVerify(access_token, createLocalJWKSet(jwks), rules)
    expect(payload).toEqual({
      iss: issuer,
      sub: '1',
      aud: files,
      client_id: 'web',
      scope,
      tier: 'of Ada Lovelace',
      iat: clock.now(),
      exp: clock.now() + 600,
      org_id: 'org-of-1',
      authorization_id: expect.any(String),
      jti: expect.any(String),
      auth_time: claimsOf(id_token).auth_time,
      amr: ['pwd'],
    })
    expect(expires_in).toBe(600)
    const again = claimsOf((await tokensOf(host, [files], { scope })).access_token)
    expect([again.jti, again.authorization_id]).not.toContain(payload.jti)
  })

  test('has no claim of a resource that guards or this server set, in the JWT and at introspection', async () => {
    const forged = { id: 'forged', name: 'forged', sub: 'forged', type: 'forged' }
    const reserved = [...protocolClaims, 'username', 'personal_token']
    const claims = () => Object.fromEntries([...reserved, 'tier'].map((name) => [name, forged]))
    const resources = {
      [files]: { scopes: ['files:read'], accessToken: 'jwt', introspection: ['notes-api'], claims },
    } as const
    const forging = await startResourceHost({ options: { resources } })
    try {
      const { access_token } = await tokensOf(forging, [files], { scope })
      for (const said of [claimsOf(access_token), await introspectAs(forging, 'notes-api', access_token)]) {
        const { tier, ...others } = said as Record<string, unknown>
        expect(tier).toEqual(forged)
        expect(JSON.stringify(others)).not.toContain('forged')
      }
      const guard = forging.oauth.requireToken('files:read', { resource: files })
      forging.app.get('/auth', guard, (req, res) => void res.json({ personalToken: req.auth.personalToken }))
      const { body } = await supertest(forging.app).get('/auth').auth(access_token, { type: 'bearer' })
      expect(body).toEqual({})
    } finally {
      await forging.close()
    }
  })

  test('of a client that acts for itself has no login and no authorization (RFC 9068 §5)', async () => {
    const { access_token } = await answerOf(tokenRequest(host, own, [files]))
    expect(claimsOf(access_token)).toEqual({
      iss: issuer,
      sub: 'web',
      aud: files,
      client_id: 'web',
      scope: 'files:read files:write',
      iat: clock.now(),
      exp: clock.now() + 600,
      jti: expect.any(String),
      tier: 'of web',
    })
    expect(await introspectAs(host, 'notes-api', access_token)).toMatchObject({ sub: 'web', aud: files })
  })

  test('for several resources has all of them as its audience', async () => {
    const { access_token } = await tokensOf(host, [files, photos], { scope: 'files:read files:write' })
    expect(claimsOf(access_token)).toMatchObject({ aud: [files, photos], scope: 'files:read files:write' })
    expect(await introspectAs(host, 'notes-api', access_token)).toMatchObject({ aud: files })
  })

  test('has the pairwise subject of its client', async () => {
    const { access_token, id_token } = await tokensOf(host, [files], { scope, client_id: 'pairwise' })
    const { sub } = claimsOf(access_token)
    expect(sub).toBe(claimsOf(id_token).sub)
    expect(sub).not.toBe('1')
  })

  test('lives no longer than the client or the server allows', async () => {
    for (const [client_id, seconds] of [['brief', 60] as const, ['long', 600] as const])
      expect((await tokensOf(host, [files], { scope, client_id })).expires_in).toBe(seconds)
  })

  test('comes in the fragment too', async () => {
    const location = await authorizeFor(host, [files], {
      response_type: 'token',
      client_id: 'implicit',
      scope,
    })
    const answer = new URLSearchParams(location.hash.slice(1))
    expect(claimsOf(answer.get('access_token') ?? '')).toMatchObject({ aud: files, client_id: 'implicit' })
    const mixed = { response_type: 'token', client_id: 'implicit', scope }
    const { hash } = await authorizeFor(host, [files, notes], mixed)
    expect(new URLSearchParams(hash.slice(1)).get('error')).toBe('invalid_target')
  })

  test('opens UserInfo with openid and guards of its resource until it expires, and no other guard', async () => {
    const { access_token } = tokens
    expect((await userinfo(host, access_token)).body).toEqual({ sub: '1', org_id: 'org-of-1' })
    expect((await userinfo(host, (await tokensOf(host, [files])).access_token)).status).toBe(403)
    const call = supertest(host.app).get('/api/notes').set('Authorization', `Bearer ${access_token}`)
    expect((await call).status).toBe(401)
    const guard = host.oauth.requireToken('files:read', { resource: files })
    const api = express().use(guard, (_req, res) => void res.json('reached'))
    const callApi = async () =>
      (await supertest(api).get('/').set('Authorization', `Bearer ${access_token}`)).status
    expect(await callApi()).toBe(200)
    clock.travel(600)
    expect(await callApi()).toBe(401)
    expect((await userinfo(host, access_token)).status).toBe(401)
  })
})

test('express-oauth2-jwt-bearer accepts it for its own resource only, and no ID token', async () => {
  jest.restoreAllMocks()
  const server = host.app.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const jwksUri = `http://127.0.0.1:${(server.address() as AddressInfo).port}/oauth/jwks`
  // Imported without its types, which would replace those of `req.auth` in every file.
  const name: string = 'express-oauth2-jwt-bearer'
  const { auth }: { auth: (options: object) => RequestHandler } = await import(name)
  const api = express()
  api.use(auth({ issuer, jwksUri, audience: files, strict: true }), (_req, res) => void res.json('reached'))
  const call = async (token: string) =>
    (await supertest(api).get('/').set('Authorization', `Bearer ${token}`)).status
  const { access_token, id_token } = tokens
  expect(await call(access_token)).toBe(200)
  expect(await call((await tokensOf(host, [photos], { scope })).access_token)).toBe(401)
  expect(await call(id_token)).toBe(401)
  await new Promise((done) => server.close(done))
})

test('the login distinguishes a user who has the id of a client from that client (RFC 9068 §5)', async () => {
  const find = (id: string) => ({ id })
  const twins = await startResourceHost({ options: { users: { find, authenticate: () => undefined } } })
  const guard = twins.oauth.requireToken('files:read', { user: false, resource: files })
  twins.app.get('/files', guard, (req, res) => void res.json(req.auth.subject ?? 'the client itself'))
  const call = async ({ headers }: { headers: { Authorization: string } }) =>
    (await supertest(twins.app).get('/files').set(headers)).body
  const of = { client: 'web', resource: files }
  expect(await call(await actingAs(twins.oauth, 'web', 'files:read', of))).toBe('web')
  expect(await call(await actingAsClient(twins.oauth, 'web', 'files:read', of))).toBe('the client itself')
})

test('a token for a client itself takes one statement, which authenticates the client', async () => {
  const count = await countStatements(host.database.knex, [])
  await answerOf(tokenRequest(host, own, [photos]))
  count.reset()
  await answerOf(tokenRequest(host, own, [photos]))
  expect(count.ours).toHaveLength(1)
})

test('revocation says that it cannot revoke it (RFC 7009 §2.2.1)', async () => {
  const { access_token } = tokens
  expectError(await revoke(access_token), 400, 'unsupported_token_type')
  expect(await state(access_token)).toBe(true)
})

test('a server with the same keys and another issuer does not accept it', async () => {
  const { access_token } = tokens
  const other = await startResourceHost({
    database: host.database,
    options: { issuer: 'http://localhost:3000/other' },
  })
  expect(await introspectAs(other, 'notes-api', access_token)).toEqual({ active: false })
  expect(await introspectAs(host, 'notes-api', access_token)).toMatchObject({ active: true })
})

test('neither an ID token nor a changed token is an access token, and it is no ID token', async () => {
  const { access_token, id_token } = tokens
  const [header = '', , signature = ''] = access_token.split('.')
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const claims = claimsOf(access_token)
  for (const token of [
    id_token,
    `${header}.${encode({ ...claims, sub: '2' })}.${signature}`,
    `${encode({ alg: 'none', typ: 'at+jwt' })}.${encode(claims)}.`,
  ]) {
    expect(await state(token)).toBe(false)
    expect((await userinfo(host, token)).status).toBe(401)
    expect((await revoke(token)).status).toBe(200)
  }
  const hinted = { prompt: 'none', scope, id_token_hint: access_token }
  expect((await authorizeFor(host, [files], hinted)).searchParams.get('error')).toBe('login_required')
})

describe('introspection detects', () => {
  interface Ending {
    readonly event: string
    readonly end: (refreshToken: string, browser: RawBrowser) => unknown
    readonly undo?: () => unknown
  }
  const person = () => host.database.knex(host.usersTable).where({ id: 1 })
  const endings: Ending[] = [
    { event: 'the refresh token was revoked', end: (token) => revoke(token) },
    {
      event: 'the user is disabled',
      end: () => person().update({ disabled_at: 1 }),
      undo: () => person().update({ disabled_at: null }),
    },
    { event: 'the host ended all logins', end: () => host.oauth.users.revokeAll(1) },
    {
      event: 'the client is disabled',
      end: () => host.oauth.clients.disable('web'),
      undo: () => host.oauth.clients.enable('web'),
    },
    {
      event: 'the user signed out',
      end: async (_, browser) => browser.submit(await browser.open('/oauth/logout'), 'name="csrf_token"'),
    },
    {
      event: 'the authorization was removed',
      end: () => host.table('authorizations').delete(),
    },
    { event: 'it expired', end: () => clock.travel(600) },
  ]
  test.each(endings)('that $event', async ({ end, undo }) => {
    const browser = new RawBrowser(host.app)
    const code = (await authorizeFor(host, [files], { scope }, browser)).searchParams.get('code') ?? ''
    const redemption = { grant_type: 'authorization_code', redirect_uri: callback, code }
    const { access_token, refresh_token } = await answerOf(tokenRequest(host, redemption))
    expect(await introspectAs(host, 'notes-api', access_token)).toMatchObject({ active: true })
    await end(refresh_token, browser)
    expect(await introspectAs(host, 'notes-api', access_token)).toEqual({ active: false })
    expect((await userinfo(host, access_token)).status).toBe(401)
    await undo?.()
  })

  test('that a client of its own is disabled', async () => {
    const { access_token } = await answerOf(tokenRequest(host, own, [files]))
    await host.oauth.clients.disable('web')
    expect(await introspectAs(host, 'notes-api', access_token)).toEqual({ active: false })
    await host.oauth.clients.enable('web')
    expect(await state(access_token)).toBe(true)
  })
})
