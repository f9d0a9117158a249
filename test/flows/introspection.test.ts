import type supertest from 'supertest'
import { type Clock, stopClock } from '../support/clock.ts'
import { clients, type Host, issuer, secret, startHost } from '../support/host.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import {
  answerOf,
  expectError,
  type Fields,
  guarded,
  introspect as introspectAt,
  post,
  refresh,
  tokensFor,
  web,
} from '../support/tokens.ts'

const callback = 'https://client.example.com/callback'
const grant_types = ['authorization_code', 'refresh_token', 'client_credentials'] as const

let host: Host
let clock: Clock
const warnings: string[] = []
beforeAll(async () => {
  const logger = { info: () => {}, warn: (message: string) => warnings.push(message), error: () => {} }
  host = await startHost({
    options: { logger },
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

const scope = 'openid email notes:read'

const introspect = (token: string, fields?: Fields) => introspectAt(host, token, fields)
const userTokens = (fields: Fields = {}) => tokensFor(host, { scope, ...fields }, fields)

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
      auth_time: issuedAt,
    })
  })

  test('the username is shown only with a scope that reveals it', async () => {
    const agent = new RawBrowser(host.app)
    const grant = (granted: string) => tokensFor(host, { scope: granted }, {}, { agent })
    for (const [granted, username] of [
      ['openid notes:read', undefined],
      ['openid profile', 'ada@example.com'],
      ['openid email', 'ada@example.com'],
    ] as const) {
      const { refresh_token } = await grant(granted)
      const { body } = await introspect(refresh_token)
      expect({ active: body.active, username: body.username }).toEqual({ active: true, username })
    }
    const { refresh_token } = await grant(scope)
    const { access_token } = await answerOf(refresh(host, refresh_token, { scope: 'openid' }))
    const { body } = await introspect(access_token)
    expect(body).toMatchObject({ active: true, scope: 'openid' })
    expect(body).not.toHaveProperty('username')
  })

  test('without a scope there is none in it, as in the token response (RFC 6749 §3.3)', async () => {
    const tokens = await tokensFor(host, { scope: undefined })
    expect(tokens).not.toHaveProperty('scope')
    for (const token of [tokens.access_token, tokens.refresh_token]) {
      const { body } = await introspect(token)
      expect(body.active).toBe(true)
      expect(body).not.toHaveProperty('scope')
    }
    expectError(await guarded(host, tokens.access_token), 403, 'insufficient_scope')
  })

  test('a client’s own access token has no user', async () => {
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

  test('a refresh token without rotation has its new expiry', async () => {
    const kept = { client_id: 'kept' }
    const { refresh_token } = await userTokens(kept)
    clock.travel(300)
    await answerOf(refresh(host, refresh_token, kept))
    const { body } = await introspect(refresh_token, kept)
    expect(body).toMatchObject({ active: true, exp: clock.now() + 600 })
  })
})

test('a valid token of another client is inactive, which the log explains once', async () => {
  const { access_token, refresh_token } = await userTokens()
  const about = { client_id: 'other', client_secret: secret }
  warnings.length = 0
  for (const token of [access_token, refresh_token, access_token])
    expectInactive(await introspect(token, about))
  expect(warnings).toEqual([expect.stringMatching(/client other asked \/introspect .* requireToken\(\)/)])
  expect(warnings[0]).not.toContain('lk_')
  expectInactive(await introspect('nonsense', { ...about, client_id: 'switched' }))
  await post(host, { grant_type: 'refresh_token', refresh_token, ...web })
  expectInactive(await introspect(refresh_token, { ...about, client_id: 'switched' }))
  expect(warnings).toHaveLength(1)
})

test('while a table is unavailable the answer is 503, never that a token is inactive', async () => {
  const { knex, tablePrefix } = host.database
  const { access_token, refresh_token } = await userTokens()
  for (const [name, affected] of [
    ['access_tokens', [access_token]],
    ['refresh_tokens', [refresh_token]],
    ['people', [access_token, refresh_token]],
  ] as const) {
    await knex.schema.renameTable(`${tablePrefix}${name}`, `${tablePrefix}away`)
    const answers = []
    for (const token of affected) answers.push(await introspect(token))
    await knex.schema.renameTable(`${tablePrefix}away`, `${tablePrefix}${name}`)
    for (const answer of answers) {
      expectError(answer, 503, 'temporarily_unavailable')
      expect(answer.text).not.toMatch(/select|table|away/i)
    }
  }
  for (const token of [access_token, refresh_token]) expect((await introspect(token)).body.active).toBe(true)
})
