import supertest from 'supertest'
import { type Clock, stopClock } from '../support/clock.ts'
import { clients, type Host, issuer, pkce, secret, startHost } from '../support/host.ts'
import {
  answerOf,
  bob,
  codeFor,
  expectError,
  type Fields,
  post,
  refresh,
  type TokenAnswer,
  tokensFor,
  web,
} from '../support/tokens.ts'

const callback = 'https://client.example.com/callback'
const grant_types = ['authorization_code', 'refresh_token', 'client_credentials'] as const

let host: Host
let clock: Clock
beforeAll(async () => {
  host = await startHost({
    clients: [
      ...clients,
      { client_id: 'other', client_secret: secret, redirect_uris: [callback], grant_types: [...grant_types] },
      { client_id: 'switched', client_secret: secret, redirect_uris: [callback] },
      {
        client_id: 'kept',
        client_secret: secret,
        redirect_uris: [callback],
        refresh_token_rotation: false,
        refresh_token_idle_lifetime: 600,
      },
    ],
  })
})
afterAll(() => host.close())
beforeEach(() => {
  clock = stopClock()
})
afterEach(() => jest.restoreAllMocks())

const other = { client_id: 'other', client_secret: secret }
const scope = 'openid email notes:read'

const introspect = (token: string | undefined, fields: Fields = {}): supertest.Test =>
  supertest(host.app)
    .post('/oauth/introspect')
    .type('form')
    .send(
      new URLSearchParams(
        Object.entries({ token, ...web, ...fields }).filter(
          (entry): entry is [string, string] => entry[1] !== undefined,
        ),
      ).toString(),
    )
const table = (name: string) => host.database.knex(`${host.database.tablePrefix}${name}`)
const userTokens = (fields: Fields = {}): Promise<TokenAnswer> =>
  tokensFor(host, { scope, ...fields }, fields)

/** RFC 7662 §2.2: not a word more, whatever the reason. */
const expectInactive = (res: supertest.Response): void => {
  expect({ status: res.status, text: res.text }).toEqual({ status: 200, text: '{"active":false}' })
}

describe('an active token is described in full and in nothing else (RFC 7662 §2.2)', () => {
  test('a user’s access token', async () => {
    const issuedAt = clock.now()
    const { access_token } = await userTokens()
    clock.travel(100)
    const res = await introspect(access_token)
    expect(res.status).toBe(200)
    expect(res.body).toEqual({
      active: true,
      iss: issuer,
      client_id: 'web',
      scope,
      token_type: 'Bearer',
      sub: '1',
      username: 'ada@example.com',
      iat: issuedAt,
      exp: issuedAt + 3600,
    })
  })

  test('a narrowed one after a refresh', async () => {
    const { refresh_token } = await userTokens()
    const { access_token } = await answerOf(refresh(host, refresh_token, { scope: 'openid' }))
    expect((await introspect(access_token)).body).toMatchObject({ active: true, scope: 'openid' })
  })

  test('a client’s own access token speaks for no user', async () => {
    const fields = { grant_type: 'client_credentials', scope: 'notes:read', ...web }
    const { access_token } = await answerOf(post(host, fields))
    expect((await introspect(access_token)).body).toEqual({
      active: true,
      iss: issuer,
      client_id: 'web',
      scope: 'notes:read',
      token_type: 'Bearer',
      sub: 'web',
      iat: clock.now(),
      exp: clock.now() + 3600,
    })
  })

  test('a refresh token, which is no bearer token', async () => {
    const { refresh_token } = await userTokens({ scope: `${scope} offline_access` })
    expect((await introspect(refresh_token)).body).toEqual({
      active: true,
      iss: issuer,
      client_id: 'web',
      scope: `${scope} offline_access`,
      sub: '1',
      username: 'ada@example.com',
      exp: clock.now() + 2_592_000,
    })
  })

  test('a refresh token that is kept tells its new expiry', async () => {
    const kept = { client_id: 'kept' }
    const { refresh_token } = await userTokens(kept)
    clock.travel(300)
    await answerOf(refresh(host, refresh_token, kept))
    const { body } = await introspect(refresh_token, kept)
    expect(body).toMatchObject({ active: true, exp: clock.now() + 600 })
  })

  test.each(['access_token', 'refresh_token', 'nonsense'])(
    'whatever token_type_hint says: %s',
    async (hint) => {
      const tokens = await userTokens()
      for (const token of [tokens.access_token, tokens.refresh_token])
        expect((await introspect(token, { token_type_hint: hint })).body.active).toBe(true)
    },
  )

  test('asked by Basic, and never kept by anybody', async () => {
    const { access_token } = await userTokens()
    const res = await supertest(host.app)
      .post('/oauth/introspect')
      .auth(web.client_id, web.client_secret)
      .type('form')
      .send({ token: access_token })
    expect(res.body.active).toBe(true)
    expect(res.headers).toMatchObject({
      'content-type': 'application/json',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    })
    expect(res.headers).not.toHaveProperty('etag')
    expect(res.headers).not.toHaveProperty('set-cookie')
  })

  test('asking changes nothing', async () => {
    const { access_token, refresh_token } = await userTokens()
    for (const token of [access_token, refresh_token, access_token, refresh_token])
      expect((await introspect(token)).body.active).toBe(true)
    expect((await refresh(host, refresh_token)).status).toBe(200)
  })
})

describe('anything else is {"active":false} and nothing more', () => {
  test.each([
    ['an unknown access token', `lk_at_${'A'.repeat(43)}`],
    ['an unknown refresh token', `lk_rt_${'A'.repeat(43)}`],
    ['garbage', 'x'],
    ['SQL', "' OR 1=1 --"],
    ['an unsigned JWT', 'eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.'],
    ['a long text', 'a'.repeat(8192)],
  ])('%s', async (_, token) => expectInactive(await introspect(token)))

  test('a code and an ID token', async () => {
    expectInactive(await introspect(await codeFor(host)))
    expectInactive(await introspect((await userTokens()).id_token))
  })

  test('another client’s tokens', async () => {
    const tokens = await userTokens()
    expectInactive(await introspect(tokens.access_token, other))
    expectInactive(await introspect(tokens.refresh_token, other))
    const { access_token } = await answerOf(post(host, { grant_type: 'client_credentials', ...web }))
    expectInactive(await introspect(access_token, other))
    expect((await introspect(tokens.access_token)).body.active).toBe(true)
  })

  test('a public client’s tokens', async () => {
    const { verifier, challenge } = pkce()
    const tokens = await tokensFor(
      host,
      { client_id: 'native', code_challenge: challenge, code_challenge_method: 'S256' },
      { client_id: 'native', client_secret: undefined, code_verifier: verifier },
    )
    expectInactive(await introspect(tokens.access_token))
    expectInactive(await introspect(tokens.refresh_token))
  })

  test('an expired access token, to the second', async () => {
    const { access_token } = await userTokens()
    clock.travel(3599)
    expect((await introspect(access_token)).body.active).toBe(true)
    clock.travel(1)
    expectInactive(await introspect(access_token))
  })

  test('an expired refresh token, to the second', async () => {
    const kept = { client_id: 'kept' }
    const { refresh_token } = await userTokens(kept)
    clock.travel(599)
    expect((await introspect(refresh_token, kept)).body.active).toBe(true)
    clock.travel(1)
    expectInactive(await introspect(refresh_token, kept))
  })

  test('a refresh token that was used up, even within the replay window', async () => {
    const { refresh_token } = await userTokens()
    const next = await answerOf(refresh(host, refresh_token))
    expectInactive(await introspect(refresh_token))
    expect((await introspect(next.refresh_token)).body.active).toBe(true)
  })

  test('a family that ended because a token was used twice', async () => {
    const { refresh_token } = await userTokens()
    const next = await answerOf(refresh(host, refresh_token))
    clock.travel(60)
    expectError(await refresh(host, refresh_token), 400, 'invalid_grant')
    expectInactive(await introspect(next.access_token))
    expectInactive(await introspect(next.refresh_token))
  })

  test('the tokens of a user who is disabled, while that lasts', async () => {
    const tokens = await tokensFor(host, { scope }, {}, { as: bob })
    const person = () => host.database.knex(host.usersTable).where({ email: bob.email })
    await person().update({ disabled_at: 1 })
    expectInactive(await introspect(tokens.access_token))
    expectInactive(await introspect(tokens.refresh_token))
    await person().update({ disabled_at: null })
    expect((await introspect(tokens.access_token)).body).toMatchObject({ active: true, sub: '2' })
    expect((await introspect(tokens.refresh_token)).body).toMatchObject({ active: true, sub: '2' })
  })

  test('the tokens of a login that has ended, unless they were granted offline', async () => {
    const [bound, offline] = [await userTokens(), await userTokens({ scope: `${scope} offline_access` })]
    await table('logins').whereNull('ended_at').update({ ended_at: clock.now() })
    expectInactive(await introspect(bound.access_token))
    expectInactive(await introspect(bound.refresh_token))
    expect((await introspect(offline.access_token)).body.active).toBe(true)
    expect((await introspect(offline.refresh_token)).body.active).toBe(true)
  })
})

describe('refused', () => {
  test.each([
    ['no token', { token: undefined }, 400, 'invalid_request'],
    ['a token that is too long', { token: 'a'.repeat(8193) }, 400, 'invalid_request'],
    ['a wrong secret', { client_secret: 'w'.repeat(40) }, 401, 'invalid_client'],
    ['no secret', { client_secret: undefined }, 401, 'invalid_client'],
    ['an unknown client', { client_id: 'nobody' }, 401, 'invalid_client'],
    ['no client', { client_id: undefined, client_secret: undefined }, 400, 'invalid_request'],
    ['a public client', { client_id: 'native', client_secret: undefined }, 401, 'invalid_client'],
  ])('%s', async (_, fields, status, error) => {
    const { access_token } = await userTokens()
    expectError(await introspect(access_token, fields), status, error)
  })

  test('a public client even for its own token', async () => {
    const { verifier, challenge } = pkce()
    const fields = { client_id: 'native', client_secret: undefined }
    const tokens = await tokensFor(
      host,
      { client_id: 'native', code_challenge: challenge, code_challenge_method: 'S256' },
      { ...fields, code_verifier: verifier },
    )
    expectError(await introspect(tokens.access_token, fields), 401, 'invalid_client')
  })

  test('a client that is disabled', async () => {
    const switched = { client_id: 'switched' }
    const { access_token } = await userTokens(switched)
    await table('clients').where(switched).update({ disabled_at: 1 })
    expectError(await introspect(access_token, switched), 401, 'invalid_client')
    await table('clients').where(switched).update({ disabled_at: null })
    expect((await introspect(access_token, switched)).body.active).toBe(true)
  })

  test('a bearer token instead of client credentials', async () => {
    const { access_token } = await userTokens()
    const res = await supertest(host.app)
      .post('/oauth/introspect')
      .set('Authorization', `Bearer ${access_token}`)
      .type('form')
      .send({ token: access_token })
    expectError(res, 401, 'invalid_client')
  })

  test('GET', async () => {
    const res = await supertest(host.app).get('/oauth/introspect?token=x')
    expectError(res, 405, 'invalid_request')
    expect(res.headers.allow).toBe('POST')
  })
})

test('no script of another origin may ask (CORS)', async () => {
  const { access_token } = await userTokens()
  const origin = { Origin: 'https://spa.example.com' }
  const preflight = await supertest(host.app)
    .options('/oauth/introspect')
    .set({ ...origin, 'Access-Control-Request-Method': 'POST' })
  for (const res of [preflight, await introspect(access_token).set(origin)]) {
    expect(Object.keys(res.headers).filter((name) => name.startsWith('access-control-'))).toEqual([])
  }
})

test.each(['access_tokens', 'refresh_tokens', 'authorizations', 'clients', 'people'])(
  'with %s away the answer is 503, never that a token is inactive',
  async (name) => {
    const { knex, tablePrefix } = host.database
    const tokens = await userTokens()
    await knex.schema.renameTable(`${tablePrefix}${name}`, `${tablePrefix}away`)
    const answers = [
      ...(name === 'refresh_tokens' ? [] : [await introspect(tokens.access_token)]),
      ...(name === 'access_tokens' ? [] : [await introspect(tokens.refresh_token)]),
    ]
    await knex.schema.renameTable(`${tablePrefix}away`, `${tablePrefix}${name}`)
    for (const answer of answers) {
      expectError(answer, 503, 'temporarily_unavailable')
      expect(answer.text).not.toMatch(/select|table|away/i)
    }
    expect((await introspect(tokens.access_token)).body.active).toBe(true)
    expect((await introspect(tokens.refresh_token)).body.active).toBe(true)
  },
)
