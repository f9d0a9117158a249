// A clock that is set forward and back, by an hour and by ten minutes. Each stored end stays the same: nothing is valid
// for longer, nothing valid is removed, and no account stays locked for ever.
import { createLocalJWKSet, decodeProtectedHeader, type JSONWebKeySet, jwtVerify } from 'jose'
import { hashSecret } from '../../lib/keys/secrets.ts'
import { openDatabase } from '../../lib/storage/database/open.ts'
import { removeExpiredRows } from '../../lib/storage/repositories/pruning/schedule.ts'
import { expiredOf } from '../../lib/storage/schema.ts'
import { listen, type TestServer } from '../support/client-server.ts'
import { type Clock, stopClock } from '../support/clock.ts'
import { createChance } from '../support/fault-chance.ts'
import {
  type DatabaseKind,
  describeOnSampled,
  type FaultDatabase,
  openFaultDatabase,
} from '../support/fault-databases.ts'
import {
  familyOf,
  isActive,
  postToken,
  redemption,
  refreshing,
  type SignedIn,
  signIn,
  startSharedHost,
  userinfoStatus,
} from '../support/fault-family.ts'
import { authorizeUrl, type Host, issuer, startHost } from '../support/host.ts'
import { claimsOf, codeOf } from '../support/outcomes.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import { testsAll } from '../support/sample.ts'

const minute = 60
const hour = 3600
const lifetimes = { code: minute, accessToken: hour, idToken: 2 * hour, sessionIdle: 2 * hour }
const refreshGracePeriod = 10

const steps = [
  ['an hour forward', hour],
  ['an hour back', -hour],
  ['ten minutes forward', 10 * minute],
  ['ten minutes back', -10 * minute],
] as const

/** The statements that compare times are the same on every database, so servers are for TEST_ALL=1. */
const describeOnTried: typeof describeOnSampled = testsAll
  ? describeOnSampled
  : (name, tests) => describe(`${name}, on SQLite`, () => tests('SQLite'))

describeOnTried('a clock that is set', (kind: DatabaseKind) => {
  let database: FaultDatabase
  let host: Host
  let listener: TestServer
  let clock: Clock
  let ada: SignedIn

  beforeAll(async () => {
    database = openFaultDatabase(kind)
    host = await startSharedHost(database, {
      lifetimes: { ...lifetimes, refreshGracePeriod },
      database: { prune: false },
    })
    listener = await listen(host.app)
  })
  beforeEach(async () => {
    clock = stopClock()
    ada = await signIn(listener.origin, { scope: 'openid email offline_access' })
  })
  afterEach(() => jest.restoreAllMocks())
  afterAll(async () => {
    await listener.close()
    await host.close()
  })

  const endOf = async (name: string, token: unknown): Promise<number> => {
    const row = await database
      .table(name)
      .where({ hash: hashSecret(String(token)) })
      .first()
    return Number(row.expires_at)
  }
  const redeem = async (code: string) => {
    const answer = await postToken(listener.origin, redemption(code))
    expect(answer).toMatchObject({ status: 200 })
    return answer.body
  }
  const refresh = async (token: unknown) => postToken(listener.origin, refreshing(token))
  const tokens = async () => redeem(await ada.code())
  const refused = { status: 400, body: { error: 'invalid_grant' } }

  test.each(steps)('%s does not change when a code expires', async (_, step) => {
    const [early, late] = [await ada.code(), await ada.code()]
    const { code_expires_at } = await database
      .table('authorizations')
      .where({ code_hash: hashSecret(early) })
      .first()
    const end = Number(code_expires_at)
    expect(end).toBe(clock.now() + lifetimes.code)
    clock.travel(step)
    const answer = await postToken(listener.origin, redemption(early))
    expect(answer.status).toBe(clock.now() < end ? 200 : 400)
    clock.travel(-step)
    clock.travel(lifetimes.code - 1)
    const isLeft = answer.status === 400
    // What was refused while the clock was ahead has not been used up.
    expect((await postToken(listener.origin, redemption(early))).status).toBe(isLeft ? 200 : 400)
    clock.travel(1)
    expect(await postToken(listener.origin, redemption(late))).toMatchObject(refused)
  })

  test.each(steps)('%s does not make a used code valid again', async (_, step) => {
    const code = await ada.code()
    const { access_token } = await redeem(code)
    clock.travel(step)
    expect(await postToken(listener.origin, redemption(code))).toMatchObject(refused)
    clock.travel(-step)
    expect(await userinfoStatus(listener.origin, access_token)).toBe(401)
    expect(await familyOf(database, code)).toMatchObject({ revoked: true })
  })

  test('steps forward and back do not change when tokens expire', async () => {
    const { access_token, refresh_token } = await tokens()
    const ends = {
      access: await endOf('access_tokens', access_token),
      refresh: await endOf('refresh_tokens', refresh_token),
    }
    expect(ends.access).toBe(clock.now() + lifetimes.accessToken)
    const chance = createChance()
    for (let change = 0; change < 10; change += 1) {
      clock.travel(steps[chance.upTo(steps.length) - 1]![1])
      const now = clock.now()
      expect(await userinfoStatus(listener.origin, access_token)).toBe(now < ends.access ? 200 : 401)
      expect(await isActive(listener.origin, access_token)).toBe(now < ends.access)
      expect(await isActive(listener.origin, refresh_token)).toBe(now < ends.refresh)
    }
    clock.travel(ends.access - clock.now())
    expect(await userinfoStatus(listener.origin, access_token)).toBe(401)
    clock.travel(ends.refresh - clock.now())
    expect(await refresh(refresh_token)).toMatchObject(refused)
    expect(await endOf('access_tokens', access_token)).toBe(ends.access)
    expect(await endOf('refresh_tokens', refresh_token)).toBe(ends.refresh)
  })

  test('steps forward and back do not prolong a chain of refreshes', async () => {
    const code = await ada.code()
    let token = (await redeem(code)).refresh_token
    const head = () =>
      database
        .table('authorizations')
        .where({ code_hash: hashSecret(code) })
        .first()
    const { expires_at } = await head()
    for (const [, step] of [...steps, ...steps]) {
      clock.travel(step)
      const { status, body } = await refresh(token)
      expect(status).toBe(200)
      token = body.refresh_token
      expect(await endOf('refresh_tokens', token)).toBeLessThanOrEqual(Number(expires_at))
    }
    expect(await head()).toMatchObject({ expires_at })
    clock.travel(Number(expires_at) - clock.now())
    expect(await refresh(token)).toMatchObject(refused)
  })

  test.each(steps)('%s does not make a used refresh token valid again', async (_, step) => {
    const { refresh_token } = await tokens()
    const { body: next } = await refresh(refresh_token)
    clock.travel(refreshGracePeriod - 1)
    expect((await refresh(refresh_token)).body.refresh_token).toBe(next.refresh_token)
    clock.travel(step)
    // Long after its window, by any clock: an attacker uses it.
    expect(await refresh(refresh_token)).toMatchObject(refused)
    expect(await refresh(next.refresh_token)).toMatchObject(refused)
  })

  test.each(steps)('%s does not change the lifetime of new ID tokens', async (_, step) => {
    const { refresh_token } = await tokens()
    const authTime = clock.now()
    clock.travel(step)
    for (const idToken of [(await tokens()).id_token, (await refresh(refresh_token)).body.id_token]) {
      const keys: JSONWebKeySet = JSON.parse((await new RawBrowser(listener.origin).get('/oauth/jwks')).html)
      const currentDate = new Date(clock.now() * 1000)
      const { payload } = await jwtVerify(String(idToken), createLocalJWKSet(keys), { issuer, currentDate })
      expect(payload).toMatchObject({
        iat: clock.now(),
        exp: clock.now() + lifetimes.idToken,
        // A sign-in is never later than a token.
        auth_time: Math.min(authTime, clock.now()),
      })
    }
  })

  describe('lets pruning remove nothing that is valid', () => {
    const names = ['access_tokens', 'refresh_tokens', 'logins', 'pending_requests']
    const living = async (now: number): Promise<Record<string, number>> => {
      const counts: Record<string, number> = {}
      for (const name of names)
        counts[name] = (await database.table(name).where('expires_at', '>', now).select('expires_at')).length
      return counts
    }

    test.each(steps)('when it is set %s', async (_, step) => {
      const { access_token, refresh_token } = await tokens()
      const used = await ada.code()
      await redeem(used)
      const waiting = new RawBrowser(listener.origin)
      const page = await waiting.open(authorizeUrl({ client_id: 'web', scope: 'openid email' }))
      clock.travel(step)
      const before = await living(clock.now())
      const { database: handle } = openDatabase(database.knex, database.tablePrefix)
      await removeExpiredRows(handle, {
        now: clock.now(),
        expired: expiredOf([]),
        refreshGracePeriod,
      })
      expect(await living(clock.now())).toEqual(before)
      clock.travel(-step)
      if (step < hour) expect(await userinfoStatus(listener.origin, access_token)).toBe(200)
      codeOf(await ada.browser.get(authorizeUrl({ client_id: 'web', scope: 'openid', prompt: 'none' })))
      if (step < 10 * minute) codeOf(await allowing(waiting, await waiting.signIn(page)))
      // A grace of a minute: what has just ended may still be asked for by a request under way.
      expect((await refresh(refresh_token)).status).toBe(200)
      expect(await postToken(listener.origin, redemption(used))).toMatchObject(refused)
      expect(await familyOf(database, used)).toMatchObject({ revoked: true })
    })
  })

  const allowing = async (browser: RawBrowser, page: Awaited<ReturnType<RawBrowser['open']>>) =>
    page.url.pathname.endsWith('/consent') ? browser.decide(page, 'allow') : page
})

describe('a lock on an account', () => {
  let host: Host
  let listener: TestServer
  let clock: Clock
  beforeEach(async () => {
    clock = stopClock()
    host = await startHost()
    listener = await listen(host.app)
  })
  afterEach(async () => {
    await listener.close()
    await host.close()
    jest.restoreAllMocks()
  })

  const request = authorizeUrl({ client_id: 'web', scope: 'openid email' })
  const attempt = async (password: string) => {
    const browser = new RawBrowser(listener.origin)
    return browser.signIn(await browser.open(request), 'ada@example.com', password)
  }
  /** She has signed in, and is asked what the client may do. */
  const expectIn = async (): Promise<void> =>
    expect((await attempt('ada’s password')).url.pathname).toBe('/oauth/consent')
  const lockOut = async (): Promise<void> => {
    for (let failure = 0; failure < 5; failure += 1) expect((await attempt('wrong')).status).toBe(400)
    expect((await attempt('ada’s password')).status).toBe(429)
  }

  test.each(steps)('ends by itself although the clock is set %s', async (_, step) => {
    await lockOut()
    clock.travel(step)
    const { status, headers } = await attempt('ada’s password')
    // Forward, the lock is over. Back, it lasts until the clock has made up for the step, and the answer says how long.
    if (step >= 15 * minute) expect(status).toBe(200)
    else {
      expect({ status, wait: Number(headers['retry-after']) }).toEqual({
        status: 429,
        wait: 15 * minute - step,
      })
      clock.travel(15 * minute - step)
      await expectIn()
    }
  })

  test('that was made while the clock was an hour ahead ends by itself', async () => {
    clock.travel(hour)
    await lockOut()
    clock.travel(-hour)
    expect((await attempt('ada’s password')).status).toBe(429)
    clock.travel(hour + 15 * minute)
    await expectIn()
  })
})

test('keys rotate in order while the clock goes forward and back, and every ID token has its key', async () => {
  const clock = stopClock()
  const rotation = { signingKey: 3 * hour, signingKeyLead: 20 * minute, idToken: hour }
  const host = await startHost({
    options: { lifetimes: rotation, database: { prune: false }, limits: false },
  })
  const listener = await listen(host.app)
  try {
    const begun = clock.now()
    let latest = begun
    const chance = createChance()
    // In any order it goes forward by two hours.
    const walk = [...steps.map(([, step]) => step), hour, hour]
    for (const step of Array.from({ length: 2 }, () => chance.shuffled(walk)).flat()) {
      clock.travel(step)
      latest = Math.max(latest, clock.now())
      const ada = await signIn(listener.origin)
      const { body } = await postToken(listener.origin, redemption(await ada.code()))
      await host.oauth.ready()
      const keys: JSONWebKeySet = JSON.parse((await new RawBrowser(listener.origin).get('/oauth/jwks')).html)
      const idToken = String(body.id_token)
      expect(keys.keys.map(({ kid }) => kid)).toContain(decodeProtectedHeader(idToken).kid)
      const currentDate = new Date(clock.now() * 1000)
      await jwtVerify(idToken, createLocalJWKSet(keys), { issuer, currentDate })
      expect(claimsOf(idToken)).toMatchObject({ iat: clock.now(), exp: clock.now() + rotation.idToken })
    }
    const rows = await host.table('signing_keys').where({ algorithm: 'RS256' }).orderBy('generation')
    const generations = rows.map(({ generation }) => Number(generation))
    expect(generations).toEqual(generations.map((_, index) => generations[0]! + index))
    const most = 2 + Math.ceil((latest - begun) / rotation.signingKey)
    expect(generations.length).toBeGreaterThan(1)
    expect(generations.length).toBeLessThanOrEqual(most)
    const starts = rows.map(({ active_at }) => Number(active_at))
    expect(starts).toEqual([...starts].sort((one, other) => one - other))
    expect(rows.filter(({ retired_at }) => retired_at === null).length).toBeGreaterThan(0)
  } finally {
    await listener.close()
    await host.close()
    jest.restoreAllMocks()
  }
})
