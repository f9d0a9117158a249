import { seedClients } from '../../lib/index.ts'
import { type Clock, stopClock } from '../support/clock.ts'
import { callback, clients, type Host, pkce, secret, startHost } from '../support/host.ts'
import {
  answerOf,
  bob,
  expectError,
  refresh,
  type TokenAnswer,
  tokensFor,
  userinfo,
} from '../support/tokens.ts'

let host: Host
let clock: Clock
const confidential = { client_secret: secret, redirect_uris: [callback] }

beforeAll(async () => {
  host = await startHost({
    clients: [
      ...clients,
      { ...confidential, client_id: 'other' },
      { ...confidential, client_id: 'kept', refresh_token_rotation: false, refresh_token_idle_lifetime: 100 },
      {
        ...{ ...confidential, client_id: 'absolute', scope: 'openid offline_access' },
        ...{ refresh_token_idle_lifetime: 80, refresh_token_absolute_lifetime: 100 },
      },
      { ...confidential, client_id: 'once', grant_types: ['authorization_code'] },
    ],
  })
})
afterAll(() => host.close())
beforeEach(() => {
  clock = stopClock()
})
afterEach(() => jest.restoreAllMocks())

/** Tokens of a client that sends its secret in the form body. */
const tokensOf = (client_id: string, scope = 'openid profile email'): Promise<TokenAnswer> =>
  tokensFor(host, { client_id, scope }, { client_id })

test('a client that may not refresh gets no refresh token', async () => {
  const tokens = await tokensOf('once')
  expect(tokens).not.toHaveProperty('refresh_token')
  expect((await userinfo(host, tokens.access_token)).status).toBe(200)
})

describe('rotation', () => {
  test('refresh_token_rotation false keeps the token', async () => {
    const { refresh_token } = await tokensOf('kept')
    for (let use = 1; use <= 3; use += 1) {
      const again = await answerOf(refresh(host, refresh_token, { client_id: 'kept' }))
      expect(again.refresh_token).toBe(refresh_token)
      expect((await userinfo(host, again.access_token)).status).toBe(200)
    }
  })

  test('refresh_token_rotation false does not count for a client that is public now', async () => {
    const clients = host.database.knex(`${host.database.tablePrefix}clients`).where({ client_id: 'native' })
    const { metadata } = await clients.clone().first()
    const changed = { ...JSON.parse(metadata), refresh_token_rotation: false }
    await clients.clone().update({ metadata: JSON.stringify(changed) })
    const { verifier, challenge } = pkce()
    const native = { client_id: 'native', client_secret: undefined }
    const asked = { client_id: 'native', code_challenge: challenge, code_challenge_method: 'S256' }
    const { refresh_token } = await tokensFor(host, asked, { ...native, code_verifier: verifier })
    const again = await answerOf(refresh(host, refresh_token, native))
    await clients.clone().update({ metadata })
    expect(again.refresh_token).not.toBe(refresh_token)
  })

  test('without rotation each use starts the idle time afresh', async () => {
    const { refresh_token } = await tokensOf('kept')
    for (let use = 1; use <= 3; use += 1) {
      clock.travel(99)
      await answerOf(refresh(host, refresh_token, { client_id: 'kept' }))
    }
    clock.travel(100)
    expectError(await refresh(host, refresh_token, { client_id: 'kept' }), 400, 'invalid_grant')
  })
})

describe('a lost answer', () => {
  test('is repeated within the grace period: the same successor, a new access token', async () => {
    const { refresh_token } = await tokensFor(host)
    const answers = [await answerOf(refresh(host, refresh_token))]
    clock.travel(9)
    answers.push(await answerOf(refresh(host, refresh_token)), await answerOf(refresh(host, refresh_token)))
    expect(new Set(answers.map((answer) => answer.refresh_token)).size).toBe(1)
    expect(new Set(answers.map((answer) => answer.access_token)).size).toBe(3)
    for (const { access_token } of answers) expect((await userinfo(host, access_token)).status).toBe(200)
  })

  test('repeats the scopes that are asked for this time', async () => {
    const { refresh_token } = await tokensFor(host)
    await answerOf(refresh(host, refresh_token))
    expect((await answerOf(refresh(host, refresh_token, { scope: 'email' }))).scope).toBe('email')
  })
})

describe('lifetimes', () => {
  test('an access token does not promise more than the family has left', async () => {
    const first = await tokensOf('absolute', 'openid offline_access')
    expect(first.expires_in).toBe(100)
    clock.travel(70)
    const second = await answerOf(refresh(host, first.refresh_token, { client_id: 'absolute' }))
    expect(second.expires_in).toBe(30)
  })

  test('with offline_access 30 idle days are the default', async () => {
    const { refresh_token } = await tokensFor(host, { scope: 'openid offline_access' })
    clock.travel(30 * 86_400 - 1)
    const next = await answerOf(refresh(host, refresh_token))
    clock.travel(30 * 86_400)
    expectError(await refresh(host, next.refresh_token), 400, 'invalid_grant')
  })
})

describe('the login', () => {
  test('that reaches its 12 hours ends tokens without offline_access', async () => {
    const tokens = await tokensFor(host, { scope: 'openid' })
    clock.travel(12 * 3600 - 1)
    const last = await answerOf(refresh(host, tokens.refresh_token))
    expect(last.expires_in).toBe(1)
    clock.travel(1)
    expectError(await refresh(host, last.refresh_token), 400, 'invalid_grant')
  })
})

describe('who may refresh', () => {
  test('a disabled user gets no repeated answer', async () => {
    const users = () => host.database.knex(host.usersTable).where({ email: bob.email })
    const { refresh_token } = await tokensFor(host, {}, {}, { as: bob })
    await answerOf(refresh(host, refresh_token))
    await users().update({ disabled_at: 1 })
    const refused = await refresh(host, refresh_token)
    await users().update({ disabled_at: null })
    expectError(refused, 400, 'invalid_grant')
  })
})

test('a scope that the client has lost since is given no more, and nothing is left is invalid_scope', async () => {
  const [web] = clients
  const other = await startHost({ clients: [{ ...web!, client_id: 'web' }] })
  try {
    const { refresh_token } = await tokensFor(other, { scope: 'offline_access notes:read notes:write' })
    const seed = (scope: string) =>
      seedClients(other.database.knex, [{ ...web!, scope }], {
        tablePrefix: other.database.tablePrefix,
        scopes: { 'notes:read': 'Read', 'notes:write': 'Write' },
      })
    await seed('offline_access notes:read')
    const narrowed = await answerOf(refresh(other, refresh_token))
    expect(narrowed.scope).toBe('offline_access notes:read')
    await seed('openid')
    expectError(await refresh(other, narrowed.refresh_token), 400, 'invalid_scope')
    await seed('offline_access notes:read notes:write')
    const whole = await answerOf(refresh(other, narrowed.refresh_token))
    expect(whole.scope).toBe('offline_access notes:read notes:write')
  } finally {
    await other.close()
  }
})
