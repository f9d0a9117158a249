import type { RequestHandler } from 'express'
import session from 'express-session'
import { hashSecret } from '../../lib/keys/secrets.ts'
import { stopClock } from '../support/clock.ts'
import { authorizeUrl, type Host, type HostSettings, startHost } from '../support/host.ts'
import { claimsOf, codeOf, expectErrorPage, expectErrorRedirect } from '../support/outcomes.ts'
import { type Answer, RawBrowser } from '../support/raw-browser.ts'
import { redeem, refresh } from '../support/tokens.ts'

jest.setTimeout(60_000)

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
const expectSignedOut = async (agent: RawBrowser): Promise<void> =>
  expectErrorRedirect(await agent.get(silent), 'login_required', { state: 's' })
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
/** The session id within an express-session cookie. */
const idIn = (cookie: string | undefined): string =>
  /^s:([\w-]+)\./.exec(decodeURIComponent(cookie ?? ''))?.[1] ?? 'no session id'
const table = ({ database }: Host, name: string) => database.knex(`${database.tablePrefix}${name}`)

/** An app's own session, as most apps have it. */
const hostSession = (settings: Partial<session.SessionOptions> = {}): RequestHandler =>
  session({ secret: 'of the host', resave: false, saveUninitialized: false, name: 'host.sid', ...settings })
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
          authenticate: async (_username, password) => {
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
    table(of, 'sessions')
      .where({ id: hashSecret(idIn(agent.cookies.get(nameOf(agent, 'session')))) })
      .first()
  const endOf = async (agent: RawBrowser, of = host): Promise<number> =>
    Number((await rowOf(agent, of)).expires_at)

  /** A redirect may be sent before the later end of the session is stored. */
  const expectSoon = async <T>(read: () => T | Promise<T>, wanted: T): Promise<void> => {
    for (let look = 0; look < 1000 && (await read()) !== wanted; look += 1)
      await new Promise((resolve) => setTimeout(resolve, 5))
    expect(await read()).toBe(wanted)
  }
  const visit = async (agent: RawBrowser, of = host, idle = 1800): Promise<void> => {
    codeOf(await agent.get(silent))
    await expectSoon(() => endOf(agent, of), Math.floor(Date.now() / 1000) + idle)
  }

  /** Makes the table disappear; the function that it returns brings the table back. */
  const takeAway = async (): Promise<() => Promise<unknown>> => {
    const { knex, tablePrefix } = host.database
    await knex.schema.renameTable(`${tablePrefix}sessions`, `${tablePrefix}away`)
    return () => knex.schema.renameTable(`${tablePrefix}away`, `${tablePrefix}sessions`)
  }
  /** Makes the table disappear in the middle of this request. */
  const without = async (send: () => Promise<Answer>, then: (answer: Answer) => unknown): Promise<void> => {
    let bringBack = async (): Promise<unknown> => undefined
    meanwhile = async () => {
      meanwhile = async () => {}
      bringBack = await takeAway()
    }
    await then(await send())
    await bringBack()
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
    expect(await rowOf(agent)).toBeDefined()
    expect((await agent.open(request)).url.pathname).toBe('/oauth/login')
  })

  test.each([
    ['the login', 'sessions', 'created_at'],
    ['the session', 'logins', 'expires_at'],
  ])('ends after 12 hours despite visits, by %s alone', async (_, changed, column) => {
    const { travel, now } = stopClock()
    const idle = 12 * 3600
    const patient = await start({ options: { lifetimes: { sessionIdle: idle } } })
    const agent = await signedIn(patient)
    // Only one of the two limits remains.
    await table(patient, changed).update({ [column]: now() + 90_000 })
    travel(idle - 1)
    await visit(agent, patient, idle)
    travel(1)
    await expectSignedOut(agent)
  })

  test('survives a new secret beside the old one, and so does an open form', async () => {
    const agent = await signedIn(host)
    const page = await agent.open(renewed)
    const secrets = ['a newer secret of the tests that is long', 'a secret of the tests that is long enough']
    const next = await startHost({ database: host.database, options: { secrets } })
    const later = new RawBrowser(next.app, undefined, {}, agent.cookies)
    expect(await subjectOf(next, later)).toBe('1')
    codeOf(await later.signIn(page))
  })

  test('that a visit cannot prolong stays valid, and the visit is answered', async () => {
    const { travel } = stopClock()
    const agent = await signedIn(host)
    const before = await endOf(agent)
    travel(61)
    const send = (): Promise<Answer> => agent.get(silent)
    await without(send, async (answer) => {
      codeOf(answer)
      await expectSoon(() => log.warn.mock.calls.length, 1)
    })
    expect(log.warn.mock.calls).toEqual([['latchkey: a session could not be extended', expect.anything()]])
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
    await without(send, ({ status }) => expect(status).toBe(503))
    expect(announced).not.toHaveBeenCalled()
    codeOf(await agent.grant(request))
    expect(announced).toHaveBeenCalledTimes(1)
  })

  test('is removed when the user signs out, and the old cookie is invalid', async () => {
    const agent = await signedIn(host)
    const thief = agent.clone()
    const before = await rowOf(agent)
    await agent.submit(await agent.open('/oauth/logout'), 'csrf_token')
    expect(await table(host, 'sessions').where({ id: before.id })).toEqual([])
    await expectSignedOut(thief)
  })
})

describe("the host's session", () => {
  let host: Host
  beforeAll(async () => {
    host = await start({
      options: {
        login: {
          current: (req) => {
            const user = bagOf(req).user as { id: number; at: number } | undefined
            return user && { subject: user.id, authTime: user.at }
          },
          remember: (req, _res, user) => {
            bagOf(req).user = { id: user.id, at: Math.floor(Date.now() / 1000) }
          },
        },
      },
      before: [hostSession()],
    })
    addRoutes(host)
  })
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

  test('ends with the login and its tokens when the user signs out at the host', async () => {
    const agent = new RawBrowser(host.app)
    const { body } = await redeem(host, codeOf(await agent.grant(request)))
    const active = (await table(host, 'logins').whereNull('ended_at')).length
    await agent.get('/leave')
    await expectSignedOut(agent)
    expect(await table(host, 'logins').whereNull('ended_at')).toHaveLength(active - 1)
    expect((await refresh(host, body.refresh_token)).body.error).toBe('invalid_grant')
  })
})

describe('the option session', () => {
  test("is not required: the host's session stores our login under one name", async () => {
    const host = await start({ before: [hostSession()] })
    addRoutes(host)
    const agent = await signedIn(host)
    expect(await subjectOf(host, agent)).toBe('1')
    const { id: _, cookie: __, ...stored } = JSON.parse((await agent.get('/me')).html)
    expect(Object.keys(stored)).toEqual([expect.stringMatching(/^latchkey:[0-9a-f]{8}$/)])
  })

  test("'own' leaves the session of the host as it is", async () => {
    const host = await start({ options: { session: 'own' }, before: [hostSession()] })
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
    expect(idIn(agent.cookies.get(nameOf(agent, 'session')))).toMatch(/^[\w-]{32}$/)
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
    await agent.post('/oauth/authorize', web)
    const pages = ['GET /authorize', 'GET /login', 'POST /login', 'GET /consent', 'POST /consent']
    expect(new Set(seen)).toEqual(new Set(pages))
    fault = new Error('the store is unavailable')
    const answer = await agent.get(silent)
    expectErrorPage(answer, 503)
    expect(answer.html).not.toContain('the store is unavailable')
  })

  test("'host' without a session of the host answers 503, and no user is signed in", async () => {
    const host = await start({ options: { session: 'host' } })
    expectErrorPage(await new RawBrowser(host.app).get(silent), 503)
  })

  test('is own if the host has a session without regenerate(), such as that of cookie-session', async () => {
    const kept: Bag[] = []
    const cookieSession: RequestHandler = (req, _res, next) => {
      const bag = { cart: 'a book' }
      kept.push(bag)
      Object.assign(req, { session: bag })
      next()
    }
    const host = await start({ before: [cookieSession] })
    const agent = await signedIn(host)
    expect(await subjectOf(host, agent)).toBe('1')
    expect(nameOf(agent, 'session')).toMatch(/^latchkey_/)
    for (const bag of kept) expect(bag).toEqual({ cart: 'a book' })
  })
})

test('an https issuer answers a plain request with 503 and logs the line to set, not at every request', async () => {
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
