// `kill -9` of a server after statements of an exchange, and at random moments with eight requests under way.
// Every fourth statement of one of the exchanges, on SQLite and one server; with TEST_ALL=1 every statement, on both servers.
// Dying before a statement is dying after the one before it; 200 random moments found nothing that these do not.
import { type Chance, createChance, testSeed } from '../support/fault-chance.ts'
import {
  type DatabaseKind,
  describeOnSampledServer,
  type FaultDatabase,
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
import { type Answer, insist } from '../support/fault-load.ts'
import type { DeathPoint } from '../support/fault-server.ts'
import { type FaultServer, type FaultServers, openServers } from '../support/fault-servers.ts'
import type { Host } from '../support/host.ts'
import { testsAll } from '../support/sample.ts'

jest.setTimeout(600_000)

/** Longer than any test here, so that a lost answer can always be had again. */
const refreshGracePeriod = 3600

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

/** Servers that are killed one after the other, each in the place of the one before. */
interface Victims {
  /** The one that runs. */
  server: FaultServer
  restart(): Promise<void>
}

const fresh = {
  redemption: { consumed: false, revoked: false, accessTokens: 0, refreshTokens: { used: 0, unused: 0 } },
  refresh: { consumed: true, revoked: false, accessTokens: 1, refreshTokens: { used: 0, unused: 1 } },
}
const done = {
  redemption: { consumed: true, revoked: false, accessTokens: 1, refreshTokens: { used: 0, unused: 1 } },
  refresh: { consumed: true, revoked: false, accessTokens: 2, refreshTokens: { used: 1, unused: 1 } },
}

const kinds: readonly DatabaseKind[] = ['SQLite', 'PostgreSQL', 'MariaDB']

const onProcesses = (kind: DatabaseKind): void => {
  let database: FaultDatabase
  let host: Host
  let ada: SignedIn

  beforeAll(async () => {
    database = openFaultDatabase(kind)
    host = await startSharedHost(database, { lifetimes: { refreshGracePeriod } })
    ada = await signIn(host.app)
  })
  afterAll(() => host.close())

  const openVictims = async (): Promise<Victims> => {
    const start = (): Promise<FaultServer> =>
      servers.start({
        ...sharedOptions(database, { lifetimes: { refreshGracePeriod } }),
        counting: true,
      })
    const victims: Victims = {
      server: await start(),
      restart: async () => {
        victims.server = await start()
      },
    }
    return victims
  }

  const ask = ({ server }: Victims, form: Exchange['form']): Promise<Answer> =>
    insist(`${server.origin}/oauth/token`, form)

  type Make = (victims: Victims) => Promise<Exchange>
  const newRedemption: Make = async () => {
    const code = await ada.code()
    return { kind: 'redemption', code, form: redemption(code) }
  }
  const newRefresh: Make = async (victims) => {
    const code = await ada.code()
    const { body } = await ask(victims, redemption(code))
    return { kind: 'refresh', code, form: refreshing(body.refresh_token) }
  }

  /** Sends it to a server that may not live to answer. */
  const send = async ({ server }: Victims, exchange: Exchange): Promise<void> => {
    exchange.answer = await postToken(server.origin, exchange.form).catch(() => undefined)
    if (exchange.answer !== undefined) expect(exchange.answer.status).toBe(200)
  }

  /** With a server that runs again: done or not done, as a whole, and what was answered was done. */
  const expectWhole = async (
    victims: Victims,
    { kind: what, code, form, answer }: Exchange,
  ): Promise<void> => {
    const family = await familyOf(database, code)
    const isDone = family.accessTokens === done[what].accessTokens
    expect(family).toEqual(isDone ? done[what] : fresh[what])
    if (answer !== undefined) {
      expect(isDone).toBe(true)
      expect(await userinfoStatus(victims.server.origin, answer.body.access_token)).toBe(200)
    }
    const again = await ask(victims, form)
    if (what === 'redemption' && isDone) {
      // A code has no grace period: a second redemption is a replay, even if the first answer was lost.
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
    const next = await ask(victims, refreshing(again.body.refresh_token))
    expect(next.status).toBe(200)
  }

  const exchanges: [string, DeathPoint, Make][] = [
    ['a redemption', 'after', newRedemption],
    ['a refresh', 'after', newRefresh],
  ]

  // Both exchanges run in the same kind of transaction, and another seed tries another of them.
  const some = createChance(testSeed + kinds.indexOf(kind))
    .shuffled(exchanges)
    .slice(0, 1)
  const tried = testsAll ? exchanges : some
  test.each(tried)(
    '%s is done or not done as a whole when the process dies just %s a statement of it',
    async (_, when, make) => {
      const victims = await openVictims()
      const dead = new Set<number>()
      const states = new Set<boolean>()
      /** Whether the exchange got as far as this statement. */
      const diesAt = async (statement: number): Promise<boolean> => {
        const exchange = await make(victims)
        await victims.server.dieAt(statement, when)
        await send(victims, exchange)
        if (exchange.answer !== undefined) {
          await victims.server.dieAt(Number.MAX_SAFE_INTEGER, when)
          return false
        }
        dead.add(statement)
        await victims.server.ended
        await victims.restart()
        const { accessTokens } = await familyOf(database, exchange.code)
        states.add(accessTokens === done[exchange.kind].accessTokens)
        await expectWhole(victims, exchange)
        return true
      }
      const step = testsAll ? 1 : 4
      let statement = createChance().upTo(step)
      while (await diesAt(statement)) statement += step
      // The last one, if it was not the turn of it.
      for (let last = statement - 1; !dead.has(last) && !(await diesAt(last)); last -= 1);
      // PostgreSQL writes all of it with one statement.
      expect(dead.size).toBeGreaterThanOrEqual(Math.floor((kind === 'PostgreSQL' ? 3 : 7) / step))
      // A death after the last statement finds it done, any before finds it not done.
      expect(states).toEqual(new Set(when === 'after' ? [false, true] : [false]))
      await victims.server.kill()
    },
  )

  const cut = async (victims: Victims, isAtStatement: boolean, chance: Chance): Promise<void> => {
    const exchanges: Exchange[] = []
    for (let more = 0; more < 4; more += 1) {
      for (const make of [newRedemption, newRefresh]) exchanges.push(await make(victims))
    }
    // By turns at a statement and at a random moment, so that neither a fast nor a slow machine misses all.
    if (isAtStatement) await victims.server.dieAt(chance.upTo(60), 'after')
    const sent = exchanges.map((exchange) => send(victims, exchange))
    if (isAtStatement) await Promise.race([victims.server.ended, Promise.all(sent)])
    else await chance.pause(20)
    await victims.server.kill()
    await Promise.all(sent)
    await victims.restart()
    for (const exchange of exchanges) await expectWhole(victims, exchange)
  }

  test('of many exchanges at once each is done as a whole or not at all', async () => {
    const lanes = Array.from({ length: 2 }, async (_, lane) => {
      const chance = createChance(lane)
      const victims = await openVictims()
      for (let round = 0; round < 2; round += 1)
        await cut(victims, (round + lane + testSeed) % 2 === 0, chance)
      await victims.server.kill()
    })
    await Promise.all(lanes)
  })
}

const name = 'what was under way when a server was killed'
describe(`${name}, on SQLite`, () => onProcesses('SQLite'))
describeOnSampledServer(name, onProcesses)
