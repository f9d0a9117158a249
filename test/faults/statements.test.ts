// Every statement of every request, failing in turn. No list of statements is kept: each request runs once unharmed and
// is counted, then once for each of its statements and each way to fail; without TEST_ALL=1 for a sample.
import { passkeys } from '../../lib/features/index.ts'
import { listen, type TestServer } from '../support/client-server.ts'
import { stopClock } from '../support/clock.ts'
import { createChance, testSeed } from '../support/fault-chance.ts'
import {
  type DatabaseKind,
  describeOnSampledServer,
  type FaultDatabase,
  openFaultDatabase,
  silence,
} from '../support/fault-databases.ts'
import { faultClients, type SignedIn, signIn } from '../support/fault-family.ts'
import { sqlitePragmas } from '../support/fault-pragmas.ts'
import { watched } from '../support/fault-statements.ts'
import { authorizeUrl, createUsers, type Host, startHost } from '../support/host.ts'
import { expectErrorPage, expectUnavailable as expectFormUnavailable } from '../support/outcomes.ts'
import type { Answer } from '../support/raw-browser.ts'
import { testsAll } from '../support/sample.ts'
import { type ClientKey, createClientKey } from '../support/signing-client.ts'
import { createSaboteur, ways } from './saboteur.ts'
import { createScenarios, ok, type Scenario } from './scenarios.ts'

jest.setTimeout(300_000)

/** Statements of each request and way to fail, out of up to thirty. */
const sampleSize = 2

/** Clients are told of a sign-out beside the request, so what fails there is in the log and not in the answer. */
const isAnnouncement = (sql: string): boolean => /clients\W.*authorizations\W+where \W*sid\W/.test(sql)

// Nothing here is about power cuts, and a disk takes its time.
const pragmas = [...sqlitePragmas, 'synchronous = OFF']

const codeTables = ['access_tokens', 'refresh_tokens', 'authorizations', 'pending_requests']
const tables = [...codeTables, 'consents', 'logins', 'replays']

const expectNothingTold = ({ html, headers }: Answer): void => {
  const told = html + JSON.stringify(headers)
  expect(told).not.toMatch(
    /\b(select|insert|update|delete|commit|rollback|begin)\b[\s\S]*\b(from|into|set|where)\b/i,
  )
  expect(told).not.toMatch(/no space left|secret-place|SQLITE|ER_[A-Z]|node_modules|\.ts:\d/)
}

const expectUnavailable = (kind: Scenario['kind'], answer: Answer): void => {
  expectNothingTold(answer)
  expect(answer.headers['retry-after']).toBe('1')
  if (kind === 'page') {
    if (answer.html.includes('name="password"')) expectFormUnavailable(answer)
    else expectErrorPage(answer, 503)
    return
  }
  expect({ status: answer.status, body: JSON.parse(answer.html) }).toEqual({
    status: 503,
    body: {
      error: 'temporarily_unavailable',
      error_description: expect.any(String),
      error_id: expect.any(String),
    },
  })
  expect(answer.headers).toMatchObject({ 'content-type': 'application/json', 'cache-control': 'no-store' })
}

const onDatabase = (kind: DatabaseKind): void => {
  const saboteur = createSaboteur(kind)
  let database: FaultDatabase
  let host: Host
  let listener: TestServer
  let ada: SignedIn
  let steady: SignedIn
  let key: ClientKey
  /** The sessions of those two. */
  const unhandled: unknown[] = []
  const noteUnhandled = (error: unknown) => void unhandled.push(error)

  beforeAll(async () => {
    process.on('unhandledRejection', noteUnhandled)
    // Or the keys would be read again once a minute, and be counted.
    stopClock()
    // Pauses before another attempt are of chance; none of them is waited for here.
    jest.spyOn(Math, 'random').mockReturnValue(0)
    key = await createClientKey('ES256')
    database = openFaultDatabase(kind, {
      own: (config) => ({ ...watched(config, saboteur.watch, pragmas), log: silence }),
    })
    // A table of the host's, which Latchkey reads through the host's own Knex instance.
    await createUsers(database, `${database.tablePrefix}people`)
    const unrotated = { ...faultClients[0]!, client_id: 'steady', refresh_token_rotation: false }
    const { client_secret: _, ...signing } = { ...faultClients[0]!, client_id: 'signing' }
    const jwks = { keys: [{ ...key.publicJwk, kid: 'k', alg: 'ES256', use: 'sig' }] }
    host = await startHost({
      database,
      clients: [
        ...faultClients,
        unrotated,
        { ...signing, token_endpoint_auth_method: 'private_key_jwt', jwks: jwks as never },
      ],
      options: {
        limits: false,
        database: { prune: false },
        lifetimes: { sessionIdle: 43_200, refreshGracePeriod: 3600 },
        features: [passkeys()],
      },
      before: [saboteur.middleware],
    })
    listener = await listen(host.app)
    ada = await signIn(listener.origin, { scope: 'openid email notes:read' })
    steady = await signIn(listener.origin, { client_id: 'steady' })
  })
  afterAll(async () => {
    process.off('unhandledRejection', noteUnhandled)
    jest.restoreAllMocks()
    await listener.close()
    await host.close()
  })

  const { bare, atConsent, request, scenarios } = createScenarios({
    origin: () => listener.origin,
    ada: () => ada,
    steady: () => steady,
    key: () => key,
    table: (name) => database.table(name),
  })

  const chance = createChance()
  /** Numbers of the statements that fail in turn. */
  const sampled = (statements: number): number[] =>
    chance
      .shuffled(Array.from({ length: statements }, (_, index) => index + 1))
      .slice(0, testsAll ? statements : sampleSize)

  /** Rows in one order. */
  const rowsOf = async (name: string): Promise<string[]> => {
    const rows: Record<string, unknown>[] = await database.table(name).select('*')
    return rows.map((row) => JSON.stringify(row)).sort()
  }

  const snapshot = async (without: readonly string[] = []): Promise<Record<string, string[]>> => {
    const contents: Record<string, string[]> = {}
    for (const name of tables) if (!without.includes(name)) contents[name] = await rowsOf(name)
    return contents
  }

  const expectFreePool = async (): Promise<void> => {
    const { pool } = database.knex.client
    // Work beside the request may go on for a moment.
    for (let look = 0; look < 500 && pool.numUsed() > 0; look += 1)
      await new Promise((resolve) => setTimeout(resolve, 2))
    expect({ used: pool.numUsed(), waiting: pool.numPendingAcquires() }).toEqual({ used: 0, waiting: 0 })
  }

  beforeEach(async () => {
    for (const name of codeTables) await database.table(name).delete()
    // Bob’s of the test before; each would be ended, and counted, when something ends all that he has.
    for (const name of ['logins', 'consents']) await database.table(name).where({ subject: '2' }).delete()
  })

  // On servers every second request; what each statement does there is the same.
  const triedScenarios = chance.shuffled(scenarios)
  const sampledScenarios = triedScenarios.slice(0, Math.ceil(scenarios.length / 2))
  describe.each(testsAll || kind === 'SQLite' ? scenarios : sampledScenarios)('$name', (scenario) => {
    const { prepare, kind: answerKind, leaves } = scenario

    const tried = testsAll ? ways : chance.shuffled(ways).slice(0, 1)
    test.each(tried)('while a statement $name', async (way) => {
      const unharmed = await saboteur.during(undefined, 0, await prepare())
      scenario.expect(unharmed.result)
      expect(unharmed.statements).toBeGreaterThan(0)
      for (const statement of sampled(unharmed.statements)) {
        const send = await prepare()
        const before = await snapshot(leaves)
        const { result: answer, struck } = await saboteur.during(way, statement, send)
        await expectFreePool()
        const after = await snapshot(leaves)
        const isBeside = statement > unharmed.decidedAt || (struck !== undefined && isAnnouncement(struck))
        if (way.heals || struck === undefined || (isBeside && answer.status !== 503)) {
          scenario.expect(answer)
          continue
        }
        if (scenario.showsWhatWasDone?.(answer, way.loses === true)) continue
        expect({ struck, status: answer.status }).toEqual({ struck, status: 503 })
        expectUnavailable(answerKind, answer)
        const isDone = JSON.stringify(after) !== JSON.stringify(before)
        // Only what ran and was not told may have been done.
        if (!way.loses) expect(after).toEqual(before)
        const again = await send()
        if (isDone && scenario.expectRepeated) scenario.expectRepeated(again)
        else scenario.expect(again)
      }
      expect(unhandled).toEqual([])
    })
  })

  test('users.revokeAll() rejects, and works the next time', async () => {
    for (const way of ways) {
      await database.table('logins').where({ subject: '2' }).delete()
      const tell = (): Promise<unknown> =>
        host.oauth.users.revokeAll(2).then(
          () => 'told',
          (error: unknown) => error,
        )
      await atConsent()
      const { statements } = await saboteur.during(undefined, 0, tell)
      for (const statement of sampled(statements)) {
        const { browser } = await atConsent()
        const { result, struck } = await saboteur.during(way, statement, tell)
        const isBeside = struck === undefined || isAnnouncement(struck)
        if (way.heals || (isBeside && result === 'told')) expect(result).toBe('told')
        else {
          expect(result).toMatchObject({ code: 'temporarily_unavailable' })
          expect(await tell()).toBe('told')
        }
        await expectFreePool()
        const silent = await browser.get(authorizeUrl({ ...request, prompt: 'none' }))
        expect(silent.location?.searchParams.get('error')).toBe('login_required')
      }
    }
  })

  test('discovery and keys need no statement', async () => {
    for (const path of ['/oauth/.well-known/openid-configuration', '/oauth/jwks']) {
      const { result, statements } = await saboteur.during(ways[1], 1, () => bare().get(path))
      ok(result)
      expect(statements).toBe(0)
    }
  })
}

const name = `every statement failing in turn (TEST_SEED=${testSeed})`
describe(`${name}, on SQLite`, () => onDatabase('SQLite'))
describeOnSampledServer(name, onDatabase)
