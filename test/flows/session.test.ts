import type { RequestHandler } from 'express'
import session from 'express-session'
import { hashAtIssuer } from '../../lib/keys/secrets.ts'
import { stopClock } from '../support/clock.ts'
import { authorizeUrl, type Host, type HostSettings, issuer, startHost } from '../support/host.ts'
import { claimsOf, codeOf, expectErrorPage, expectErrorRedirect } from '../support/outcomes.ts'
import { type Answer, formOf, RawBrowser } from '../support/raw-browser.ts'
import { redeem, refresh } from '../support/tokens.ts'

const open: Host[] = []
const start = async (settings?: HostSettings): Promise<Host> => {
  const host = await startHost(settings)
  open.push(host)
  return host
}
afterAll(() => Promise.all(open.map((each) => each.close())))
afterEach(() => jest.restoreAllMocks())

const web = { client_id: 'web', scope: 'openid', state: 's' }
const request = authorizeUrl(web)
const silent = authorizeUrl({ ...web, prompt: 'none' })
const renewed = authorizeUrl({ ...web, prompt: 'login' })
/** Two statements find the login of a session: one for clients, one for the pages of the account. */
const expectSignedOut = async (agent: RawBrowser): Promise<void> => {
  expect((await agent.get('/oauth/account')).html).toContain('id="password"')
  expectErrorRedirect(await agent.get(silent), 'login_required', { state: 's' })
}
const signedIn = async ({ app }: Host): Promise<RawBrowser> => {
  const agent = new RawBrowser(app)
  codeOf(await agent.grant(request))
  return agent
}
const subjectOf = async (host: Host, agent: RawBrowser): Promise<unknown> => {
  const { body } = await redeem(host, codeOf(await agent.get(silent)))
  return claimsOf(body.id_token).sub
}
const nameOf = (agent: RawBrowser, purpose: string): string => {
  const name = [...agent.cookies.keys()].find((each) => each.endsWith(`_${purpose}`))
  if (name === undefined) throw new Error(`no cookie for ${purpose} in ${[...agent.cookies.keys()]}`)
  return name
}
/** The secret in Latchkey's own cookie. */
const secretOf = (agent: RawBrowser): string => agent.cookies.get(nameOf(agent, 'session')) ?? ''
/** The session id within an express-session cookie. */
const idIn = (cookie: string | undefined): string =>
  /^s:([\w-]+)\./.exec(decodeURIComponent(cookie ?? ''))?.[1] ?? 'no session id'

/** An app's own session, as most apps have it. */
const hostSession = (settings: Partial<session.SessionOptions> = {}): RequestHandler =>
  session({ secret: 'of the host', resave: false, saveUninitialized: false, name: 'host.sid', ...settings })
const secrets = ['a newer secret of the tests that is long', 'a secret of the tests that is long enough']
type Bag = Record<string, unknown>
const bagOf = (req: { session?: unknown }): Bag => req.session as Bag

/** Routes of the host that use its session. */
const addRoutes = ({ app }: Host): void => {
  app.get('/me', (req, res) => void res.json({ ...bagOf(req), id: req.sessionID, cookie: 0 }))
  app.get('/cart', (req, res) => {
    bagOf(req).cart = 'a book'
    res.send('ok')
  })
  app.get('/leave', (req, res) => {
    delete bagOf(req).user
    res.send('ok')
  })
}

describe('Latchkey’s own session', () => {
  const log = { info: jest.fn(), warn: jest.fn(), error: jest.fn() }
  const unhandled: unknown[] = []
  const noteUnhandled = (error: unknown) => void unhandled.push(error)
  /** What the host's code does while it is asked for a user, in the middle of a request. */
  let meanwhile: () => Promise<unknown>
  let host: Host
  beforeAll(async () => {
    process.on('unhandledRejection', noteUnhandled)
    host = await start({
      options: {
        logger: log,
        users: {
          find: async (id) => {
            await meanwhile()
            return { id }
          },
          authenticate: async ({ password }) => {
            await meanwhile()
            return password === 'ada’s password' ? { id: '1' } : undefined
          },
        },
      },
    })
  })
  beforeEach(() => {
    meanwhile = async () => {}
    for (const lines of Object.values(log)) lines.mockClear()
  })
  afterAll(() => {
    process.off('unhandledRejection', noteUnhandled)
    expect(unhandled).toEqual([])
  })

  const rowOf = (agent: RawBrowser, of = host) =>
    of
      .table('logins')
      .where({ session_hash: hashAtIssuer(issuer, secretOf(agent)) })
      .first()
  const endOf = async (agent: RawBrowser, of = host): Promise<number> =>
    Number((await rowOf(agent, of)).idle_ends_at)

  /** A page does not wait until the later end of the session is stored. */
  const expectSoon = async <T>(read: () => T | Promise<T>, wanted: T): Promise<void> => {
    for (let look = 0; look < 1000 && (await read()) !== wanted; look += 1)
      await new Promise((resolve) => setTimeout(resolve, 5))
    expect(await read()).toBe(wanted)
  }
  const visit = async (agent: RawBrowser, of = host, idle = 1800): Promise<void> => {
    codeOf(await agent.get(silent))
    await expectSoon(() => endOf(agent, of), Math.floor(Date.now() / 1000) + idle)
  }

  /** Makes the table disappear in the middle of this request. */
  const without = async (send: () => Promise<Answer>, then: (answer: Answer) => unknown): Promise<void> => {
    const { knex } = host.database
    const name = `${host.database.tablePrefix}logins`
    meanwhile = async () => {
      meanwhile = async () => {}
      await knex.schema.renameTable(name, `${name}_away`)
    }
    await then(await send())
    await knex.schema.renameTable(`${name}_away`, name)
  }

  test('is prolonged by visits, once in a minute at most, and ends after 30 minutes without one', async () => {
    const { now, travel } = stopClock()
    const agent = await signedIn(host)
    const first = now() + 1800
    expect(await endOf(agent)).toBe(first)
    for (let times = 0; times < 3; times += 1) {
      travel(19)
      codeOf(await agent.get(silent))
      expect(await endOf(agent)).toBe(first)
    }
    travel(3)
    await visit(agent)
    const thief = agent.clone()
    travel(1799)
    await visit(agent)
    travel(1800)
    for (const each of [agent, thief]) await expectSignedOut(each)
    expect((await agent.open(request)).url.pathname).toBe('/oauth/login')
  })

  test('ends after 12 hours despite visits', async () => {
    const { now, travel } = stopClock()
    const agent = await signedIn(host)
    for (let visits = 0; visits < 24; visits += 1) {
      travel(1799)
      codeOf(await agent.get(silent))
      await expectSoon(() => endOf(agent), now() + 1800)
    }
    travel(43_200 - 24 * 1799 - 1)
    codeOf(await agent.get(silent))
    travel(1)
    await expectSignedOut(agent)
  })

  test('that was idle for too long ends alone: its tokens stay valid', async () => {
    const { travel } = stopClock()
    const agent = await signedIn(host)
    const { body } = await redeem(host, codeOf(await agent.get(silent)))
    travel(1800)
    await expectSignedOut(agent)
    expect((await refresh(host, body.refresh_token)).status).toBe(200)
  })

  test('survives a new secret beside the old one, and so does an open form', async () => {
    const agent = await signedIn(host)
    const page = await agent.open(renewed)
    const next = await startHost({ database: host.database, options: { secrets } })
    const later = new RawBrowser(next.app, undefined, {}, agent.cookies)
    expect(await subjectOf(next, later)).toBe('1')
    codeOf(await later.signIn(page))
  })

  test('that a visit cannot prolong stays valid, and the visit is answered', async () => {
    // The trigger is written for SQLite.
    if (process.env.DATABASE_URL) return
    const { knex, tablePrefix } = host.database
    const { travel } = stopClock()
    const agent = await signedIn(host)
    const before = await endOf(agent)
    travel(61)
    const refusal = `BEFORE UPDATE OF idle_ends_at ON ${tablePrefix}logins BEGIN SELECT RAISE(ABORT, 'no'); END`
    await knex.raw(`CREATE TRIGGER refused ${refusal}`)
    codeOf(await agent.get(silent))
    await expectSoon(() => log.warn.mock.calls.length, 1)
    await knex.raw('DROP TRIGGER refused')
    expect(log.warn.mock.calls).toEqual([
      [expect.stringMatching(/^latchkey: a session could not be extended: ./), expect.anything()],
    ])
    expect(log.error).not.toHaveBeenCalled()
    expect(await endOf(agent)).toBe(before)
    await visit(agent)
  })

  test('that cannot be stored makes no login, and none is announced', async () => {
    const announced = jest.fn()
    host.oauth.events.on('login.succeeded', announced)
    const agent = new RawBrowser(host.app)
    const form = await agent.open(request)
    const send = (): Promise<Answer> => agent.signIn(form)
    await without(send, ({ status, setCookies }) => {
      expect(status).toBe(503)
      expect(setCookies.filter((cookie) => cookie.includes('_session='))).toEqual([])
    })
    expect(announced).not.toHaveBeenCalled()
    codeOf(await agent.grant(request))
    expect(announced).toHaveBeenCalledTimes(1)
  })

  test('has a new secret after each sign-in, and the earlier one is worthless', async () => {
    const agent = await signedIn(host)
    const seen = new Set<string>()
    for (let times = 0; times < 3; times += 1) {
      const thief = agent.clone()
      seen.add(secretOf(agent))
      expect(await subjectOf(host, thief)).toBe('1')
      codeOf(await agent.signIn(await agent.open(renewed)))
      await expectSignedOut(thief)
    }
    seen.add(secretOf(agent))
    expect(seen.size).toBe(4)
    expect(await subjectOf(host, agent)).toBe('1')
  })

  test('has a cookie that scripts and other sites cannot use, and that ends with the browser', async () => {
    const agent = new RawBrowser(host.app)
    const page = await agent.signIn(await agent.open(request))
    const [cookie] = page.setCookies.filter((each) => each.includes('_session='))
    expect(cookie).toMatch(/^latchkey_[0-9a-f]{8}_session=lk_se_[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax$/)
  })

  test('ends when the user signs out: the cookie goes, and a copy of it is worthless', async () => {
    const agent = await signedIn(host)
    const thief = agent.clone()
    const before = secretOf(agent)
    const page = await agent.submit(await agent.open('/oauth/logout'), 'csrf_token')
    const cleared = /_session=; Max-Age=0; Path=\/; HttpOnly; SameSite=Lax$/
    expect(page.setCookies).toContainEqual(expect.stringMatching(cleared))
    expect(await host.table('logins').where({ session_hash: hashAtIssuer(issuer, before) })).toEqual([])
    for (const each of [agent, thief]) await expectSignedOut(each)
  })

  test('is not what any other value of the cookie names', async () => {
    const agent = await signedIn(host)
    const name = nameOf(agent, 'session')
    const secret = secretOf(agent)
    const { sid, session_hash } = await rowOf(agent)
    const wrong = ['', '%zz', sid, session_hash, `lk_se_${session_hash}`, secret.toUpperCase(), `${secret}A`]
    for (const value of [...wrong, secret.slice(0, -1), `lk_se_${'A'.repeat(43)}`, 'x'.repeat(8000)]) {
      const stranger = agent.clone()
      stranger.cookies.set(name, value)
      await expectSignedOut(stranger)
      expect(stranger.cookies.get(name)).toBe(value)
      // A sign-in replaces it.
      codeOf(await stranger.signIn(await stranger.open(request)))
      expect(secretOf(stranger)).toMatch(/^lk_se_/)
    }
  })

  test('belongs to one issuer: two routers on one database share no cookie, even if it is renamed', async () => {
    const another = 'http://localhost:3000/other'
    const other = await start({
      database: host.database,
      mount: '/other',
      options: { issuer: another, secrets },
    })
    const [agent, elsewhere] = [await signedIn(host), new RawBrowser(other.app)]
    for (const [name, value] of agent.cookies) elsewhere.cookies.set(name, value)
    const login = await elsewhere.open(authorizeUrl(web, '/other'))
    expect(login.url.pathname).toBe('/other/login')
    codeOf(await elsewhere.signIn(login), { iss: another })
    const names = [...elsewhere.cookies.keys()].filter((name) => name.endsWith('_session'))
    expect(new Set(names).size).toBe(2)
    expect(elsewhere.cookies.get(nameOf(agent, 'session'))).toBe(secretOf(agent))
    expect(await subjectOf(host, agent)).toBe('1')
    // A visitor can give the cookies of one router the names of the other.
    const renamed = new RawBrowser(other.app)
    const theirs = [...elsewhere.cookies.keys()].filter((name) => !agent.cookies.has(name))
    for (const name of theirs) {
      const own = nameOf(agent, name.replace(/^.*_/, ''))
      renamed.cookies.set(name, agent.cookies.get(own) ?? '')
    }
    expect(theirs).toContainEqual(expect.stringMatching(/_session$/))
    expect((await renamed.open(authorizeUrl(web, '/other'))).url.pathname).toBe('/other/login')
    const waiting = await agent.open(`${request}&prompt=login`)
    const there = await renamed.open(waiting.url.href.replace('/oauth/', '/other/'))
    expect([waiting.status, there.status]).toEqual([200, 400])
  })
})

describe("the host's session", () => {
  let host: Host
  beforeAll(async () => {
    host = await start({
      options: {
        session: 'host',
        login: {
          current: ({ req }) => {
            const user = bagOf(req).user as { id: number; at: number } | undefined
            return user && { subject: user.id, authTime: user.at }
          },
          remember: (user, { req, previousSession }) => {
            kept.push(previousSession)
            Object.assign(bagOf(req), { cart: previousSession.cart })
            bagOf(req).user = { id: user.id, at: Math.floor(Date.now() / 1000) }
          },
        },
      },
      before: [hostSession()],
    })
    addRoutes(host)
  })
  const kept: unknown[] = []
  const me = async (agent: RawBrowser) => JSON.parse((await agent.get('/me')).html)

  test('is the only session, its hook gets the login, and it has a new id after each login', async () => {
    const agent = new RawBrowser(host.app)
    await agent.get('/cart')
    const planted = agent.clone()
    const before = idIn(agent.cookies.get('host.sid'))
    codeOf(await agent.grant(request))
    expect([...agent.cookies.keys()].filter((name) => name.endsWith('_session'))).toEqual([])
    expect(await me(agent)).toMatchObject({ user: { id: 1 } })
    expect(await subjectOf(host, agent)).toBe('1')
    const after = idIn(agent.cookies.get('host.sid'))
    for (const id of [before, after]) expect(id).toMatch(/^[\w-]{32}$/)
    expect(after).not.toBe(before)
    expect((await me(planted)).user).toBeUndefined()
    await expectSignedOut(planted)
    codeOf(await agent.signIn(await agent.open(renewed)))
    expect(idIn(agent.cookies.get('host.sid'))).not.toBe(after)
  })

  test('is emptied by a sign-in, but the hook may keep what a visitor had in it, such as a cart', async () => {
    const agent = new RawBrowser(host.app)
    await agent.get('/cart')
    kept.length = 0
    codeOf(await agent.grant(request))
    expect(await me(agent)).toMatchObject({ cart: 'a book', user: { id: 1 } })
    codeOf(await agent.signIn(await agent.open(renewed)))
    expect(kept).toEqual([{ cart: 'a book' }, { cart: 'a book', user: { id: 1, at: expect.any(Number) } }])
  })

  test('ends with the login and its tokens when the user signs out at the host', async () => {
    const agent = new RawBrowser(host.app)
    const { body } = await redeem(host, codeOf(await agent.grant(request)))
    const active = (await host.table('logins').whereNull('ended_at')).length
    await agent.get('/leave')
    await expectSignedOut(agent)
    expect(await host.table('logins').whereNull('ended_at')).toHaveLength(active - 1)
    expect((await refresh(host, body.refresh_token)).body.error).toBe('invalid_grant')
  })
})

describe('the option session', () => {
  test("'host' stores our login under one name in the session of the host", async () => {
    const host = await start({ options: { session: 'host' }, before: [hostSession()] })
    addRoutes(host)
    const agent = await signedIn(host)
    expect(await subjectOf(host, agent)).toBe('1')
    const { id: _, cookie: __, ...stored } = JSON.parse((await agent.get('/me')).html)
    expect(Object.keys(stored)).toEqual([expect.stringMatching(/^latchkey:[0-9a-f]{8}$/)])
  })

  test.each([
    ["'own'", { session: 'own' as const }, 0],
    ['unset', {}, 1],
  ])('%s leaves the session of the host as it is', async (_, options, lines) => {
    const warn = jest.fn()
    const logger = { info: () => {}, warn, error: () => {} }
    const host = await start({ options: { ...options, logger }, before: [hostSession()] })
    addRoutes(host)
    const agent = new RawBrowser(host.app)
    await agent.get('/cart')
    const cookie = agent.cookies.get('host.sid')
    const before = (await agent.get('/me')).html
    codeOf(await agent.grant(request))
    expect(await subjectOf(host, agent)).toBe('1')
    expect(agent.cookies.get('host.sid')).toBe(cookie)
    expect((await agent.get('/me')).html).toBe(before)
    expect(JSON.parse(before)).toEqual({ cart: 'a book', id: idIn(cookie), cookie: 0 })
    expect(secretOf(agent)).toMatch(/^lk_se_/)
    const hints = warn.mock.calls.filter(([line]) => String(line).includes("session: 'host'"))
    expect(hints).toHaveLength(lines)
  })

  test('may be a middleware, which runs for the pages only; if its store fails, they answer 503', async () => {
    const seen: string[] = []
    const middleware = hostSession({ name: 'given.sid' })
    let fault: Error | undefined
    const host = await start({
      options: {
        session: (req, res, next) => {
          seen.push(`${req.method} ${req.path}`)
          if (fault) next(fault)
          else middleware(req, res, next)
        },
      },
    })
    const agent = await signedIn(host)
    expect(await subjectOf(host, agent)).toBe('1')
    const names = ['given.sid', nameOf(agent, 'browser'), nameOf(agent, 'known')]
    expect([...agent.cookies.keys()].sort()).toEqual(names.sort())
    await agent.get('/oauth/jwks')
    const posted = await agent.post(
      '/oauth/authorize',
      Object.fromEntries(new URL(request, issuer).searchParams),
    )
    // Of another site, a form does not even reach the session.
    const { action, fields } = formOf(posted.html, 'form-post')
    expect((await agent.post(action, fields, { 'Sec-Fetch-Site': 'cross-site' })).status).toBe(403)
    const pages = ['GET /authorize', 'GET /login', 'POST /login', 'GET /consent', 'POST /consent']
    expect(new Set(seen)).toEqual(new Set(pages))
    fault = new Error('the store is unavailable')
    const answer = await agent.get(silent)
    expectErrorPage(answer, 503)
    expect(answer.html).not.toContain('the store is unavailable')
  })

  test("'host' without a session of the host answers 503, and no user is signed in", async () => {
    const host = await start({ options: { session: 'host' } })
    const page = await new RawBrowser(host.app).get(silent)
    expectErrorPage(page, 503)
    // It blames no store, because most such apps have none.
    expect(page.html).toContain('the request has no session of the app')
  })

  test("'host' with a session without regenerate(), such as that of cookie-session, answers 503", async () => {
    const cookieSession: RequestHandler = (req, _res, next) => {
      Object.assign(req, { session: { cart: 'a book' } })
      next()
    }
    const host = await start({ options: { session: 'host' }, before: [cookieSession] })
    expectErrorPage(await new RawBrowser(host.app).get(silent), 503)
  })
})

test('an https issuer answers plain http with 503, and does not log the line to set each time', async () => {
  const lines: string[] = []
  const logger = { info: () => {}, warn: () => {}, error: (line: string) => void lines.push(line) }
  const host = await start({ options: { issuer: 'https://app.example.com/oauth', logger } })
  // Express does not trust the proxy.
  const agent = new RawBrowser(host.app, 'https://app.example.com', { 'X-Forwarded-Proto': 'https' })
  const page = await agent.get(request)
  expectErrorPage(page, 503)
  expect(page.headers['retry-after']).toBe('60')
  expect(page.setCookies).toEqual([])
  const { body, status } = await redeem(host, 'lk_ac_x')
  expect({ status, error: body.error }).toEqual({ status: 503, error: 'temporarily_unavailable' })
  expect((await agent.get('/oauth/.well-known/openid-configuration')).status).toBe(503)
  const hints = () => lines.filter((line) => line.includes("app.set('trust proxy', 1)"))
  const first = hints().length
  expect(first).toBeGreaterThan(0)
  for (const path of [request, '/oauth/jwks', '/oauth/login']) await agent.get(path)
  expect(hints()).toHaveLength(first)
})

test('a proxy that sends no X-Forwarded-Proto is named in the log, with its line (F2)', async () => {
  const lines: string[] = []
  const logger = { info: () => {}, warn: () => {}, error: (line: string) => void lines.push(line) }
  const host = await start({ options: { issuer: 'https://app.example.com/oauth', logger } })
  host.app.set('trust proxy', 1)
  await new RawBrowser(host.app, 'https://app.example.com', { 'X-Forwarded-For': '192.0.2.1' }).get(request)
  expect(lines[0]).toMatch(/the proxy sends no X-Forwarded-Proto; nginx: proxy_set_header X-Forwarded-Proto/)
})
