// A network between Latchkey and its database that resets connections, refuses them, loses answers and falls silent.
// Chains of refreshes have a cut every few of them, on one server; with TEST_ALL=1 on both. Chains of 200 found nothing more.

import express from 'express'
import { type AuthRouter, authRouter } from '../../lib/index.ts'
import { listen, type TestServer } from '../support/client-server.ts'
import { createChance } from '../support/fault-chance.ts'
import {
  type DatabaseKind,
  describeOnSampledServer,
  doneWith,
  type FaultDatabase,
  openFaultDatabase,
  silence,
} from '../support/fault-databases.ts'
import {
  familyOf,
  postToken,
  redemption,
  refreshing,
  type SignedIn,
  sharedOptions,
  signIn,
  startSharedHost,
  userinfoStatus,
} from '../support/fault-family.ts'
import type { Answer } from '../support/fault-load.ts'
import { type FaultProxy, openFaultProxy } from '../support/fault-proxy.ts'
import { authorizeUrl, type Host } from '../support/host.ts'
import { codeOf, expectErrorPage } from '../support/outcomes.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import { services } from '../support/services.ts'
import { answerOf, redeem, userinfo } from '../support/tokens.ts'
import { shortenTimeouts } from './short-timeouts.ts'

const refreshGracePeriod = 3600
const loops = 24
const places = {
  PostgreSQL: { url: services.postgresql, port: 5432 },
  MariaDB: { url: services.mariadb, port: 3306 },
}

const through = (kind: Exclude<DatabaseKind, 'SQLite'>): void => {
  let database: FaultDatabase
  let host: Host
  let ada: SignedIn
  let proxy: FaultProxy
  /** Latchkey under test, which sees the database through the proxy alone; codes come from a host that sees it itself. */
  let oauth: AuthRouter
  let listener: TestServer
  let app: express.Express
  const chance = createChance()
  const unhandled: unknown[] = []
  const noteUnhandled = (error: unknown) => void unhandled.push(error)

  beforeAll(async () => {
    process.on('unhandledRejection', noteUnhandled)
    const { url, port } = places[kind]
    proxy = await openFaultProxy(url, port)
    database = openFaultDatabase(kind)
    host = await startSharedHost(database, { lifetimes: { refreshGracePeriod } })
    ada = await signIn(host.app)
    const logger = { info: () => {}, warn: () => {}, error: () => {} }
    const options = sharedOptions(database, {
      lifetimes: { refreshGracePeriod },
      issuer: 'http://localhost:3000/oauth',
      logger,
    })
    oauth = authRouter({
      ...options,
      database: {
        ...options.database,
        knex: { ...database.config, connection: proxy.url, log: silence },
      },
    })
    await oauth.ready()
    app = express().use('/oauth', oauth)
    listener = await listen(app)
  })
  beforeEach(() => proxy.heal())
  afterEach(() => jest.restoreAllMocks())
  afterAll(async () => {
    await listener.close()
    await oauth.close()
    await host.close()
    await proxy.close()
    process.off('unhandledRejection', noteUnhandled)
    expect(unhandled).toEqual([])
  })

  const send = (form: Parameters<typeof postToken>[1]): Promise<Answer> => postToken(listener.origin, form)

  const expectUnavailable = ({ status, body }: Answer): void => {
    expect({ status, body }).toEqual({
      status: 503,
      body: {
        error: 'temporarily_unavailable',
        error_description: expect.any(String),
        error_id: expect.any(String),
      },
    })
  }

  /** Repeats a request while the answer is 503, as a client does; it must not take more than this many. */
  const insist = async (form: Parameters<typeof postToken>[1], timeoutMs: number): Promise<Answer> => {
    for (let attempt = 1; ; attempt += 1) {
      const answer = await send(form)
      if (answer.status !== 503) return answer
      expectUnavailable(answer)
      if (attempt === timeoutMs) throw new Error(`still 503 after ${timeoutMs} attempts`)
    }
  }

  // A pool of five may hand out five dead connections, and one more cut may come.
  const timeoutMs = 12

  /** One client that refreshes on and on; no cut costs it its token. */
  const chain = async (length: number, disturb: (step: number) => void): Promise<string> => {
    const code = await ada.code()
    let token: unknown = (await answerOf(redeem(host, code))).refresh_token
    for (let step = 0; step < length; step += 1) {
      disturb(step)
      const { status, body } = await insist(refreshing(token), timeoutMs)
      expect({ status, error: body.error }).toEqual({ status: 200, error: undefined })
      expect(body.refresh_token).not.toBe(token)
      token = body.refresh_token
    }
    return code
  }

  const expectChain = async (code: string, length: number): Promise<void> => {
    const { revoked, refreshTokens } = await familyOf(database, code)
    expect({ revoked, refreshTokens }).toEqual({
      revoked: false,
      refreshTokens: { used: length, unused: 1 },
    })
  }

  test('no client loses its token if connections are reset between requests and during them', async () => {
    const before = proxy.connections
    const code = await chain(loops, (step) => {
      if (step % 3 === 0) proxy.cut()
      // Before the next cut PostgreSQL sends six pieces or more, and the answer to COMMIT is one of them.
      else if (step % 3 === 1) proxy.cutAfter(chance.upTo(6))
    })
    await expectChain(code, loops)
    // Each cut is followed by a new connection, and some were cut during a request.
    expect(proxy.connections - before).toBeGreaterThan(Math.ceil(loops / 3))
  })

  test('no client loses its token if connections are reset while many clients refresh at once', async () => {
    let steps = 0
    const disturb = (): void => {
      steps += 1
      if (steps % 5 === 0) proxy.cutAfter(chance.upTo(30))
    }
    const codes: Promise<string>[] = []
    const length = Math.ceil(loops / 4)
    for (let client = 0; client < 6; client += 1) codes.push(chain(length, disturb))
    for (const code of await Promise.all(codes)) await expectChain(code, length)
  })

  test('requests get 503 while a database refuses connections, and the first ones after that work', async () => {
    const code = await ada.code()
    const tokens = await answerOf(redeem(host, code))
    let token: unknown = tokens.refresh_token
    for (let outage = 0; outage < 3; outage += 1) {
      proxy.refuse()
      expectUnavailable(await send(refreshing(token)))
      expectUnavailable(await send(redemption(code)))
      expect(await userinfoStatus(listener.origin, tokens.access_token)).toBe(503)
      for (const path of ['jwks', '.well-known/openid-configuration']) {
        const { status } = await fetch(`${listener.origin}/oauth/${path}`)
        expect(status).toBe(200)
      }
      expectErrorPage(await new RawBrowser(app).get(authorizeUrl({ client_id: 'web', scope: 'openid' })), 503)
      proxy.heal()
      const { status, body } = await insist(refreshing(token), timeoutMs)
      expect(status).toBe(200)
      token = body.refresh_token
    }
    expect(await userinfoStatus(listener.origin, tokens.access_token)).toBe(200)
    await expectChain(code, 3)
  })

  test('a code whose answer is cut off is unused, or used once', async () => {
    for (let round = 0; round < loops; round += 1) {
      const code = await ada.code()
      proxy.cutAfter(1 + ((round * 5) % 12))
      const { status, body } = await send(redemption(code))
      proxy.cut()
      // COMMIT may be with the server already when the answer to what came before is lost.
      await doneWith(database, proxy.ports)
      const family = await familyOf(database, code)
      if (status === 200) {
        expect((await userinfo(host, String(body.access_token))).status).toBe(200)
        continue
      }
      expectUnavailable({ status, body })
      const { accessTokens, refreshTokens, consumed, revoked } = family
      expect({ accessTokens, refreshTokens, revoked }).toEqual({
        accessTokens: consumed ? 1 : 0,
        refreshTokens: { used: 0, unused: consumed ? 1 : 0 },
        revoked: false,
      })
      const again = await insist(redemption(code), timeoutMs)
      // A code has no grace period: a second redemption is a replay, even if the first answer was lost.
      expect([again.status, again.body.error]).toEqual(consumed ? [400, 'invalid_grant'] : [200, undefined])
    }
  })

  test('requests get 503 while a database does not answer, and afterwards nothing has changed', async () => {
    const code = await ada.code()
    const tokens = await answerOf(redeem(host, code))
    shortenTimeouts()
    proxy.blackHole()
    const silent = [send(refreshing(tokens.refresh_token)), send(refreshing(tokens.refresh_token))]
    const page = new RawBrowser(app).get(authorizeUrl({ client_id: 'web', scope: 'openid' }))
    const keys = await fetch(`${listener.origin}/oauth/jwks`)
    expect(keys.status).toBe(200)
    for (const answer of await Promise.all(silent)) expectUnavailable(answer)
    expectErrorPage(await page, 503)
    jest.restoreAllMocks()
    proxy.heal()
    const { status } = await insist(refreshing(tokens.refresh_token), timeoutMs)
    expect(status).toBe(200)
    await expectChain(code, 1)
  })

  test('a database that is slow is waited for', async () => {
    proxy.delay(25)
    await expectChain(await chain(2, () => {}), 2)
  })

  test('a user at the login page continues when the database is back', async () => {
    const browser = new RawBrowser(app)
    const request = authorizeUrl({ client_id: 'web', scope: 'openid email' })
    const page = await browser.open(request)
    proxy.refuse()
    expectErrorPage(await browser.signIn(page), 503)
    expectErrorPage(await browser.get(request), 503)
    proxy.heal()
    for (let attempt = 1; ; attempt += 1) {
      const answer = await browser.signIn(page)
      if (answer.status === 503 && attempt < timeoutMs) continue
      codeOf(answer)
      break
    }
  })
}

describeOnSampledServer('a network that fails', through)
