import { createHash, randomBytes } from 'node:crypto'
import { openDatabase } from '../../lib/storage/database/open.ts'
import { removeEndedFamilies } from '../../lib/storage/repositories/pruning/authorizations.ts'
import { removeExpiredRows } from '../../lib/storage/repositories/pruning/schedule.ts'
import { type Clock, stopClock } from '../support/clock.ts'
import { withoutIdleConnections } from '../support/database.ts'
import { expiredIn, kept } from '../support/features.ts'
import { clients, type Host, type HostSettings, startHost } from '../support/host.ts'
import { codeFor, expectError, redeem, refresh, revoke, tokensFor, userinfo } from '../support/tokens.ts'

const offline = { scope: 'openid offline_access', prompt: 'consent' }
/** A login expires long before the tokens granted under it. */
const lifetimes = {
  accessToken: 300,
  refreshTokenIdle: 2000,
  refreshTokenAbsolute: 6000,
  sessionIdle: 600,
  sessionAbsolute: 600,
}

let clock: Clock
/** A host that only the tests prune; a test may start another one with a database of its own. */
let usual: Host
let host: Host
const hosts: Host[] = []
const start = async (settings: HostSettings = {}): Promise<void> => {
  host = await startHost({
    ...settings,
    options: { database: { prune: false }, lifetimes: lifetimes, features: kept, ...settings.options },
  })
  hosts.push(host)
}

beforeAll(async () => {
  await start()
  usual = host
})
afterAll(async () => {
  for (const each of hosts) await each.close()
})
beforeEach(async () => {
  clock = stopClock()
  host = usual
  for (const name of ['authorizations', 'refresh_tokens', 'access_tokens', 'logins'])
    await host.table(name).delete()
})
afterEach(() => jest.restoreAllMocks())

const hashOf = (secret: string): string => createHash('sha256').update(secret).digest('base64url')
const randomKey = (): string => randomBytes(32).toString('base64url')

const count = async (name: string): Promise<number> => (await host.table(name).select()).length
const families = async () => ({
  authorizations: await count('authorizations'),
  refresh_tokens: await count('refresh_tokens'),
  access_tokens: await count('access_tokens'),
})

const clean = (now = clock.now()) => {
  const { knex, tablePrefix } = host.database
  return removeExpiredRows(openDatabase(knex, tablePrefix).database, {
    now,
    expired: expiredIn(host.oauth),
    refreshGracePeriod: 10,
  })
}

const accessToken = (expiresAt: number) => ({
  hash: randomKey(),
  client_id: 'web',
  scopes: 'notes:read',
  created_at: 1,
  expires_at: expiresAt,
})

describe('each table', () => {
  const pending = { client_id: 'web', browser_hash: 'b', request: '{}' }
  const shapes: Readonly<Record<string, { key: string; rest: object; keptFor?: number; unique?: string }>> = {
    // The page of a request says for a day how it ended.
    pending_requests: { key: 'id', rest: { kind: 'authorize', ...pending, created_at: 1 }, keptFor: 86_400 },
    device_codes: {
      key: 'hash',
      rest: { client_id: 'tv', request: '{}', address: '', poll_interval: 5, created_at: 1 },
      keptFor: 86_400,
      unique: 'user_code_hash',
    },
    access_tokens: { key: 'hash', rest: { client_id: 'web', scopes: '', created_at: 1 } },
    logins: { key: 'sid', rest: { subject: '1', auth_time: 1, amr: '["pwd"]' } },
    replays: { key: 'hash', rest: {} },
    throttles: { key: 'key', rest: { points: 3 } },
    events: { key: 'id', rest: { type: 'login.failed', request_id: '', time: 1, details: '{}' } },
  }

  test('loses the rows that have been expired for a minute, and no others', async () => {
    for (const [name, { key, rest, keptFor = 0, unique = key }] of Object.entries(shapes)) {
      const now = clock.now() - keptFor
      const at = (end: number, id: string) => ({ ...rest, [unique]: id, [key]: id, expires_at: now + end })
      await host.table(name).insert([at(-3600, 'old'), at(-60, 'minute'), at(-59, 'less'), at(3600, 'live')])
      expect([...(await clean())].filter(([, removed]) => removed > 0)).toEqual([[name, 2]])
      expect((await host.table(name).pluck(key)).sort()).toEqual(['less', 'live'])
    }
  })

  test('loses all of very many expired rows, one batch at a time', async () => {
    for (let batch = 0; batch < 5; batch += 1) {
      await host.table('access_tokens').insert(Array.from({ length: 70 }, () => accessToken(1 + batch)))
    }
    await host.table('access_tokens').insert([accessToken(clock.now() + 60), accessToken(clock.now() + 60)])
    expect((await clean()).get('access_tokens')).toBe(350)
    expect(await count('access_tokens')).toBe(2)
  })

  test('a row that is renewed during pruning stays', async () => {
    await host.table('throttles').delete()
    await host.table('throttles').insert(['t0', 't1', 't2'].map((key) => ({ key, points: 3, expires_at: 5 })))
    const { knex, tablePrefix } = host.database
    const { database } = openDatabase(knex, tablePrefix)
    const { driver } = database
    const { execute } = driver
    const renewing: typeof execute = async (connection, sql, bindings) => {
      const result = await execute(connection, sql, bindings)
      const isReading = /^select .*throttles/i.test(sql)
      if (isReading && result.rows.length > 0) {
        const change = { expires_at: clock.now() + 60 }
        const renewal = host.table('throttles').where({ key: 't1' }).update(change)
        const { sql: text, bindings: values } = renewal.toSQL().toNative()
        await execute(connection, text, values as (string | number)[])
      }
      return result
    }
    await removeExpiredRows(
      { ...database, driver: { ...driver, execute: renewing } },
      { now: clock.now(), expired: expiredIn(host.oauth), refreshGracePeriod: 10 },
    )
    expect(await host.table('throttles').pluck('key')).toEqual(['t1'])
  })
})

test('a refresh token’s successor is removed after its grace period, and reuse is still detected', async () => {
  const { body: first } = await redeem(host, await codeFor(host, offline))
  await refresh(host, first.refresh_token)
  const sealed = () => host.table('refresh_tokens').whereNotNull('successor').pluck('successor')
  clock.travel(60)
  await clean()
  expect(await sealed()).toHaveLength(1)
  clock.travel(20)
  await clean()
  expect(await sealed()).toEqual([])
  const reused = await refresh(host, first.refresh_token)
  expect({ status: reused.status, error: reused.body.error }).toEqual({ status: 400, error: 'invalid_grant' })
})

describe('an active family', () => {
  /** Refreshes until the first refresh token, the code and the login have long been over. */
  const aged = async () => {
    const code = await codeFor(host, offline)
    const { body: first } = await redeem(host, code)
    clock.travel(1500)
    const { body: second } = await refresh(host, first.refresh_token)
    clock.travel(1500)
    const { body: third } = await refresh(host, second.refresh_token)
    expect(third.refresh_token).toEqual(expect.any(String))
    return { code, first, second, third }
  }

  test('keeps its expired used refresh tokens, and reuse of one still revokes it', async () => {
    const { first, third } = await aged()
    await clean()
    expect((await userinfo(host, third.access_token)).status).toBe(200)
    expect(await host.table('refresh_tokens').where({ hash: hashOf(first.refresh_token) })).toHaveLength(1)
    expect(await count('logins')).toBe(0)
    expectError(await refresh(host, first.refresh_token), 400, 'invalid_grant')
    expectError(await refresh(host, third.refresh_token), 400, 'invalid_grant')
    expect((await userinfo(host, third.access_token)).status).toBe(401)
  })

  test('keeps its used code, and reuse of it still revokes the family', async () => {
    const { code, third } = await aged()
    await clean()
    expectError(await redeem(host, code), 400, 'invalid_grant')
    expectError(await refresh(host, third.refresh_token), 400, 'invalid_grant')
  })

  test('stays while an access token outlives the refresh token', async () => {
    await start({ options: { lifetimes: { ...lifetimes, accessToken: 5000 } } })
    const { access_token } = await tokensFor(host, offline)
    clock.travel(2500)
    await clean()
    expect((await userinfo(host, access_token)).status).toBe(200)
    expect(await families()).toEqual({ authorizations: 1, refresh_tokens: 1, access_tokens: 1 })
    clock.travel(2600)
    await clean()
    expect(await families()).toEqual({ authorizations: 0, refresh_tokens: 0, access_tokens: 0 })
  })

  test('stays while its login is active, because the client must be notified of the end', async () => {
    const short = { ...lifetimes, refreshTokenIdle: 100, accessToken: 100, sessionAbsolute: 3000 }
    await start({ options: { lifetimes: short } })
    await tokensFor(host, offline)
    clock.travel(1000)
    await clean()
    expect(await families()).toEqual({ authorizations: 1, refresh_tokens: 1, access_tokens: 0 })
    clock.travel(2100)
    await clean()
    expect(await families()).toEqual({ authorizations: 0, refresh_tokens: 0, access_tokens: 0 })
  })
})

describe('a family that has ended is removed as a whole', () => {
  const nothing = { authorizations: 0, refresh_tokens: 0, access_tokens: 0 }

  test('when its last refresh token expired unused', async () => {
    const { refresh_token } = await tokensFor(host, offline)
    clock.travel(1000)
    const { body } = await refresh(host, refresh_token)
    clock.travel(2059)
    await clean()
    expect(await families()).toEqual({ authorizations: 1, refresh_tokens: 2, access_tokens: 0 })
    clock.travel(1)
    await clean()
    expect(await families()).toEqual(nothing)
    expectError(await refresh(host, refresh_token), 400, 'invalid_grant')
    expectError(await refresh(host, body.refresh_token), 400, 'invalid_grant')
  })

  test('when its absolute lifetime is over, with every refresh token of a long chain', async () => {
    let { refresh_token } = await tokensFor(host, offline)
    for (let hops = 0; hops < 5; hops += 1) {
      clock.travel(1100)
      refresh_token = (await refresh(host, refresh_token)).body.refresh_token
    }
    const [{ id }] = await host.table('authorizations')
    const used = { authorization_id: id, created_at: 1, expires_at: 2, consumed_at: 2 }
    for (let batch = 0; batch < 5; batch += 1) {
      await host
        .table('refresh_tokens')
        .insert(Array.from({ length: 60 }, () => ({ ...used, hash: randomKey() })))
    }
    await clean()
    expect(await count('refresh_tokens')).toBe(306)
    clock.travel(600)
    const removed = await clean()
    expect(removed.get('refresh_tokens')).toBe(306)
    expect(removed.get('authorizations')).toBe(1)
    expect(await families()).toEqual(nothing)
  })

  test('when its absolute lifetime is over, also without a refresh token', async () => {
    await tokensFor(host, offline)
    await host.table('refresh_tokens').delete()
    clock.travel(6059)
    await clean()
    expect(await families()).toEqual({ authorizations: 1, refresh_tokens: 0, access_tokens: 0 })
    clock.travel(1)
    await clean()
    expect(await families()).toEqual(nothing)
  })

  test('wherever an earlier run was stopped', async () => {
    const { database } = openDatabase(host.database.knex, host.database.tablePrefix)
    await tokensFor(host, offline)
    clock.travel(3000)
    const [family] = await host.table('authorizations')
    const used = { authorization_id: family.id, created_at: 1, expires_at: 2, consumed_at: 2 }
    const [last] = await host.table('refresh_tokens')
    for (const name of Object.keys(nothing)) await host.table(name).delete()
    for (let steps = 1; steps <= 6; steps += 1) {
      await host.table('authorizations').insert(family)
      await host.table('refresh_tokens').insert(last)
      await host.table('access_tokens').insert({ ...accessToken(3), authorization_id: family.id })
      const many = Array.from({ length: 120 }, () => ({ ...used, hash: randomKey() }))
      await host.table('refresh_tokens').insert(many)
      const removal = removeEndedFamilies(database, { before: clock.now() })
      for (let step = 0; step < steps; step += 1) await removal.next()
      await removal.return()
      await clean()
      expect(await families()).toEqual(nothing)
    }
  })

  test('with its login, when it was granted without offline_access', async () => {
    const client = { ...clients[0]!, grant_types: ['authorization_code' as const] }
    await start({ clients: [client] })
    await tokensFor(host, { scope: 'openid' })
    expect(await families()).toEqual({ authorizations: 1, refresh_tokens: 0, access_tokens: 1 })
    clock.travel(659)
    await clean()
    expect(await count('authorizations')).toBe(1)
    clock.travel(1)
    expect([...(await clean())].filter(([name]) => name === 'logins')).toEqual([['logins', 1]])
    expect(await families()).toEqual(nothing)
  })

  test('when its code was never redeemed and its login is over', async () => {
    const code = await codeFor(host, offline)
    clock.travel(600)
    await clean()
    expect(await count('authorizations')).toBe(1)
    clock.travel(60)
    await clean()
    expect(await families()).toEqual(nothing)
    expectError(await redeem(host, code), 400, 'invalid_grant')
  })

  test('when it was revoked, and none of its tokens becomes valid again', async () => {
    await start({ options: { lifetimes: { ...lifetimes, accessToken: 5000 } } })
    const { access_token, refresh_token } = await tokensFor(host, offline)
    await revoke(host, refresh_token).expect(200)
    for (const seconds of [1000, 2000, 3000]) {
      clock.travel(seconds)
      await clean()
      expect((await userinfo(host, access_token)).status).toBe(401)
      expectError(await refresh(host, refresh_token), 400, 'invalid_grant')
    }
    expect(await families()).toEqual(nothing)
  })

  test('among very many families that stay', async () => {
    const { refresh_token } = await tokensFor(host, offline)
    const [{ id: _, code_hash: __, ...like }] = await host.table('authorizations')
    const { sid } = like
    // Not redeemed, under an active login: more of them than one statement reads, all expired in the same second.
    const waiting = () => {
      const keys = { id: randomKey(), code_hash: randomKey() }
      return { ...like, ...keys, consumed_at: null, code_expires_at: 5 }
    }
    await host.table('authorizations').insert(Array.from({ length: 120 }, waiting))
    const gone = Array.from({ length: 30 }, () => ({ ...waiting(), sid: 'gone', code_expires_at: 6 }))
    await host.table('authorizations').insert(gone)
    expect((await clean()).get('authorizations')).toBe(30)
    expect(await host.table('authorizations').where({ sid })).toHaveLength(121)
    expect((await refresh(host, refresh_token)).status).toBe(200)
  })
})

test('two processes that prune at once remove each expired row once, and no other', async () => {
  const { access_token, refresh_token } = await tokensFor(host, offline)
  const [{ id: _, code_hash: __, ...like }] = await host.table('authorizations')
  for (let batch = 0; batch < 6; batch += 1) {
    const ids = Array.from({ length: 40 }, randomKey)
    await host.table('access_tokens').insert(Array.from({ length: 60 }, () => accessToken(1 + batch)))
    await host
      .table('authorizations')
      .insert(ids.map((id) => ({ ...like, id, sid: 'gone', code_hash: randomKey(), expires_at: 1 + batch })))
    const row = { created_at: 1, expires_at: 1 }
    const rows = ids.map((id) => ({ ...row, hash: randomKey(), authorization_id: id }))
    await host.table('refresh_tokens').insert(rows)
  }
  const both = await Promise.all([clean(), clean()])
  const total = (name: string): number => both.reduce((sum, removed) => sum + (removed.get(name) ?? 0), 0)
  expect(['access_tokens', 'authorizations', 'refresh_tokens'].map(total)).toEqual([360, 240, 240])
  expect(await families()).toEqual({ authorizations: 1, refresh_tokens: 1, access_tokens: 1 })
  expect((await userinfo(host, access_token)).status).toBe(200)
  expect((await refresh(host, refresh_token)).status).toBe(200)
})

describe('the timer', () => {
  /** Timers of more than a minute do not run by themselves; each is handed over as it is set. */
  const holdLongTimers = () => {
    const set: { milliseconds: number; fire: () => void }[] = []
    const waiting: (() => void)[] = []
    const real = globalThis.setTimeout
    const held = (run: () => void, milliseconds = 0, ...rest: unknown[]): unknown => {
      if (milliseconds <= 60_000) return real(run, milliseconds, ...rest)
      const timer = real(() => {}, 0)
      set.push({ milliseconds, fire: run })
      for (const tell of waiting.splice(0)) tell()
      return timer
    }
    jest.spyOn(globalThis, 'setTimeout').mockImplementation(held as unknown as typeof setTimeout)
    const next = async (): Promise<{ milliseconds: number; fire: () => void }> => {
      if (set.length === 0) await new Promise<void>((resolve) => waiting.push(resolve))
      return set.shift()!
    }
    return { set, next }
  }

  const withLog = async (prune: boolean | undefined) => {
    const error = jest.fn()
    const logger = { info: () => {}, warn: () => {}, error }
    await start({ options: { database: { prune }, lifetimes: lifetimes, logger } })
    return error
  }

  test('removes expired rows some minutes after the start, and then about every ten minutes', async () => {
    const timers = holdLongTimers()
    await withLog(undefined)
    const first = await timers.next()
    expect(first.milliseconds).toBeLessThanOrEqual(5 * 60_000)
    await host.table('access_tokens').insert([accessToken(1), accessToken(clock.now() + 60)])
    first.fire()
    const second = await timers.next()
    expect(await count('access_tokens')).toBe(1)
    expect(second.milliseconds).toBeGreaterThanOrEqual(8 * 60_000)
    expect(second.milliseconds).toBeLessThanOrEqual(12 * 60_000)
    await host.table('access_tokens').insert(accessToken(2))
    second.fire()
    await timers.next()
    expect(await count('access_tokens')).toBe(1)
  })

  /** A host that prunes, with a code that expires, and a run of its pruning. */
  const withCode = async () => {
    await codeFor(host, offline)
    const [[code], [login]] = [await host.table('authorizations'), await host.table('logins')]
    const timers = holdLongTimers()
    await withLog(undefined)
    await host.table('authorizations').insert({ ...code, expires_at: clock.now() + 10 ** 6 })
    await host.table('logins').insert(login)
    let timer = await timers.next()
    return async (): Promise<number> => {
      timer.fire()
      timer = await timers.next()
      return count('authorizations')
    }
  }

  test('reads what is still needed once a day, and not with every run (M18)', async () => {
    const run = await withCode()
    clock.travel(300)
    // The code has expired, but its login stands.
    expect(await run()).toBe(1)
    await host.table('logins').delete()
    clock.travel(600)
    expect(await run()).toBe(1)
    clock.travel(86_400 - 601)
    expect(await run()).toBe(1)
    clock.travel(1)
    expect(await run()).toBe(0)
  })

  test('starts over after a clock was set back (M18)', async () => {
    const run = await withCode()
    await host.table('logins').delete()
    await host.table('authorizations').update({ code_expires_at: clock.now() + 86_400 })
    clock.travel(40_000)
    expect(await run()).toBe(1)
    await host.table('authorizations').update({ code_expires_at: clock.now() - 20_000 })
    clock.travel(-10_000)
    expect(await run()).toBe(0)
  })

  test('logs a failure once per outage, and continues', async () => {
    const timers = holdLongTimers()
    const error = await withLog(undefined)
    const { knex, tablePrefix } = host.database
    const hide = () => knex.schema.renameTable(`${tablePrefix}replays`, `${tablePrefix}hidden`)
    const show = () => knex.schema.renameTable(`${tablePrefix}hidden`, `${tablePrefix}replays`)
    let timer = await timers.next()
    const told = async (): Promise<number> => {
      timer.fire()
      timer = await timers.next()
      return error.mock.calls.length
    }
    await hide()
    expect(await told()).toBe(1)
    expect(error.mock.calls[0]?.[0]).toMatch(/^latchkey: expired rows could not be removed: ./)
    expect(await told()).toBe(1)
    await show()
    expect(await told()).toBe(1)
    await hide()
    expect(await told()).toBe(2)
    await show()
  })

  test('is not set with prune: false or after close', async () => {
    const timers = holdLongTimers()
    await withLog(false)
    expect(timers.set).toEqual([])
    await withLog(true)
    const timer = await timers.next()
    const knex = host.database.knex
    await host.oauth.close()
    const queries = jest.spyOn(knex.client.pool, 'acquire')
    withoutIdleConnections(knex)
    timer.fire()
    await new Promise<void>((resolve) => setImmediate(resolve))
    expect(queries).not.toHaveBeenCalled()
    expect(timers.set).toEqual([])
  })
})
