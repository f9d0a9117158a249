// A session store of the host that is unavailable, slow or silent: sign-in waits for it, and nothing else does. Pages answer 503 in
// time, no user is signed in by mistake, and everything works when the store is back.
import { RedisStore } from 'connect-redis'
import type { RequestHandler } from 'express'
import session, { type Store } from 'express-session'
import { createClient } from 'redis'
import { listen, type TestServer } from '../support/client-server.ts'
import { redemption, refreshing, type SignedIn, signIn } from '../support/fault-family.ts'
import { authorizeUrl, type Host, startHost } from '../support/host.ts'
import {
  codeOf,
  expectErrorPage,
  expectErrorRedirect,
  expectUnavailable as expectFormUnavailable,
} from '../support/outcomes.ts'
import { type Answer, RawBrowser } from '../support/raw-browser.ts'
import { web } from '../support/tokens.ts'
import {
  describeWithRedisServer,
  FickleStore,
  openRedisServer,
  type RedisServer,
  type StoreState,
} from './session-stores.ts'
import { shortenTimeouts } from './short-timeouts.ts'

const request = { client_id: 'web', scope: 'openid email', state: 's' }
const silent = authorizeUrl({ ...request, prompt: 'none' })

const unhandled: unknown[] = []
const noteUnhandled = (error: unknown) => void unhandled.push(error)
beforeAll(() => void process.on('unhandledRejection', noteUnhandled))
afterAll(() => void process.off('unhandledRejection', noteUnhandled))
afterEach(() => {
  jest.restoreAllMocks()
  expect(unhandled).toEqual([])
})

/** A host that listens, Ada, who is signed in there, and a user who is about to sign in. */
interface Scene {
  readonly listener: TestServer
  readonly ada: SignedIn
  readonly stranger: RawBrowser
  readonly signInPage: Answer
  /** Redeemed before anything broke. */
  readonly tokens: Readonly<Record<string, string>>
}

const postToken = async ({ origin }: TestServer, fields: Readonly<Record<string, string>>) => {
  const answer = await new RawBrowser(origin).post('/oauth/token', fields)
  expect({ status: answer.status, html: answer.html }).toMatchObject({ status: 200 })
  return JSON.parse(answer.html)
}

const openScene = async (listener: TestServer): Promise<Scene> => {
  const ada = await signIn(listener.origin)
  const stranger = new RawBrowser(listener.origin)
  return {
    listener,
    ada,
    stranger,
    signInPage: await stranger.open(authorizeUrl(request)),
    tokens: await postToken(listener, redemption(await ada.code())),
  }
}

/** What programs ask for needs no session. */
const expectApiUnaffected = async ({ listener, tokens }: Scene): Promise<void> => {
  const api = new RawBrowser(listener.origin)
  const { access_token } = await postToken(listener, refreshing(tokens.refresh_token))
  await postToken(listener, { grant_type: 'client_credentials', ...web })
  const introspected = await api.post('/oauth/introspect', { token: access_token, ...web })
  expect(JSON.parse(introspected.html)).toMatchObject({ active: true })
  const bearer = { authorization: `Bearer ${access_token}` }
  expect((await api.get('/oauth/userinfo', bearer)).status).toBe(200)
  for (const path of ['jwks', '.well-known/openid-configuration'])
    expect((await api.get(`/oauth/${path}`)).status).toBe(200)
}

const expectUnavailable = (page: Answer): void => {
  expectErrorPage(page, 503)
  expect(page.headers['retry-after']).toBe('1')
  expect(page.setCookies).toEqual([])
  expect(page.html).not.toContain('on fire')
}

/** If a login cannot be stored, the browser gets the form again with the error. */
const expectNotSignedIn = (page: Answer): void => {
  expectFormUnavailable(page)
  expect(page.setCookies).toEqual([])
  expect(page.html).not.toContain('on fire')
}

/** While the store is unavailable, all of this at once. */
const expectOutage = async (scene: Scene, expectRefused = expectNotSignedIn): Promise<void> => {
  shortenTimeouts()
  const { ada, stranger, signInPage } = scene
  const pages = [
    ada.browser.clone().get(silent),
    ada.browser.clone().get('/oauth/account'),
    ada.browser.clone().get('/oauth/logout'),
  ]
  const login = stranger.signIn(signInPage)
  await expectApiUnaffected(scene)
  for (const page of await Promise.all(pages)) expectUnavailable(page)
  expectRefused(await login)
  jest.restoreAllMocks()
}

const expectRecovery = async (scene: Scene, { forgets = false } = {}): Promise<void> => {
  const { ada, stranger, signInPage } = scene
  expectErrorRedirect(await stranger.get(silent), 'login_required', { state: 's' })
  codeOf(await stranger.signIn(signInPage).then((page) => allow(stranger, page)))
  if (forgets) expectErrorRedirect(await ada.browser.get(silent), 'login_required', { state: 's' })
  else codeOf(await ada.browser.get(silent))
  await expectApiUnaffected(scene)
}

const allow = async (browser: RawBrowser, page: Answer): Promise<Answer> =>
  page.url.pathname.endsWith('/consent') ? browser.decide(page, 'allow') : page

const sessionOn = (store: Store): RequestHandler =>
  session({ secret: 'of the host', resave: false, saveUninitialized: false, name: 'host.sid', store })

const tolerant: RequestHandler = (req, res, next) => {
  if (req.path === '/health') res.send('well')
  else next()
}

describe('a session middleware in options, while its store is', () => {
  let store: FickleStore
  let host: Host
  let listener: TestServer
  beforeAll(async () => {
    store = new FickleStore()
    host = await startHost({ options: { session: sessionOn(store), limits: false }, before: [tolerant] })
    listener = await listen(host.app)
  })
  afterAll(async () => {
    await listener.close()
    await host.close()
  })
  afterEach(() => {
    store.state = 'well'
  })

  test.each<StoreState>(['failing', 'throwing', 'silent'])(
    '%s: pages are 503 in time, and the API works',
    async (state) => {
      const scene = await openScene(listener)
      store.state = state
      await expectOutage(scene)
      store.state = 'well'
      await expectRecovery(scene)
    },
  )

  test('slow: everything works', async () => {
    const scene = await openScene(listener)
    store.state = 'slow'
    await expectRecovery(scene)
  })

  test('silent for writes only: every request ends, and no user is signed in', async () => {
    const scene = await openScene(listener)
    const { ada, stranger, signInPage } = scene
    shortenTimeouts()
    store.state = 'silent for writes'
    const hungUp = ada.browser
      .clone()
      .get('/oauth/account')
      .then(
        ({ status }) => status,
        () => 'closed',
      )
    expectNotSignedIn(await stranger.signIn(signInPage))
    expect(await hungUp).toBe('closed')
    await expectApiUnaffected(scene)
    store.state = 'well'
    await expectRecovery(scene)
  })
})

describe("the host's own session, after its store has disconnected", () => {
  test('pages are 503, and everything works when it is back', async () => {
    const store = new FickleStore()
    const host = await startHost({
      options: { session: 'host', limits: false },
      before: [sessionOn(store)],
    })
    const listener = await listen(host.app)
    try {
      const scene = await openScene(listener)
      store.emit('disconnect')
      // Without a session no page opens, so no form is checked.
      await expectOutage(scene, expectUnavailable)
      store.emit('connect')
      await expectRecovery(scene)
      // It fails only when the login is to be kept: middleware of the host's has let the request through.
      const person = new RawBrowser(listener.origin)
      const page = await person.open(authorizeUrl(request))
      shortenTimeouts()
      for (const state of ['failing', 'silent'] as const) {
        store.state = state
        expectNotSignedIn(await person.signIn(page))
      }
      store.state = 'well'
      expectErrorRedirect(await person.get(silent), 'login_required', { state: 's' })
    } finally {
      await listener.close()
      await host.close()
    }
  })
})

describeWithRedisServer('sessions in Redis', () => {
  let redis: RedisServer
  beforeAll(async () => {
    redis = await openRedisServer()
  })
  afterAll(() => redis.stop())

  const start = async (disableOfflineQueue: boolean) => {
    await redis.start()
    const socket = { reconnectStrategy: () => 50 }
    const client = createClient({ url: redis.url, disableOfflineQueue, socket }).on('error', () => {})
    await client.connect()
    const host = await startHost({
      options: { session: sessionOn(new RedisStore({ client })), limits: false },
    })
    const listener = await listen(host.app)
    const close = async (): Promise<void> => {
      client.destroy()
      await listener.close()
      await host.close()
      await redis.stop()
    }
    /** Until the client has found it again. */
    const back = async (): Promise<void> => {
      while (!client.isReady) await new Promise((resolve) => setTimeout(resolve, 20))
    }
    return { listener, back, close }
  }

  test.each([
    ['refuses at once', true],
    ['waits for it', false],
  ])('that is gone, with a client that %s', async (_, disableOfflineQueue) => {
    const { listener, back, close } = await start(disableOfflineQueue)
    try {
      const scene = await openScene(listener)
      await redis.stop()
      await expectOutage(scene)
      await redis.start()
      await back()
      await expectRecovery(scene, { forgets: true })
    } finally {
      await close()
    }
  })

  test('that runs and says nothing', async () => {
    const { listener, close } = await start(true)
    try {
      const scene = await openScene(listener)
      redis.freeze()
      await expectOutage(scene)
      redis.wake()
      await expectRecovery(scene)
    } finally {
      redis.wake()
      await close()
    }
  })
})
