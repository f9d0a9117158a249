import express from 'express'
import helmet from 'helmet'
import type { Browser, Page } from 'playwright-core'
import type { ClientSeed } from '../../lib/index.ts'
import { launchBrowser } from '../support/browser.ts'
import { barriersOf, tabTo } from '../support/browser-barriers.ts'
import { type Gallery, openGallery } from '../support/browser-gallery.ts'
import { answerFor, type WatchedPage, withWatchedPage } from '../support/browser-watch.ts'
import { openServer, type TestServer } from '../support/client-server.ts'
import {
  authorizeUrl,
  callback,
  clients,
  type Host,
  people,
  pkce,
  secret,
  startHost,
} from '../support/host.ts'

import { samples } from '../support/page-samples.ts'
import { describeWith } from '../support/services.ts'

const ada = people[0]!

const redirectUris = [
  callback,
  'http://127.0.0.1:49152/callback',
  'http://[::1]:49152/callback',
  'com.example.app:/callback',
]

const answers = redirectUris.flatMap((uri) => [
  ['Allow', uri],
  ['Cancel', uri],
])

/** The same places with a consent page between (a native client) and without (a confidential one of the team's own). */
const reaching: ClientSeed[] = [
  ...clients,
  { client_id: 'asks', token_endpoint_auth_method: 'none', redirect_uris: redirectUris },
  { client_id: 'own', client_secret: secret, redirect_uris: redirectUris, first_party: true },
]

// A browser on a busy machine takes its time; each wait for one thing ends sooner (support/browser.ts).
jest.setTimeout(60_000)

describeWith('chromium', 'the pages in Chromium, in an app with helmet()', () => {
  let browser: Browser
  let server: TestServer
  let host: Host
  beforeAll(async () => {
    browser = await launchBrowser()
    server = await openServer()
    const options = { issuer: `${server.origin}/oauth` }
    host = await startHost({ options, clients: reaching, before: [helmet()] })
    server.serve(host.app)
  })
  afterAll(async () => {
    await browser?.close()
    await server?.close()
    await host?.close()
  })

  const urlFor = (parameters: Readonly<Record<string, string>>): string =>
    server.origin +
    authorizeUrl({ code_challenge: pkce().challenge, code_challenge_method: 'S256', ...parameters })

  const scope = 'openid profile email notes:read notes:write'
  const webUrl = (): string => urlFor({ client_id: 'web', prompt: 'consent', scope })

  const signIn = async (page: Page, password = ada.password): Promise<void> => {
    await page.fill('#username', ada.email)
    await page.fill('#password', password)
    await page.click('#submit')
  }

  /** Waits until the browser goes to the client; a scheme that no program takes ends there too. */
  const reached = (page: Page, redirectUri: string): Promise<URL> =>
    page
      .waitForEvent('request', (request) => request.url().startsWith(`${redirectUri}?`))
      .then((request) => new URL(request.url()))

  const pretendClients = ({ session }: WatchedPage): Promise<void> =>
    answerFor(session, ['https://client.example.com/*', 'http://127.0.0.1:49152/*', 'http://[::1]:49152/*'])

  describe.each([true, false])('with JavaScript: %s', (javaScriptEnabled) => {
    // Each in a tab of its own: Chromium may ask there whether another program shall open a private-use scheme.
    test.each(answers)('%s reaches the client at %s', (button, redirectUri) =>
      withWatchedPage(browser, { javaScriptEnabled }, async (watched) => {
        const { page } = watched
        await pretendClients(watched)
        await page.goto(
          urlFor({ client_id: 'asks', redirect_uri: redirectUri, state: 'a b', prompt: 'consent' }),
        )
        await signIn(page)
        const press = page.getByRole('button', { name: button, exact: true }).click()
        const [back] = await Promise.all([reached(page, redirectUri), press])
        expect(back.searchParams.get('state')).toBe('a b')
        expect(back.searchParams.get('error')).toBe(button === 'Allow' ? null : 'access_denied')
        expect(back.searchParams.has('code')).toBe(button === 'Allow')
      }),
    )

    test.each(redirectUris)('the login form itself reaches the client at %s', (redirectUri) =>
      withWatchedPage(browser, { javaScriptEnabled }, async (watched) => {
        const { page } = watched
        await pretendClients(watched)
        await page.goto(urlFor({ client_id: 'own', redirect_uri: redirectUri }))
        const [back] = await Promise.all([reached(page, redirectUri), signIn(page)])
        expect(back.searchParams.get('code')).toMatch(/^lk_ac_/)
      }),
    )
  })

  test('the browser does check: with a form-action that leaves the client out it goes nowhere', async () => {
    const other = await openServer()
    const app = express()
    app.post('/form', (_req, res) => res.redirect(303, 'com.example.app:/callback?code=c'))
    app.get('/form', (_req, res) => {
      res.setHeader('Content-Security-Policy', "form-action 'self'")
      res.send('<form method="post" action="/form"><button>Allow</button></form>')
    })
    other.serve(app)
    const blocked = withWatchedPage(browser, {}, async ({ page }) => {
      await page.goto(`${other.origin}/form`)
      const [failed] = await Promise.all([page.waitForEvent('requestfailed'), page.click('button')])
      expect(failed.url()).toBe(`${other.origin}/form`)
    })
    await expect(blocked).rejects.toThrow(/form-action/)
    await other.close()
  })

  test('Enter on a checkbox does not decide; Space changes it, and Allow sends what is ticked', () =>
    withWatchedPage(browser, {}, async (watched) => {
      const { page } = watched
      await pretendClients(watched)
      await page.goto(webUrl())
      await signIn(page)
      const box = page.getByRole('checkbox')
      const before = await box.isChecked()
      await tabTo(page, (await box.getAttribute('id')) ?? '')
      const posts: string[] = []
      page.on('request', (request) => void (request.method() === 'POST' && posts.push(request.url())))
      await page.keyboard.press('Enter')
      expect(await box.isChecked()).toBe(before)
      await page.keyboard.press('Space')
      expect(await box.isChecked()).toBe(!before)
      expect(posts).toEqual([])
      expect(new URL(page.url()).pathname).toBe('/oauth/consent')
      const [sent] = await Promise.all([
        page.waitForRequest((request) => request.method() === 'POST'),
        page.click('#allow'),
      ])
      const fields = new URLSearchParams(sent.postData() ?? '')
      expect(fields.get('decision')).toBe('allow')
      expect(fields.has('scope:notes:write')).toBe(!before)
      expect(posts).toHaveLength(1)
    }))

  test('a language that is chosen in the footer holds through login and consent', () =>
    withWatchedPage(browser, { locale: 'de-AT' }, async (watched) => {
      const { page } = watched
      await pretendClients(watched)
      await page.goto(webUrl())
      await page.getByRole('heading', { name: 'Anmelden' }).waitFor()
      const { search } = new URL(page.url())
      await page.getByRole('link', { name: 'العربية' }).click()
      await page.getByRole('heading', { name: 'تسجيل الدخول' }).waitFor()
      expect(new URL(page.url()).search).toBe(search)
      await signIn(page)
      await page.waitForSelector('#allow')
      expect(await page.locator('html').getAttribute('dir')).toBe('rtl')
      const [allow, deny] = await Promise.all(['#allow', '#deny'].map((id) => page.locator(id).boundingBox()))
      expect(allow!.x).toBeLessThan(deny!.x)
      const [back] = await Promise.all([reached(page, callback), page.click('#allow')])
      expect(back.searchParams.get('code')).toMatch(/^lk_ac_/)
    }))
})

// Every page in every state, from right to left and as narrow as it gets; the languages of the footer are there too.
describeWith('chromium', 'every state of every page', () => {
  let browser: Browser
  let gallery: Gallery
  beforeAll(async () => {
    browser = await launchBrowser()
    gallery = await openGallery()
  })
  afterAll(async () => {
    await browser?.close()
    await gallery?.close()
  })

  describe.each([
    ['en', 'ltr', 'light', 1280],
    ['en', 'ltr', 'dark', 320],
    ['ar', 'rtl', 'light', 320],
  ] as const)('in %s, %s, %s, %i pixels wide', (language, direction, colorScheme, width) => {
    test.each([...new Set(samples.map(({ page }) => page))])('meets WCAG 2.2 AA: %s', (kind) =>
      withWatchedPage(browser, { colorScheme, viewport: { width, height: 720 } }, async ({ page }) => {
        const names = samples.filter((sample) => sample.page === kind).map(({ name }) => name)
        const found: Record<string, unknown> = {}
        for (const name of names) {
          await gallery.show(page, name, language)
          const ofHeading = await page.evaluate('getComputedStyle(document.querySelector("h1")).direction')
          found[name] = [ofHeading, await barriersOf(page)]
        }
        expect(found).toEqual(Object.fromEntries(names.map((name) => [name, [direction, []]])))
      }),
    )
  })
})
