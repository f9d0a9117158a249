// What ends tokens, racing what issues them, over two processes: 50 races on each database. Four processes and 500 races found
// nothing more. Afterwards no code or token of any answer works, no matter which request came first.
import { randomUUID } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { type Chance, createChance } from '../support/fault-chance.ts'
import {
  type DatabaseKind,
  describeOnSampled,
  type FaultDatabase,
  openFaultDatabase,
} from '../support/fault-databases.ts'
import {
  isActive,
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
import { forkServers } from '../support/fault-servers.ts'
import type { Host } from '../support/host.ts'
import type { Answer as Page } from '../support/raw-browser.ts'
import { web } from '../support/tokens.ts'

jest.setTimeout(600_000)

let servers: Awaited<ReturnType<typeof forkServers>>
beforeAll(async () => {
  servers = await forkServers(2)
})
afterAll(() => servers.close())

/** A round: Ada, signed in anew, and servers that take turns. */
interface Round {
  readonly ada: SignedIn
  readonly subject: string
  /** Restores the user: tokens must be invalid by themselves, not because their user is gone. */
  comeBack(): Promise<void>
  /** The next server. */
  origin(): string
  readonly chance: Chance
}

/** Everything that answers held. */
class Booty {
  readonly codes: string[] = []
  readonly accessTokens: string[] = []
  readonly refreshTokens: string[] = []
  readonly answers = new EventEmitter()

  /** Keeps what an answer holds; a fault that passes holds nothing, and anything else is a failure of the test. */
  keep({ status, body }: Answer): Answer {
    if (status === 200) {
      this.accessTokens.push(String(body.access_token))
      this.refreshTokens.push(String(body.refresh_token))
    } else expect([`${status} ${body.error}`]).toEqual([expect.stringMatching(/^400 invalid_grant$|^503 /)])
    this.answers.emit('kept')
    return { status, body }
  }

  /** Asks first, since asking uses nothing up; then tries what was made last. */
  async expectDead(origin: string): Promise<void> {
    const statuses = await Promise.all(this.accessTokens.map((token) => userinfoStatus(origin, token)))
    expect(statuses).toEqual(this.accessTokens.map(() => 401))
    const active = await Promise.all(this.refreshTokens.map((token) => isActive(origin, token)))
    expect(active).toEqual(this.refreshTokens.map(() => false))
    const tried = [...this.refreshTokens.slice(-2).map((token) => refreshing(token)), ...this.unused()]
    for (const form of tried) expect((await insist(`${origin}/oauth/token`, form)).status).toBe(400)
  }

  unused(): Record<string, string>[] {
    return this.codes.map((code) => ({ ...redemption(code) }))
  }
}

/** A client that refreshes as fast as it can, until it is refused. */
const chase = async ({ origin }: Round, booty: Booty, start: string): Promise<void> => {
  let token = start
  for (let step = 0; step < 6; step += 1) {
    const { status, body } = booty.keep(await postToken(origin(), refreshing(token)))
    if (status === 400) return
    if (status === 200) token = String(body.refresh_token)
  }
}

const redeemInto = async ({ origin }: Round, booty: Booty, code: string): Promise<void> => {
  booty.codes.push(code)
  booty.keep(await postToken(origin(), redemption(code)))
}

/** Asks for another code in silence, again and again, until the answer holds none. */
const askOn = async (round: Round, booty: Booty, offline: boolean): Promise<void> => {
  for (let step = 0; step < 4; step += 1) {
    const code = await round.ada.code(offline ? offlineScope : {}).catch(() => undefined)
    if (code === undefined) return
    await redeemInto(round, booty, code)
  }
}

const offlineScope = { scope: 'openid email offline_access' }

interface Race {
  readonly name: string
  readonly offline: boolean
  /** Whether what begins meanwhile dies too, and not only what there was. */
  readonly endsAll: boolean
  /** Does what comes before it. */
  prepare(round: Round, refreshToken: string): Promise<Ending>
}

/** Ends what it is to end. */
type Ending = () => Promise<void>

const revoke =
  async ({ origin }: Round, refreshToken: string): Promise<Ending> =>
  async () => {
    const { status } = await insist(`${origin()}/oauth/revoke`, { token: refreshToken, ...web })
    expect(status).toBe(200)
  }

/** Presses a button, and again when the page says that it should be tried again. */
const press =
  ({ browser }: SignedIn, page: Page, has: string): Ending =>
  async () => {
    let answer = await browser.submit(page, has)
    for (let attempt = 1; answer.status === 503 && attempt < 20; attempt += 1)
      answer = await browser.submit(page, has)
    expect(answer.status).toBe(200)
  }

// It asks, because no ID token vouches for the client.
const signOut = async ({ ada }: Round): Promise<Ending> =>
  press(ada, await ada.browser.open('/oauth/logout'), 'csrf_token')

const removeClient = async ({ ada }: Round): Promise<Ending> =>
  press(ada, await ada.browser.open('/oauth/account?client_id=web'), 'name="client_id"')

const tellOf =
  (what: 'revokeAll' | 'erase') =>
  async ({ origin, subject }: Round): Promise<Ending> =>
  async () => {
    const { status } = await insist(`${origin()}/users/${subject}/${what}`, {})
    expect(status).toBe(204)
  }

const races: Race[] = [
  { name: 'a revocation', offline: true, endsAll: false, prepare: revoke },
  { name: 'a sign-out', offline: false, endsAll: true, prepare: signOut },
  { name: 'the removal of a client', offline: true, endsAll: true, prepare: removeClient },
  { name: 'users.revokeAll()', offline: true, endsAll: true, prepare: tellOf('revokeAll') },
  { name: 'users.erase()', offline: true, endsAll: true, prepare: tellOf('erase') },
]

const play = async (round: Round, { offline, endsAll, prepare }: Race): Promise<number> => {
  const scope = offline ? offlineScope : {}
  const booty = new Booty()
  const { body } = booty.keep(await postToken(round.origin(), redemption(await round.ada.code(scope))))
  const refreshToken = String(body.refresh_token)
  const end = await prepare(round, refreshToken)
  const answered = once(booty.answers, 'kept')
  const runners = [chase(round, booty, refreshToken), chase(round, booty, refreshToken)]
  if (endsAll) {
    const [waiting, another] = [await round.ada.code(scope), await round.ada.code(scope)]
    booty.codes.push(another)
    runners.push(redeemInto(round, booty, waiting), askOn(round, booty, offline))
  }
  // Something is issued before the end begins.
  await answered
  await round.chance.pause(10)
  await Promise.all([...runners, end()])
  await round.comeBack()
  await booty.expectDead(round.origin())
  return booty.accessTokens.length
}

const onProcesses = (kind: DatabaseKind): void => {
  let database: FaultDatabase
  let host: Host
  let origins: string[]
  let turn = 0
  const origin = (): string => {
    turn += 1
    return origins[turn % origins.length]!
  }

  beforeAll(async () => {
    database = openFaultDatabase(kind)
    host = await startSharedHost(database)
    origins = await servers.start(sharedOptions(database))
  })
  afterAll(() => host.close())

  let users = 0
  /** All have Ada's password. */
  const newUser = async () => {
    users += 1
    const username = `ada-${users}@example.com`
    const table = database.table('users')
    const [{ id: _, ...row }] = await table.clone().where({ username: 'ada@example.com' })
    const subject = randomUUID()
    const keep = () => table.clone().insert({ ...row, id: subject, username })
    await keep()
    const comeBack = async (): Promise<void> => {
      if ((await table.clone().where({ id: subject })).length === 0) await keep()
    }
    return { username, subject, comeBack }
  }

  test.each(races)('after $name no code or token is valid', async (race) => {
    const chance = createChance()
    let most = 0
    for (let round = 0; round < 10; round += 1) {
      const { username, ...user } = await newUser()
      const ada = await signIn(origin(), race.offline ? offlineScope : {}, username)
      most = Math.max(most, await play({ ada, origin, chance, ...user }, race))
    }
    // Else there was no race.
    expect(most).toBeGreaterThan(1)
  })
}

describeOnSampled('refreshes, redemptions and new codes at the same time as what ends them', onProcesses)
