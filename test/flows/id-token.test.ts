import { createHash } from 'node:crypto'
import { createLocalJWKSet, decodeProtectedHeader, type JWTPayload, jwtVerify } from 'jose'
import supertest from 'supertest'
import { type Clock, stopClock } from '../support/clock.ts'
import { callback, clients, type Host, issuer, pkce, secret, startHost } from '../support/host.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import { answerOf, codeFor, post, refresh, type TokenAnswer, tokensFor, userinfo } from '../support/tokens.ts'

let host: Host
let clock: Clock
const confidential = { client_secret: secret, redirect_uris: [callback] }

beforeAll(async () => {
  host = await startHost({
    clients: [
      ...clients,
      { ...confidential, client_id: 'es256', id_token_signed_response_alg: 'ES256' },
      { ...confidential, client_id: 'lean', id_token_scope_claims: false },
      { ...confidential, client_id: 'brief', id_token_lifetime: 120 },
    ],
  })
})
afterAll(() => host.close())
beforeEach(() => {
  clock = stopClock()
})
afterEach(() => jest.restoreAllMocks())

const jwks = async () => (await supertest(host.app).get('/oauth/jwks')).body

/** The claims, once the signature is verified by what the server publishes. */
const verified = async (idToken: string, audience = 'web', algorithm = 'RS256'): Promise<JWTPayload> => {
  const { payload } = await jwtVerify(idToken, createLocalJWKSet(await jwks()), {
    issuer,
    audience,
    algorithms: [algorithm],
    requiredClaims: ['iss', 'sub', 'aud', 'exp', 'iat', 'auth_time'],
    currentDate: new Date(clock.now() * 1000),
  })
  return payload
}

const halfHash = (value: string): string =>
  createHash('sha256').update(value).digest().subarray(0, 16).toString('base64url')

test('has sub, aud, iss and times, and no claim that was not requested', async () => {
  const tokens = await tokensFor(host, { scope: 'openid', nonce: 'n-0S6_WzA2Mj' })
  expect(await verified(tokens.id_token)).toEqual({
    iss: issuer,
    sub: '1',
    aud: 'web',
    exp: clock.now() + 3600,
    iat: clock.now(),
    auth_time: clock.now(),
    nonce: 'n-0S6_WzA2Mj',
    amr: ['pwd'],
    sid: expect.stringMatching(/^[\w-]{22}$/),
    at_hash: halfHash(tokens.access_token),
  })
})

test('has no nonce when the request had none', async () => {
  const tokens = await tokensFor(host, { scope: 'openid' })
  expect(await verified(tokens.id_token)).not.toHaveProperty('nonce')
})

test('returns a nonce of 512 characters as it came', async () => {
  const nonce = `ü "+%/${'n'.repeat(506)}`
  expect(await verified((await tokensFor(host, { nonce })).id_token)).toHaveProperty('nonce', nonce)
})

test('has the time of the login, not of the code', async () => {
  const agent = new RawBrowser(host.app)
  const loginTime = clock.now()
  const first = await verified((await tokensFor(host, {}, {}, { agent })).id_token)
  clock.travel(300)
  const second = await verified((await tokensFor(host, {}, {}, { agent })).id_token)
  expect(second).toMatchObject({ auth_time: loginTime, iat: loginTime + 300, sid: first.sid })
})

test('two logins have two sids', async () => {
  const one = await verified((await tokensFor(host)).id_token)
  const other = await verified((await tokensFor(host)).id_token)
  expect(one.sid).not.toBe(other.sid)
})

test('carries name, email and email_verified for a seeded client, as the scopes allow', async () => {
  const claimsFor = async (scope: string) => {
    const { name, email, email_verified } = await verified((await tokensFor(host, { scope })).id_token)
    return { name, email, email_verified }
  }
  expect(await claimsFor('openid profile email')).toEqual({
    name: 'Ada Lovelace',
    email: 'ada@example.com',
    email_verified: true,
  })
  expect(await claimsFor('openid email')).toEqual({ email: 'ada@example.com', email_verified: true })
  expect(await claimsFor('openid')).toEqual({})
})

test('carries no scope claims for a client with id_token_scope_claims false; UserInfo does', async () => {
  const tokens = await tokensFor(host, { client_id: 'lean' }, { client_id: 'lean' })
  const claims = await verified(tokens.id_token, 'lean')
  expect(Object.keys(claims).sort()).toEqual(
    ['iss', 'sub', 'aud', 'exp', 'iat', 'auth_time', 'amr', 'sid', 'at_hash'].sort(),
  )
  expect((await userinfo(host, tokens.access_token)).body).toEqual({
    sub: '1',
    name: 'Ada Lovelace',
    email: 'ada@example.com',
    email_verified: true,
  })
})

test('is signed with RS256 unless the client registered otherwise, by a published key', async () => {
  const { id_token } = await tokensFor(host)
  const header = decodeProtectedHeader(id_token)
  expect(header).toEqual({ alg: 'RS256', typ: 'JWT', kid: expect.any(String) })
  const key = (await jwks()).keys.find(({ kid }: { kid: string }) => kid === header.kid)
  expect(key).toMatchObject({ kty: 'RSA', alg: 'RS256', use: 'sig' })
})

test('is signed with ES256 for a client that registered it', async () => {
  const { id_token } = await tokensFor(host, { client_id: 'es256' }, { client_id: 'es256' })
  expect(decodeProtectedHeader(id_token)).toEqual({ alg: 'ES256', typ: 'JWT', kid: expect.any(String) })
  expect(await verified(id_token, 'es256', 'ES256')).toMatchObject({ sub: '1', aud: 'es256' })
})

test('lasts for the client’s id_token_lifetime', async () => {
  const { id_token } = await tokensFor(host, { client_id: 'brief' }, { client_id: 'brief' })
  expect(await verified(id_token, 'brief')).toHaveProperty('exp', clock.now() + 120)
})

test('a public client gets the same claims', async () => {
  const { verifier, challenge } = pkce()
  const code = await codeFor(host, {
    client_id: 'native',
    code_challenge: challenge,
    code_challenge_method: 'S256',
  })
  const tokens = await answerOf(
    post(host, {
      grant_type: 'authorization_code',
      code,
      redirect_uri: callback,
      client_id: 'native',
      code_verifier: verifier,
    }),
  )
  expect(await verified(tokens.id_token, 'native')).toMatchObject({ sub: '1', aud: 'native' })
})

describe('of a refresh', () => {
  const refreshedAfter = async (
    seconds: number,
    fields = {},
  ): Promise<{ first: JWTPayload; second: JWTPayload; tokens: TokenAnswer }> => {
    const issued = await tokensFor(host, { nonce: 'n-1' })
    const first = await verified(issued.id_token)
    clock.travel(seconds)
    const tokens = await answerOf(refresh(host, issued.refresh_token, fields))
    return { first, second: await verified(tokens.id_token), tokens }
  }

  test('has the same iss, sub, aud, auth_time and sid, a newer iat, and no nonce', async () => {
    const { first, second, tokens } = await refreshedAfter(100)
    const { nonce: _, ...kept } = first
    expect(second).toEqual({
      ...kept,
      iat: Number(first.iat) + 100,
      exp: Number(first.exp) + 100,
      at_hash: halfHash(tokens.access_token),
    })
  })

  test('carries what the narrowed scopes allow', async () => {
    const { second } = await refreshedAfter(1, { scope: 'openid email' })
    expect(second).toMatchObject({ email: 'ada@example.com' })
    expect(second).not.toHaveProperty('name')
  })

  test('is left out when the narrowed scopes hold no openid', async () => {
    const issued = await tokensFor(host)
    const tokens = await answerOf(refresh(host, issued.refresh_token, { scope: 'email' }))
    expect(tokens).not.toHaveProperty('id_token')
  })

  test('carries the claims that the user has now', async () => {
    const users = () => host.database.knex(host.usersTable).where({ id: 1 })
    const issued = await tokensFor(host)
    await users().update({ full_name: 'Ada King' })
    const tokens = await answerOf(refresh(host, issued.refresh_token))
    await users().update({ full_name: 'Ada Lovelace' })
    expect(await verified(tokens.id_token)).toHaveProperty('name', 'Ada King')
  })
})

describe('the published keys', () => {
  test('have distinct kids and no private member', async () => {
    const { keys } = await jwks()
    const kids = keys.map(({ kid }: { kid: string }) => kid)
    expect(keys.map(({ alg }: { alg: string }) => alg).sort()).toEqual(['ES256', 'EdDSA', 'PS256', 'RS256'])
    expect(new Set(kids).size).toBe(keys.length)
    for (const key of keys) {
      const members = { RSA: ['e', 'n'], EC: ['crv', 'x', 'y'], OKP: ['crv', 'x'] }[String(key.kty)] ?? []
      expect(Object.keys(key).sort()).toEqual(['alg', 'kid', 'kty', 'use', ...members].sort())
    }
  })

  test('have an RSA modulus of 2048 bits', async () => {
    const { keys } = await jwks()
    const rsa = keys.find(({ kty }: { kty: string }) => kty === 'RSA')
    expect(Buffer.from(rsa.n, 'base64url').length * 8).toBeGreaterThanOrEqual(2048)
  })
})
