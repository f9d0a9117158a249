import helmet from 'helmet'
import type { Browser, Page } from 'playwright-core'
import { launchBrowser, withPage } from '../support/browser.ts'
import { type Gallery, openGallery } from '../support/browser-gallery.ts'
import { signIn, waitForHeading } from '../support/browser-person.ts'
import { answerFor, withWatchedPage } from '../support/browser-watch.ts'
import { openServer, type TestServer } from '../support/client-server.ts'
import { authorizeUrl, callback, type Host, people, pkce, startHost } from '../support/host.ts'
import { describeWith } from '../support/services.ts'

const ada = people[0]!
const consentHeading = 'Web client wants to access your Latchkey account'

// Many pages, each looked at in many ways: a busy machine takes its time.
jest.setTimeout(180_000)

/** What has the focus, as `inPage.focus()` tells. */
interface Focus {
  readonly name: string
  /** Its place among the controls, in the order of the document. */
  readonly number: number
  readonly isInView: boolean
}

const focus = (page: Page): Promise<Focus | null> => page.evaluate('inPage.focus() ?? null')

/** Every control that the key reaches, once round the page and from its first control, in the order in which it does. */
const walkOnce = async (page: Page, key: 'Tab' | 'Shift+Tab', count: number): Promise<Focus[]> => {
  const found: Focus[] = []
  // From the last control to the first the way may lead through the browser itself.
  for (let rounds = 0; rounds < 2 && found.length < count; rounds += 1) {
    for (let presses = 0; presses <= count; presses += 1) await page.keyboard.press(key)
    for (const reached of (await page.evaluate('inPage.takeTrail()')) as Focus[])
      if (found.every(({ number }) => number !== reached.number)) found.push(reached)
  }
  const round = key === 'Tab' ? found : found.reverse()
  const first = round.findIndex(({ number }) => number === 0)
  return [...round.slice(first), ...round.slice(0, first)]
}

/** The same; after one walk out of order, as a busy browser has been seen to tell of a key too late, two must be in order. */
const walk = async (page: Page, key: 'Tab' | 'Shift+Tab', count: number): Promise<Focus[]> => {
  const isInOrder = (found: Focus[]): boolean =>
    found.length === count && found.every(({ number }, index) => number === index)
  const found = await walkOnce(page, key, count)
  if (isInOrder(found)) return found
  const again = await walkOnce(page, key, count)
  return isInOrder(again) ? walkOnce(page, key, count) : again
}

/** Presses Tab, or Shift+Tab, until a control has the focus, as somebody without a mouse does. */
const move = async (page: Page, to: string, key: 'Tab' | 'Shift+Tab' = 'Tab'): Promise<void> => {
  const selector = JSON.stringify(to)
  for (let presses = 0; presses < 40; presses += 1) {
    if (await page.evaluate(`document.activeElement.matches(${selector})`)) return
    await page.keyboard.press(key)
  }
  throw new Error(`${key} does not lead to ${to}`)
}

describeWith('chromium', 'by keyboard alone', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launchBrowser()
  })
  afterAll(() => browser?.close())

  describe('every state of every page', () => {
    let gallery: Gallery
    beforeAll(async () => {
      gallery = await openGallery()
    })
    afterAll(() => gallery?.close())

    test('the focus goes where one reads, both ways, into view and round again', () =>
      withPage(browser, { viewport: { width: 320, height: 256 } }, async (page) => {
        for (const name of gallery.names) {
          await gallery.show(page, name)
          const order = (await page.evaluate('inPage.readingOrder()')) as number[]
          const all = order.map((_number, index) => index)
          const there = await walk(page, 'Tab', order.length)
          const back = await walk(page, 'Shift+Tab', order.length)
          const numbers = [order, ...[there, back].map((found) => found.map(({ number }) => number))]
          expect({ name, numbers }).toEqual({ name, numbers: [all, all, all] })
          const outside = [...there, ...back].filter(({ isInView }) => !isInView)
          expect({ name, outside }).toEqual({ name, outside: [] })
        }
      }))

    test.each(['en', 'ar'])(
      'on a wide page too, in %s, one reads in the order in which the focus goes',
      (language) =>
        withPage(browser, { viewport: { width: 1280, height: 720 } }, async (page) => {
          for (const name of gallery.names) {
            await gallery.show(page, name, language)
            const order = (await page.evaluate('inPage.readingOrder()')) as number[]
            expect({ name, order }).toEqual({ name, order: order.map((_number, index) => index) })
          }
        }),
    )

    test('the focus can be seen in light, dark and forced colours', () =>
      withPage(browser, {}, async (page) => {
        const found: [string, string[]][] = []
        for (const name of gallery.names) {
          await gallery.show(page, name)
          await page.keyboard.press('Tab')
          for (const forcedColors of ['none', 'active'] as const)
            for (const colorScheme of ['light', 'dark'] as const) {
              await page.emulateMedia({ forcedColors, colorScheme })
              const faults = (await page.evaluate('inPage.unseenFocus()')) as string[]
              if (faults.length > 0) found.push([`${name}, ${colorScheme}, forced: ${forcedColors}`, faults])
            }
        }
        expect(found).toEqual([])
      }))

    test('a ring that is missing, thin or pale is found', () =>
      withPage(browser, {}, async (page) => {
        await gallery.show(page, 'login')
        await page.addStyleTag({
          content: `#username:focus-visible { outline: none !important }
            #password:focus-visible { outline-width: 1px !important }
            #submit:focus-visible { outline-color: rgb(225 225 230) !important }
            a[href="/help"] { outline: 2px solid }`,
        })
        await page.keyboard.press('Tab')
        expect(await page.evaluate('inPage.unseenFocus()')).toEqual([
          'input#username has a ring of 0 px with a contrast of 0',
          expect.stringMatching(/^input#password has a ring of 1 px/),
          expect.stringMatching(/^button#submit.primary has a ring of 2 px with a contrast of 1/),
          'a looks focused when it is not',
        ])
      }))

    test('details are opened and closed', () =>
      withPage(browser, {}, async (page) => {
        await gallery.show(page, 'consent')
        await move(page, 'summary')
        const isOpen = () => page.evaluate('document.querySelector("details").open')
        for (const [key, open] of [
          ['Enter', true],
          ['Space', false],
          ['Space', true],
        ] as const) {
          await page.keyboard.press(key)
          expect({ key, open: await isOpen() }).toEqual({ key, open })
        }
        expect(await page.getByText('Every order of the last five years').isVisible()).toBe(true)
        await page.keyboard.press('Tab')
        expect(await page.evaluate('document.activeElement.id')).toBe('scope-4')
      }))

    test('on consent pages neither answer has the focus at first, so that no key decides', () =>
      withPage(browser, {}, async (page) => {
        for (const name of gallery.names.filter((each) => each.startsWith('consent'))) {
          await gallery.show(page, name)
          const first = (await focus(page))?.name
          // Where no workspace was chosen the choice has it.
          const mustChoose = name === 'consent-organizations-gone' || name === 'consent-organizations-long'
          expect({ name, first }).toEqual({ name, first: mustChoose ? 'input#organization-0' : undefined })
        }
      }))
  })

  describe('a whole way', () => {
    let server: TestServer
    let host: Host
    beforeAll(async () => {
      server = await openServer()
      host = await startHost({ options: { issuer: `${server.origin}/oauth` }, before: [helmet()] })
      server.serve(host.app)
    })
    afterAll(async () => {
      await server?.close()
      await host?.close()
    })

    const url = (): string => {
      const challenge = { code_challenge: pkce().challenge, code_challenge_method: 'S256' }
      const asked = { client_id: 'web', scope: 'openid email notes:read notes:write', prompt: 'consent' }
      return server.origin + authorizeUrl({ ...challenge, ...asked })
    }
    const type = (page: Page, text: string): Promise<void> => page.keyboard.insertText(text)
    const focusedId = (page: Page): Promise<string> => page.evaluate('document.activeElement.id')
    /** Waits until the browser goes to the client. */
    const atClient = (page: Page): Promise<URL> =>
      page
        .waitForEvent('request', (request) => request.url().startsWith(`${callback}?`))
        .then((request) => new URL(request.url()))

    test('from a mistyped password over its summary and consent to the client', () =>
      withWatchedPage(browser, {}, async ({ page, session }) => {
        await answerFor(session, ['https://client.example.com/*'])
        await page.goto(url())
        await page.locator('#username:focus').waitFor()
        await type(page, ada.email)
        await page.keyboard.press('Tab')
        await type(page, 'mistyped')
        await page.keyboard.press('Enter')
        await page.locator('#error').waitFor()
        await page.locator('#password:focus').waitFor()
        await move(page, '#error a', 'Shift+Tab')
        await page.keyboard.press('Enter')
        await page.locator('#username:focus').waitFor()
        await page.keyboard.press('Tab')
        expect(await focusedId(page)).toBe('password')
        await type(page, ada.password)
        await move(page, '#submit')
        await page.keyboard.press('Space')
        await waitForHeading(page, consentHeading)
        await move(page, '#switch')
        await move(page, '[type=checkbox]')
        await page.keyboard.press('Space')
        await move(page, '#allow')
        await move(page, '#deny', 'Shift+Tab')
        await move(page, '#allow')
        const [back] = await Promise.all([atClient(page), page.keyboard.press('Space')])
        expect(back.searchParams.get('code')).toMatch(/^lk_ac_/)
      }))

    test('“Not you?” and Cancel', () =>
      withWatchedPage(browser, {}, async ({ page, session }) => {
        await answerFor(session, ['https://client.example.com/*'])
        await page.goto(url())
        await signIn(page)
        await waitForHeading(page, consentHeading)
        await move(page, '#switch')
        await page.keyboard.press('Enter')
        await waitForHeading(page, 'Sign in')
        await signIn(page)
        await waitForHeading(page, consentHeading)
        await move(page, '#deny')
        const [back] = await Promise.all([atClient(page), page.keyboard.press('Enter')])
        expect(back.searchParams.get('error')).toBe('access_denied')
      }))

    test('the removal of a connected app', () =>
      withWatchedPage(browser, {}, async ({ page, session }) => {
        await answerFor(session, ['https://client.example.com/*'])
        await page.goto(url())
        await signIn(page)
        await Promise.all([atClient(page), page.click('#allow')])
        await page.goto(`${server.origin}/oauth/account`)
        await waitForHeading(page, 'Connected apps')
        await move(page, 'a[href*=client_id]')
        await page.keyboard.press('Enter')
        await waitForHeading(page, 'Remove access?')
        expect(await focusedId(page)).toBe('')
        await move(page, '#cancel')
        await page.keyboard.press('Enter')
        await waitForHeading(page, 'Connected apps')
        await move(page, 'a[href*=client_id]')
        await page.keyboard.press('Enter')
        await waitForHeading(page, 'Remove access?')
        await move(page, '#remove')
        await page.keyboard.press('Enter')
        await page.getByRole('status').waitFor()
        expect(await page.locator('a[href*=client_id]').count()).toBe(0)
        await move(page, '#sign-out')
        await page.keyboard.press('Enter')
        await waitForHeading(page, 'Sign out?')
        await move(page, '#submit')
        await page.keyboard.press('Enter')
        await waitForHeading(page, 'You’re signed out')
      }))
  })
})
