// A database server that is restarted again and again, by turns politely and by SIGKILL, while clients refresh.
// For two seconds; with FAULTS_LONG=1 for a minute, and then it says how it went.
import supertest from 'supertest'
import { type FaultDatabase, openFaultDatabase, silence } from '../support/fault-databases.ts'
import {
  familyOf,
  prepareDatabase,
  redemption,
  refreshing,
  type SignedIn,
  sharedOptions,
  signIn,
} from '../support/fault-family.ts'
import { describeUnless, until } from '../support/fault-programs.ts'
import { type FaultServer, startServer } from '../support/fault-servers.ts'
import { sampleOf } from '../support/sample.ts'
import { missingServer, openInstance } from './instance-kinds.ts'
import type { Instance } from './instances.ts'

jest.setTimeout(180_000)

const isLong = process.env.FAULTS_LONG === '1'
const lasting = isLong ? 60_000 : 2000
const period = isLong ? 2000 : 1000
/** Milliseconds from the return of the database until everybody is served; a loaded machine may be slower. */
const timeoutMs = isLong ? 5000 : 15_000
/** Longer than any test here, so that a lost answer can always be had again. */
const refreshGracePeriod = 3600

const pause = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds))

/** One that refreshes on and on, each time with the last token it was given. */
interface RefreshingClient {
  readonly code: string
  token: unknown
  refreshes: number
  outages: number
}

type Kind = 'PostgreSQL' | 'MariaDB'

/** What must be gone in the end, however that comes; the last that was opened first. */
const opened: (() => Promise<void>)[] = []

/** Latchkey on a server of its own, and a form that is posted to it. */
interface Place {
  readonly instance: Instance
  readonly database: FaultDatabase
  readonly kit: FaultServer
  readonly ada: SignedIn
  /** On a connection of its own: what breaks is never the way between client and kit. */
  post(form: ReturnType<typeof refreshing>): supertest.Test
}

const openPlace = async (kind: Kind): Promise<Place> => {
  const instance = await openInstance(kind)
  opened.push(instance.close)
  const own = (config: object) => ({ ...config, log: silence })
  const database = openFaultDatabase(kind, { url: instance.url, own })
  opened.push(() => database.knex.destroy())
  const prepare = async () => {
    await instance.start()
    await prepareDatabase(database)
    return sharedOptions(database, { lifetimes: { refreshGracePeriod } })
  }
  const kit = await startServer(prepare())
  opened.push(kit.kill)
  const post: Place['post'] = (form) =>
    supertest(kit.origin)
      .post('/oauth/token')
      .type('form')
      .send(form)
      .ok(() => true)
  return { instance, database, kit, ada: await signIn(kit.origin), post }
}

const newClient = async ({ ada, post }: Place): Promise<RefreshingClient> => {
  const code = await ada.code()
  const { status, body } = await post(redemption(code))
  expect(status).toBe(200)
  return { code, token: body.refresh_token, refreshes: 0, outages: 0 }
}

const refresh = async ({ post }: Place, client: RefreshingClient): Promise<void> => {
  const { status, body, headers } = await post(refreshing(client.token))
  if (status === 503) {
    client.outages += 1
    expect(body).toEqual({
      error: 'temporarily_unavailable',
      error_description: expect.any(String),
      error_id: expect.any(String),
    })
    expect(headers['retry-after']).toMatch(/^[1-9]\d*$/)
    return pause(50)
  }
  expect({ status, error: body.error }).toEqual({ status: 200, error: undefined })
  expect(body.refresh_token).not.toBe(client.token)
  client.token = body.refresh_token
  client.refreshes += 1
}

/** Milliseconds from a return of the database until the first was served, and until all were. */
interface Return {
  readonly first: number
  readonly all: number
}

const servedAfterReturn = async (clients: readonly RefreshingClient[]): Promise<Return> => {
  const before = clients.map(({ refreshes }) => refreshes)
  const begun = performance.now()
  const isServed = ({ refreshes }: RefreshingClient, index: number) => refreshes > (before[index] ?? 0)
  await until('a client is served', () => clients.some(isServed), timeoutMs)
  const first = performance.now() - begun
  await until('every client is served', () => clients.every(isServed), 2 * timeoutMs)
  return { first, all: performance.now() - begun }
}

/** The whole story of one database: what became of the clients, and how soon they were served again. */
interface Story extends Place {
  readonly clients: readonly RefreshingClient[]
  readonly returns: readonly Return[]
}

const underRestarts = async (kind: Kind): Promise<Story> => {
  const place = await openPlace(kind)
  const { instance } = place
  const clients: RefreshingClient[] = []
  for (let more = 0; more < 6; more += 1) clients.push(await newClient(place))

  let isOver = false
  const loops = clients.map(async (client) => {
    while (!isOver) {
      await refresh(place, client)
      await pause(20)
    }
  })
  // A loop that fails ends it all at once.
  const looping = Promise.all(loops).then(() => Promise.reject(new Error('the clients have stopped')))
  const whileRefreshing = <T>(work: Promise<T>): Promise<T> => Promise.race([work, looping])

  const returns: Return[] = []
  const begun = performance.now()
  try {
    for (let round = 0; round < 2 || performance.now() - begun < lasting; round += 1) {
      const next = performance.now() + period
      await whileRefreshing(round % 2 === 0 ? instance.stop() : instance.kill())
      await whileRefreshing(instance.start())
      returns.push(await whileRefreshing(servedAfterReturn(clients)))
      await whileRefreshing(pause(Math.max(0, next - performance.now())))
    }
  } finally {
    isOver = true
    looping.catch(() => {})
    await Promise.allSettled(loops)
  }
  await Promise.all(loops)
  return { ...place, clients, returns }
}

const report = (kind: Kind, { clients, returns }: Story): void => {
  const longest = (what: keyof Return) => Math.round(Math.max(...returns.map((one) => one[what])))
  const sum = (what: 'refreshes' | 'outages') => clients.reduce((total, client) => total + client[what], 0)
  console.info(
    `${kind}: ${returns.length} restarts, ${sum('refreshes')} refreshes, ${sum('outages')} times 503, first success ` +
      `${longest('first')} ms after a return at the latest, everybody's ${longest('all')} ms`,
  )
}

/** Both at the same time, since each mostly waits. */
const stories = new Map<Kind, Promise<Story>>()

beforeAll(() => {
  for (const kind of ['PostgreSQL', 'MariaDB'] as const) {
    if (missingServer[kind]() !== undefined) continue
    const story = underRestarts(kind)
    story.catch(() => {})
    stories.set(kind, story)
  }
})
afterAll(async () => {
  await Promise.allSettled(stories.values())
  for (const close of opened.reverse()) await close()
})

const told = (kind: Kind): void => {
  test('no client loses its token, and each is served again when the database is back', async () => {
    const story = await stories.get(kind)!
    const { kit, database, clients, returns, post } = story
    expect(kit.isAlive()).toBe(true)
    // Else the database was never away.
    expect(returns.length).toBeGreaterThanOrEqual(2)
    expect(Math.max(...clients.map(({ outages }) => outages))).toBeGreaterThan(0)
    for (const { code, refreshes } of clients) {
      expect(await familyOf(database, code)).toMatchObject({
        revoked: false,
        refreshTokens: { used: refreshes, unused: 1 },
      })
    }
    for (const client of clients) {
      const { status } = await post(refreshing(client.token))
      expect(status).toBe(200)
    }
    if (isLong) report(kind, story)
  })
}

for (const kind of sampleOf(['PostgreSQL', 'MariaDB'] as const, 1))
  describeUnless(missingServer[kind](), `a ${kind} that is restarted again and again`, () => told(kind))
