import { hashSecret } from '../../lib/keys/secrets.ts'
import { stopClock } from '../support/clock.ts'
import { authorizeUrl, type Host, startHost } from '../support/host.ts'
import { codeOf, expectErrorPage, expectErrorRedirect } from '../support/outcomes.ts'
import { RawBrowser } from '../support/raw-browser.ts'

jest.setTimeout(60_000)

// The kit's own session store; what a session does for a person is in session.test.ts.

const password = 'ada’s password'
const log = { info: jest.fn(), warn: jest.fn(), error: jest.fn() }
const unhandled: unknown[] = []
const noteUnhandled = (error: unknown) => void unhandled.push(error)
/** What the host's code does while it is asked for a user, in the midst of a request. */
let meanwhile: () => Promise<unknown>

let host: Host
beforeAll(async () => {
  process.on('unhandledRejection', noteUnhandled)
  host = await startHost({
    options: {
      logger: log,
      users: {
        find: async (id) => {
          await meanwhile()
          return { id }
        },
        authenticate: async (username, given) => {
          await meanwhile()
          return given === password ? { id: username } : undefined
        },
        claims: () => ({}),
      },
    },
  })
})
beforeEach(() => {
  meanwhile = async () => {}
  for (const told of Object.values(log)) told.mockClear()
})
afterEach(() => {
  jest.restoreAllMocks()
})
afterAll(async () => {
  await host.close()
  process.off('unhandledRejection', noteUnhandled)
  expect(unhandled).toEqual([])
})

const request = authorizeUrl({ client_id: 'web', scope: 'openid' })
const silent = authorizeUrl({ client_id: 'web', scope: 'openid', prompt: 'none' })
const name = (table: string): string => `${host.database.tablePrefix}${table}`
const sessions = () => host.database.knex(name('sessions'))

const signedIn = async () => {
  const agent = new RawBrowser(host.app)
  codeOf(await agent.grant(request))
  const [, value = ''] = [...agent.cookies].find(([cookie]) => cookie.endsWith('_session')) ?? []
  const [, sid = ''] = /^s:([\w-]+)\./.exec(decodeURIComponent(value)) ?? []
  const id = hashSecret(sid)
  const row = () => sessions().where({ id }).first()
  return { agent, row, end: async () => Number((await row())?.expires_at) }
}

/** A redirect may be out before the later end of the session is stored. */
const expectSoon = async <T>(read: () => T | Promise<T>, wanted: T): Promise<void> => {
  for (let look = 0; look < 1000 && (await read()) !== wanted; look += 1)
    await new Promise((resolve) => setTimeout(resolve, 5))
  expect(await read()).toBe(wanted)
}

/** From when it is called until it is called back the table cannot be found. */
const takeAway = async (): Promise<() => Promise<unknown>> => {
  const { schema } = host.database.knex
  await schema.renameTable(name('sessions'), name('sessions_away'))
  return () => host.database.knex.schema.renameTable(name('sessions_away'), name('sessions'))
}

test('visits prolong a session once in a thirtieth of its idle lifetime, and no more often', async () => {
  const { now, travel } = stopClock()
  const { agent, end } = await signedIn()
  const first = now() + 1800
  expect(await end()).toBe(first)
  for (let visit = 0; visit < 3; visit += 1) {
    travel(19)
    codeOf(await agent.get(silent))
    expect(await end()).toBe(first)
  }
  travel(3)
  codeOf(await agent.get(silent))
  await expectSoon(end, first + 60)
})

test('a visit that cannot be stored is answered, and the session stays valid', async () => {
  const { travel } = stopClock()
  const { agent, end } = await signedIn()
  const before = await end()
  travel(61)
  let bringBack = async (): Promise<unknown> => undefined
  // The session has been read; what comes after the page cannot be written.
  meanwhile = async () => {
    meanwhile = async () => {}
    bringBack = await takeAway()
  }
  codeOf(await agent.get(silent))
  await expectSoon(() => log.warn.mock.calls.length, 1)
  await bringBack()
  expect(log.warn.mock.calls.map(([message]) => message)).toEqual([
    'latchkey: a session could not be extended',
  ])
  expect(log.error).not.toHaveBeenCalled()
  expect(await end()).toBe(before)
  codeOf(await agent.get(silent))
  await expectSoon(end, before + 61)
})

test('while it cannot be read, no user is signed in or out, and no rejection is unhandled', async () => {
  const { agent } = await signedIn()
  const bringBack = await takeAway()
  try {
    for (const path of [silent, '/oauth/account', '/oauth/logout'])
      expectErrorPage(await agent.get(path), 503)
  } finally {
    await bringBack()
  }
  codeOf(await agent.get(silent))
})

test('a login that cannot be stored is not announced', async () => {
  const announced = jest.fn()
  host.oauth.events.on('login.succeeded', announced)
  const agent = new RawBrowser(host.app)
  const form = await agent.open(request)
  let bringBack = async (): Promise<unknown> => undefined
  meanwhile = async () => {
    meanwhile = async () => {}
    bringBack = await takeAway()
  }
  const { status } = await agent.signIn(form)
  await bringBack()
  expect(status).toBe(503)
  expect(announced).not.toHaveBeenCalled()
  codeOf(await agent.grant(request))
  expect(announced).toHaveBeenCalledTimes(1)
  host.oauth.events.off('login.succeeded', announced)
})

test('signing out removes the row, and the old cookie is invalid', async () => {
  const { agent, row } = await signedIn()
  const thief = agent.clone()
  expect(await row()).toBeDefined()
  await agent.submit(await agent.open('/oauth/logout'), 'csrf_token')
  expect(await row()).toBeUndefined()
  expectErrorRedirect(await thief.get(silent), 'login_required')
})

test('an expired session is invalid even if its row exists', async () => {
  const { travel } = stopClock()
  const { agent, row } = await signedIn()
  travel(1800)
  expectErrorRedirect(await agent.get(silent), 'login_required')
  expect(await row()).toBeDefined()
})
