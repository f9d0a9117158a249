import type supertest from 'supertest'
import { seedClients } from '../../lib/index.ts'
import { openDatabase } from '../../lib/storage/database/open.ts'
import { removeExpiredRows } from '../../lib/storage/repositories/pruning/schedule.ts'
import { type Clock, stopClock } from '../support/clock.ts'
import { expiredIn } from '../support/features.ts'
import { authorizeUrl, callback, clients, type Host, pkce, secret, startHost } from '../support/host.ts'
import { codeOf, expectErrorRedirect } from '../support/outcomes.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import {
  ada,
  answerOf,
  codeFor,
  expectError,
  guarded,
  introspect,
  post,
  redeem,
  refresh,
  revoke,
  type TokenAnswer,
  tokensFor,
  userinfo,
  web,
} from '../support/tokens.ts'
import { endRestored } from './restored-backup.ts'

let host: Host
let clock: Clock
const confidential = { client_secret: secret, redirect_uris: [callback] }
const narrowed = { ...clients[0]!, client_id: 'narrowed' }

beforeAll(async () => {
  host = await startHost({
    clients: [
      ...clients,
      narrowed,
      { ...confidential, client_id: 'kept', refresh_token_rotation: false, refresh_token_idle_lifetime: 100 },
      {
        ...confidential,
        client_id: 'absolute',
        scope: 'openid offline_access',
        refresh_token_idle_lifetime: 80,
        refresh_token_absolute_lifetime: 100,
      },
      { ...confidential, client_id: 'losing', scope: 'openid offline_access notes:read', first_party: true },
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
const isActive = async (token: string): Promise<boolean> => (await introspect(host, token)).body.active

test('a client that may not refresh gets no refresh token', async () => {
  const tokens = await tokensOf('once')
  expect(tokens).not.toHaveProperty('refresh_token')
  expect((await userinfo(host, tokens.access_token)).status).toBe(200)
})

describe('refresh_token_rotation false', () => {
  const client_id = 'kept'

  test('keeps the token, whose idle time starts again with each use', async () => {
    const { refresh_token } = await tokensOf(client_id)
    for (let use = 1; use <= 3; use += 1) {
      clock.travel(99)
      const again = await answerOf(refresh(host, refresh_token, { client_id }))
      expect(again.refresh_token).toBe(refresh_token)
      expect((await userinfo(host, again.access_token)).status).toBe(200)
    }
    clock.travel(100)
    expectError(await refresh(host, refresh_token, { client_id }), 400, 'invalid_grant')
  })

  test('does not count for a client that is public now', async () => {
    const natives = host.table('clients').where({ client_id: 'native' })
    const { metadata } = await natives.clone().first()
    const changed = { ...JSON.parse(metadata), refresh_token_rotation: false }
    await natives.clone().update({ metadata: JSON.stringify(changed) })
    const { verifier, challenge } = pkce()
    const native = { client_id: 'native', client_secret: undefined }
    const asked = { client_id: 'native', code_challenge: challenge, code_challenge_method: 'S256' }
    const { refresh_token } = await tokensFor(host, asked, { ...native, code_verifier: verifier })
    const again = await answerOf(refresh(host, refresh_token, native))
    await natives.clone().update({ metadata })
    expect(again.refresh_token).not.toBe(refresh_token)
  })
})

test('a lost answer is repeated with the same successor, and an access token for the new scopes', async () => {
  const { refresh_token } = await tokensFor(host)
  const answers = [await answerOf(refresh(host, refresh_token))]
  clock.travel(59)
  answers.push(await answerOf(refresh(host, refresh_token)))
  answers.push(await answerOf(refresh(host, refresh_token, { scope: 'openid email' })))
  expect(answers.at(-1)?.scope).toBe('openid email')
  expect(new Set(answers.map((answer) => answer.refresh_token)).size).toBe(1)
  expect(new Set(answers.map((answer) => answer.access_token)).size).toBe(3)
  for (const { access_token } of answers) expect((await userinfo(host, access_token)).status).toBe(200)

  const users = () => host.database.knex(host.usersTable).where({ email: ada.email })
  await users().update({ disabled_at: 1 })
  const refused = await refresh(host, refresh_token)
  await users().update({ disabled_at: null })
  expectError(refused, 400, 'invalid_grant')
})

test('a client in a loop has to wait, loses nothing, and others are not slowed down (mcp 3)', async () => {
  const limited = await startHost({ options: { limits: { quotas: { refresh: { max: 3, seconds: 60 } } } } })
  try {
    const [looping, other] = [await tokensFor(limited), await tokensFor(limited)]
    let { refresh_token } = looping
    for (let count = 0; count < 3; count += 1) {
      const answer = await answerOf(refresh(limited, refresh_token))
      refresh_token = answer.refresh_token
    }
    const refused = await refresh(limited, refresh_token)
    expectError(refused, 429, 'temporarily_unavailable')
    expect(refused.headers['retry-after']).toBe('60')
    await answerOf(refresh(limited, other.refresh_token))
    clock.travel(60)
    await answerOf(refresh(limited, refresh_token))
  } finally {
    await limited.close()
  }
})

test('the default is 30 refreshes of an authorization in a minute (mcp 3)', async () => {
  let { refresh_token } = await tokensFor(host)
  for (let count = 0; count < 30; count += 1) {
    const answer = await answerOf(refresh(host, refresh_token))
    refresh_token = answer.refresh_token
  }
  expectError(await refresh(host, refresh_token), 429, 'temporarily_unavailable')
})

describe('with a refreshGracePeriod of five minutes (I6)', () => {
  let processes: Host[]
  beforeAll(async () => {
    const options = { lifetimes: { refreshGracePeriod: 300 }, database: { prune: false } }
    const first = await startHost({ options })
    processes = [first, await startHost({ options, database: first.database })]
  })
  afterAll(async () => {
    await other().oauth.close()
    await one().close()
  })
  const [one, other] = [() => processes[0]!, () => processes[1]!]
  const prune = () => {
    const { database } = openDatabase(one().database.knex, one().database.tablePrefix)
    return removeExpiredRows(database, {
      now: clock.now(),
      expired: expiredIn(host.oauth),
      refreshGracePeriod: 300,
    })
  }

  test('every process of the client gets the same successor, while it is unused', async () => {
    const { refresh_token } = await tokensFor(one())
    const next = await answerOf(refresh(one(), refresh_token))
    clock.travel(299)
    await prune()
    const again = await Promise.all([one(), other(), one()].map((at) => answerOf(refresh(at, refresh_token))))
    expect(again.map((answer) => answer.refresh_token)).toEqual(Array(3).fill(next.refresh_token))
    await answerOf(refresh(other(), next.refresh_token))
  })

  test('a repeat after the successor was used ends the family, in all processes', async () => {
    const { refresh_token } = await tokensFor(one())
    const next = await answerOf(refresh(one(), refresh_token))
    const last = await answerOf(refresh(other(), next.refresh_token))
    clock.travel(60)
    expectError(await refresh(one(), refresh_token), 400, 'invalid_grant')
    expectError(await refresh(other(), last.refresh_token), 400, 'invalid_grant')
  })

  test('a repeat after it ends the family', async () => {
    const { refresh_token } = await tokensFor(one())
    const next = await answerOf(refresh(one(), refresh_token))
    clock.travel(300)
    expectError(await refresh(other(), refresh_token), 400, 'invalid_grant')
    expectError(await refresh(one(), next.refresh_token), 400, 'invalid_grant')
  })
})

test('an access token does not live longer than its family', async () => {
  const first = await tokensOf('absolute', 'openid offline_access')
  expect(first.expires_in).toBe(100)
  clock.travel(70)
  const second = await answerOf(refresh(host, first.refresh_token, { client_id: 'absolute' }))
  expect(second.expires_in).toBe(30)
})

test.each([
  ['with offline_access after 30 idle days', 'openid offline_access', 30 * 86_400, 30 * 86_400, 3600],
  ['without it when the login reaches its 12 hours', 'openid', 12 * 3600, 1, 1],
])('a refresh token ends %s', async (_, scope, lifetime, left, expires_in) => {
  const { refresh_token } = await tokensFor(host, { scope })
  clock.travel(lifetime - 1)
  const last = await answerOf(refresh(host, refresh_token))
  expect(last.expires_in).toBe(expires_in)
  clock.travel(left)
  expectError(await refresh(host, last.refresh_token), 400, 'invalid_grant')
})

test('a client that repeats its scopes stays signed in, although some were never granted (MSAL)', async () => {
  const { client_id } = narrowed
  const asked = 'openid profile offline_access notes:read address'
  const { refresh_token, scope } = await tokensOf(client_id, asked)
  expect(scope).toBe('openid profile offline_access notes:read')
  const again = await answerOf(refresh(host, refresh_token, { client_id, scope: asked }))
  expect(again.scope).toBe(scope)
  const less = await answerOf(refresh(host, again.refresh_token, { client_id, scope: 'address openid' }))
  expect(less.scope).toBe('openid')
  expectError(await refresh(host, less.refresh_token, { client_id, scope: 'address' }), 400, 'invalid_scope')
})

test('a scope that the client has lost is not granted; without any left it is invalid_scope', async () => {
  const { client_id } = narrowed
  const { refresh_token } = await tokensOf(client_id, 'offline_access notes:read notes:write')
  const seed = (scope: string) =>
    seedClients(host.database.knex, [{ ...narrowed, scope }], {
      database: { tablePrefix: host.database.tablePrefix },
      scopes: { 'notes:read': 'Read', 'notes:write': 'Write' },
    })
  await seed('offline_access notes:read')
  const less = await answerOf(refresh(host, refresh_token, { client_id }))
  expect(less.scope).toBe('offline_access notes:read')
  await seed('openid')
  expectError(await refresh(host, less.refresh_token, { client_id }), 400, 'invalid_scope')
  await seed('offline_access notes:read notes:write')
  const whole = await answerOf(refresh(host, less.refresh_token, { client_id }))
  expect(whole.scope).toBe('offline_access notes:read notes:write')
})

describe('what a client has lost ends in its authorizations too', () => {
  const client_id = 'losing'
  const fields = { client_id }
  const change = (changes: object) => host.oauth.clients.update(client_id, changes)
  const activeAs = async (token: string) => (await introspect(host, token, fields)).body.active
  const scope = 'openid offline_access notes:read'

  test('without offline_access an authorization ends with its login, and goes on if the client has it again', async () => {
    const [used, resting] = [await tokensOf(client_id, scope), await tokensOf(client_id, scope)]
    await change({ scope: 'openid notes:read' })
    const next = await answerOf(refresh(host, used.refresh_token, fields))
    expect(next.scope).toBe('openid notes:read')
    clock.travel(12 * 3600)
    for (const { refresh_token } of [next, resting]) {
      expect(await activeAs(refresh_token)).toBe(false)
      expectError(await refresh(host, refresh_token, fields), 400, 'invalid_grant')
    }
    await change({ scope })
    expect(await activeAs(resting.refresh_token)).toBe(true)
    expect((await answerOf(refresh(host, resting.refresh_token, fields))).scope).toBe(scope)
  })

  test('a token that was used twice is noticed while the authorization rests', async () => {
    const first = await tokensOf(client_id, scope)
    const second = await answerOf(refresh(host, first.refresh_token, fields))
    clock.travel(12 * 3600)
    await change({ scope: 'openid notes:read' })
    expectError(await refresh(host, first.refresh_token, fields), 400, 'invalid_grant')
    await change({ scope })
    expectError(await refresh(host, second.refresh_token, fields), 400, 'invalid_grant')
  })

  test('without offline_access a code is refused once its login has ended', async () => {
    const code = await codeFor(host, { client_id, scope })
    const { items } = await host.oauth.sessions.list({ user: 1 })
    for (const { id } of items) await host.oauth.sessions.end(id)
    await change({ scope: 'openid notes:read' })
    expectError(await redeem(host, code, fields), 400, 'invalid_grant')
    await change({ scope })
    await answerOf(redeem(host, code, fields))
  })

  test('a shorter absolute lifetime counts from the beginning of the authorization', async () => {
    const first = await tokensOf(client_id, scope)
    await change({ refresh_token_absolute_lifetime: 100 })
    clock.travel(70)
    const second = await answerOf(refresh(host, first.refresh_token, fields))
    expect(second.expires_in).toBe(30)
    clock.travel(30)
    expect(await activeAs(second.refresh_token)).toBe(false)
    expectError(await refresh(host, second.refresh_token, fields), 400, 'invalid_grant')
  })
})

describe('revocation (RFC 7009)', () => {
  const expectDone = (res: supertest.Response): void => {
    expect({ status: res.status, body: res.body }).toEqual({ status: 200, body: {} })
    expect(res.headers).toMatchObject({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' })
    expect(res.headers).not.toHaveProperty('set-cookie')
  }

  test('ends a refresh token without rotation', async () => {
    const kept = { client_id: 'kept' }
    const { refresh_token } = await tokensOf('kept')
    await answerOf(refresh(host, refresh_token, kept))
    expectDone(await revoke(host, refresh_token, kept))
    expectError(await refresh(host, refresh_token, kept), 400, 'invalid_grant')
  })

  test("ends a client's own token", async () => {
    const own = { grant_type: 'client_credentials', scope: 'notes:read', ...web }
    const { access_token } = await answerOf(post(host, own))
    expect((await guarded(host, access_token)).status).toBe(200)
    expectDone(await revoke(host, access_token))
    expect((await introspect(host, access_token)).body).toEqual({ active: false })
    expect((await guarded(host, access_token)).status).toBe(401)
  })

  test('gets the same answer for a token that is revoked already, and for one that has expired', async () => {
    const { access_token, refresh_token } = await tokensFor(host)
    for (const _ of ['first', 'again']) expectDone(await revoke(host, access_token))
    expect([await isActive(access_token), await isActive(refresh_token)]).toEqual([false, true])
    for (const token of [refresh_token, refresh_token, access_token]) expectDone(await revoke(host, token))
    expect(await isActive(refresh_token)).toBe(false)
    const expired = await tokensFor(host)
    clock.travel(3600)
    expectDone(await revoke(host, expired.access_token))
    expect(await isActive(expired.refresh_token)).toBe(true)
    clock.travel(2_592_000)
    expectDone(await revoke(host, expired.refresh_token))
  })
})

test('after a documented restore every code, token and login is invalid, and users can sign in', async () => {
  const request = authorizeUrl({ client_id: 'web', scope: 'openid offline_access notes:read' })
  const agent = new RawBrowser(host.app)
  const tokens = await answerOf(redeem(host, codeOf(await agent.grant(request))))
  const unused = codeOf(await agent.get(request))
  const { body: own } = await post(host, { ...web, grant_type: 'client_credentials' })
  expect(await isActive(own.access_token)).toBe(true)
  await endRestored(host)

  expect(await isActive(own.access_token)).toBe(false)
  expect((await userinfo(host, tokens.access_token)).status).toBe(401)
  expectError(await refresh(host, tokens.refresh_token), 400, 'invalid_grant')
  expectError(await redeem(host, unused), 400, 'invalid_grant')
  expectErrorRedirect(await agent.get(`${request}&prompt=none`), 'login_required')
  // The consent is still valid, so no page asks after the sign-in.
  const answer = await agent.signIn(await agent.open(request))
  expect((await userinfo(host, (await answerOf(redeem(host, codeOf(answer)))).access_token)).status).toBe(200)
})
