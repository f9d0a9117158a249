import { mkdtempSync, rmSync } from 'node:fs'
import { type IncomingMessage, request, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { RequestHandler } from 'express'
import knex from 'knex'
import type { Page } from 'playwright-core'
import { seedClients, seedUsers } from '../../lib/index.ts'
import { newPage, withPage } from '../support/browser.ts'
import { press, signIn, waitForHeading } from '../support/browser-person.ts'
import { openWeb, type Web } from '../support/browser-web.ts'
import { type Clock, stopClock } from '../support/clock.ts'
import { startServer } from '../support/fault-servers.ts'
import { authorizeUrl, type Host, people, secret, startHost } from '../support/host.ts'
import { headings } from '../support/outcomes.ts'
import { describeWith } from '../support/services.ts'

/** Passes a request on to the server process that runs now. */
const forward = (to: string, req: IncomingMessage, res: ServerResponse): void => {
  const { method, url } = req
  const headers = { ...req.headers, 'x-forwarded-proto': 'https' }
  const passed = request(to + url, { method, headers, agent: false }, (answer) => {
    answer.pipe(res.writeHead(answer.statusCode ?? 0, answer.headers))
  })
  req.pipe(passed.on('error', () => res.destroy()))
}

const [ada, bob] = [people[0]!, people[1]!]

// A browser on a busy machine takes its time; each wait for one thing ends sooner (support/browser.ts).
jest.setTimeout(60_000)

describeWith('chromium', 'pages on which nothing goes on', () => {
  let web: Web
  let host: Host
  let clock: Clock
  let areCookiesBlocked = false
  const client = (): string => web.origin('notes.test')
  const start = (): string => `${client()}/start`
  const notes = () => ({
    ...{ client_id: 'notes', client_name: 'Notes', client_secret: secret, scope: 'openid' },
    ...{ client_uri: client(), initiate_login_uri: start(), redirect_uris: [`${client()}/callback`] },
  })
  const origin = (): string => web.origin('id.test')
  const issuer = (): string => `${origin()}/oauth`
  const url = (more: Readonly<Record<string, string>> = {}): string =>
    origin() +
    authorizeUrl({
      client_id: 'notes',
      redirect_uri: `${client()}/callback`,
      scope: 'openid',
      prompt: 'consent',
      ...more,
    })

  beforeAll(async () => {
    web = await openWeb()
    const { client_uri, initiate_login_uri, ...plain } = notes()
    const clients = [notes(), { ...plain, client_id: 'plain' }]
    // A browser that blocks cookies discards what the server sets.
    const discardCookies: RequestHandler = (_req, res, next) => {
      const { writeHead } = res
      res.writeHead = (...sent: unknown[]) => {
        if (areCookiesBlocked) res.removeHeader('Set-Cookie')
        return Reflect.apply(writeHead, res, sent)
      }
      next()
    }
    host = await startHost({
      before: [discardCookies],
      options: { issuer: issuer(), branding: { name: 'Acme', home: '/home' } },
      clients,
    })
    host.app.get('/home', (_req, res) => void res.send('<h1>Acme’s home</h1>'))
    web.serve('id.test', host.app)
    // What a client does at its initiate_login_uri (OIDC Core §4).
    web.answer(start(), (req, res) => {
      const iss = new URL(req.url ?? '', client()).searchParams.get('iss')
      res.writeHead(302, { Location: iss === issuer() ? url() : '/wrong-issuer' }).end()
    })
  })
  afterAll(async () => {
    await web?.close()
    await host?.close()
  })
  beforeEach(() => {
    clock = stopClock()
  })
  afterEach(() => {
    areCookiesBlocked = false
    jest.restoreAllMocks()
  })

  const inBrowser = (run: (page: Page) => Promise<void>): Promise<void> => withPage(web.browser, {}, run)
  const atClient = (page: Page): Promise<void> => waitForHeading(page, `This is ${new URL(client()).host}`)
  const follow = (page: Page, name: string): Promise<void> =>
    page.getByRole('link', { name, exact: true }).click()
  const notice = (page: Page): Promise<string | null> => page.locator('#notice p').textContent()
  const atConsent = (page: Page): Promise<unknown> => page.waitForSelector('[value=allow]')
  /** Signs in, allows, and comes to the client with a code. */
  const finish = async (page: Page): Promise<void> => {
    if (new URL(page.url()).pathname.endsWith('/login')) await signIn(page)
    await atConsent(page)
    await press(page, 'Allow')
    await atClient(page)
    expect(new URL(page.url()).searchParams.get('code')).toMatch(/^lk_ac_/)
  }
  const forgetCookies = (page: Page, name: RegExp): Promise<void> => page.context().clearCookies({ name })

  test.each([['at the sign-in form'], ['at consent']])(
    'a request that expired %s starts again at the client',
    (at) =>
      inBrowser(async (page) => {
        await page.goto(url())
        if (at === 'at consent') await signIn(page)
        clock.travel(3601)
        if (at === 'at consent') await press(page, 'Allow')
        else await signIn(page)
        await waitForHeading(page, headings.expired)
        await page.reload()
        await follow(page, 'Start again')
        await finish(page)
      }),
  )

  test('an expired request of a client without pages of its own leads to the product', () =>
    inBrowser(async (page) => {
      await page.goto(url({ client_id: 'plain' }))
      clock.travel(3601)
      await page.reload()
      await waitForHeading(page, headings.expired)
      expect(await page.textContent('main')).toContain('continue to Notes')
      await follow(page, 'Go to Acme')
      await waitForHeading(page, 'Acme’s home')
    }))

  test.each(['Allow', 'Cancel'])('Back after %s says that it is done, and leads to the client', (answer) =>
    inBrowser(async (page) => {
      await page.goto(url())
      await signIn(page)
      await press(page, answer)
      await atClient(page)
      await page.goBack()
      await waitForHeading(page, headings.finished)
      await follow(page, 'Continue to Notes')
      await atClient(page)
      expect(new URL(page.url()).pathname).toBe('/')
    }),
  )

  test.each(['Allow', 'Cancel', 'Not you?'])(
    'with the session lost, %s leads to the sign-in form, which says why',
    (answer) =>
      inBrowser(async (page) => {
        await page.goto(url())
        await signIn(page)
        await atConsent(page)
        await forgetCookies(page, /_session$/)
        await press(page, answer)
        await waitForHeading(page, 'Sign in')
        expect(await notice(page)).toBe('You were signed out. Sign in to continue.')
        await finish(page)
      }),
  )

  test('a restart that loses logins leads to the sign-in form, and on to the client', () =>
    inBrowser(async (page) => {
      await page.goto(url())
      await signIn(page)
      await atConsent(page)
      const { knex, tablePrefix } = host.database
      await knex(`${tablePrefix}sessions`).delete()
      await page.reload()
      await waitForHeading(page, 'Sign in')
      expect(await notice(page)).toBe('You were signed out. Sign in to continue.')
      await finish(page)
    }))

  test('the server is killed and starts again while a form is on the screen: each form goes on', () =>
    inBrowser(async (page) => {
      const folder = mkdtempSync(join(tmpdir(), 'latchkey-restart-'))
      const database = {
        client: 'better-sqlite3',
        connection: { filename: join(folder, 'app.sqlite') },
        useNullAsDefault: true,
      }
      const site = web.origin('restarted.test')
      const startAgain = () =>
        startServer({
          issuer: `${site}/oauth`,
          secrets: ['a secret of the tests that is long enough'],
          database,
        })
      let server = await startAgain()
      const restart = async (): Promise<void> => {
        await server.kill()
        server = await startAgain()
      }
      web.serve('restarted.test', (req, res) => forward(server.origin, req, res))
      try {
        const ownKnex = knex(database)
        await seedClients(ownKnex, [notes()])
        await seedUsers(ownKnex, [{ username: ada.email, password: ada.password }])
        await ownKnex.destroy()
        await page.goto(url().replace(origin(), site))
        await waitForHeading(page, 'Sign in')
        await restart()
        await signIn(page)
        await atConsent(page)
        await restart()
        await finish(page)
      } finally {
        await server.kill()
        rmSync(folder, { recursive: true })
      }
    }))

  test('a wrong password for another account in an old tab is not answered with the account that is signed in', () =>
    inBrowser(async (page) => {
      await page.goto(url())
      const other = await page.context().newPage()
      await other.goto(`${issuer()}/account`)
      const third = await page.context().newPage()
      await third.goto(url())
      await signIn(third)
      await atConsent(third)
      for (const old of [page, other]) {
        await signIn(old, { ...bob, password: 'mistyped' })
        await old.getByText('Wrong email, username or password').waitFor()
        await old.reload()
        expect(await old.inputValue('#username')).toBe(bob.email)
        await follow(old, `Continue as ${ada.email}`)
      }
      await waitForHeading(other, 'Connected apps')
      expect(await other.textContent('.account')).toContain(ada.email)
      await atConsent(page)
      expect(await page.textContent('.account')).toContain(ada.email)
      await press(page, 'Not you?')
      await signIn(page, bob)
      await atConsent(page)
      expect(await page.textContent('.account')).toContain(bob.email)
    }))

  test('another account in another tab: the page asks once more, and nothing was issued before', () =>
    inBrowser(async (page) => {
      await page.goto(url())
      await signIn(page)
      await atConsent(page)
      const other = await page.context().newPage()
      await other.goto(url({ prompt: 'login' }))
      await follow(other, 'Not you?')
      await signIn(other, bob)
      await atConsent(other)
      await press(page, 'Allow')
      await page.locator('#notice').waitFor()
      expect(await notice(page)).toBe(`You’re now signed in as ${bob.email}. Check and allow again.`)
      expect(await page.textContent('.account')).toContain(bob.email)
      await finish(page)
    }))

  test('blocked cookies: the page says so, and Try again leads to the client', () =>
    inBrowser(async (page) => {
      areCookiesBlocked = true
      await page.goto(url())
      await waitForHeading(page, headings.cookies)
      areCookiesBlocked = false
      await follow(page, 'Try again')
      await finish(page)
    }))

  test('the address of a request tells another browser nothing', () =>
    inBrowser(async (page) => {
      await page.goto(url())
      await signIn(page)
      await atConsent(page)
      const stranger = await newPage(web.browser)
      for (const address of [page.url(), page.url().replace('/consent', '/login')]) {
        await stranger.goto(address)
        await waitForHeading(stranger, headings.cookies)
        expect(await stranger.textContent('body')).not.toContain('Notes')
      }
      await stranger.goto(url({ client_id: 'plain' }))
      await stranger.goto(page.url())
      await waitForHeading(stranger, headings.expired)
      expect(await stranger.textContent('body')).not.toContain('Notes')
      await follow(stranger, 'Go to Acme')
      await waitForHeading(stranger, 'Acme’s home')
      await stranger.context().close()
      await finish(page)
    }))

  test.each(['login', 'consent', 'select-account'])('a bookmark of /%s leads to the product', (path) =>
    inBrowser(async (page) => {
      await page.goto(`${issuer()}/${path}`)
      await waitForHeading(page, 'Acme’s home')
    }),
  )

  test('“Not you?” keeps the login until another user has signed in', () =>
    inBrowser(async (page) => {
      await page.goto(url())
      await signIn(page)
      await press(page, 'Not you?')
      await waitForHeading(page, 'Sign in')
      await signIn(page, { ...bob, password: 'mistyped' })
      await page.locator('#error').waitFor()
      expect(await page.inputValue('#username')).toBe(bob.email)
      const other = await page.context().newPage()
      await other.goto(`${issuer()}/account`)
      expect(await other.textContent('main')).toContain(ada.email)
      await signIn(page, bob)
      await atConsent(page)
      await other.reload()
      expect(await other.textContent('main')).toContain(bob.email)
      // The form for another user is done with.
      await page.goBack()
      await finish(page)
    }))

  test('Stay signed in and Sign in again', () =>
    inBrowser(async (page) => {
      await page.goto(url())
      await finish(page)
      const logout = `${issuer()}/logout?client_id=notes`
      await page.goto(logout)
      await follow(page, 'Stay signed in')
      await atClient(page)
      await page.goto(logout)
      await press(page, 'Sign out')
      await waitForHeading(page, 'You’re signed out')
      await follow(page, 'Sign in again')
      await finish(page)
    }))
})
