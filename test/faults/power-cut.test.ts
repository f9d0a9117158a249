// `kill -9` of a server: before and after every statement of an exchange, and at moments of chance in between.
// The latter FAULT_LOOPS / 2 times for each database (20; in full 100), with sixteen requests under way each time.
import {
  type DatabaseKind,
  describeOnEach,
  type FaultDatabase,
  loops,
  openFaultDatabase,
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
import type { DeathPoint } from '../support/fault-server.ts'
import { type FaultServer, type FaultServers, openServers } from '../support/fault-servers.ts'
import type { Host } from '../support/host.ts'

jest.setTimeout(600_000)

/** Longer than any test here, so that a lost answer can always be had again. */
const replayWindow = 3600

let servers: FaultServers
beforeAll(() => {
  servers = openServers(1)
})
afterAll(() => servers.close())

/** An exchange that a cut may fall into. */
interface Exchange {
  readonly kind: 'redemption' | 'refresh'
  readonly code: string
  readonly form: Readonly<Record<string, string>>
  /** What the client heard; undefined when the cut came first. */
  answer?: Answer
}

const onProcesses = (kind: DatabaseKind): void => {
  let database: FaultDatabase
  let host: Host
  let ada: SignedIn
  let server: FaultServer

  const restart = async (): Promise<void> => {
    server = await servers.start({ ...sharedOptions(database, { replayWindow }), counting: true })
  }

  beforeAll(async () => {
    database = openFaultDatabase(kind)
    host = await startSharedHost(database, { replayWindow })
    ada = await signIn(host.app)
    await restart()
  })
  afterAll(async () => {
    await server.kill()
    await host.close()
  })

  const newRedemption = async (): Promise<Exchange> => {
    const code = await ada.code()
    return { kind: 'redemption', code, form: redemption(code) }
  }
  const newRefresh = async (): Promise<Exchange> => {
    const code = await ada.code()
    const { body } = await postToken(server.origin, redemption(code))
    return { kind: 'refresh', code, form: refreshing(body.refresh_token) }
  }

  /** Sends it to a server that may not live to answer. */
  const send = async (exchange: Exchange): Promise<void> => {
    exchange.answer = await postToken(server.origin, exchange.form).catch(() => undefined)
    if (exchange.answer !== undefined) expect(exchange.answer.status).toBe(200)
  }

  const fresh = {
    redemption: { consumed: false, revoked: false, accessTokens: 0, refreshTokens: { used: 0, unused: 0 } },
    refresh: { consumed: true, revoked: false, accessTokens: 1, refreshTokens: { used: 0, unused: 1 } },
  }
  const done = {
    redemption: { consumed: true, revoked: false, accessTokens: 1, refreshTokens: { used: 0, unused: 1 } },
    refresh: { consumed: true, revoked: false, accessTokens: 2, refreshTokens: { used: 1, unused: 1 } },
  }

  /** With a server that runs again: done or not done, as a whole, and what was answered was done. */
  const expectWhole = async ({ kind: what, code, form, answer }: Exchange): Promise<void> => {
    const family = await familyOf(database, code)
    const isDone = family.accessTokens === done[what].accessTokens
    expect(family).toEqual(isDone ? done[what] : fresh[what])
    if (answer !== undefined) {
      expect(isDone).toBe(true)
      expect(await userinfoStatus(server.origin, answer.body.access_token)).toBe(200)
    }
    const again = await postToken(server.origin, form)
    if (what === 'redemption' && isDone) {
      // A code has no window: a second redemption is a replay, whoever heard of the first.
      expect([again.status, again.body.error]).toEqual([400, 'invalid_grant'])
      return
    }
    expect(again.status).toBe(200)
    if (what === 'refresh') {
      expect(again.body.refresh_token).toBe(answer?.body.refresh_token ?? again.body.refresh_token)
      expect(await familyOf(database, code)).toMatchObject({
        revoked: false,
        refreshTokens: { used: 1, unused: 1 },
      })
    }
    const next = await postToken(server.origin, refreshing(again.body.refresh_token))
    expect(next.status).toBe(200)
  }

  test.each([
    ['a redemption', 'before', newRedemption],
    ['a redemption', 'after', newRedemption],
    ['a refresh', 'before', newRefresh],
    ['a refresh', 'after', newRefresh],
  ] as [string, DeathPoint, () => Promise<Exchange>][])(
    '%s is done or not done as a whole when the process dies just %s any statement of it',
    async (_, when, make) => {
      let deaths = 0
      const states = new Set<boolean>()
      for (let statement = 1; ; statement += 1) {
        const exchange = await make()
        await server.dieAt(statement, when)
        await send(exchange)
        // It got through before this many statements.
        if (exchange.answer !== undefined) break
        deaths += 1
        await server.ended
        await restart()
        states.add(
          (await familyOf(database, exchange.code)).accessTokens === done[exchange.kind].accessTokens,
        )
        await expectWhole(exchange)
      }
      expect(deaths).toBeGreaterThanOrEqual(7)
      // A death after the last statement finds it done, any before finds it not done.
      expect(states).toEqual(new Set(when === 'after' ? [false, true] : [false]))
      await server.kill()
      await restart()
    },
  )

  test('many at once are each done or not done, wherever the cut falls', async () => {
    const makers = [newRedemption, newRefresh]
    const rounds = Math.ceil(loops / 2)
    for (let round = 0; round < rounds; round += 1) {
      const exchanges: Exchange[] = []
      for (let more = 0; more < 16; more += 1) exchanges.push(await makers[more % 2]!())
      // By turns at a statement and at a moment of chance, so that neither a fast nor a slow machine misses all.
      if (round % 2 === 0) await server.dieAt(1 + Math.floor(Math.random() * 120), 'after')
      const sent = exchanges.map(send)
      if (round % 2 === 0) await Promise.race([server.ended, Promise.all(sent)])
      else await new Promise((resolve) => setTimeout(resolve, Math.random() * 40))
      await server.kill()
      await Promise.all(sent)
      await restart()
      for (const exchange of exchanges) await expectWhole(exchange)
    }
  })
}

describeOnEach('what was under way when a server was killed', onProcesses)
