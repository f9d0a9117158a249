import helmet from 'helmet'
import type { Browser, Page } from 'playwright-core'
import { launchBrowser } from '../support/browser.ts'
import { answerFor, withWatchedPage } from '../support/browser-watch.ts'
import { openServer, type TestServer } from '../support/client-server.ts'
import { authorizeUrl, callback, clients, type Host, people, pkce, startHost } from '../support/host.ts'
import { describeWith } from '../support/services.ts'

const ada = people[0]!
const bob = people[1]!
const app = 'com.example.app:/callback'

jest.setTimeout(60_000)

describeWith('chromium', 'connected apps and the choice of an account in Chromium', () => {
  let browser: Browser
  let server: TestServer
  let host: Host
  beforeAll(async () => {
    browser = await launchBrowser()
    server = await openServer()
    host = await startHost({ options: { issuer: `${server.origin}/oauth` }, clients, before: [helmet()] })
    server.serve(host.app)
  })
  afterAll(async () => {
    await browser?.close()
    await server?.close()
    await host?.close()
  })
  beforeEach(async () => {
    for (const name of ['consents', 'authorizations'])
      await host.database.knex(`${host.database.tablePrefix}${name}`).delete()
  })

  const account = (): string => `${server.origin}/oauth/account`
  const urlFor = (parameters: Readonly<Record<string, string>>): string => {
    const { challenge } = pkce()
    return (
      server.origin +
      authorizeUrl({
        code_challenge: challenge,
        code_challenge_method: 'S256',
        scope: 'openid email',
        ...parameters,
      })
    )
  }
  const signIn = async (page: Page, person = ada): Promise<void> => {
    await page.fill('#username', person.email)
    await page.fill('#password', person.password)
    await page.click('#submit')
  }
  const heading = (page: Page, name: string): Promise<void> =>
    page.getByRole('heading', { name, level: 1, exact: true }).waitFor()
  /** Waits until the browser goes to the client; a scheme that no program takes ends there too. */
  const reached = (page: Page, redirectUri: string): Promise<URL> =>
    page
      .waitForEvent('request', (request) => request.url().startsWith(`${redirectUri}?`))
      .then((request) => new URL(request.url()))
  const allow = async (page: Page): Promise<void> => {
    await page.goto(urlFor({ client_id: 'web' }))
    await signIn(page)
    await Promise.all([reached(page, callback), page.click('#allow')])
  }

  describe.each([true, false])('with JavaScript: %s', (javaScriptEnabled) => {
    test('somebody signs in for themselves, removes a client, and signs out', () =>
      withWatchedPage(browser, { javaScriptEnabled }, async ({ page, session }) => {
        await answerFor(session, ['https://client.example.com/*'])
        await allow(page)
        await page.context().clearCookies()
        await page.goto(account())
        await signIn(page)
        await heading(page, 'Connected apps')
        await page.getByRole('link', { name: 'Remove access of Web client' }).click()
        await heading(page, 'Remove access?')
        await page.getByRole('link', { name: 'Cancel' }).click()
        await page.getByRole('link', { name: 'Remove access of Web client' }).click()
        await page.getByRole('button', { name: 'Remove' }).click()
        await page.getByRole('status').waitFor()
        expect(await page.getByRole('status').textContent()).toContain('Web client can no longer use')
        expect(await page.getByRole('link', { name: /^Remove access/ }).count()).toBe(0)
        await page.reload()
        await heading(page, 'Connected apps')
        await page.getByRole('link', { name: 'Sign out' }).click()
        await page.click('#submit')
        await heading(page, 'You’re signed out')
      }))

    test('the consent page leads to the list, and Back leads to the consent page, which still works', () =>
      withWatchedPage(browser, { javaScriptEnabled }, async ({ page, session }) => {
        await answerFor(session, ['https://client.example.com/*'])
        await page.goto(urlFor({ client_id: 'web', prompt: 'consent' }))
        await signIn(page)
        await page.getByRole('link', { name: 'Connected apps' }).click()
        await heading(page, 'Connected apps')
        await page.goBack()
        const [back] = await Promise.all([reached(page, callback), page.click('#allow')])
        expect(back.searchParams.get('code')).toMatch(/^lk_ac_/)
      }))

    test.each([callback, app])('“Continue” reaches the client at %s', (redirectUri) =>
      withWatchedPage(browser, { javaScriptEnabled }, async ({ page, session }) => {
        await answerFor(session, ['https://client.example.com/*'])
        await allow(page)
        const client_id = redirectUri === app ? 'native' : 'web'
        const request = { client_id, redirect_uri: redirectUri, prompt: 'select_account' }
        await page.goto(urlFor(request))
        await heading(page, 'Choose an account')
        if (redirectUri === app) {
          await page.click('#continue')
          const [back] = await Promise.all([reached(page, redirectUri), page.click('#allow')])
          expect(back.searchParams.get('code')).toMatch(/^lk_ac_/)
          return
        }
        const [back] = await Promise.all([reached(page, redirectUri), page.click('#continue')])
        expect(back.searchParams.get('code')).toMatch(/^lk_ac_/)
      }),
    )

    test('“Use another account” lets somebody else in', () =>
      withWatchedPage(browser, { javaScriptEnabled }, async ({ page, session }) => {
        await answerFor(session, ['https://client.example.com/*'])
        await allow(page)
        await page.goto(urlFor({ client_id: 'web', prompt: 'select_account' }))
        await page.click('#another')
        await heading(page, 'Sign in')
        await signIn(page, bob)
        await page.waitForSelector('#allow')
        expect(await page.textContent('.account')).toContain(bob.email)
      }))
  })

  test('the choice can be made by keyboard alone', () =>
    withWatchedPage(browser, {}, async ({ page, session }) => {
      await answerFor(session, ['https://client.example.com/*'])
      await allow(page)
      await page.goto(urlFor({ client_id: 'web', prompt: 'select_account' }))
      await page.keyboard.press('Tab')
      await page.locator('#continue:focus').waitFor()
      await page.keyboard.press('Tab')
      await page.locator('#another:focus').waitFor()
      await page.keyboard.press('Shift+Tab')
      const [back] = await Promise.all([reached(page, callback), page.keyboard.press('Enter')])
      expect(back.searchParams.get('code')).toMatch(/^lk_ac_/)
    }))
})
