import { createHash } from 'node:crypto'
import { createLocalJWKSet, type JWTPayload, jwtVerify } from 'jose'
import supertest from 'supertest'
import { type Clock, stopClock } from '../support/clock.ts'
import { callback, clients, type Host, issuer, secret, startHost } from '../support/host.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import { answerOf, refresh, type TokenAnswer, tokensFor } from '../support/tokens.ts'

let host: Host
let clock: Clock
const confidential = { client_secret: secret, redirect_uris: [callback] }

beforeAll(async () => {
  host = await startHost({
    clients: [
      ...clients,
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
const verified = async (idToken: string, audience = 'web'): Promise<JWTPayload> => {
  const { payload } = await jwtVerify(idToken, createLocalJWKSet(await jwks()), {
    ...{ issuer, audience, algorithms: ['RS256'] },
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
    ...{ iss: issuer, sub: '1', aud: 'web', nonce: 'n-0S6_WzA2Mj', amr: ['pwd'] },
    ...{ exp: clock.now() + 3600, iat: clock.now(), auth_time: clock.now() },
    sid: expect.stringMatching(/^[\w-]{22}$/),
    at_hash: halfHash(tokens.access_token),
  })
})

test('has the time of the login, not of the code', async () => {
  const agent = new RawBrowser(host.app)
  const loginTime = clock.now()
  const first = await verified((await tokensFor(host, {}, {}, { agent })).id_token)
  clock.travel(300)
  const second = await verified((await tokensFor(host, {}, {}, { agent })).id_token)
  expect(second).toMatchObject({ auth_time: loginTime, iat: loginTime + 300, sid: first.sid })
})

test('two logins have two sids, and no nonce without one in the request', async () => {
  const one = await verified((await tokensFor(host)).id_token)
  const other = await verified((await tokensFor(host)).id_token)
  expect(one.sid).not.toBe(other.sid)
  expect(one).not.toHaveProperty('nonce')
})

test('carries name, email and email_verified for a seeded client, as the scopes allow', async () => {
  const claimsFor = async (scope: string) => {
    const { name, email, email_verified } = await verified((await tokensFor(host, { scope })).id_token)
    return { name, email, email_verified }
  }
  const email = { email: 'ada@example.com', email_verified: true }
  expect(await claimsFor('openid profile email')).toEqual({ name: 'Ada Lovelace', ...email })
  expect(await claimsFor('openid email')).toEqual(email)
  expect(await claimsFor('openid')).toEqual({})
})

test('lasts for the client’s id_token_lifetime', async () => {
  const { id_token } = await tokensFor(host, { client_id: 'brief' }, { client_id: 'brief' })
  expect(await verified(id_token, 'brief')).toHaveProperty('exp', clock.now() + 120)
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
    const times = { iat: Number(first.iat) + 100, exp: Number(first.exp) + 100 }
    expect(second).toEqual({ ...kept, ...times, at_hash: halfHash(tokens.access_token) })
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
