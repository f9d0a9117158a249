import supertest from 'supertest'
import { stopClock } from '../support/clock.ts'
import { clients, type Host, pkce, secret, startHost } from '../support/host.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import {
  answerOf,
  codeFor,
  expectError,
  type Fields,
  post,
  redeem,
  refresh,
  type TokenAnswer,
  tokensFor,
  userinfo,
  web,
} from '../support/tokens.ts'

let host: Host
beforeAll(async () => {
  host = await startHost({
    clients: [
      ...clients,
      {
        client_id: 'other',
        client_secret: secret,
        redirect_uris: ['https://client.example.com/callback'],
        grant_types: ['authorization_code', 'refresh_token', 'client_credentials'],
      },
      {
        client_id: 'kept',
        client_secret: secret,
        redirect_uris: ['https://client.example.com/callback'],
        refresh_token_rotation: false,
      },
    ],
  })
})
afterAll(() => host.close())
afterEach(() => jest.restoreAllMocks())

const other = { client_id: 'other', client_secret: secret }

const send = (path: string, fields: Fields): supertest.Test =>
  supertest(host.app)
    .post(path)
    .type('form')
    .send(
      new URLSearchParams(
        Object.entries(fields).filter((entry): entry is [string, string] => entry[1] !== undefined),
      ).toString(),
    )
const revoke = (token: string, fields: Fields = {}): supertest.Test =>
  send('/oauth/revoke', { token, ...web, ...fields })
const introspect = (token: string, fields: Fields = {}): supertest.Test =>
  send('/oauth/introspect', { token, ...web, ...fields })
const guarded = (token: string): supertest.Test =>
  supertest(host.app).get('/api/notes').set('Authorization', `Bearer ${token}`)

const userTokens = (fields: Fields = {}): Promise<TokenAnswer> =>
  tokensFor(host, { scope: 'openid notes:read', ...fields }, fields)

/** What the whole server says of the tokens, without using either up. */
const standing = async (
  tokens: Pick<TokenAnswer, 'access_token' | 'refresh_token'>,
  fields: Fields = {},
): Promise<{ access: boolean; refresh: boolean }> => {
  const told = await introspect(tokens.access_token, fields)
  const access = told.body.active
  expect((await userinfo(host, tokens.access_token)).status).toBe(access ? 200 : 401)
  expect((await guarded(tokens.access_token)).status).toBe(access ? 200 : 401)
  return { access, refresh: (await introspect(tokens.refresh_token, fields)).body.active }
}
const both = { access: true, refresh: true }
const neither = { access: false, refresh: false }

/** RFC 7009 §2.2: 200, whatever became of the token. */
const expectDone = (res: supertest.Response): void => {
  expect({ status: res.status, body: res.body }).toEqual({ status: 200, body: {} })
  expect(res.headers).toMatchObject({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' })
  expect(res.headers).not.toHaveProperty('set-cookie')
}

describe('a client revokes a token of its own (RFC 7009 §2.1)', () => {
  test('an access token ends alone and at once, its refresh token lives', async () => {
    const tokens = await userTokens()
    expect(await standing(tokens)).toEqual(both)
    expectDone(await revoke(tokens.access_token))
    expect(await standing(tokens)).toEqual({ access: false, refresh: true })
    const next = await answerOf(refresh(host, tokens.refresh_token))
    expect(await standing(next)).toEqual(both)
  })

  test('a refresh token takes every token of its family, and no other family', async () => {
    const agent = new RawBrowser(host.app)
    const bystander = await tokensFor(host, { scope: 'openid notes:read' }, {}, { agent })
    const first = await tokensFor(host, { scope: 'openid notes:read' }, {}, { agent })
    const second = await answerOf(refresh(host, first.refresh_token))
    expectDone(await revoke(second.refresh_token))
    expect(await standing(first)).toEqual(neither)
    expect(await standing(second)).toEqual(neither)
    expectError(await refresh(host, second.refresh_token), 400, 'invalid_grant')
    expect(await standing(bystander)).toEqual(both)
  })

  test('a refresh token that was used up takes its family too', async () => {
    const first = await userTokens()
    const second = await answerOf(refresh(host, first.refresh_token))
    expectDone(await revoke(first.refresh_token))
    expect(await standing(second)).toEqual(neither)
  })

  test('a refresh token that does not rotate ends likewise', async () => {
    const kept = { client_id: 'kept' }
    const tokens = await userTokens(kept)
    await answerOf(refresh(host, tokens.refresh_token, kept))
    expectDone(await revoke(tokens.refresh_token, kept))
    expectError(await refresh(host, tokens.refresh_token, kept), 400, 'invalid_grant')
  })

  test('a revoked refresh token has no replay window', async () => {
    stopClock()
    const first = await userTokens()
    const second = await answerOf(refresh(host, first.refresh_token))
    // The window is open: the same answer may be had again.
    expect((await answerOf(refresh(host, first.refresh_token))).refresh_token).toBe(second.refresh_token)
    expectDone(await revoke(second.refresh_token))
    expectError(await refresh(host, first.refresh_token), 400, 'invalid_grant')
    expectError(await refresh(host, second.refresh_token), 400, 'invalid_grant')
  })

  test('a code that is redeemed again afterwards gives nothing', async () => {
    const code = await codeFor(host, { scope: 'openid notes:read' })
    const tokens = await answerOf(redeem(host, code))
    expectDone(await revoke(tokens.refresh_token))
    expectError(await redeem(host, code), 400, 'invalid_grant')
  })

  test("a client's own token", async () => {
    const { access_token } = await answerOf(post(host, { grant_type: 'client_credentials', ...web }))
    expect((await introspect(access_token)).body.active).toBe(true)
    expectDone(await revoke(access_token))
    expect((await introspect(access_token)).body).toEqual({ active: false })
    expect((await guarded(access_token)).status).toBe(401)
  })

  test('a public client, which only says who it is', async () => {
    const { verifier, challenge } = pkce()
    const parameters = { code_challenge: challenge, code_challenge_method: 'S256' }
    const fields = { client_id: 'native', client_secret: undefined }
    const tokens = await tokensFor(
      host,
      { scope: 'openid notes:read', client_id: 'native', ...parameters },
      { ...fields, code_verifier: verifier },
    )
    expectDone(await revoke(tokens.refresh_token, fields))
    expectError(await refresh(host, tokens.refresh_token, fields), 400, 'invalid_grant')
    expect((await userinfo(host, tokens.access_token)).status).toBe(401)
  })

  test('with the secret in the Authorization header', async () => {
    const tokens = await userTokens()
    const res = await supertest(host.app)
      .post('/oauth/revoke')
      .auth(web.client_id, web.client_secret)
      .type('form')
      .send({ token: tokens.refresh_token })
    expectDone(res)
    expect(await standing(tokens)).toEqual(neither)
  })

  test.each(['access_token', 'refresh_token', 'id_token', 'nonsense', '__proto__'])(
    'with the hint %s, right, wrong or unknown',
    async (token_type_hint) => {
      const [one, two] = [await userTokens(), await userTokens()]
      expectDone(await revoke(one.access_token, { token_type_hint }))
      expect(await standing(one)).toEqual({ access: false, refresh: true })
      expectDone(await revoke(two.refresh_token, { token_type_hint }))
      expect(await standing(two)).toEqual(neither)
    },
  )

  test('again and again, and the answer is the same', async () => {
    const tokens = await userTokens()
    for (const _ of [1, 2, 3]) expectDone(await revoke(tokens.access_token))
    expect(await standing(tokens)).toEqual({ access: false, refresh: true })
    for (const _ of [1, 2, 3]) expectDone(await revoke(tokens.refresh_token))
    expectDone(await revoke(tokens.access_token))
    expect(await standing(tokens)).toEqual(neither)
  })

  test('many times at once', async () => {
    const tokens = await userTokens()
    const answers = await Promise.all(
      [1, 2, 3, 4, 5, 6].map((turn) => revoke(turn % 2 ? tokens.access_token : tokens.refresh_token)),
    )
    for (const answer of answers) expectDone(answer)
    expect(await standing(tokens)).toEqual(neither)
  })
})

describe('what is not there to be revoked is answered alike and changes nothing (RFC 7009 §2.2)', () => {
  test.each([
    ['unknown access token', `lk_at_${'A'.repeat(43)}`],
    ['unknown refresh token', `lk_rt_${'A'.repeat(43)}`],
    ['code of the same form', `lk_ac_${'A'.repeat(43)}`],
    ['garbage', 'x'],
    ['SQL', "' OR 1=1 --"],
    ['prefix alone', 'lk_rt_'],
    ['JWT', 'eyJhbGciOiJub25lIn0.e30.'],
    ['very long text', 'a'.repeat(8192)],
  ])('%s', async (_, token) => {
    const tokens = await userTokens()
    expectDone(await revoke(token))
    expect(await standing(tokens)).toEqual(both)
  })

  test('ID token and unredeemed code of the client', async () => {
    const tokens = await userTokens()
    const code = await codeFor(host)
    expectDone(await revoke(tokens.id_token))
    expectDone(await revoke(code))
    expect(await standing(tokens)).toEqual(both)
    expect((await redeem(host, code)).status).toBe(200)
  })

  test('expired tokens', async () => {
    const clock = stopClock()
    const tokens = await userTokens()
    clock.travel(3600)
    expectDone(await revoke(tokens.access_token))
    expect(await standing(tokens)).toEqual({ access: false, refresh: true })
    clock.travel(2_592_000)
    expectDone(await revoke(tokens.refresh_token))
  })

  test("another client's tokens, which still work", async () => {
    const tokens = await userTokens()
    const { verifier, challenge } = pkce()
    const native = await tokensFor(
      host,
      { client_id: 'native', code_challenge: challenge, code_challenge_method: 'S256' },
      { client_id: 'native', client_secret: undefined, code_verifier: verifier },
    )
    for (const thief of [other, { client_id: 'native', client_secret: undefined }]) {
      expectDone(await revoke(tokens.access_token, thief))
      expectDone(await revoke(tokens.refresh_token, thief))
    }
    expectDone(await revoke(native.access_token))
    expectDone(await revoke(native.refresh_token))
    expect(await standing(tokens)).toEqual(both)
    expect((await refresh(host, tokens.refresh_token)).status).toBe(200)
    expect((await userinfo(host, native.access_token)).status).toBe(200)
    const fields = { client_id: 'native', client_secret: undefined }
    expect((await refresh(host, native.refresh_token, fields)).status).toBe(200)
  })
})

describe('refused', () => {
  test.each([
    ['no token', { token: undefined }, 400, 'invalid_request'],
    ['an empty token', { token: '' }, 400, 'invalid_request'],
    ['a token that is too long', { token: 'a'.repeat(8193) }, 400, 'invalid_request'],
    ['a wrong secret', { client_secret: 'w'.repeat(40) }, 401, 'invalid_client'],
    ['no secret', { client_secret: undefined }, 401, 'invalid_client'],
    ['an unknown client', { client_id: 'nobody' }, 401, 'invalid_client'],
    ['no client', { client_id: undefined, client_secret: undefined }, 400, 'invalid_request'],
    ['a secret of a public client', { client_id: 'native' }, 401, 'invalid_client'],
  ])('%s, and the token lives', async (_, fields, status, error) => {
    const tokens = await userTokens()
    expectError(await revoke(tokens.refresh_token, fields), status, error)
    expect(await standing(tokens)).toEqual(both)
  })

  test('a wrong secret in the header is challenged', async () => {
    const tokens = await userTokens()
    const res = await supertest(host.app)
      .post('/oauth/revoke')
      .auth('web', 'wrong')
      .type('form')
      .send({ token: tokens.refresh_token })
    expectError(res, 401, 'invalid_client')
    expect(res.headers['www-authenticate']).toMatch(/^Basic /)
    expect(await standing(tokens)).toEqual(both)
  })

  test('the token twice', async () => {
    const { access_token } = await userTokens()
    const body = `${new URLSearchParams({ ...web, token: access_token })}&token=${access_token}`
    expectError(
      await supertest(host.app).post('/oauth/revoke').type('form').send(body),
      400,
      'invalid_request',
    )
    expect((await userinfo(host, access_token)).status).toBe(200)
  })

  test('JSON, and a token in the query', async () => {
    const { access_token: token } = await userTokens()
    const app = supertest(host.app)
    expectError(await app.post('/oauth/revoke').send({ ...web, token }), 415, 'invalid_request')
    const query = new URLSearchParams({ ...web, token })
    expectError(await app.post(`/oauth/revoke?${query}`), 400, 'invalid_request')
    const got = await app.get(`/oauth/revoke?${query}`)
    expectError(got, 405, 'invalid_request')
    expect(got.headers.allow).toBe('POST')
    expect((await userinfo(host, token)).status).toBe(200)
  })
})

test('scripts of any origin may revoke: no cookie is read (CORS)', async () => {
  const origin = 'https://spa.example.com'
  const preflight = await supertest(host.app)
    .options('/oauth/revoke')
    .set({ Origin: origin, 'Access-Control-Request-Method': 'POST' })
  expect(preflight.status).toBe(204)
  expect(preflight.headers['access-control-allow-origin']).toBe('*')
  expect(preflight.headers['access-control-allow-methods']).toContain('POST')
  for (const fields of [{}, { client_secret: 'w'.repeat(40) }]) {
    const res = await revoke('x', fields).set('Origin', origin)
    expect(res.headers['access-control-allow-origin']).toBe('*')
    expect(res.headers).not.toHaveProperty('access-control-allow-credentials')
  }
})

describe('while the database fails', () => {
  test.each(['access_tokens', 'refresh_tokens', 'authorizations', 'clients'])(
    'with %s away the answer is 503, never that it is done, and no word of SQL',
    async (name) => {
      const { knex, tablePrefix } = host.database
      const tokens = await userTokens()
      const token = name === 'access_tokens' ? tokens.access_token : tokens.refresh_token
      await knex.schema.renameTable(`${tablePrefix}${name}`, `${tablePrefix}away`)
      const res = await revoke(token)
      await knex.schema.renameTable(`${tablePrefix}away`, `${tablePrefix}${name}`)
      expectError(res, 503, 'temporarily_unavailable')
      expect(res.headers['retry-after']).toBe('1')
      expect(res.text).not.toMatch(/select|update|table|away/i)
      expect(await standing(tokens)).toEqual(both)
      expectDone(await revoke(token))
      expect((await introspect(token)).body).toEqual({ active: false })
    },
  )
})
