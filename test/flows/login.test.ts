import { scryptSync } from 'node:crypto'
import { hash as argon2 } from '@node-rs/argon2'
import { hash as bcrypt } from '@node-rs/bcrypt'
import express from 'express'
import session from 'express-session'
import { seedUsers } from '../../lib/index.ts'
import { stopClock } from '../support/clock.ts'
import { authorizeUrl, type Host, type HostSettings, startHost } from '../support/host.ts'
import {
  claimsOf,
  codeOf,
  expectErrorPage,
  expectErrorRedirect,
  expectExpiredPage,
} from '../support/outcomes.ts'
import { type Answer, fieldsOf, RawBrowser } from '../support/raw-browser.ts'
import { answerOf, redeem, refresh, userinfo } from '../support/tokens.ts'

const open: Host[] = []
const start = async (settings?: HostSettings): Promise<Host> => {
  // Wrong passwords are what most of this is about; their limits have a test of their own.
  const host = await startHost({ ...settings, options: { throttle: false, ...settings?.options } })
  open.push(host)
  return host
}
let host: Host
beforeAll(async () => {
  host = await start()
})
afterAll(() => Promise.all(open.map((each) => each.close())))
afterEach(() => jest.restoreAllMocks())

const web = { client_id: 'web', scope: 'openid', state: 's' }
const ada = { username: 'ada@example.com', password: 'ada’s password' }
const bob = { username: 'bob@example.com', password: 'bob’s password' }
const people = () => host.database.knex(host.usersTable)
const browser = () => new RawBrowser(host.app)
const isLogin = ({ status, url, html }: Answer) => {
  return { status, path: url.pathname, asks: html.includes('name="password"') }
}
const loginPage = { status: 200, path: '/oauth/login', asks: true }
const refusal = { status: 400, path: '/oauth/login', asks: true }

/** Whether the browser is logged in is what a silent request tells. */
const silent = authorizeUrl({ ...web, prompt: 'none' })
const expectNobody = async (agent: RawBrowser): Promise<void> =>
  expectErrorRedirect(await agent.get(silent), 'login_required', { state: 's' })

const idTokenFrom = async (answer: Answer, of = host) => {
  const { body } = await redeem(of, codeOf(answer))
  return { ...claimsOf(body.id_token), access: body.access_token } as Record<string, unknown>
}

const password = '  a pässword with spaces around  '
const scrypt = (text: string) => {
  const encode = (bytes: Buffer) => bytes.toString('base64').replaceAll('=', '')
  const salt = Buffer.from('sixteen bytes !!')
  return `$scrypt$ln=10,r=8,p=1$${encode(salt)}$${encode(scryptSync(text, salt, 32, { N: 1024, r: 8, p: 1 }))}`
}

test.each([
  ['bcrypt 2b', () => bcrypt(password, { cost: 4 })],
  ['argon2id', () => argon2(password, { memoryCost: 64, timeCost: 1, parallelism: 1 })],
  ['scrypt', async () => scrypt(password)],
])('a hash of %s that the table has is verified, and the password is not trimmed', async (_, make) => {
  await people().insert({ id: 9, email: 'old@example.com', password_hash: await make() })
  const agent = browser()
  const page = await agent.open(authorizeUrl(web))
  for (const wrong of [password.trim(), password.trimEnd(), `${password} `, password.toUpperCase()]) {
    expect(isLogin(await agent.signIn(page, 'old@example.com', wrong))).toEqual(refusal)
  }
  const done = await agent.decide(await agent.signIn(page, 'old@example.com', password), 'allow')
  expect((await idTokenFrom(done)).sub).toBe('9')
  await people().where({ id: 9 }).delete()
  await host.database.knex(`${host.database.tablePrefix}consents`).where({ subject: '9' }).delete()
})

describe('the page', () => {
  test('names the client and the place it is at, and asks for nothing else', async () => {
    const page = await browser().open(authorizeUrl(web))
    expect(isLogin(page)).toEqual(loginPage)
    expect(page.html.replace(/<[^>]+>/g, '')).toContain('to continue to Web client (client.example.com)')
    const names = Object.keys(fieldsOf(page, 'name="password"')).sort()
    expect(names.join(' ')).toBe('authorization_request csrf_token password username')
  })

  test('has login_hint filled in and escaped', async () => {
    const hint = `ada"><script>alert(1)</script>`
    const page = await browser().open(authorizeUrl({ ...web, login_hint: hint }))
    expect(fieldsOf(page, 'name="password"').username).toBe(hint)
    expect(page.html).not.toContain('<script>alert')
  })

  test('keeps the name typed after a failure, escaped, and never the password', async () => {
    const agent = browser()
    const name = `<b>"no'body"</b>`
    const page = await agent.signIn(await agent.open(authorizeUrl(web)), name, 'not the password of anyone')
    expect(isLogin(page)).toEqual(refusal)
    expect(fieldsOf(page, 'name="password"')).toMatchObject({ username: name, password: '' })
    expect(page.html).toContain('&lt;b&gt;')
    expect(page.html).not.toContain('not the password of anyone')
    expect(page.html).toMatch(/<title>Error: /)
  })
})

describe('every failure is one answer', () => {
  /** What differs between two pages of the same request must be nothing but the name typed. */
  const without = (answer: Answer, name: string) => ({
    status: answer.status,
    html: answer.html.replace(`value="${name}"`, 'value="…"'),
    headers: { ...answer.headers, date: '', 'content-length': '', etag: '' },
  })

  test('unknown, wrong, disabled, empty, too long, with NUL', async () => {
    const agent = browser()
    const page = await agent.open(authorizeUrl(web))
    const wrong = without(await agent.signIn(page, ada.username, 'wrong'), ada.username)
    expect(wrong.status).toBe(400)
    expect(wrong.html).toContain('Wrong email, username or password')
    const attempts = [
      ['nobody@example.com', ada.password],
      ['cut@example.com', 'cut’s password'],
      [ada.username, ''],
      [ada.username, `${ada.password}\0`],
      [ada.username, 'x'.repeat(1025)],
      [ada.username, 'x'.repeat(9000)],
      ['n'.repeat(256), 'x'],
    ]
    for (const [name = '', attempt = ''] of attempts) {
      expect(without(await agent.signIn(page, name, attempt), name)).toEqual(wrong)
    }
    await expectNobody(agent)
    codeOf(await agent.grant(authorizeUrl(web)))
  })

  test('a password of exactly 1,024 characters is one', async () => {
    const long = 'ß'.repeat(1024)
    const password_hash = await argon2(long, { memoryCost: 64, timeCost: 1, parallelism: 1 })
    await people().insert({ id: 8, email: 'long@example.com', password_hash })
    const agent = browser()
    const page = await agent.open(authorizeUrl(web))
    expect(isLogin(await agent.signIn(page, 'long@example.com', `${long}ß`))).toEqual(refusal)
    expect((await agent.signIn(page, 'long@example.com', long)).url.pathname).toBe('/oauth/consent')
    await people().where({ id: 8 }).delete()
  })
})

describe('the form', () => {
  const attempt = async (more: Record<string, string>, headers: Record<string, string> = {}) => {
    const agent = browser()
    const fields = fieldsOf(await agent.open(authorizeUrl(web)), 'name="password"')
    return agent.post('/oauth/login', { ...fields, ...ada, ...more }, headers)
  }

  test.each([
    { 'Sec-Fetch-Site': 'same-origin', Origin: 'http://localhost:3000' },
    { 'Sec-Fetch-Site': 'none' },
    { Origin: 'null' },
    {},
  ])('is accepted with %j', async (headers) => {
    const { status, location } = await attempt({}, headers as Record<string, string>)
    expect([status, location?.pathname]).toEqual([303, '/callback'])
  })

  test('of more than 16 kB is 413', async () => {
    expectErrorPage(await attempt({ padding: 'x'.repeat(16_384) }), 413)
  })
})

describe('who is logged in', () => {
  test('is remembered until the account is disabled', async () => {
    const agent = browser()
    codeOf(await agent.grant(authorizeUrl(web), bob.username, bob.password))
    codeOf(await agent.open(authorizeUrl(web)))
    await people().where({ id: 2 }).update({ disabled_at: 1 })
    expect(isLogin(await agent.open(authorizeUrl(web)))).toEqual(loginPage)
    await expectNobody(agent)
    const refused = await agent.signIn(await agent.open(authorizeUrl(web)), bob.username, bob.password)
    expect(isLogin(refused)).toEqual(refusal)
    await people().where({ id: 2 }).update({ disabled_at: null })
    codeOf(await agent.open(authorizeUrl(web)))
  })
})

describe('users behind functions', () => {
  const users = new Map([['u-1', { id: 'u-1', username: 'Grace', disabled: false }]])
  const seen: string[][] = []
  let own: Host
  beforeAll(async () => {
    own = await start({
      options: {
        users: {
          find: async (id) => (users.get(id)?.disabled === false ? users.get(id) : undefined),
          authenticate: (username, given, req) => {
            seen.push([username, given, req.method])
            return username === 'grace' && given === ' p ' ? users.get('u-1') : undefined
          },
          claims: () => ({ name: 'Grace H.', email: 'g@example.com', sub: 'forged', iss: 'forged' }),
        },
      },
    })
  })

  test('authenticate, find and claims are called, and cannot override protocol claims', async () => {
    const agent = new RawBrowser(own.app)
    const page = await agent.open(authorizeUrl({ ...web, scope: 'openid profile' }))
    expect(isLogin(await agent.signIn(page, 'grace', 'p'))).toEqual(refusal)
    const consent = await agent.signIn(page, 'grace', ' p ')
    expect(seen.at(-1)).toEqual(['grace', ' p ', 'POST'])
    expect(consent.html).toContain('Grace H.')
    const token = await idTokenFrom(await agent.decide(consent, 'allow'), own)
    expect(token).toMatchObject({ sub: 'u-1', name: 'Grace H.', iss: 'http://localhost:3000/oauth' })
    expect(token).not.toHaveProperty('email')
    users.set('u-1', { id: 'u-1', username: 'Grace', disabled: true })
    expect(isLogin(await agent.open(authorizeUrl(web)))).toEqual(loginPage)
    users.set('u-1', { id: 'u-1', username: 'Grace', disabled: false })
  })
})

describe("the kit's own accounts", () => {
  test('a seeded one logs in; a disabled one does not', async () => {
    const own = await start({ options: { users: undefined } })
    const { knex, tablePrefix } = own.database
    const profile = { name: 'Grace', email: 'g@example.com', email_verified: true }
    const grace = { username: 'grace', password: ' correct horse ', ...profile }
    const [seeded] = await seedUsers(knex, [grace], { tablePrefix })
    const agent = new RawBrowser(own.app)
    const page = await agent.open(authorizeUrl({ ...web, scope: 'openid profile email' }))
    expect(isLogin(await agent.signIn(page, 'grace', 'correct horse'))).toEqual(refusal)
    expect(isLogin(await agent.signIn(page, 'hopper', ' correct horse '))).toEqual(refusal)
    const done = await agent.decide(await agent.signIn(page, 'grace', ' correct horse '), 'allow')
    expect(await idTokenFrom(done, own)).toMatchObject({ sub: seeded?.subject, ...profile })
    await knex(`${tablePrefix}users`).where({ id: seeded?.subject }).update({ disabled_at: 1 })
    const again = await agent.open(authorizeUrl(web))
    expect(isLogin(again)).toEqual(loginPage)
    expect(isLogin(await agent.signIn(again, 'grace', ' correct horse '))).toEqual(refusal)
  })
})

describe('an account that is seeded again', () => {
  const password = 'correct horse'
  const visit = async (seeds: readonly string[]) => {
    const own = await start({ options: { users: undefined } })
    const { knex, tablePrefix } = own.database
    const seed = (text: string) => seedUsers(knex, [{ username: 'grace', password: text }], { tablePrefix })
    await seed(password)
    const agent = new RawBrowser(own.app)
    const url = authorizeUrl({ ...web, scope: 'openid offline_access' })
    const done = await agent.grant(url, 'grace', password)
    const tokens = await answerOf(redeem(own, codeOf(done)))
    for (const text of seeds) await seed(text)
    const refreshed = (await refresh(own, tokens.refresh_token)).status
    const read = (await userinfo(own, tokens.access_token)).status
    const { location } = await agent.get(silent)
    return [refreshed, read, location?.searchParams.get('error') ?? 'signed in']
  }

  test('with another password loses all logins and tokens', async () => {
    expect(await visit(['another horse'])).toEqual([400, 401, 'login_required'])
  })

  test('with the same password keeps them', async () => {
    expect(await visit([password, password])).toEqual([200, 200, 'signed in'])
  })
})

describe("the host's own login page", () => {
  interface HostSession {
    user?: { id: number; time: number }
  }
  const sessionOf = (req: express.Request) => req.session as unknown as HostSession
  const login: HostSettings['options'] = {
    login: {
      url: '/login?theme=dark',
      current: (req) => {
        const { user } = sessionOf(req)
        return user && { subject: user.id, authTime: user.time, amr: ['pwd', 'otp'] }
      },
    },
  }
  let own: Host
  beforeAll(async () => {
    own = await start({
      options: login,
      before: [session({ secret: 'x', resave: false, saveUninitialized: false, name: 'host.sid' })],
    })
    own.app.post('/login', express.urlencoded({ extended: false }), (req, res, next) =>
      req.session.regenerate((error) => {
        if (error) return next(error)
        sessionOf(req).user = { id: Number(req.body.id), time: Math.floor(Date.now() / 1000) }
        res.redirect(302, req.body.return_to)
      }),
    )
    own.app.post('/logout', (req, res) => void req.session.destroy(() => res.sendStatus(204)))
    own.app.get('/login', (_req, res) => void res.send('the host’s page'))
  })

  test('gets the browser with a path to return to, and the return page leads to the code', async () => {
    const clock = stopClock()
    const agent = new RawBrowser(own.app)
    const page = await agent.open(authorizeUrl({ ...web, login_hint: 'ada@example.com' }))
    expect(page.html).toBe('the host’s page')
    const { return_to: returnTo = '', ...others } = Object.fromEntries(page.url.searchParams)
    expect(others).toEqual({ theme: 'dark', login_hint: 'ada@example.com' })
    expect(returnTo).toMatch(/^\/oauth\/login\?authorization_request=lk_ar_[\w-]{43}$/)
    const back = await agent.follow(await agent.post('/login', { id: '1', return_to: returnTo }))
    expect({ status: back.status, path: back.url.pathname }).toEqual({ status: 200, path: '/oauth/login' })
    expect(back.headers['cache-control']).toBe('no-store')
    const link = /<a [^>]*id="continue" href="([^"]+)"/.exec(back.html)?.[1]?.replaceAll('&amp;', '&') ?? ''
    expect(link).toMatch(/^\/oauth\/authorize\?/)
    expect(back.html).toContain(`content="0; url=${link.replaceAll('&', '&amp;')}"`)
    const loggedIn = clock.now()
    clock.travel(5)
    const done = await agent.decide(await agent.open(link), 'allow')
    expect(await idTokenFrom(done, own)).toMatchObject({ sub: '1', auth_time: loggedIn, amr: ['pwd', 'otp'] })
    codeOf(await agent.open(authorizeUrl(web)))
    expectExpiredPage(await agent.open(link))
  })

  test('without a login after the bounce the client hears login_required', async () => {
    const agent = new RawBrowser(own.app)
    const page = await agent.open(authorizeUrl(web))
    const back = await agent.open(page.url.searchParams.get('return_to') ?? '')
    const link = /id="continue" href="([^"]+)"/.exec(back.html)?.[1]?.replaceAll('&amp;', '&') ?? ''
    expectErrorRedirect(await agent.open(link), 'login_required', { state: 's' })
    expectExpiredPage(await agent.open(link))
  })

  test.each([
    ['prompt=login', { prompt: 'login' }, 'login'],
    ['max_age=0', { max_age: '0' }, 'login'],
    ['prompt=login consent', { prompt: 'consent login' }, 'login consent'],
  ])('%s is passed on, and takes a renewed login', async (_, demand, said) => {
    const clock = stopClock()
    const agent = new RawBrowser(own.app)
    await agent.post('/login', { id: '1', return_to: '/' })
    const request = authorizeUrl({ ...web, ...demand })
    clock.travel(10)
    const page = await agent.open(request)
    expect(page.html).toBe('the host’s page')
    expect(page.url.searchParams.get('prompt')).toBe(said)
    const returnTo = page.url.searchParams.get('return_to') ?? ''
    const follow = async () => {
      const back = await agent.open(returnTo)
      return agent.open(/id="continue" href="([^"]+)"/.exec(back.html)?.[1]?.replaceAll('&amp;', '&') ?? '')
    }
    clock.travel(10)
    await agent.post('/login', { id: '1', return_to: returnTo })
    const renewed = await follow()
    const done = renewed.url.pathname === '/oauth/consent' ? await agent.decide(renewed, 'allow') : renewed
    expect(await idTokenFrom(done, own)).toMatchObject({ auth_time: clock.now() })
    // Not renewed: the old login is not enough.
    const second = await agent.open(request)
    const back = await agent.open(second.url.searchParams.get('return_to') ?? '')
    const link = /id="continue" href="([^"]+)"/.exec(back.html)?.[1]?.replaceAll('&amp;', '&') ?? ''
    expectErrorRedirect(await agent.open(link), 'login_required', { state: 's' })
  })

  test('signing out at the host ends the login, and the next person is asked for', async () => {
    const agent = new RawBrowser(own.app)
    await agent.post('/login', { id: '1', return_to: '/' })
    codeOf(await agent.grant(authorizeUrl(web)))
    await agent.post('/logout', {})
    await expectNobody(agent)
    await agent.post('/login', { id: '2', return_to: '/' })
    const done = await agent.grant(authorizeUrl(web))
    expect((await idTokenFrom(done, own)).sub).toBe('2')
  })

  test('a user that users.find does not return is not logged in', async () => {
    const agent = new RawBrowser(own.app)
    await agent.post('/login', { id: '3', return_to: '/' })
    await expectNobody(agent)
    await agent.post('/login', { id: '404', return_to: '/' })
    await expectNobody(agent)
  })

  test('on another origin return_to is a whole URL', async () => {
    const elsewhere = await start({
      options: { login: { url: 'https://login.example.com/in', current: () => undefined } },
      database: undefined,
    })
    const agent = new RawBrowser(elsewhere.app)
    const { location } = await agent.get(authorizeUrl(web))
    expect(location?.origin).toBe('https://login.example.com')
    const page = 'http://localhost:3000/oauth/login?authorization_request=lk_ar_'
    expect(location?.searchParams.get('return_to')).toContain(page)
  })

  test('without authTime the first request with a login is its time, until another user signs in', async () => {
    const clock = stopClock()
    let subject = 1
    const untimed = await start({
      options: { session: 'own', login: { url: '/login', current: () => ({ subject }) } },
      database: undefined,
    })
    const agent = new RawBrowser(untimed.app)
    const times = async () => (await idTokenFrom(await agent.grant(authorizeUrl(web)), untimed)).auth_time
    const first = clock.now()
    expect(await times()).toBe(first)
    clock.travel(60)
    expect(await times()).toBe(first)
    subject = 2
    expect(await times()).toBe(first + 60)
  })

  test('a time in milliseconds, of zero or that is no number is an error of the host, not a login', async () => {
    let authTime = Date.now()
    const login = { url: '/login', current: () => ({ subject: 1, authTime }) }
    const wrong = await start({ options: { login }, database: undefined })
    for (const time of [Date.now(), 0, Number.NaN]) {
      authTime = time
      expectErrorPage(await new RawBrowser(wrong.app).get(authorizeUrl(web)), 500)
    }
  })
})
