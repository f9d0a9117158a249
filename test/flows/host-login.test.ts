import type { RequestHandler } from 'express'
import session from 'express-session'
import { admin, authenticatorApps, device, passkeys, personalAccessTokens } from '../../lib/features/index.ts'
import type { AuthRouterOptions } from '../../lib/index.ts'
import { serverBehind } from '../../lib/router.ts'
import { stopClock } from '../support/clock.ts'
import { authorizeUrl, callback, type Host, type HostSettings, secret, startHost } from '../support/host.ts'
import {
  claimsOf,
  codeOf,
  expectErrorPage,
  expectErrorRedirect,
  expectExpiredPage,
} from '../support/outcomes.ts'
import { type Answer, RawBrowser } from '../support/raw-browser.ts'
import { introspectAs } from '../support/resource-host.ts'
import { answerOf, guarded, redeem, type TokenAnswer, userinfo } from '../support/tokens.ts'
import { endRestored } from './restored-backup.ts'

// Logins that the host reports (`login.current`). This host keeps them in a cookie of its own: `subject@time`.

const open: Host[] = []
afterAll(() => Promise.all(open.map((each) => each.close())))
afterEach(() => jest.restoreAllMocks())

type LoginOptions = NonNullable<AuthRouterOptions['login']>

const current: LoginOptions['current'] = ({ req: { headers } }) => {
  const [, subject, time] = /host_user=(\w+)(?:@|%40)(\d+)/.exec(headers.cookie ?? '') ?? []
  return subject && { subject, authTime: Number(time) }
}
const hostSession = () =>
  session({ secret: 'of the host', resave: false, saveUninitialized: false, name: 'host.sid' })

const start = async (login: LoginOptions = {}, settings: HostSettings = {}): Promise<Host> => {
  const host = await startHost({
    clients: [{ client_id: 'web', client_secret: secret, redirect_uris: [callback], first_party: true }],
    ...settings,
    options: { session: 'own', ...settings.options, login: { current, ...login } },
  })
  open.push(host)
  return host
}

const seconds = (): number => Math.floor(Date.now() / 1000)
const atHost = (agent: RawBrowser, subject: number, time = seconds()): void =>
  agent.cookies.set('host_user', `${subject}@${time}`)
/** Browsers whose only cookie is the same are one to Latchkey, so each test has its own times. */
const browser = (host: Host, subject?: number): RawBrowser => {
  const agent = new RawBrowser(host.app)
  if (subject !== undefined) atHost(agent, subject)
  return agent
}

const web = { client_id: 'web', scope: 'openid', state: 's' }
const silent = authorizeUrl({ ...web, prompt: 'none' })
const tokensOf = async (host: Host, agent: RawBrowser): Promise<TokenAnswer> =>
  answerOf(redeem(host, codeOf(await agent.get(silent))))
const subjectOf = ({ id_token }: TokenAnswer): unknown => claimsOf(id_token).sub
const standing = async (host: Host, tokens: readonly TokenAnswer[]): Promise<boolean[]> => {
  const answers = await Promise.all(tokens.map(({ access_token }) => userinfo(host, access_token)))
  return answers.map(({ status }) => status === 200)
}
const signOut = async (agent: RawBrowser): Promise<void> => {
  expect((await agent.submit(await agent.get('/oauth/logout'), 'csrf_token')).status).toBe(200)
}
const expectNoLogin = async (agent: RawBrowser): Promise<void> =>
  expectErrorRedirect(await agent.get(silent), 'login_required', { state: 's' })
const isOfSession = (name: string): boolean => name.endsWith('_session') || name === 'host.sid'
const loseSession = (agent: RawBrowser): void => agent.cookies.delete('host.sid')
const returnTo = ({ url, location = url }: Answer): string => location.searchParams.get('return_to') ?? ''
/** The link of the page to which the host's own login page leads back. */
const linkOf = ({ html }: Answer): string =>
  /<a [^>]*id="continue" href="([^"]+)"/.exec(html)?.[1]?.replaceAll('&amp;', '&') ?? ''

/** Where a session can be: Latchkey's own, the host's, and one that the router runs for its pages. */
const places = ['own', 'host', 'middleware'] as const
const settingsOf: Record<(typeof places)[number], () => HostSettings> = {
  own: () => ({}),
  host: () => ({ options: { session: 'host' }, before: [hostSession()] }),
  middleware: () => ({ options: { session: hostSession() } }),
}
const hosts = {} as Record<(typeof places)[number], Host>
let own: Host
beforeAll(async () => {
  for (const place of places) hosts[place] = await start({}, settingsOf[place]())
  own = hosts.own
})

describe('a session cookie that was copied earlier', () => {
  test('is of no use after another user has signed in at the host, and that user stays signed in', async () => {
    const agent = browser(own, 1)
    await tokensOf(own, agent)
    const noted = agent.clone()
    noted.cookies.delete('host_user')
    atHost(agent, 2, seconds() + 1)
    const tokens = await tokensOf(own, agent)
    expect(subjectOf(tokens)).toBe('2')
    await expectNoLogin(noted)
    expect(await standing(own, [tokens])).toEqual([true])
  })

  test.each(places)('gives no code without the login at the host (session: %s)', async (place) => {
    const agent = browser(hosts[place], 1)
    codeOf(await agent.get(silent))
    const thief = browser(hosts[place])
    for (const [name, value] of agent.cookies) if (isOfSession(name)) thief.cookies.set(name, value)
    expect(thief.cookies.size).toBe(1)
    await expectNoLogin(thief)
  })

  test('is replaced at each change of the login', async () => {
    const agent = browser(own)
    const seen = new Set<string>()
    for (const time of [1, 2, 2]) {
      atHost(agent, 1, time)
      codeOf(await agent.get(silent))
      for (const [name, value] of agent.cookies) if (isOfSession(name)) seen.add(value)
    }
    expect(seen.size).toBe(2)
  })
})

test.each<[string, Record<string, string>]>([
  ['another browser', { 'user-agent': 'Firefox' }],
  ['another network', { 'X-Forwarded-For': '198.51.100.7' }],
])('a device with the same cookies in %s has a login of its own', async (_, headers) => {
  const host = await start({ current: () => ({ subject: 1, authTime: 77 }) })
  host.app.set('trust proxy', true)
  const devices = [{ 'user-agent': 'Chrome' }, { 'user-agent': 'Chrome', ...headers }].map(
    (sent) => new RawBrowser(host.app, undefined, sent),
  )
  const tokens: TokenAnswer[] = []
  for (const device of devices) {
    device.cookies.set('theme', 'dark')
    tokens.push(await tokensOf(host, device))
  }
  await signOut(devices[0]!)
  expect(await standing(host, tokens)).toEqual([false, true])
})

test('a user with a session at the host is signed in again after a documented restore', async () => {
  const signIn: RequestHandler = (req, res, next) => {
    if (req.path !== '/host/sign-in') return next()
    Object.assign(req.session, { login: { subject: 1, authTime: seconds() } })
    res.sendStatus(204)
  }
  const host = await start(
    { current: ({ req }) => Reflect.get(req.session, 'login') },
    { options: { session: 'host' }, before: [hostSession(), signIn] },
  )
  const agent = new RawBrowser(host.app)
  await agent.get('/host/sign-in')
  const tokens = await tokensOf(host, agent)
  await endRestored(host)
  const again = await tokensOf(host, agent)
  expect(await standing(host, [tokens, again])).toEqual([false, true])
})

describe('signing out ends what was granted', () => {
  test.each(places)('to parallel first requests, which share one login (session: %s)', async (place) => {
    const host = hosts[place]
    const agent = browser(host, 1)
    const answers = await Promise.all([1, 2, 3].map(() => agent.get(silent)))
    const tokens = await Promise.all(answers.map((answer) => answerOf(redeem(host, codeOf(answer)))))
    expect(new Set(tokens.map(({ id_token }) => claimsOf(id_token).sid)).size).toBe(1)
    await signOut(agent)
    expect(await standing(host, tokens)).toEqual([false, false, false])
  })

  test('under a login that the host reports again afterwards, as a new one', async () => {
    const agent = browser(own, 1)
    const first = await tokensOf(own, agent)
    await signOut(agent)
    const second = await tokensOf(own, agent)
    expect(claimsOf(second.id_token).sid).not.toBe(claimsOf(first.id_token).sid)
    expect(await standing(own, [first, second])).toEqual([false, true])
  })

  test('by users.revokeAll(), and the same session of the host then leads to a new login', async () => {
    const clock = stopClock()
    const options = { session: 'host', lifetimes: { sessionAbsolute: 3600 } } as const
    const host = await start({}, { options, before: [hostSession()] })
    const agent = browser(host, 1)
    const tokens = [await tokensOf(host, agent)]
    await host.oauth.users.revokeAll(1)
    tokens.push(await tokensOf(host, agent))
    expect(await standing(host, tokens)).toEqual([false, true])
    // The same after the longest time that a login lasts here.
    clock.travel(3601)
    tokens.push(await tokensOf(host, agent))
    expect(await standing(host, tokens)).toEqual([false, false, true])
  })

  test('under all logins of this browser and no others, though the session named only the last', async () => {
    const agent = browser(own)
    const ended: unknown[] = []
    own.oauth.events.on('login.ended', (event) => ended.push(event.subject))
    const elsewhere = browser(own)
    atHost(elsewhere, 1, 7)
    const tokens = [await tokensOf(own, elsewhere)]
    for (const time of [11, 12, 13]) {
      atHost(agent, 1, time)
      // The second visit lost the session, and the third one the cookie of the browser.
      const lost = time === 12 ? isOfSession : (name: string) => name.endsWith('_browser')
      for (const name of agent.cookies.keys()) if (lost(name)) agent.cookies.delete(name)
      tokens.push(await tokensOf(own, agent))
    }
    expect(await standing(own, tokens)).toEqual([true, true, true, true])
    await signOut(agent)
    expect(await standing(own, tokens)).toEqual([true, false, false, false])
    expect(ended).toEqual(['1', '1', '1'])
  })

  test('under twenty logins of one browser; beyond that, the oldest ends at once', async () => {
    const clock = stopClock()
    const agent = browser(own)
    const tokens: TokenAnswer[] = []
    for (let time = 1; time <= 21; time += 1) {
      if (time === 21) expect(await standing(own, tokens)).toEqual([true, true])
      clock.travel(1)
      atHost(agent, 1, 100 + time)
      if ([1, 2, 21].includes(time)) tokens.push(await tokensOf(own, agent))
      else codeOf(await agent.get(silent))
    }
    expect(await standing(own, tokens)).toEqual([false, true, true])
    await signOut(agent)
    expect(await standing(own, tokens)).toEqual([false, false, false])
  })
})

describe('a host that destroys its session', () => {
  test('when the next user signs in, the logins of the last one end', async () => {
    const agent = browser(hosts.host, 1)
    const tokens = [await tokensOf(hosts.host, agent)]
    loseSession(agent)
    atHost(agent, 2)
    tokens.push(await tokensOf(hosts.host, agent))
    expect(await standing(hosts.host, tokens)).toEqual([false, true])
  })

  test('with its own page, Latchkey notices the sign-out at the next visit', async () => {
    const host = await start({ url: '/sign-in' }, settingsOf.host())
    const agent = browser(host, 1)
    const tokens = [await tokensOf(host, agent)]
    loseSession(agent)
    agent.cookies.delete('host_user')
    await expectNoLogin(agent)
    expect(await standing(host, tokens)).toEqual([false])
  })

  test.each(['host', 'own'] as const)(
    'users.signedOut(req) knows the browser without a session (session: %s)',
    async (place) => {
      const host = hosts[place]
      host.app.post('/sign-out', (req, res, next) => {
        host.oauth.users.signedOut(req).then(() => res.send('bye'), next)
      })
      const agent = browser(host, 1)
      const tokens = [await tokensOf(host, agent)]
      loseSession(agent)
      await agent.post('/sign-out', {})
      expect(await standing(host, tokens)).toEqual([false])
    },
  )
})

describe('the host’s own login page', () => {
  let host: Host
  beforeAll(async () => {
    host = await start({ url: '/login?theme=dark' })
    host.app.get('/login', (_req, res) => void res.send('the host’s page'))
  })

  test('gets a path to return to, which leads to the code, once', async () => {
    const agent = browser(host)
    const page = await agent.open(authorizeUrl({ ...web, login_hint: 'ada@example.com' }))
    expect(page.html).toBe('the host’s page')
    const { return_to: path = '', ...others } = Object.fromEntries(page.url.searchParams)
    expect(others).toEqual({ theme: 'dark', login_hint: 'ada@example.com' })
    expect(path).toMatch(/^\/oauth\/login\?authorization_request=lk_ar_[\w-]{43}$/)
    atHost(agent, 1)
    const back = await agent.get(path)
    expect(back.headers['cache-control']).toBe('no-store')
    const link = linkOf(back)
    expect(link).toMatch(/^\/oauth\/authorize\?/)
    expect(back.html).toContain(`content="0; url=${link.replaceAll('&', '&amp;')}"`)
    codeOf(await agent.open(link))
    expectExpiredPage(await agent.open(link))
  })

  test('that reports no login afterwards lets the client get login_required', async () => {
    const agent = browser(host)
    const link = linkOf(await agent.open(returnTo(await agent.open(authorizeUrl(web)))))
    expectErrorRedirect(await agent.open(link), 'login_required', { state: 's' })
    expectExpiredPage(await agent.open(link))
  })

  test.each<[Record<string, string>, string]>([
    [{ prompt: 'login' }, 'login'],
    [{ prompt: 'select_account login' }, 'login select_account'],
    [{ max_age: '0' }, 'login'],
    [{ max_age: '1000' }, 'login'],
  ])('for %j is asked for a new login, which must not be older than the request', async (demand, prompt) => {
    stopClock()
    /** Opens a request, and comes back from the host's page with another login. */
    const comeBack = async (age: number) => {
      const agent = browser(host)
      atHost(agent, 1, seconds() - 5000)
      const page = await agent.open(authorizeUrl({ ...web, ...demand }))
      expect(page.url.searchParams.get('prompt')).toBe(prompt)
      atHost(agent, 1, seconds() - age)
      return agent.get(linkOf(await agent.get(returnTo(page))))
    }
    expectErrorRedirect(await comeBack(4000), 'login_required', { state: 's' })
    // The clock of the host's database may be a little late.
    for (const age of [0, 10]) codeOf(await comeBack(age))
  })

  test('on another origin gets a whole URL to return to', async () => {
    const elsewhere = await start({ url: 'https://login.example.com/in' })
    const { location } = await browser(elsewhere).get(authorizeUrl(web))
    expect(location?.origin).toBe('https://login.example.com')
    const page = 'http://localhost:3000/oauth/login?authorization_request=lk_ar_'
    expect(location?.searchParams.get('return_to')).toContain(page)
  })
})

describe('a reported login', () => {
  let reported: object
  let host: Host
  beforeAll(async () => {
    host = await start({ url: '/login', current: () => reported as { subject: number } })
  })

  test('of a user whom users.find() does not return is none', async () => {
    for (const subject of [3, 404]) await expectNoLogin(browser(own, subject))
  })

  test('without authTime stays one login, whose tokens claim no recent one (M1)', async () => {
    const clock = stopClock()
    const agent = browser(host)
    const claims = async () => claimsOf((await tokensOf(host, agent)).id_token)
    reported = { subject: 1 }
    const first = await claims()
    expect(first.auth_time).toBe(0)
    clock.travel(60)
    expect(await claims()).toMatchObject({ auth_time: 0, sid: first.sid })
    reported = { subject: 2 }
    expect((await claims()).sid).not.toBe(first.sid)
  })

  test.each<Record<string, string>>([{ prompt: 'login' }, { max_age: '1000' }, { max_age: '0' }])(
    'without authTime is never a new login, not even in a browser that had none: %j (M1)',
    async (demand) => {
      reported = {}
      const agent = browser(host)
      const page = await agent.get(authorizeUrl({ ...web, ...demand }))
      reported = { subject: 1 }
      const back = await agent.get(linkOf(await agent.get(returnTo(page))))
      expectErrorRedirect(back, 'login_required', { state: 's' })
    },
  )

  test('without authTime is shown to a user who should select an account, and continues (M1)', async () => {
    reported = {}
    const agent = browser(host)
    const page = await agent.get(authorizeUrl({ ...web, prompt: 'select_account' }))
    reported = { subject: 1 }
    const choice = await agent.open(linkOf(await agent.get(returnTo(page))))
    expect(choice.url.pathname).toBe('/oauth/select-account')
    codeOf(await agent.submit(choice, 'decision', { decision: 'continue' }))
  })

  test('may be a minute ahead, but not of its ID token, and has the methods that the host says', async () => {
    stopClock()
    reported = { subject: 1, authTime: seconds() + 60, amr: ['pwd', 'otp'] }
    const { id_token } = await tokensOf(host, browser(host))
    expect(claimsOf(id_token)).toMatchObject({ auth_time: seconds(), iat: seconds(), amr: ['pwd', 'otp'] })
  })

  test('is not later than an access token, wherever that tells its time', async () => {
    stopClock()
    reported = { subject: 1, authTime: seconds() + 60 }
    const api = 'https://api.example.com/'
    const timed = await start(
      { current: () => reported as { subject: number } },
      {
        clients: [
          {
            client_id: 'web',
            client_secret: secret,
            redirect_uris: [callback],
            first_party: true,
            scope: 'openid notes:read',
          },
        ],
        options: { resources: { [api]: { scopes: ['notes:read'], accessToken: 'jwt' } } },
      },
    )
    timed.app.get('/time', timed.oauth.requireToken(), (req, res) => void res.json(req.auth.claims))
    const times = { auth_time: seconds(), iat: seconds() }
    const { access_token } = await tokensOf(timed, browser(timed))
    expect((await guarded(timed, access_token, '/time')).body).toMatchObject(times)
    expect(await introspectAs(timed, 'web', access_token)).toMatchObject(times)
    const forApi = authorizeUrl({ ...web, scope: 'openid notes:read', prompt: 'none', resource: api })
    const jwt = await answerOf(redeem(timed, codeOf(await browser(timed).get(forApi))))
    expect(claimsOf(jwt.access_token)).toMatchObject({ aud: api, ...times })
  })

  test.each<[string, object]>([
    // It would satisfy every max_age.
    ['a time in the future', { authTime: Math.floor(Date.now() / 1000) + 3600 }],
    ['a time in milliseconds', { authTime: Date.now() }],
    ['the time zero', { authTime: 0 }],
    ['a time that is no number', { authTime: Number.NaN }],
    ['a method', { amr: 'pwd' }],
    ['no method', { amr: [] }],
    ['a method that is a number', { amr: ['pwd', 1] }],
    ['null for its methods', { amr: null }],
  ])('with %s is an error of the host', async (_, wrong) => {
    reported = { subject: 1, ...wrong }
    expectErrorPage(await browser(host).get(silent), 500)
  })

  test('is replaced by the login on our own page, and the time is that of the password', async () => {
    const clock = stopClock()
    const agent = browser(own)
    atHost(agent, 1, clock.now() - 5000)
    const page = await agent.open(authorizeUrl({ ...web, max_age: '1000' }))
    const tokens = await answerOf(redeem(own, codeOf(await agent.signIn(page))))
    const { auth_time, sid } = claimsOf(tokens.id_token)
    expect(auth_time).toBe(clock.now())
    // The host still reports the earlier one.
    expect(claimsOf((await tokensOf(own, agent)).id_token)).toMatchObject({ auth_time, sid })
  })
})

test('a form of another site begins no login and no browser, however the host knows its user', async () => {
  const features = [
    admin({ allow: () => true }),
    authenticatorApps(),
    device(),
    passkeys(),
    personalAccessTokens(),
  ]
  const host = await start(
    { current: ({ req }) => req.get('x-user') !== undefined && { subject: 1 } },
    { options: { features } },
  )
  const headers = { 'x-user': 'ada', 'Sec-Fetch-Site': 'cross-site', Origin: 'https://evil.example' }
  const { endpoints } = serverBehind(host.oauth)!
  expect(endpoints.length).toBeGreaterThan(20)
  for (const { path } of endpoints) {
    for (const decision of [{ decision: 'end' }, undefined]) {
      const agent = new RawBrowser(host.app)
      await agent.post(`/oauth${path}`, { csrf_token: 'x', ...decision }, headers)
      const left = { cookies: [...agent.cookies.keys()], logins: await host.table('logins') }
      expect({ path, ...left }).toEqual({ path, cookies: [], logins: [] })
    }
  }
})

test('a form of the account, sent after the browser has lost our cookies, leads to its page', async () => {
  const host = await start({ current: () => ({ subject: 1 }) })
  const agent = new RawBrowser(host.app)
  const form = { client_id: 'web', csrf_token: 'of a page before', decision: 'remove' }
  const answer = await agent.post('/oauth/account', form)
  expect([answer.status, answer.location?.pathname]).toEqual([303, '/oauth/account'])
  expect((await agent.follow(answer)).status).toBe(200)
})

describe('the level of a login', () => {
  const acrValues = ['password', 'mfa']
  const levelled = async (reported: () => object, login: LoginOptions = {}) => {
    const host = await start(
      { current: () => reported() as { subject: number }, acr: 'password', ...login },
      {
        clients: [{ client_id: 'web', client_secret: secret, redirect_uris: [callback], scope: 'openid' }],
        options: { acrValues },
      },
    )
    host.app.get('/pay', host.oauth.requireToken('openid', { acr: 'mfa', maxAge: 300 }), (_req, res) =>
      res.sendStatus(204),
    )
    return host
  }
  const stepUp = authorizeUrl({ ...web, max_age: '300' })

  test.each([
    ['hours old', -5000],
    ['of unknown time', undefined],
  ])('at the host that is %s does not pass for the level of a password typed now', async (_, age) => {
    const clock = stopClock()
    const authTime = age && clock.now() + age
    const host = await levelled(() => ({ subject: 1, acr: 'mfa', authTime }))
    const agent = browser(host)
    const consent = await agent.signIn(await agent.open(stepUp))
    const tokens = await answerOf(redeem(host, codeOf(await agent.decide(consent, 'allow'))))
    const { sid, ...claims } = claimsOf(tokens.id_token)
    expect(claims).toMatchObject({ acr: 'password', auth_time: clock.now() })
    expect((await guarded(host, tokens.access_token, '/pay')).status).toBe(401)
    // The login at the host, which is older, does not take its place.
    expect(claimsOf((await tokensOf(host, agent)).id_token)).toMatchObject({ acr: 'password', sid })
  })

  test('at the host counts if the user has authenticated there since then', async () => {
    const clock = stopClock()
    const reported = { subject: 1, acr: 'mfa', authTime: clock.now() - 5000 }
    const host = await levelled(() => reported)
    const agent = browser(host)
    codeOf(await agent.decide(await agent.signIn(await agent.open(stepUp)), 'allow'))
    clock.travel(60)
    reported.authTime = clock.now()
    const { id_token } = await tokensOf(host, agent)
    expect(claimsOf(id_token)).toMatchObject({ acr: 'mfa', auth_time: clock.now() })
  })
})

describe('signing out while the host still reports a login', () => {
  const hint = async (host: Host, agent: RawBrowser): Promise<string> => {
    const { id_token } = await tokensOf(host, agent)
    return `/oauth/logout?${new URLSearchParams({ id_token_hint: id_token, client_id: 'web' })}`
  }

  test('a link changes nothing at the host when its user has been disabled (L13)', async () => {
    const told: string[] = []
    const host = await start({ forget: () => void told.push('forget') })
    const agent = browser(host, 1)
    await tokensOf(host, agent)
    await host.database.knex(host.usersTable).where({ id: 1 }).update({ disabled_at: 1 })
    expect((await agent.open('/oauth/logout')).html).toContain('still signed in')
    expect(told).toEqual([])
    expect(await host.table('logins').whereNull('ended_at')).toEqual([])
  })

  test('without login.forget shows that the user is still signed in, in the language of the reader', async () => {
    const host = await start({}, { options: { pages: { name: 'Notes' } } })
    const agent = browser(host, 1)
    const page = await agent.follow(await agent.get(await hint(host, agent)))
    expect(page.html).toContain('You’re still signed in to <bdi>Notes</bdi>')
    expect(page.html).not.toContain('You’re signed out')
    expect(page.html).toMatch(/<a [^>]*href="\/oauth\/account"><span>Go to <bdi>Notes</)
    const german = / href="([^"]*language=de)"/.exec(page.html)?.[1]?.replaceAll('&amp;', '&') ?? ''
    expect((await agent.open(german)).html).toContain('Sie sind bei <bdi>Notes</bdi> noch angemeldet')
    codeOf(await agent.get(silent))
  })

  test('a login that ended with the host’s session is not reported as still there', async () => {
    const host = await start(
      { current: ({ req }) => 'user' in req && req.user === 1 && { subject: 1 } },
      {
        options: { session: 'host' },
        before: [
          hostSession(),
          // As passport does: the user of the session, read once at the start of each request.
          (req, _res, next) => {
            const kept = req.session as unknown as { user?: number }
            if (req.path === '/sign-in') kept.user = 1
            Object.assign(req, { user: kept.user })
            next()
          },
        ],
      },
    )
    const agent = browser(host)
    await agent.get('/sign-in')
    const page = await agent.follow(await agent.get(await hint(host, agent)))
    expect(page.html).toContain('You’re signed out')
    await expectNoLogin(agent)
  })

  test('login.forget may destroy the session; if it fails, the user stays signed in', async () => {
    let fails = true
    const host = await start(
      {
        forget: async ({ req, res }) => {
          if (fails) throw new Error('the directory is unavailable')
          res.clearCookie('host_user')
          await new Promise((done) => req.session.destroy(done))
        },
      },
      settingsOf.host(),
    )
    const agent = browser(host, 1)
    const tokens = await tokensOf(host, agent)
    const page = await agent.get('/oauth/logout')
    expectErrorPage(await agent.submit(page, 'csrf_token'), 500)
    expect(await standing(host, [tokens])).toEqual([true])
    fails = false
    expect((await agent.submit(page, 'csrf_token')).html).toContain('You’re signed out')
    expect(await standing(host, [tokens])).toEqual([false])
    await expectNoLogin(agent)
  })
})

describe('a host whose login is in a cookie alone', () => {
  const hooks: LoginOptions = {
    remember: ({ id }, { res }) => void res.cookie('host_user', `${id}@${seconds()}`),
    forget: ({ res }) => void res.clearCookie('host_user'),
  }

  test.each(places)('gets a login of our page, keeps it and loses it (session: %s)', async (place) => {
    const host = await start(hooks, settingsOf[place]())
    const agent = browser(host)
    const first = await answerOf(redeem(host, codeOf(await agent.grant(authorizeUrl(web)))))
    expect(agent.cookies.get('host_user')).toMatch(/^1%40\d+$/)
    // Latchkey and the host count this as one login.
    const again = await tokensOf(host, agent)
    expect(claimsOf(again.id_token)).toMatchObject({ sub: '1', sid: claimsOf(first.id_token).sid })
    await signOut(agent)
    expect(agent.cookies.get('host_user')).toBeUndefined()
    expect(await standing(host, [first, again])).toEqual([false, false])
    await expectNoLogin(agent)
  })

  test('gets the user who signs in after another one, and a sign-out at the host ends that login', async () => {
    const host = await start(hooks)
    const agent = browser(host, 2)
    const bobs = await tokensOf(host, agent)
    const page = await agent.open(authorizeUrl({ ...web, prompt: 'login' }))
    const [, other = ''] = / href="([^"]*replaces=[^"]*)"/.exec(page.html) ?? []
    const form = await agent.open(other.replaceAll('&amp;', '&'))
    const adas = await answerOf(redeem(host, codeOf(await agent.signIn(form))))
    expect([subjectOf(adas), subjectOf(await tokensOf(host, agent))]).toEqual(['1', '1'])
    expect(await standing(host, [bobs, adas])).toEqual([false, true])
    agent.cookies.delete('host_user')
    await expectNoLogin(agent)
    expect(await standing(host, [adas])).toEqual([false])
  })
})
