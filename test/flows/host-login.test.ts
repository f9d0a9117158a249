import session from 'express-session'
import type { AuthRouterOptions } from '../../lib/index.ts'
import { stopClock } from '../support/clock.ts'
import { authorizeUrl, callback, type Host, type HostSettings, secret, startHost } from '../support/host.ts'
import { claimsOf, codeOf, expectErrorPage, expectErrorRedirect } from '../support/outcomes.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import { answerOf, redeem, type TokenAnswer, userinfo } from '../support/tokens.ts'

// Logins that the host reports (`login.current`). This host keeps them in a cookie of its own: `subject@time`.

const open: Host[] = []
afterAll(() => Promise.all(open.map((each) => each.close())))
afterEach(() => jest.restoreAllMocks())

type LoginOptions = NonNullable<AuthRouterOptions['login']>

const current: LoginOptions['current'] = ({ headers }) => {
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
const browser = (host: Host, subject?: number): RawBrowser => {
  const agent = new RawBrowser(host.app)
  if (subject !== undefined) atHost(agent, subject)
  return agent
}

const web = { client_id: 'web', scope: 'openid' }
const silent = authorizeUrl({ ...web, prompt: 'none' })
const tokensOf = async (host: Host, agent: RawBrowser): Promise<TokenAnswer> =>
  answerOf(redeem(host, codeOf(await agent.get(silent))))
const subjectOf = ({ id_token }: TokenAnswer): unknown => claimsOf(id_token).sub
const standing = async (host: Host, tokens: readonly TokenAnswer[]): Promise<boolean[]> => {
  const answers = await Promise.all(tokens.map(({ access_token }) => userinfo(host, access_token)))
  return answers.map(({ status }) => status === 200)
}
const signOut = async (agent: RawBrowser): Promise<void> => {
  const done = await agent.submit(await agent.get('/oauth/logout'), 'csrf_token')
  expect(done.status).toBe(200)
}
const isOfSession = (name: string): boolean => name.endsWith('_session') || name === 'host.sid'

/** Where a session can be: Latchkey's own, the host's, and one that the router runs for its pages. */
const places: [string, () => HostSettings][] = [
  ['own', () => ({})],
  ['host', () => ({ options: { session: 'host' }, before: [hostSession()] })],
  ['middleware', () => ({ options: { session: hostSession() } })],
]

describe('a session cookie that was copied earlier', () => {
  test('before another user signed in at the host is worthless, and changes nothing for that user', async () => {
    const host = await start()
    const agent = browser(host, 1)
    await tokensOf(host, agent)
    const noted = agent.clone()
    noted.cookies.delete('host_user')
    atHost(agent, 2, seconds() + 1)
    const tokens = await tokensOf(host, agent)
    expect(subjectOf(tokens)).toBe('2')
    expectErrorRedirect(await noted.get(silent), 'login_required')
    expect(await standing(host, [tokens])).toEqual([true])
  })

  test.each(places)('gives no code without the login at the host: %s', async (_place, settings) => {
    const host = await start({}, settings())
    const agent = browser(host, 1)
    await tokensOf(host, agent)
    const thief = new RawBrowser(host.app)
    for (const [name, value] of agent.cookies) if (isOfSession(name)) thief.cookies.set(name, value)
    expect(thief.cookies.size).toBe(1)
    expectErrorRedirect(await thief.get(silent), 'login_required')
  })

  test('each change of the login has a new one', async () => {
    const host = await start()
    const agent = browser(host, 1)
    const seen = new Set<string>()
    for (const time of [1, 2, 3]) {
      atHost(agent, 1, time)
      await tokensOf(host, agent)
      await tokensOf(host, agent)
      for (const [name, value] of agent.cookies) if (isOfSession(name)) seen.add(value)
    }
    expect(seen.size).toBe(3)
  })
})

describe('signing out ends what was granted', () => {
  test.each(places)('to parallel first requests, which share one login: %s', async (_place, settings) => {
    const host = await start({}, settings())
    const agent = browser(host, 1)
    const answers = await Promise.all([1, 2, 3, 4].map(() => agent.get(silent)))
    const tokens = await Promise.all(answers.map((answer) => answerOf(redeem(host, codeOf(answer)))))
    expect(new Set(tokens.map(({ id_token }) => claimsOf(id_token).sid)).size).toBe(1)
    await signOut(agent)
    expect(await standing(host, tokens)).toEqual([false, false, false, false])
  })

  test('under a login that the host reports again afterwards, as a new one', async () => {
    const host = await start()
    const agent = browser(host, 1)
    const first = await tokensOf(host, agent)
    await signOut(agent)
    const second = await tokensOf(host, agent)
    expect(claimsOf(second.id_token).sid).not.toBe(claimsOf(first.id_token).sid)
    expect(await standing(host, [first, second])).toEqual([false, true])
  })

  test('by users.revokeAll(), and what the same session of the host leads to then is a new login', async () => {
    const clock = stopClock()
    const options = { session: 'host', lifetimes: { sessionAbsolute: 3600 } } as const
    const host = await start({}, { options, before: [hostSession()] })
    const agent = browser(host, 1)
    const tokens: TokenAnswer[] = []
    for (let time = 0; time < 3; time += 1) {
      await host.oauth.users.revokeAll(1)
      tokens.push(await tokensOf(host, agent))
    }
    expect(await standing(host, tokens)).toEqual([false, false, true])
    // The same after the longest time that a login lasts here.
    clock.travel(3601)
    tokens.push(await tokensOf(host, agent))
    expect(await standing(host, tokens.slice(2))).toEqual([false, true])
  })

  test('under earlier logins of the same browser, although the session named only the last', async () => {
    const host = await start()
    const agent = browser(host)
    const ended: unknown[] = []
    host.oauth.events.on('login.ended', (event) => ended.push(event.subject))
    const tokens: TokenAnswer[] = []
    for (const time of [1, 2, 3]) {
      atHost(agent, 1, time)
      // A host that regenerates or destroys its session, and a browser that lost our cookie.
      const lost = time === 2 ? isOfSession : (name: string) => name.endsWith('_browser')
      for (const name of agent.cookies.keys()) if (lost(name)) agent.cookies.delete(name)
      tokens.push(await tokensOf(host, agent))
    }
    expect(await standing(host, tokens)).toEqual([true, true, true])
    await signOut(agent)
    expect(await standing(host, tokens)).toEqual([false, false, false])
    expect(ended).toEqual(['1', '1', '1'])
  })

  test('under twenty logins of one browser; beyond that, the oldest ends at once', async () => {
    const clock = stopClock()
    const host = await start()
    const agent = browser(host)
    const tokens: TokenAnswer[] = []
    for (let time = 1; time <= 21; time += 1) {
      if (time === 21) expect(await standing(host, tokens)).toEqual(tokens.map(() => true))
      clock.travel(1)
      atHost(agent, 1, time)
      tokens.push(await tokensOf(host, agent))
    }
    expect(await standing(host, tokens)).toEqual(tokens.map((_, index) => index > 0))
    await signOut(agent)
    expect(await standing(host, tokens)).toEqual(tokens.map(() => false))
  })

  test('nothing in another browser of the same user', async () => {
    const host = await start()
    const [here, there] = [browser(host), browser(host)]
    atHost(here, 1, 1)
    atHost(there, 1, 2)
    const tokens = [await tokensOf(host, here), await tokensOf(host, there)]
    await signOut(here)
    expect(await standing(host, tokens)).toEqual([false, true])
  })
})

describe('a host that destroys its session', () => {
  const loseSession = (agent: RawBrowser): void => agent.cookies.delete('host.sid')
  const settings = (): HostSettings => ({ options: { session: 'host' }, before: [hostSession()] })

  test('when the next user signs in, the logins of the last one end', async () => {
    const host = await start({}, settings())
    const agent = browser(host, 1)
    const tokens = [await tokensOf(host, agent)]
    loseSession(agent)
    atHost(agent, 2)
    tokens.push(await tokensOf(host, agent))
    expect(await standing(host, tokens)).toEqual([false, true])
  })

  test('with its own page, Latchkey notices the sign-out at the next visit', async () => {
    const host = await start({ url: '/sign-in' }, settings())
    const agent = browser(host, 1)
    const tokens = [await tokensOf(host, agent)]
    loseSession(agent)
    agent.cookies.delete('host_user')
    expectErrorRedirect(await agent.get(silent), 'login_required')
    expect(await standing(host, tokens)).toEqual([false])
  })

  test('users.signedOut(req) knows the browser also without a session, and with session: own', async () => {
    for (const given of [settings(), {}]) {
      const host = await start({}, given)
      host.app.post('/sign-out', (req, res, next) => {
        host.oauth.users.signedOut(req).then(() => res.send('bye'), next)
      })
      const agent = browser(host, 1)
      const tokens = [await tokensOf(host, agent)]
      loseSession(agent)
      await agent.post('/sign-out', {})
      expect(await standing(host, tokens)).toEqual([false])
    }
  })
})

describe('a request that asks for a new login', () => {
  /** Opens a request, and comes back from the host's page with another login. */
  const comeBack = async (host: Host, demand: Record<string, string>, age: number) => {
    const agent = browser(host)
    atHost(agent, 1, seconds() - 5000)
    const page = await agent.get(authorizeUrl({ ...web, state: 's', ...demand }))
    const returnTo = page.location?.searchParams.get('return_to') ?? ''
    atHost(agent, 1, seconds() - age)
    const { html } = await agent.get(returnTo)
    const link = /id="continue" href="([^"]+)"/.exec(html)?.[1]?.replaceAll('&amp;', '&') ?? ''
    return agent.get(link)
  }

  test.each<Record<string, string>>([{ prompt: 'login' }, { max_age: '0' }, { max_age: '1000' }])(
    'with %j takes none that is older than itself',
    async (demand) => {
      stopClock()
      const host = await start({ url: '/sign-in' })
      expectErrorRedirect(await comeBack(host, demand, 4000), 'login_required', { state: 's' })
      codeOf(await comeBack(host, demand, 0))
      // The clock of the host's database may be a little late.
      codeOf(await comeBack(host, demand, 10))
    },
  )

  test('refuses a time in the future, which would satisfy every max_age', async () => {
    stopClock()
    const host = await start()
    const agent = browser(host)
    atHost(agent, 1, seconds() + 3600)
    expectErrorPage(await agent.get(silent), 500)
    atHost(agent, 1, seconds() + 60)
    codeOf(await agent.get(silent))
  })

  test.each([['pwd'], [[]], [['pwd', 1]], [null]])('refuses the methods %j', async (amr) => {
    const host = await start({ current: () => ({ subject: 1, amr: amr as string[] }) })
    expectErrorPage(await browser(host).get(silent), 500)
  })

  test('on our own page takes that login, and its time is that of the password', async () => {
    const clock = stopClock()
    const host = await start()
    const agent = browser(host)
    atHost(agent, 1, clock.now() - 5000)
    const page = await agent.open(authorizeUrl({ ...web, max_age: '1000' }))
    const tokens = await answerOf(redeem(host, codeOf(await agent.signIn(page))))
    expect(claimsOf(tokens.id_token).auth_time).toBe(clock.now())
    // The host still reports the earlier one.
    const { auth_time, sid } = claimsOf(tokens.id_token)
    expect(claimsOf((await tokensOf(host, agent)).id_token)).toMatchObject({ auth_time, sid })
  })
})

describe('signing out while the host still reports a login', () => {
  const hint = async (host: Host, agent: RawBrowser): Promise<string> => {
    const { id_token } = await tokensOf(host, agent)
    return `/oauth/logout?${new URLSearchParams({ id_token_hint: id_token, client_id: 'web' })}`
  }

  test('login.forget ends that login too', async () => {
    const host = await start({ forget: (_req, res) => void res.clearCookie('host_user') })
    const agent = browser(host, 1)
    const tokens = await tokensOf(host, agent)
    const done = await agent.submit(await agent.get('/oauth/logout'), 'csrf_token')
    expect(done.html).toContain('You’re signed out')
    expect(await standing(host, [tokens])).toEqual([false])
    expectErrorRedirect(await agent.get(silent), 'login_required')
  })

  test('without it the page says so, in the language of the reader', async () => {
    const host = await start({}, { options: { branding: { name: 'Notes' } } })
    const agent = browser(host, 1)
    const page = await agent.follow(await agent.get(await hint(host, agent)))
    expect(page.status).toBe(200)
    expect(page.html).toContain('You’re still signed in to <bdi>Notes</bdi>')
    expect(page.html).not.toContain('You’re signed out')
    expect(page.html).toMatch(/<a [^>]*href="\/oauth\/account"><span>Go to <bdi>Notes</)
    const german = / href="([^"]*language=de)"/.exec(page.html)?.[1]?.replaceAll('&amp;', '&') ?? ''
    expect((await agent.open(german)).html).toContain('Sie sind bei <bdi>Notes</bdi> noch angemeldet')
    codeOf(await agent.get(silent))
  })

  test('a login that ended with the host’s session is not reported as still there', async () => {
    const host = await start(
      { current: (req) => 'user' in req && req.user === 1 && { subject: 1 } },
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
    expectErrorRedirect(await agent.get(silent), 'login_required')
  })

  test('login.forget may destroy the session; if it fails, the user stays signed in', async () => {
    let fails = true
    const host = await start(
      {
        forget: async (req, res) => {
          if (fails) throw new Error('the directory is away')
          res.clearCookie('host_user')
          await new Promise((done) => req.session.destroy(done))
        },
      },
      { options: { session: 'host' }, before: [hostSession()] },
    )
    const agent = browser(host, 1)
    const tokens = await tokensOf(host, agent)
    const page = await agent.get('/oauth/logout')
    expectErrorPage(await agent.submit(page, 'csrf_token'), 500)
    expect(await standing(host, [tokens])).toEqual([true])
    fails = false
    expect((await agent.submit(page, 'csrf_token')).html).toContain('You’re signed out')
    expect(await standing(host, [tokens])).toEqual([false])
    expectErrorRedirect(await agent.get(silent), 'login_required')
  })
})

describe('a host whose login is in a cookie alone', () => {
  const hooks: LoginOptions = {
    remember: (_req, res, { id }) => void res.cookie('host_user', `${id}@${seconds()}`),
    forget: (_req, res) => void res.clearCookie('host_user'),
  }

  test.each(places)(
    'gets a login of our page, keeps it and loses it (session: %s)',
    async (_place, settings) => {
      const host = await start(hooks, settings())
      const agent = new RawBrowser(host.app)
      const first = await answerOf(redeem(host, codeOf(await agent.grant(authorizeUrl(web)))))
      expect(agent.cookies.get('host_user')).toMatch(/^1%40\d+$/)
      // Latchkey and the host count this as one login.
      const again = await tokensOf(host, agent)
      expect(claimsOf(again.id_token)).toMatchObject({ sub: '1', sid: claimsOf(first.id_token).sid })
      await signOut(agent)
      expect(agent.cookies.get('host_user')).toBeUndefined()
      expect(await standing(host, [first, again])).toEqual([false, false])
      expectErrorRedirect(await agent.get(silent), 'login_required')
    },
  )

  test('gets the user who signs in after another one, whose login ends', async () => {
    const host = await start(hooks)
    const agent = browser(host, 2)
    const tokens = await tokensOf(host, agent)
    const page = await agent.open(authorizeUrl({ ...web, prompt: 'login' }))
    const [, other = ''] = / href="([^"]*replaces=[^"]*)"/.exec(page.html) ?? []
    const form = await agent.open(other.replaceAll('&amp;', '&'))
    const ada = await answerOf(redeem(host, codeOf(await agent.signIn(form))))
    expect(subjectOf(ada)).toBe('1')
    expect(subjectOf(await tokensOf(host, agent))).toBe('1')
    expect(await standing(host, [tokens])).toEqual([false])
  })

  test('a user who signs out of the host is signed out of Latchkey', async () => {
    const host = await start(hooks)
    const agent = new RawBrowser(host.app)
    const tokens = await answerOf(redeem(host, codeOf(await agent.grant(authorizeUrl(web)))))
    agent.cookies.delete('host_user')
    expectErrorRedirect(await agent.get(silent), 'login_required')
    expect(await standing(host, [tokens])).toEqual([false])
  })
})
