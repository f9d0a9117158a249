import createKnex from 'knex'
import { createClient } from 'redis'
import { changeSilently } from '../../lib/events/events.ts'
import type { AuthEvent, AuthRouterOptions } from '../../lib/index.ts'
import { hashSecret } from '../../lib/keys/secrets.ts'
import { resolveOptions } from '../../lib/options/resolve.ts'
import { openDatabase } from '../../lib/storage/database/open.ts'
import { unlockUserCommand } from '../../lib/tools/cli/commands/user-unlock.ts'
import type { CommandContext } from '../../lib/tools/command.ts'
import { stopClock } from '../support/clock.ts'
import { authorizeUrl, type Host, startHost } from '../support/host.ts'
import { codeOf } from '../support/outcomes.ts'
import { type Answer, RawBrowser } from '../support/raw-browser.ts'
import { testsAll } from '../support/sample.ts'
import { describeWith, services } from '../support/services.ts'
import { ada, bob, expectError, post, tokensFor, userinfo, web } from '../support/tokens.ts'

/** All hosts use its database. */
let first: Host
beforeAll(async () => {
  first = await startHost()
})
afterAll(() => first.close())
beforeEach(async () => {
  for (const name of ['throttles', 'consents']) await first.table(name).delete()
})
afterEach(() => jest.restoreAllMocks())

interface Watched extends Host {
  readonly events: AuthEvent[]
  /** Passwords that were checked. */
  readonly evaluated: string[]
  readonly warnings: string[]
}

const start = async (limits: AuthRouterOptions['limits']): Promise<Watched> => {
  const evaluated: string[] = []
  const warnings: string[] = []
  const options: Partial<AuthRouterOptions> = {
    limits,
    logger: { info: () => {}, warn: (message) => void warnings.push(String(message)), error: () => {} },
    users: {
      find: (id) => ({ id }),
      authenticate: async ({ username, password, req }) => {
        evaluated.push(password)
        await new Promise((resolve) => setImmediate(resolve))
        if (username === ada.email && password === ada.password) return { id: '1' }
        // Each spelling is another name in this table, and two tenants have a user with the same name.
        if (username !== ada.email && password === twin)
          return { id: `owner of ${encodeURIComponent(username)}` }
        return password === `${ada.password} of ${req.headers['x-tenant']}` ? { id: '2' } : undefined
      },
    },
  }
  const started = await startHost({ options, database: first.database, clients: [] })
  started.app.set('trust proxy', 1)
  const events: AuthEvent[] = []
  started.oauth.events.on('*', (event) => events.push(event))
  return { ...started, events, evaluated, warnings }
}

const twin = 'the password of the twin'

const from = (
  host: Pick<Host, 'app'>,
  address: string,
  headers: Readonly<Record<string, string>> = {},
): RawBrowser => new RawBrowser(host.app, undefined, { 'X-Forwarded-For': address, ...headers })

const url = authorizeUrl({ client_id: 'web', scope: 'openid' })

/** One attempt with a new request. */
const attempt = async (browser: RawBrowser, password: string, email = ada.email): Promise<Answer> =>
  browser.signIn(await browser.open(url), email, password)

/** One more attempt in a browser that may be logged in. */
const again = async (browser: RawBrowser, password = ada.password, email = ada.email): Promise<Answer> =>
  browser.signIn(await browser.open(`${url}&prompt=login`), email, password)

/** Attempts with wrong passwords, one after another in the same form. */
const failTimes = async (times: number, browser: RawBrowser, email = ada.email): Promise<Answer[]> => {
  const answers: Answer[] = []
  let page = await browser.open(`${url}&prompt=login`)
  for (let time = 0; time < times; time += 1) {
    page = await browser.signIn(page, email, 'wrong')
    answers.push(page)
  }
  return answers
}

const statuses = (answers: readonly Answer[]): number[] => answers.map(({ status }) => status)

const many = async (count: number, work: (index: number) => Promise<Answer>): Promise<Answer[]> => {
  const answers: Answer[] = []
  for (let index = 0; index < count; index += 1) answers.push(await work(index))
  return answers
}

/** So many wrong passwords from an address that it is beyond its limit, each for another account. */
const fillIn = async (host: Watched, address: string): Promise<void> => {
  const names = Array.from({ length: 20 }, (_, index) => `person-${index}@example.com`)
  for (const name of names) await attempt(from(host, address), 'nothing', name)
}

/** Sets all counters to this number of failures. */
const count = (points: number): Promise<unknown> => first.table('throttles').update({ points })

const expectThrottled = (answer: Answer, seconds: number): void => {
  // Within five seconds, which pass on a busy machine.
  expect([answer.status, Number(answer.headers['retry-after'])]).toEqual([429, expect.closeTo(seconds, -1)])
  expect(answer.html).toContain('Too many attempts')
  expect(answer.headers['cache-control']).toBe('no-store')
}

const stores: [string, AuthRouterOptions['limits']][] = [
  ['the database', undefined],
  ['memory', { store: 'memory' }],
]

describe.each(stores)('wrong passwords, counted in %s', (_, limits) => {
  let host: Watched
  beforeEach(async () => {
    host = await start(limits)
    stopClock()
  })

  test('the sixth for one account from one address is refused, right or wrong', async () => {
    const browser = from(host, '198.51.100.1')
    expect(statuses(await failTimes(5, browser))).toEqual([400, 400, 400, 400, 400])
    expectThrottled(await attempt(browser, ada.password), 900)
    expectThrottled(await attempt(browser, 'wrong'), 900)
    expect(host.evaluated).toHaveLength(5)
    // Another browser at the same address counts together; the same account at another address does not.
    expectThrottled(await attempt(from(host, '198.51.100.1'), ada.password), 900)
    const other = from(host, '198.51.100.2')
    codeOf(await other.grant(url))
    // Success resets the count of its browser.
    for (let turn = 0; turn < 2; turn += 1) {
      expect(statuses(await failTimes(4, other))).toEqual([400, 400, 400, 400])
      codeOf(await other.grant(`${url}&prompt=login`))
    }
  })

  test('users.unlock() lets the user sign in at once, and says whether the name was locked', async () => {
    const browser = from(host, '198.51.100.1')
    await failTimes(5, browser)
    expectThrottled(await attempt(browser, ada.password), 900)
    expect(await host.oauth.users.unlock(` ${ada.email.toUpperCase()}`)).toBe(true)
    codeOf(await browser.grant(url))
    expect(await host.oauth.users.unlock(ada.email)).toBe(false)
    expect(await host.oauth.users.unlock('nobody\0')).toBe(false)
    const unlocked = host.events.filter(({ type }) => type === 'login.unlocked')
    expect(unlocked).toMatchObject([{ account: await host.oauth.users.accountOf(ada.email) }])
  })

  test('of many at once, no more are checked than may fail', async () => {
    const browsers = await Promise.all(
      Array.from({ length: 4 }, async () => {
        const browser = from(host, '198.51.100.77')
        return { browser, page: await browser.open(url) }
      }),
    )
    const answers = await Promise.all(
      Array.from({ length: testsAll ? 200 : 20 }, (__, index) => {
        const { browser, page } = browsers[index % browsers.length]!
        return browser.signIn(page, ada.email, `guess ${index}`)
      }),
    )
    expect(host.evaluated).toHaveLength(5)
    expect(statuses(answers).filter((status) => status === 400)).toHaveLength(5)
    expect(new Set(statuses(answers))).toEqual(new Set([400, 429]))
  })
})

describe('wrong passwords', () => {
  let host: Watched
  beforeEach(async () => {
    host = await start(undefined)
    stopClock()
  })

  test('an account that does not exist is locked too, whatever the case and the spaces of its name', async () => {
    const browser = from(host, '198.51.100.1')
    await failTimes(5, browser, 'unknown@example.com')
    for (const name of ['unknown@example.com', ' UNKNOWN@example.com '])
      expectThrottled(await attempt(browser, 'wrong', name), 900)
  })

  test('only the beginning of a name that is too long to exist is normalized', async () => {
    const normalize = jest.spyOn(String.prototype, 'normalize')
    const browser = from(host, '198.51.100.1')
    const answers = await many(6, (index) => attempt(browser, 'wrong', `${'ﷺ'.repeat(1500)}${index}`))
    expect(statuses(answers)).toEqual([400, 400, 400, 400, 400, 429])
    const lengths = normalize.mock.contexts.map((name) => String(name).length)
    expect(Math.max(...lengths)).toBeLessThanOrEqual(256)
  })

  test('a user whose name looks the same cannot reset the count between guesses', async () => {
    const name = `${ada.email.replace('d', 'ｄ').toUpperCase()} `
    const browser = from(host, '198.51.100.1')
    const guesses = await many(9, async (index) => {
      if (index % 4 === 3) codeOf(await browser.grant(`${url}&prompt=login`, name, twin))
      return again(browser, 'wrong')
    })
    expect(statuses(guesses)).toEqual([...Array(5).fill(400), ...Array(4).fill(429)])
    expectThrottled(await again(browser), 900)
    // Their own browser is not known to the account that they guess at, at any address.
    const moved = from(host, '198.51.100.2')
    for (const [cookie, value] of browser.cookies) moved.cookies.set(cookie, value)
    expect(statuses(await failTimes(6, moved))).toEqual([...Array(5).fill(400), 429])
  })

  test('a browser known to one user of a name cannot sign in another whose name is locked', async () => {
    const known = from(host, '198.51.100.1', { 'X-Tenant': 'theirs' })
    codeOf(await known.grant(url))
    await failTimes(5, from(host, '198.51.100.1'))
    const theirs = `${ada.password} of theirs`
    const [wrong, right] = [await again(known, 'wrong'), await again(known, theirs)]
    expect([wrong.status, right.status]).toEqual([400, 400])
    const shown = ({ html }: Answer) => html.replace(/value="[^"]*"|lk_ar_[\w-]+/g, '')
    expect(shown(right)).toBe(shown(wrong))
    codeOf(await again(known))
    // Without a lock the password alone decides.
    codeOf(await from(host, '198.51.100.2', { 'X-Tenant': 'theirs' }).grant(url, ada.email, theirs))
  })

  test('twenty from one address lock it for new accounts; a success resets no failures of others', async () => {
    const rows = () => host.table('throttles').select().orderBy('key')
    const address = '198.51.100.9'
    const fail = (name: string) => attempt(from(host, address), 'wrong', `${name}@example.com`)
    expect((await fail('first')).status).toBe(400)
    await count(19)
    codeOf(await from(host, address).grant(url, bob.email, twin))
    expect((await fail('twentieth')).status).toBe(400)
    expectThrottled(await attempt(from(host, address), ada.password), 900)
    const before = await rows()
    for (const name of ['first', 'other']) expectThrottled(await fail(name), 900)
    // What is refused writes nothing.
    expect(await rows()).toEqual(before)
  })

  test('at an address beyond its limit, a name that has signed in there signs in from any browser', async () => {
    const address = '198.51.100.9'
    codeOf(await from(host, address).grant(url))
    await fillIn(host, address)
    const shared = from(host, address)
    expectThrottled(await again(shared, 'wrong'), 900)
    codeOf(await again(shared))
    // Not another account, and not from an address that has seen no sign-in of this one.
    expectThrottled(await again(from(host, address), twin, bob.email), 900)
    await fillIn(host, '198.51.100.10')
    expectThrottled(await again(from(host, '198.51.100.10')), 900)
  })

  test('a sign-in from a known browser writes nothing about its address', async () => {
    const browser = from(host, '198.51.100.9')
    const signIns = () => host.table('throttles').where('key', 'like', 'loginAt:%').select('points')
    codeOf(await browser.grant(url))
    expect(await signIns()).toEqual([{ points: 1 }])
    codeOf(await again(browser))
    expect(await signIns()).toEqual([{ points: 1 }])
  })

  test('beyond the limit of an address, an account has no more guesses than below it', async () => {
    const clock = stopClock()
    const address = '198.51.100.9'
    codeOf(await from(host, address).grant(url))
    await fillIn(host, address)
    for (let guess = 1; guess <= 6; guess += 1)
      expectThrottled(await again(from(host, address), 'wrong'), 900)
    expect(host.evaluated.filter((password) => password === 'wrong')).toHaveLength(5)
    expectThrottled(await again(from(host, address)), 900)
    // These failures are announced, and lock the account.
    const types = host.events.map(({ type }) => type)
    expect(types.filter((type) => type === 'login.failed')).toHaveLength(25)
    expect(types.filter((type) => type === 'login.locked')).toHaveLength(1)
    // What makes the name known there is over after a month.
    clock.travel(31 * 86_400)
    await fillIn(host, address)
    expectThrottled(await again(from(host, address)), 900)
  })

  test('all names that are known at an address fail ten times as often as it allows to others, no more', async () => {
    const address = '198.51.100.9'
    codeOf(await from(host, address).grant(url))
    await fillIn(host, address)
    expectThrottled(await again(from(host, address), 'wrong'), 900)
    const key = 'loginReturning:198.51.100.9'
    expect(await host.table('throttles').where({ key }).update({ points: 200 })).toBe(1)
    expectThrottled(await again(from(host, address)), 900)
  })

  test('fifty in a day against one account, each from another address, lock no known browser out', async () => {
    const known = from(host, '198.51.100.200')
    codeOf(await known.grant(url))
    expect((await attempt(from(host, '203.0.113.1'), 'wrong')).status).toBe(400)
    await count(49)
    expect((await attempt(from(host, '203.0.113.2'), 'wrong')).status).toBe(400)
    const stranger = await attempt(from(host, '203.0.113.99'), ada.password)
    expect(stranger.status).toBe(429)
    codeOf(await again(known))
    // Other accounts are not affected.
    expect((await attempt(from(host, '203.0.113.99'), 'wrong', bob.email)).status).toBe(400)
  })

  test('a known browser that guesses is locked too', async () => {
    const known = from(host, '198.51.100.200')
    codeOf(await known.grant(url))
    expect(statuses(await failTimes(5, known))).toEqual(Array(5).fill(400))
    expectThrottled(await again(known), 900)
    // A device cookie of one account does not count for another.
    const other = known.clone()
    other.cookies.delete([...other.cookies.keys()].find((name) => name.endsWith('_session')) ?? '')
    expect((await attempt(other, 'wrong', bob.email)).status).toBe(400)
  })

  test('the events have neither password nor login name, and share a request id with the answer', async () => {
    const browser = from(host, '198.51.100.1')
    await many(6, () => attempt(browser, 'a secret guess'))
    const logins = host.events.filter(({ type }) => type.startsWith('login.'))
    const types = [...Array(5).fill('login.failed'), 'login.locked', 'login.refused']
    expect(logins.map(({ type }) => type)).toEqual(types)
    expect(logins[5]).toMatchObject({ address: '198.51.100.1', clientId: 'web', seconds: 900 })
    expect(logins[5]?.requestId).toBe(logins[4]?.requestId)
    expect(new Set(logins.map(({ requestId }) => requestId)).size).toBe(6)
    const rows = await host.table('throttles')
    const kept = JSON.stringify([host.events, rows])
    expect(kept).not.toMatch(/secret guess|ada@example/)
    expect(kept).not.toContain(hashSecret(ada.email))
    const account = await host.oauth.users.accountOf(` ${ada.email.toUpperCase()}`)
    expect(logins[0]).toMatchObject({ account })
  })
})

describe('locks', () => {
  test('last twice as long each time, an hour at most, and end by themselves', async () => {
    const host = await start(undefined)
    const clock = stopClock()
    const browser = from(host, '198.51.100.1')
    for (const seconds of [900, 1800, 3600, 3600]) {
      await failTimes(5, browser)
      expectThrottled(await attempt(browser, ada.password), seconds)
      clock.travel(seconds - 1)
      expectThrottled(await attempt(browser, ada.password), 1)
      clock.travel(1)
    }
    codeOf(await browser.grant(url))
    const locks = host.events.flatMap((event) => (event.type === 'login.locked' ? [event.seconds] : []))
    expect(locks).toEqual([900, 1800, 3600, 3600])
  })

  test('apply to every process on the same database', async () => {
    const host = await start(undefined)
    const other = await start(undefined)
    await failTimes(3, from(host, '198.51.100.1'))
    await failTimes(2, from(other, '198.51.100.1'))
    for (const { app } of [host, other])
      expect((await attempt(from({ app }, '198.51.100.1'), ada.password)).status).toBe(429)
  })
})

test('the networks of one IPv6 site share a limit, for all names', async () => {
  const host = await start({ failures: { loginNetwork: { max: 3, seconds: 60 } } })
  const fail = (site: number) => (index: number) =>
    attempt(from(host, `2001:db8:${site}:${index}::1`), 'wrong', `person-${index}@example.com`)
  expect(statuses(await many(5, fail(7)))).toEqual([400, 400, 400, 429, 429])
  expect(statuses(await many(1, fail(8)))).toEqual([400])
})

test.each([
  ['198.51.100.1:51004', '198.51.100.2:51004', '198.51.100.1', 'addresses with a port'],
  ['[2001:db8:1::1]:51004', '[2001:db8:2::1]:443', '2001:db8:1::1', 'addresses with a port'],
  ['[2001:db8:1::1]', '[2001:db8:2::1]', '2001:db8:1::1', 'addresses with a port'],
  ['198.51.100.1', 'not an address', '198.51.100.1', 'no IP address'],
])('%s and %s count separately, and one warning names the proxy', async (one, other, address, warning) => {
  const host = await start({ failures: { loginAddress: { max: 1, seconds: 60 } } })
  const attempts = [one, other, address, other]
  const answers = await many(4, (index) => attempt(from(host, attempts[index]!), 'wrong'))
  expect(statuses(answers)).toEqual([400, 400, 429, 429])
  expect(host.events[0]?.address).toBe(address)
  expect(host.warnings).toEqual([expect.stringContaining(warning)])
})

test('each limit can be changed or turned off', async () => {
  const failures = {
    loginAccountAddress: { max: 2, seconds: 60 },
    loginAddress: false,
    loginAccount: false,
  } as const
  const host = await start({ failures })
  const browser = from(host, '198.51.100.1')
  expect(statuses(await failTimes(3, browser))).toEqual([400, 400, 429])
  const strangers = await many(21, (index) => attempt(browser, 'wrong', `person-${index}@example.com`))
  expect(new Set(statuses(strangers))).toEqual(new Set([400]))
})

test('without the limit per account and address, a known browser still has one of its own', async () => {
  const failures = { loginAccountAddress: false, loginAccount: { max: 3, seconds: 60 } } as const
  const host = await start({ failures })
  const known = from(host, '198.51.100.1')
  codeOf(await known.grant(url))
  expect(statuses(await failTimes(7, known))).toEqual([...Array(5).fill(400), 429, 429])
})

test('latchkey user unlock lets the user sign in at once, but cannot lift locks held in memory', async () => {
  const host = await start(undefined)
  const browser = from(host, '198.51.100.1')
  await failTimes(5, browser)
  const { knex, tablePrefix } = first.database
  const invocation = {
    arguments: [ada.email],
    text: () => undefined,
    texts: () => undefined,
    flag: () => false,
  }
  const notes: string[] = []
  jest.spyOn(process.stderr, 'write').mockImplementation((text) => notes.push(String(text)) > 0)
  const unlock = async (limits: AuthRouterOptions['limits']): Promise<void> => {
    const secrets: AuthRouterOptions['secrets'] = ['a secret of the tests that is long enough']
    const context: CommandContext = {
      ...openDatabase(knex, tablePrefix),
      options: resolveOptions({ limits, secrets }),
      installed: [],
      events: { announce: () => {}, change: changeSilently },
      server: () => Promise.reject(new Error('this command needs no server')),
      ready: async () => {},
      now: () => Math.floor(Date.now() / 1000),
    }
    if ('run' in unlockUserCommand) await unlockUserCommand.run(context, invocation)
  }
  await expect(unlock({ store: 'memory' })).rejects.toThrow('call oauth.users.unlock() there')
  expectThrottled(await attempt(browser, ada.password), 900)
  await unlock(undefined)
  codeOf(await browser.grant(url))
  await unlock(undefined)
  expect(notes).toEqual([`user ${ada.email} can sign in again\n`, `user ${ada.email} was not locked\n`])
})

test('limits: false turns all limits off, and sets no device cookie', async () => {
  const host = await start(false)
  const browser = from(host, '198.51.100.1')
  expect(new Set(statuses(await failTimes(21, browser)))).toEqual(new Set([400]))
  codeOf(await browser.grant(url))
  expect([...browser.cookies.keys()].filter((name) => name.includes('known'))).toEqual([])
})

test('a known browser signs in while other browsers fill the queue of password checks', async () => {
  const checks: (() => void)[] = []
  const { database, usersTable } = first
  await database.knex(usersTable).update({ password_hash: 'of another kind' })
  const own = await startHost({
    database,
    clients: [],
    options: {
      limits: { failures: { loginAccountAddress: false, loginAccount: false } },
      users: {
        table: usersTable,
        columns: { id: 'id', username: 'email', password: 'password_hash' },
        verify: async (_row, { password }) => {
          if (password !== ada.password) await new Promise<void>((resolve) => checks.push(resolve))
          return password === ada.password
        },
      },
    },
  })
  own.app.set('trust proxy', 1)
  const known = from(own, '198.51.100.1')
  codeOf(await known.grant(url))
  const renewed = await known.open(`${url}&prompt=login`)
  let turnedAway = 0
  const stranger = from(own, '203.0.113.1')
  const form = await stranger.open(url)
  const crowd = Array.from({ length: 110 }, async (_, index) => {
    const headers = { 'X-Forwarded-For': `203.0.113.${index}` }
    const browser = new RawBrowser(own.app, undefined, headers, stranger.cookies)
    const answer = await browser.signIn(form, ada.email, 'wrong')
    if (answer.status === 503) turnedAway += 1
    return answer.status
  })
  // Until the queue is full; how many checks run at once depends on the machine.
  while (turnedAway === 0) await new Promise((resolve) => setImmediate(resolve))
  const letIn = known.signIn(renewed)
  expect((await attempt(from(own, '203.0.113.200'), 'wrong')).status).toBe(503)
  const everyone = Promise.all(crowd)
  let isOver = false
  void everyone.then(() => {
    isOver = true
  })
  while (!isOver) {
    checks.shift()?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
  codeOf(await letIn)
  expect(new Set(await everyone)).toEqual(new Set([400, 503]))
})

describe('clients', () => {
  const token = (host: Host, fields: Record<string, string>, address = '198.51.100.1') =>
    post(host, { grant_type: 'client_credentials', ...fields }).set('X-Forwarded-For', address)

  test('that fail thirty times a minute are refused, known or not, for that client and address', async () => {
    const host = await start(undefined)
    for (const client_id of ['web', 'unknown']) {
      for (let index = 0; index < 30; index += 1)
        await token(host, { client_id, client_secret: `wrong ${index}` }).expect(401)
      const refused = await token(host, { ...web, client_id })
      expectError(refused, 429, 'temporarily_unavailable')
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
      expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(60)
    }
    expect((await token(host, web, '198.51.100.2')).status).toBe(200)
    expect(host.events.filter(({ type }) => type === 'client.refused')).toHaveLength(60)
  })

  test('that succeed are never refused and write nothing', async () => {
    const host = await start(undefined)
    for (let index = 0; index < 31; index += 1) expect((await token(host, web)).status).toBe(200)
    expect(await host.table('throttles')).toEqual([])
  })

  test('with invalid tokens get 429 at UserInfo, while a valid token is accepted', async () => {
    const host = await start({ failures: { userinfo: { max: 3, seconds: 60 } } })
    const { access_token } = await tokensFor(host, { scope: 'openid' })
    const dead = `lk_at_${'x'.repeat(43)}`
    for (let index = 0; index < 3; index += 1) expect((await userinfo(host, dead)).status).toBe(401)
    expect((await userinfo(host, dead)).status).toBe(429)
    expect((await userinfo(host, access_token)).status).toBe(200)
  })
})

/** Other spellings of a name: in other cases, widths and accents, and with invisible characters. */
const spellingsOf = (name: string): string[] => {
  const letters = Array.from(name)
  const withAdded = (place: number, added: string): string =>
    [...letters.slice(0, place + 1), added, ...letters.slice(place + 1)].join('')
  const wide = (letter: string): string =>
    /[a-z]/.test(letter) ? String.fromCodePoint((letter.codePointAt(0) ?? 0) + 0xfee0) : letter
  return [
    ...['\u0301', '\u0327', '\u00ad', '\u200b', '\u200d', '\u0001'].flatMap((added) =>
      [0, 1, 2, 4].map((place) => withAdded(place, added)),
    ),
    ...['á', 'à', 'Ä', 'ậ', 'ａ'].map((first) => first + name.slice(1)),
    letters.map(wide).join(''),
    name.toUpperCase(),
  ]
}

describeWith('mariadb', 'an account that MariaDB finds under many spellings', () => {
  test('has one limit for all of them, although the host does not compare the name (M6)', async () => {
    const people = createKnex({ client: 'mysql2', connection: services.mariadb })
    const table = `people_${process.pid}`
    const collation = 'varchar(255) character set utf8mb4 collate utf8mb4_unicode_ci'
    await people.schema.createTable(table, (columns) => void columns.specificType('email', collation))
    await people(table).insert({ email: ada.email })
    const found: string[] = []
    const authenticate = async ({ username }: { username: string }): Promise<undefined> => {
      if (await people(table).where({ email: username }).first()) found.push(username)
    }
    const users = { find: (id: string) => ({ id }), authenticate }
    const host = await startHost({ options: { users }, database: first.database, clients: [] })
    host.app.set('trust proxy', 1)
    try {
      const spellings = spellingsOf(ada.email)
      const answers = await many(spellings.length, (index) =>
        attempt(from(host, '198.51.100.1'), 'wrong', spellings[index]),
      )
      expect(found).toHaveLength(5)
      expect(statuses(answers).filter((status) => status === 429)).toHaveLength(spellings.length - 5)
    } finally {
      await people.schema.dropTable(table)
      await people.destroy()
    }
  })
})

describeWith('redis', 'Redis', () => {
  test('counts for all processes; while it is unavailable, each process counts by itself', async () => {
    const client = createClient({ url: services.redis, database: 9 })
    client.on('error', () => {})
    await client.connect()
    const host = await start({ store: client })
    const counts = (): Promise<string[]> => client.keys(`latchkey:${host.database.tablePrefix}*`)
    for (const key of await counts()) await client.del(key)
    const other = await start({ store: client })
    await failTimes(3, from(host, '198.51.100.1'))
    await failTimes(2, from(other, '198.51.100.1'))
    for (const { app } of [host, other])
      expect((await attempt(from({ app }, '198.51.100.1'), ada.password)).status).toBe(429)
    const keys = (await counts()).join()
    expect(keys).toContain('latchkey:')
    expect(keys).not.toContain('ada@')
    client.destroy()
    const answers = await failTimes(6, from(host, '198.51.100.3'))
    expect(statuses(answers)).toEqual([...Array(5).fill(400), 429])
  })
})
