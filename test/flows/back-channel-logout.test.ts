import type { Request } from 'express'
import session from 'express-session'
import { createLocalJWKSet, jwtVerify } from 'jose'
import supertest from 'supertest'
import type { ClientSeed } from '../../lib/index.ts'
import { stopClock } from '../support/clock.ts'
import {
  authorizeUrl,
  callback,
  type Host,
  type HostSettings,
  issuer,
  secret,
  startHost,
} from '../support/host.ts'
import { createInbox, type LogoutReceiver, openLogoutReceiver } from '../support/logout-receiver.ts'
import { claimsOf, codeOf, expectErrorRedirect } from '../support/outcomes.ts'
import { RawBrowser, textOf } from '../support/raw-browser.ts'
import { ada, answerOf, bob, redeem, revoke, type TokenAnswer } from '../support/tokens.ts'

/** The pauses between attempts: noted, and over at once unless a test holds them until the server closes. */
const mockPauses: number[] = []
let mockHolds = false
jest.mock('node:timers/promises', () => {
  const actual = jest.requireActual('node:timers/promises')
  const setTimeout = (
    milliseconds: number,
    value: unknown,
    options: { signal?: AbortSignal } = {},
  ): Promise<unknown> => {
    const { signal } = options
    if (signal === undefined) return actual.setTimeout(milliseconds, value, options)
    mockPauses.push(milliseconds)
    if (!mockHolds) return Promise.resolve(value)
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  }
  return { ...actual, setTimeout }
})

const bye = 'https://client.example.com/bye'

let receiver: LogoutReceiver
let host: Host | undefined
let warnings: ReturnType<typeof createInbox<string>>
beforeEach(async () => {
  receiver = await openLogoutReceiver()
  warnings = createInbox()
  mockPauses.length = 0
  mockHolds = false
})
afterEach(async () => {
  jest.restoreAllMocks()
  await receiver.close()
  await host?.close()
  host = undefined
})

const client = (client_id: string, metadata: Partial<ClientSeed> = {}): ClientSeed => ({
  client_id,
  client_secret: secret,
  redirect_uris: [callback],
  first_party: true,
  backchannel_logout_uri: `${receiver.origin}/${client_id}`,
  post_logout_redirect_uris: [bye],
  ...metadata,
})

const start = async (clients: ClientSeed[], settings: HostSettings = {}): Promise<Host> => {
  const note = (...words: unknown[]): void => warnings.add(words.map(String).join(' '))
  host = await startHost({
    clients,
    ...settings,
    options: {
      outbound: { allow: [receiver.origin] },
      logger: { info: () => {}, warn: note, error: note },
      ...settings.options,
    },
  })
  return host
}

/** Closing waits for every delivery, so nothing can come after it. */
const settled = async (of: Host): Promise<void> => {
  await of.close()
  host = undefined
}
const paths = (): string[] => receiver.requests.items.map(({ path }) => path)

const grant = async (of: Host, agent: RawBrowser, client_id: string, as = ada): Promise<TokenAnswer> => {
  const done = await agent.grant(authorizeUrl({ client_id, scope: 'openid' }), as.email, as.password)
  return answerOf(redeem(of, codeOf(done), { client_id }))
}
const signOut = (agent: RawBrowser, { id_token: id_token_hint }: TokenAnswer) =>
  agent.get(`/oauth/logout?${new URLSearchParams({ id_token_hint, post_logout_redirect_uri: bye })}`)
const sidOf = ({ id_token }: TokenAnswer): unknown => claimsOf(id_token).sid

/** One client of one user who has signed in. */
const atShop = async (metadata: Partial<ClientSeed> = {}, settings: HostSettings = {}) => {
  const app = await start([client('shop', metadata)], settings)
  const agent = new RawBrowser(app.app)
  return { app, agent, tokens: await grant(app, agent, 'shop') }
}
/** The same, just signed out. */
const afterSignOut = async (metadata?: Partial<ClientSeed>, settings?: HostSettings) => {
  const { app, agent, tokens } = await atShop(metadata, settings)
  expect((await signOut(agent, tokens)).headers.location).toBe(bye)
  return { app, agent, tokens }
}

describe('the logout token (Back-Channel Logout §2.4)', () => {
  test.each([
    ['RS256', 'public', '1'],
    ['EdDSA', 'pairwise', expect.stringMatching(/^[\w-]{43}$/)],
  ] as const)(
    'says who is signed out of what, signed %s with a published key, and nothing else',
    async (algorithm, subject_type, subject) => {
      const clock = stopClock()
      const { app, agent, tokens } = await afterSignOut({
        id_token_signed_response_alg: algorithm,
        subject_type,
      })
      const { sub } = claimsOf(tokens.id_token)
      expect(sub).toEqual(subject)
      const [request] = await receiver.requests.until(1)
      expect(request).toMatchObject({ method: 'POST', path: '/shop' })
      expect(request?.headers['content-type']).toBe('application/x-www-form-urlencoded')
      expect(request?.headers).not.toHaveProperty('cookie')
      expect(request?.headers).not.toHaveProperty('authorization')
      const token = request?.token ?? ''
      expect(request?.fields).toEqual([['logout_token', token]])
      const { body: jwks } = await supertest(app.app).get('/oauth/jwks')
      const { payload, protectedHeader } = await jwtVerify(token, createLocalJWKSet(jwks), {
        issuer,
        audience: 'shop',
        typ: 'logout+jwt',
        algorithms: [algorithm],
        currentDate: new Date(clock.now() * 1000),
      })
      expect(payload).toEqual({
        iss: issuer,
        aud: 'shop',
        sub,
        iat: clock.now(),
        exp: expect.any(Number),
        jti: expect.stringMatching(/^[\w-]{22}$/),
        events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
        sid: sidOf(tokens),
      })
      expect(payload.sid).toMatch(/^[\w-]{22}$/)
      expect(payload.exp).toBeGreaterThan(clock.now())
      expect(payload.exp).toBeLessThanOrEqual(clock.now() + 120)
      expect(protectedHeader).toEqual({ alg: algorithm, kid: expect.any(String), typ: 'logout+jwt' })
      // It is no ID token: neither a hint for logout nor for sign-in.
      const hint = { id_token_hint: token }
      const page = await agent.get(`/oauth/logout?${new URLSearchParams(hint)}`)
      expect(textOf(page)).not.toContain('shop')
      const url = authorizeUrl({ client_id: 'shop', scope: 'openid', prompt: 'none', ...hint })
      expectErrorRedirect(await agent.get(url), 'login_required')
    },
  )
})

describe('which clients are notified', () => {
  test('each client of the login once, and no other client, nor one that is disabled', async () => {
    const app = await start([
      ...['shop', 'news', 'elsewhere', 'never', 'off'].map((id) => client(id)),
      client('deaf', { backchannel_logout_uri: undefined }),
    ])
    const agent = new RawBrowser(app.app)
    const tokens = await grant(app, agent, 'shop')
    for (const client_id of ['shop', 'news', 'deaf', 'off']) await grant(app, agent, client_id)
    const ofNews = await grant(app, agent, 'news')
    await grant(app, new RawBrowser(app.app), 'elsewhere')
    await app.oauth.clients.disable('off')
    await signOut(agent, tokens)
    await settled(app)
    const claims = receiver.requests.items.map(({ path, token }) => ({ path, ...claimsOf(token) }))
    const byPath = Object.fromEntries(claims.map((each) => [each.path, each]))
    expect(claims).toHaveLength(2)
    expect(byPath).toMatchObject({
      '/shop': { aud: 'shop', sid: sidOf(tokens) },
      '/news': { aud: 'news', sid: sidOf(ofNews) },
    })
    expect(byPath['/shop']).not.toMatchObject({ jti: (byPath['/news'] as { jti?: unknown }).jti })
    expect(warnings.items).toEqual([])
  })

  test('once, however often the user signs out', async () => {
    const { app, agent, tokens } = await afterSignOut()
    await signOut(agent, tokens)
    await Promise.all([signOut(agent.clone(), tokens), signOut(agent.clone(), tokens)])
    await settled(app)
    expect(paths()).toEqual(['/shop'])
  })

  test('of every login that the browser went through, when a user has signed in again', async () => {
    const app = await start([client('shop'), client('news')])
    const agent = new RawBrowser(app.app)
    const first = await grant(app, agent, 'shop')
    const again = await agent.grant(authorizeUrl({ client_id: 'news', scope: 'openid', prompt: 'login' }))
    const second = await answerOf(redeem(app, codeOf(again), { client_id: 'news' }))
    expect(sidOf(second)).not.toBe(sidOf(first))
    await signOut(agent, second)
    await settled(app)
    const told = receiver.requests.items.map(({ path, token }) => [path, claimsOf(token).sid])
    expect(Object.fromEntries(told)).toEqual({ '/shop': sidOf(first), '/news': sidOf(second) })
    expect(told).toHaveLength(2)
  })
})

describe('a client that does not answer as it should', () => {
  test('delays neither the user nor other clients', async () => {
    const events: string[] = []
    const app = await start([client('slow'), client('shop')])
    const agent = new RawBrowser(app.app)
    const tokens = await grant(app, agent, 'slow')
    await grant(app, agent, 'shop')
    const letGo = new Promise<() => void>((resolve) => {
      receiver.answer('/slow', (res) => {
        res.on('close', () => events.push('the slow client is done'))
        resolve(() => res.writeHead(200).end())
      })
    })
    receiver.answer('/shop', (res) => {
      events.push('the other client is told')
      res.writeHead(204).end()
    })
    expect((await signOut(agent, tokens)).status).toBe(303)
    events.push('the user is signed out')
    await receiver.requests.until(2)
    ;(await letGo)()
    await settled(app)
    expect(events).toHaveLength(3)
    expect(events[2]).toBe('the slow client is done')
    expect(warnings.items).toEqual([])
  })

  test('is given up after the timeout, and tried three times in all', async () => {
    const limits: AbortController[] = []
    jest.spyOn(AbortSignal, 'timeout').mockImplementation((milliseconds) => {
      expect(milliseconds).toBeLessThanOrEqual(5000)
      const limit = new AbortController()
      limits.push(limit)
      return limit.signal
    })
    receiver.answer('/shop', () => {})
    const { app } = await afterSignOut()
    for (const attempt of [1, 2, 3]) {
      await receiver.requests.until(attempt)
      expect(limits).toHaveLength(attempt)
      limits[attempt - 1]?.abort()
    }
    const [warning] = await warnings.until(1)
    expect(warning).toContain('client shop did not receive a logout token')
    expect(warning).toContain('timeout')
    await settled(app)
    expect(paths()).toHaveLength(3)
    expect(mockPauses).toEqual([1000, 5000])
  })

  test('is tried again after a 5xx answer, with a new token', async () => {
    receiver.answer('/shop', (res, count) => res.writeHead(count === 1 ? 500 : 200).end())
    const { app } = await afterSignOut()
    const requests = await receiver.requests.until(2)
    await settled(app)
    expect(receiver.requests.items).toHaveLength(2)
    expect(new Set(requests.map(({ token }) => claimsOf(token).jti)).size).toBe(2)
    expect(mockPauses).toEqual([1000])
    expect(warnings.items).toEqual([])
  })

  test('is not tried again if it refused the token (§2.8)', async () => {
    receiver.answer('/shop', (res) => res.writeHead(400).end('{"error":"invalid_request"}'))
    const { app } = await afterSignOut()
    const [warning] = await warnings.until(1)
    await settled(app)
    expect(paths()).toEqual(['/shop'])
    expect(mockPauses).toEqual([])
    expect(warning).toBe('latchkey: client shop did not receive a logout token: it responded with status 400')
  })

  test('is named in the log when it cannot be reached, and nothing secret is', async () => {
    const gone = await openLogoutReceiver()
    await gone.close()
    const { app, tokens } = await afterSignOut(
      { backchannel_logout_uri: `${gone.origin}/secret-path?key=secret` },
      { options: { outbound: { allow: [gone.origin] } } },
    )
    const [warning = ''] = await warnings.until(1)
    await settled(app)
    expect(warnings.items).toHaveLength(1)
    expect(warning).toContain('client shop did not receive a logout token')
    expect(warning).toContain(gone.origin)
    expect(mockPauses).toEqual([1000, 5000])
    for (const hidden of ['secret', 'eyJ', 'lk_', String(sidOf(tokens)), tokens.id_token])
      expect(warning).not.toContain(hidden)
  })
})

describe('what notifies them', () => {
  test('users.revokeAll(): every login in every browser', async () => {
    const app = await start([client('shop')])
    const [one, two, other] = [new RawBrowser(app.app), new RawBrowser(app.app), new RawBrowser(app.app)]
    const tokens = [await grant(app, one, 'shop'), await grant(app, two, 'shop')]
    await grant(app, other, 'shop', bob)
    await app.oauth.users.revokeAll(1)
    await app.oauth.users.revokeAll(1)
    await settled(app)
    const told = receiver.requests.items.map(({ token }) => claimsOf(token))
    expect(told.map(({ sub }) => sub)).toEqual(['1', '1'])
    expect(told.map(({ sid }) => sid).sort()).toEqual(tokens.map(sidOf).sort())
  })

  describe("the host's own session", () => {
    type Bag = { user?: { subject: number; authTime: number } }
    const bagOf = (req: Request): Bag => req.session as Bag
    const hosted = async () => {
      const signedIn = (subject: number) => ({ subject, authTime: Math.floor(Date.now() / 1000) })
      const app = await start([client('shop')], {
        before: [session({ secret: 'of the host', resave: false, saveUninitialized: false })],
        options: {
          session: 'host',
          login: {
            current: ({ req }) => bagOf(req).user,
            remember: (user, { req }) => {
              bagOf(req).user = signedIn(Number(user.id))
            },
          },
        },
      })
      app.app.post('/sign-out', async (req, res) => {
        await app.oauth.users.signedOut(req)
        req.session.destroy(() => void res.send('bye'))
      })
      app.app.post('/leave', (req, res) => {
        delete bagOf(req).user
        res.send('bye')
      })
      app.app.post('/become-bob', (req, res) => {
        bagOf(req).user = signedIn(2)
        res.send('hello')
      })
      const agent = new RawBrowser(app.app)
      return { app, agent, tokens: await grant(app, agent, 'shop') }
    }

    test('when the host calls signedOut(req), or a client ends the session', async () => {
      const { app, agent, tokens } = await hosted()
      expect((await agent.post('/sign-out', {})).html).toBe('bye')
      const [request] = await receiver.requests.until(1)
      expect(claimsOf(request?.token ?? '')).toMatchObject({ sub: '1', sid: sidOf(tokens) })
      const other = new RawBrowser(app.app)
      expect((await other.post('/sign-out', {})).html).toBe('bye')
      const later = await grant(app, other, 'shop')
      await signOut(other, later)
      await settled(app)
      const told = receiver.requests.items.map(({ token }) => claimsOf(token).sid)
      expect(told).toEqual([sidOf(tokens), sidOf(later)])
    })

    test('when login.current returns no user', async () => {
      const { agent, tokens } = await hosted()
      await agent.post('/leave', {})
      expect(receiver.requests.items).toEqual([])
      const silent = authorizeUrl({ client_id: 'shop', scope: 'openid', prompt: 'none' })
      expectErrorRedirect(await agent.get(silent), 'login_required')
      const [request] = await receiver.requests.until(1)
      expect(claimsOf(request?.token ?? '')).toMatchObject({ sub: '1', sid: sidOf(tokens) })
    })

    test('when login.current returns another user', async () => {
      const { app, agent, tokens } = await hosted()
      await agent.post('/become-bob', {})
      codeOf(await agent.get(authorizeUrl({ client_id: 'shop', scope: 'openid', prompt: 'none' })))
      await settled(app)
      const told = receiver.requests.items.map(({ token }) => claimsOf(token))
      expect(told).toEqual([expect.objectContaining({ sub: '1', sid: sidOf(tokens) })])
    })
  })

  test('neither a revocation nor a page view', async () => {
    const { app, agent, tokens } = await atShop()
    await revoke(app, tokens.refresh_token, { client_id: 'shop' })
    await agent.get('/oauth/logout')
    await settled(app)
    expect(receiver.requests.items).toEqual([])
  })
})

describe('close()', () => {
  test('makes the next attempt at once, as the last one', async () => {
    mockHolds = true
    receiver.answer('/shop', (res) => res.writeHead(503).end())
    const paused = new Promise<void>((resolve) => {
      jest.spyOn(mockPauses, 'push').mockImplementationOnce((milliseconds) => {
        resolve()
        return milliseconds
      })
    })
    const { app } = await afterSignOut()
    await paused
    await app.oauth.close()
    expect(paths()).toHaveLength(2)
    expect(warnings.items).toHaveLength(1)
  })

  test('waits for a running attempt, and makes no other', async () => {
    const limit = new AbortController()
    jest.spyOn(AbortSignal, 'timeout').mockReturnValue(limit.signal)
    receiver.answer('/shop', () => {})
    const { app } = await afterSignOut()
    await receiver.requests.until(1)
    const closing = app.oauth.close()
    limit.abort()
    await closing
    expect(paths()).toHaveLength(1)
    expect(mockPauses).toEqual([])
    expect(warnings.items).toHaveLength(1)
  })
})
