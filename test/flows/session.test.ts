import type { RequestHandler } from 'express'
import session, { MemoryStore } from 'express-session'
import { hashSecret } from '../../lib/keys/secrets.ts'
import { stopClock } from '../support/clock.ts'
import { authorizeUrl, type Host, type HostSettings, startHost } from '../support/host.ts'
import {
  claimsOf,
  codeOf,
  expectErrorPage,
  expectErrorRedirect,
  expectUnavailable,
} from '../support/outcomes.ts'
import { type Answer, RawBrowser } from '../support/raw-browser.ts'
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
const silent = authorizeUrl({ ...web, prompt: 'none' })
const renewed = authorizeUrl({ ...web, prompt: 'login' })
const expectNobody = async (agent: RawBrowser): Promise<void> =>
  expectErrorRedirect(await agent.get(silent), 'login_required', { state: 's' })
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

describe("the kit's own session", () => {
  let host: Host
  beforeAll(async () => {
    host = await start()
  })
  const browser = () => new RawBrowser(host.app)
  /** A visit in silence; express-session lets the redirect out before the later end is stored, which time travel would overtake. */
  const visit = async (agent: RawBrowser): Promise<void> => {
    codeOf(await agent.get(silent))
    const id = hashSecret(idIn(agent.cookies.get(nameOf(agent, 'session'))))
    const end = Math.floor(Date.now() / 1000) + 1800
    let stored = 0
    for (let read = 0; stored < end && read < 1000; read += 1) {
      stored = Number((await table(host, 'sessions').where({ id }).first()).expires_at)
      // Reads in memory leave the event loop no turn in which to write.
      await new Promise(setImmediate)
    }
    expect(stored).toBe(end)
  }
  const loggedIn = async () => {
    const agent = browser()
    codeOf(await agent.grant(authorizeUrl(web)))
    return agent
  }

  test('its ids are stored hashed', async () => {
    const agent = await loggedIn()
    const id = idIn(agent.cookies.get(nameOf(agent, 'session')))
    const rows = await table(host, 'sessions')
    expect(rows.map((row) => row.id)).toContain(hashSecret(id))
    expect(JSON.stringify(rows)).not.toContain(id)
    const browsers = JSON.stringify(await table(host, 'pending_requests'))
    const secret = agent.cookies.get(nameOf(agent, 'browser')) ?? ''
    expect(browsers).toContain(hashSecret(secret))
    expect(browsers).not.toContain(secret)
  })

  test('ends after 30 minutes without a visit, whatever cookie is sent', async () => {
    const { travel } = stopClock()
    const agent = await loggedIn()
    await visit(agent)
    const thief = agent.clone()
    travel(1795)
    await visit(agent)
    travel(1795)
    await visit(agent)
    travel(1801)
    await expectNobody(agent)
    await expectNobody(thief)
    expect((await agent.open(authorizeUrl(web))).url.pathname).toBe('/oauth/login')
  })

  test.each([
    ['the login', 'logins'],
    ['the session', 'sessions'],
  ])('ends after 12 hours whatever happens, by %s alone', async (_, kept) => {
    const { travel, now } = stopClock()
    const agent = await loggedIn()
    await visit(agent)
    // Only one of the two limits is left to hold.
    if (kept === 'logins') await table(host, 'sessions').update({ created_at: now() + 90_000 })
    else await table(host, 'logins').update({ expires_at: now() + 90_000 })
    for (let half = 0; half < 24; half += 1) {
      travel(1799)
      await visit(agent)
    }
    travel(30)
    await expectNobody(agent)
  })

  test('survives a new secret beside the old one', async () => {
    const agent = await loggedIn()
    const page = await agent.open(renewed)
    const secrets = ['a newer secret of the tests that is long', 'a secret of the tests that is long enough']
    const next = await startHost({ database: host.database, options: { secrets } })
    const later = new RawBrowser(next.app)
    for (const [name, value] of agent.cookies) later.cookies.set(name, value)
    expect(await subjectOf(next, later)).toBe('1')
    // A form that was on the screen meanwhile is taken too.
    codeOf(await later.signIn(page))
  })

  test('without its table pages answer 503, the API works, and no user is logged in', async () => {
    const agent = await loggedIn()
    const stranger = browser()
    const page = await stranger.open(authorizeUrl(web))
    const { knex, tablePrefix } = host.database
    await knex.schema.renameTable(`${tablePrefix}sessions`, `${tablePrefix}gone`)
    try {
      const answer = await agent.get(silent)
      expectErrorPage(answer, 503)
      expect(answer.headers['retry-after']).toBe('1')
      expect(answer.html).toContain('We’ll be right back')
      expectUnavailable(await stranger.signIn(page))
      expect((await agent.get('/oauth/.well-known/openid-configuration')).status).toBe(200)
      expect((await agent.get('/oauth/jwks')).status).toBe(200)
      expect((await redeem(host, `lk_ac_${'A'.repeat(43)}`)).body.error).toBe('invalid_grant')
    } finally {
      await knex.schema.renameTable(`${tablePrefix}gone`, `${tablePrefix}sessions`)
    }
    await expectNobody(stranger)
    expect(await subjectOf(host, agent)).toBe('1')
    codeOf(await stranger.signIn(page))
  })
})

describe("the host's session", () => {
  let host: Host
  let store: MemoryStore
  beforeAll(async () => {
    store = new MemoryStore()
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
      before: [hostSession({ store })],
    })
    host.app.get('/me', (req, res) => void res.json({ id: req.sessionID, ...bagOf(req) }))
    host.app.get('/cart', (req, res) => {
      bagOf(req).cart = 'a book'
      res.send('ok')
    })
    host.app.get('/leave', (req, res) => {
      delete bagOf(req).user
      res.send('ok')
    })
  })
  const browser = () => new RawBrowser(host.app)
  const me = async (agent: RawBrowser) => JSON.parse((await agent.get('/me')).html)

  test('is the only session, and its hook gets the login', async () => {
    const agent = browser()
    await agent.get('/cart')
    codeOf(await agent.grant(authorizeUrl(web)))
    expect([...agent.cookies.keys()].filter((name) => name.endsWith('_session'))).toEqual([])
    expect(await me(agent)).toMatchObject({ user: { id: 1 } })
    expect(await subjectOf(host, agent)).toBe('1')
  })

  test('has a new id after the login; a planted one is invalid', async () => {
    const agent = browser()
    await agent.get('/cart')
    const planted = agent.clone()
    const before = idIn(agent.cookies.get('host.sid'))
    codeOf(await agent.grant(authorizeUrl(web)))
    const after = idIn(agent.cookies.get('host.sid'))
    expect(before).toMatch(/^[\w-]{32}$/)
    expect(after).toMatch(/^[\w-]{32}$/)
    expect(after).not.toBe(before)
    expect((await me(planted)).user).toBeUndefined()
    await expectNobody(planted)
    codeOf(await agent.signIn(await agent.open(renewed)))
    expect(idIn(agent.cookies.get('host.sid'))).not.toBe(after)
  })

  test('signing out at the host ends the login and what hangs on it', async () => {
    const agent = browser()
    const { body } = await redeem(host, codeOf(await agent.grant(authorizeUrl(web))))
    const open = (await table(host, 'logins').whereNull('ended_at')).length
    await agent.get('/leave')
    await expectNobody(agent)
    expect(await table(host, 'logins').whereNull('ended_at')).toHaveLength(open - 1)
    expect((await refresh(host, body.refresh_token)).body.error).toBe('invalid_grant')
  })

  test('without its store pages answer 503, and no user is logged in', async () => {
    const agent = browser()
    codeOf(await agent.grant(authorizeUrl(web)))
    const stranger = browser()
    const page = await stranger.open(authorizeUrl(web))
    store.emit('disconnect')
    for (const answer of [await agent.get(silent), await stranger.get(silent), await stranger.signIn(page)]) {
      expectErrorPage(answer, 503)
      expect(answer.setCookies).toEqual([])
    }
    store.emit('connect')
    await expectNobody(stranger)
    codeOf(await agent.get(silent))
    codeOf(await stranger.signIn(page))
  })

  test('a store that cannot save logs no user in, and the next request works', async () => {
    const agent = browser()
    const page = await agent.open(authorizeUrl(web))
    const failing = jest.spyOn(store, 'set')
    failing.mockImplementation((_id, _session, done) => done?.(new Error('disk full')))
    expectUnavailable(await agent.signIn(page))
    failing.mockRestore()
    await expectNobody(agent)
    codeOf(await agent.signIn(page))
  })
})

test("the host's session without hooks carries our login and keeps nothing else of ours", async () => {
  const host = await start({ before: [hostSession()] })
  host.app.get('/me', (req, res) => void res.json(Object.keys(bagOf(req))))
  const agent = new RawBrowser(host.app)
  codeOf(await agent.grant(authorizeUrl(web)))
  expect(await subjectOf(host, agent)).toBe('1')
  const own = expect.stringMatching(/^latchkey:[0-9a-f]{8}$/)
  expect(JSON.parse((await agent.get('/me')).html)).toEqual(['cookie', own])
})

test("session: 'own' leaves a session of the host's as it is", async () => {
  const host = await start({ options: { session: 'own' }, before: [hostSession()] })
  host.app.get('/cart', (req, res) => {
    bagOf(req).cart = 'a book'
    res.send('ok')
  })
  host.app.get('/me', (req, res) => void res.json({ ...bagOf(req), id: req.sessionID, cookie: 0 }))
  const agent = new RawBrowser(host.app)
  await agent.get('/cart')
  const cookie = agent.cookies.get('host.sid')
  const before = (await agent.get('/me')).html
  codeOf(await agent.grant(authorizeUrl(web)))
  expect(await subjectOf(host, agent)).toBe('1')
  expect(agent.cookies.get('host.sid')).toBe(cookie)
  expect((await agent.get('/me')).html).toBe(before)
  expect(JSON.parse(before)).toEqual({ cart: 'a book', id: idIn(cookie), cookie: 0 })
  expect(idIn(agent.cookies.get(nameOf(agent, 'session')))).toMatch(/^[\w-]{32}$/)
})

test('session: a middleware runs on the router’s pages only', async () => {
  const seen: string[] = []
  const middleware = hostSession({ name: 'given.sid' })
  const host = await start({
    options: {
      session: (req, res, next) => {
        seen.push(`${req.method} ${req.path}`)
        middleware(req, res, next)
      },
    },
  })
  const agent = new RawBrowser(host.app)
  codeOf(await agent.grant(authorizeUrl(web)))
  expect(await subjectOf(host, agent)).toBe('1')
  const names = ['given.sid', nameOf(agent, 'browser'), nameOf(agent, 'known')]
  expect([...agent.cookies.keys()].sort()).toEqual(names.sort())
  await agent.get('/oauth/jwks')
  await agent.post('/oauth/authorize', web)
  const pages = ['GET /authorize', 'GET /login', 'POST /login', 'GET /consent', 'POST /consent']
  expect(new Set(seen)).toEqual(new Set(pages))
})

test('session: a middleware whose store fails is 503', async () => {
  const host = await start({ options: { session: (_req, _res, next) => next(new Error('store is away')) } })
  const answer = await new RawBrowser(host.app).get(silent)
  expectErrorPage(answer, 503)
  expect(answer.html).not.toContain('store is away')
})

test("session: 'host' without a session is 503, never a login", async () => {
  const host = await start({ options: { session: 'host' } })
  expectErrorPage(await new RawBrowser(host.app).get(silent), 503)
})

test('a session without regenerate(), as cookie-session has it, is left alone', async () => {
  const kept: Bag[] = []
  const host = await start({
    before: [
      (req, _res, next) => {
        const bag = { cart: 'a book' }
        kept.push(bag)
        Object.assign(req, { session: bag })
        next()
      },
    ],
  })
  const agent = new RawBrowser(host.app)
  codeOf(await agent.grant(authorizeUrl(web)))
  expect(await subjectOf(host, agent)).toBe('1')
  expect(nameOf(agent, 'session')).toMatch(/^latchkey_/)
  for (const bag of kept) expect(bag).toEqual({ cart: 'a book' })
})

describe('an https issuer', () => {
  const options = { issuer: 'https://app.example.com/oauth' }
  const forwarded = { 'X-Forwarded-Proto': 'https' }
  const at = { iss: options.issuer }
  const agentOf = (host: Host, headers: Record<string, string>) =>
    new RawBrowser(host.app, 'https://app.example.com', headers)

  test.each(['own', 'host'] as const)(
    'has Secure cookies behind a trusted proxy (%s session)',
    async (kind) => {
      const before = kind === 'host' ? [hostSession({ cookie: { secure: true } })] : []
      const host = await start({ options, before })
      host.app.set('trust proxy', 1)
      const agent = agentOf(host, forwarded)
      const answers: Answer[] = []
      const send = agent.send.bind(agent)
      agent.send = async (...request) => {
        answers.push(await send(...request))
        return answers.at(-1) as Answer
      }
      codeOf(await agent.grant(authorizeUrl(web)), at)
      const set = answers.flatMap(({ setCookies }) => setCookies)
      for (const cookie of set) expect(cookie).toMatch(/; Secure/)
      const ours = set.filter((cookie) => cookie.includes('latchkey'))
      expect(ours).toHaveLength(kind === 'own' ? 3 : 2)
      for (const cookie of ours) {
        expect(cookie).toMatch(/^__Host-latchkey_[0-9a-f]{8}_(browser|known|session)=/)
        const [, ...attributes] = cookie.split('; ').filter((each) => !each.startsWith('Max-Age='))
        expect(attributes.sort()).toEqual(['HttpOnly', 'Path=/', 'SameSite=Lax', 'Secure'])
      }
      codeOf(await agent.get(silent), at)
    },
  )

  test('answers a plain request with 503 and logs the line to set, not at every request', async () => {
    const lines: string[] = []
    const logger = { info: () => {}, warn: () => {}, error: (line: string) => void lines.push(line) }
    const host = await start({ options: { ...options, logger } })
    // Nobody has told Express to believe the proxy.
    const agent = agentOf(host, forwarded)
    const page = await agent.get(authorizeUrl(web))
    expectErrorPage(page, 503)
    expect(page.headers['retry-after']).toBe('60')
    expect(page.setCookies).toEqual([])
    const { body, status } = await redeem(host, 'lk_ac_x')
    expect({ status, error: body.error }).toEqual({ status: 503, error: 'temporarily_unavailable' })
    expect((await agent.get('/oauth/.well-known/openid-configuration')).status).toBe(503)
    const told = () => lines.filter((line) => line.includes("app.set('trust proxy', 1)"))
    const first = told().length
    expect(first).toBeGreaterThan(0)
    for (const path of [authorizeUrl(web), '/oauth/jwks', '/oauth/login']) await agent.get(path)
    expect(told()).toHaveLength(first)
  })
})
