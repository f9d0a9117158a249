import helmet from 'helmet'
import type { Browser, Page } from 'playwright-core'
import { launchBrowser } from '../support/browser.ts'
import { press, signIn, waitForHeading } from '../support/browser-person.ts'
import { answerFor, type WatchedPage, withWatchedPage } from '../support/browser-watch.ts'
import { openServer, type TestServer } from '../support/client-server.ts'
import { authorizeUrl, callback, type Host, people, pkce, startHost } from '../support/host.ts'
import { describeWith } from '../support/services.ts'

const [ada, bob] = [people[0]!, people[1]!]

jest.setTimeout(60_000)

// The choice of an account, removal, signing out and the button of form_post: account.test.ts and redirects.test.ts.
describeWith('chromium', 'with JavaScript off', () => {
  let browser: Browser
  let server: TestServer
  let host: Host
  beforeAll(async () => {
    browser = await launchBrowser()
    server = await openServer()
    host = await startHost({ options: { issuer: `${server.origin}/oauth` }, before: [helmet()] })
    server.serve(host.app)
  })
  afterAll(async () => {
    await browser?.close()
    await server?.close()
    await host?.close()
  })

  const url = (more: Readonly<Record<string, string>> = {}): string => {
    const challenge = { code_challenge: pkce().challenge, code_challenge_method: 'S256' }
    const scope = 'openid email notes:read notes:write'
    return server.origin + authorizeUrl({ client_id: 'web', scope, prompt: 'consent', ...challenge, ...more })
  }
  const withoutScripts = (run: (page: Page, watched: WatchedPage) => Promise<void>): Promise<void> =>
    withWatchedPage(browser, { javaScriptEnabled: false }, async (watched) => {
      await answerFor(watched.session, ['https://client.example.com/*'])
      await run(watched.page, watched)
    })
  /** The fields that the browser posts to our consent page when this is done. */
  const posted = async (page: Page, act: () => Promise<void>): Promise<URLSearchParams> => {
    const [request] = await Promise.all([page.waitForRequest((each) => each.method() === 'POST'), act()])
    return new URLSearchParams(request.postData() ?? '')
  }

  test('there is none: a script of a page does not run', () =>
    withoutScripts(async (page) => {
      await page.setContent('<title>off</title><script>document.title = "on"</script>')
      expect(await page.title()).toBe('off')
    }))

  test('a failed login says so, leads to its field, and the right one goes on', () =>
    withoutScripts(async (page) => {
      await page.goto(url())
      await signIn(page, { ...ada, password: 'mistyped' })
      await page.locator('#error').waitFor()
      expect(await page.inputValue('#username')).toBe(ada.email)
      await page.click('#error a')
      await page.locator('#username:focus').waitFor()
      await signIn(page)
      await page.locator('#allow').waitFor()
    }))

  test('an optional scope can be unticked, and Allow sends what is left', () =>
    withoutScripts(async (page) => {
      await page.goto(url())
      await signIn(page)
      const box = page.getByRole('checkbox')
      expect(await box.isChecked()).toBe(true)
      await page.locator('label', { has: box }).click()
      expect(await box.isChecked()).toBe(false)
      const client = page.waitForEvent('request', (request) => request.url().startsWith(`${callback}?`))
      const fields = await posted(page, () => page.click('#allow'))
      expect(fields.get('decision')).toBe('allow')
      expect(fields.has('scope:notes:write')).toBe(false)
      expect(new URL((await client).url()).searchParams.get('code')).toMatch(/^lk_ac_/)
    }))

  test('“Not you?” lets somebody else sign in to the same request', () =>
    withoutScripts(async (page) => {
      await page.goto(url({ state: 'the same' }))
      await signIn(page)
      await press(page, 'Not you?')
      await waitForHeading(page, 'Sign in')
      await signIn(page, bob)
      await page.locator('#allow').waitFor()
      expect(await page.textContent('.account')).toContain(bob.email)
      const [back] = await Promise.all([
        page.waitForEvent('request', (request) => request.url().startsWith(`${callback}?`)),
        press(page, 'Cancel'),
      ])
      expect(new URL(back.url()).searchParams.get('state')).toBe('the same')
    }))

  test('an error says what to do, and can be told to those who run it', () =>
    withoutScripts(async (page) => {
      await page.goto(url({ client_id: 'nobody' }))
      await waitForHeading(page, 'This request can’t be completed')
      expect(await page.textContent('#error-id')).toMatch(/^\S{8,}$/)
      await page.goto(`${server.origin}/oauth/consent?authorization_request=gone`)
      await waitForHeading(page, 'This sign-in took too long')
    }))
})
