import type { Browser, Page } from 'playwright-core'
import { launchBrowser, type PageOptions } from '../support/browser.ts'
import { press, waitForHeading } from '../support/browser-person.ts'
import { withWatchedPage } from '../support/browser-watch.ts'
import { type RunningExample, startExampleApp } from '../support/client-server-example-app.ts'
import { testsAll } from '../support/sample.ts'
import { describeWith } from '../support/services.ts'
import { barriersOf } from './barriers.ts'

const mira = { email: 'mira@notes.example', password: 'seven green lanterns', name: 'Mira Okafor' }
const ines = { email: 'ines@notes.example', password: 'paper boats on water', name: 'Ines Dahl' }
type Person = typeof mira

const claimsIn = (page: Page, id: string): Promise<Record<string, string>> =>
  page
    .locator(`#${id} > div`)
    .evaluateAll((rows) =>
      Object.fromEntries(rows.map((row) => [...row.children].map((cell) => cell.textContent ?? ''))),
    )

/** The paths of all pages that the browser shows from now on; redirects are not pages. */
const pagesOf = (page: Page): string[] => {
  const paths: string[] = []
  page.on('response', (response) => {
    const isPage = response.request().isNavigationRequest() && response.status() < 300
    if (isPage) paths.push(new URL(response.url()).pathname)
  })
  return paths
}

/** The example app with its theme in a process of its own, and Chromium. */
const useExample = () => {
  let browser: Browser
  let example: RunningExample
  beforeAll(async () => {
    ;[browser, example] = await Promise.all([launchBrowser(), startExampleApp('--theme')])
  })
  afterAll(() => Promise.all([browser?.close(), example?.close()]))
  return {
    get urls() {
      return example
    },
    visit: (run: (page: Page) => Promise<void>, options: PageOptions = {}) =>
      withWatchedPage(browser, options, ({ page }) => run(page)),
    toLogin: async (page: Page): Promise<void> => {
      await page.goto(example.journalUrl)
      await page.getByRole('link', { name: 'Sign in with Notes' }).click()
    },
  }
}

const enter = async (page: Page, { email, password }: Pick<Person, 'email' | 'password'>): Promise<void> => {
  await page.fill('#username', email)
  await page.fill('#password', password)
  await page.click('#submit')
}

describeWith('chromium', 'Notes and Journal in Chromium, with the theme of the example', () => {
  const example = useExample()

  /** Signs in and allows Journal, if it asks. */
  const allow = async (page: Page, person: Person): Promise<void> => {
    await example.toLogin(page)
    await enter(page, person)
    const allowing = page.getByRole('button', { name: 'Allow' })
    await allowing.or(page.getByRole('button', { name: 'Fetch my notes' })).waitFor()
    if (await allowing.isVisible()) await press(page, 'Allow')
    await waitForHeading(page, `Hello, ${person.name}`)
  }

  // Before anything is allowed, so that each of these meets the consent page.
  test('the theme meets WCAG 2.2 AA from login to consent, on a wide light and a narrow dark page', () =>
    example.visit(
      async (page) => {
        const barriers: Record<string, string[]> = {}
        const examine = async (name: string, selector: string): Promise<void> => {
          await page.waitForSelector(selector)
          for (const [colorScheme, width] of [
            ['light', 1280],
            ['dark', 320],
          ] as const) {
            await page.emulateMedia({ colorScheme })
            await page.setViewportSize({ width, height: 720 })
            barriers[`${name}, ${colorScheme}`] = await barriersOf(page)
          }
        }
        await example.toLogin(page)
        await examine('login', '#password')
        await enter(page, { ...mira, password: 'not the password' })
        await examine('error', '#error')
        await enter(page, ines)
        await examine('consent', '[value=allow]')
        expect(Object.keys(barriers)).toHaveLength(6)
        expect(Object.entries(barriers).filter(([, found]) => found.length > 0)).toEqual([])
      },
      { reducedMotion: 'reduce' },
    ))

  test('the theme sets layout, colours and logo, and the page after signing out leads to Notes', () =>
    example.visit(
      async (page) => {
        await example.toLogin(page)
        await page.waitForSelector('#password')
        await page.waitForLoadState()
        const seen = await page.evaluate(`({
          button: getComputedStyle(document.querySelector('#submit')).backgroundColor,
          page: getComputedStyle(document.body).backgroundColor,
          logo: document.querySelector('img.mark').naturalWidth > 0,
          cover: document.querySelector('.cover').getBoundingClientRect().height >= innerHeight,
        })`)
        const expected = { button: 'rgb(47, 107, 79)', page: 'rgb(246, 243, 234)', logo: true, cover: true }
        expect(seen).toEqual(expected)
        await page.setViewportSize({ width: 600, height: 720 })
        expect(await page.locator('.cover').isVisible()).toBe(false)
        await enter(page, mira)
        await page.waitForSelector('[value=allow]')
        await page.goto(`${example.urls.notesUrl}/oauth/logout`)
        await page.click('form button')
        await waitForHeading(page, 'You’re signed out')
        await page.getByRole('link', { name: 'Back to Notes' }).click()
        await waitForHeading(page, 'Sign in to Notes')
      },
      { viewport: { width: 1280, height: 720 } },
    ))

  test('a Dutch browser gets Dutch pages, and other languages can be chosen', () =>
    example.visit(
      async (page) => {
        await example.toLogin(page)
        await waitForHeading(page, 'Inloggen bij Notes')
        expect(await page.locator('html').getAttribute('lang')).toBe('nl')
        expect(await page.locator('.saying').textContent()).toBe('Schrijf het op.Laat het los.')
        await enter(page, mira)
        await page.getByRole('heading', { name: 'Journal wil toegang tot je account bij Notes' }).waitFor()
        expect(await page.locator('main').textContent()).toContain('Je notities lezen')
        await page.locator('.languages summary').click()
        await page.getByRole('link', { name: 'Deutsch' }).click()
        await page.getByText('Ihre Notizen lesen').waitFor()
        await page.locator('.languages summary').click()
        await page.getByRole('link', { name: 'Nederlands' }).click()
        await page.getByRole('button', { name: 'Toestaan' }).waitFor()
      },
      { locale: 'nl-NL' },
    ))

  test.each(testsAll ? [true, false] : [true])(
    'Journal shows claims, refreshes, calls the API and asks only once, with JavaScript: %s',
    (javaScriptEnabled) =>
      example.visit(
        async (page) => {
          await allow(page, mira)
          const claims = { sub: '1', name: mira.name, email: mira.email, email_verified: 'true' }
          const iss = `${example.urls.notesUrl}/oauth`
          expect(await claimsIn(page, 'id-token')).toMatchObject({ iss, aud: 'journal', ...claims })
          expect(await claimsIn(page, 'userinfo')).toEqual(claims)
          await press(page, 'Refresh the token')
          await page.getByText('The token was refreshed.').waitFor()
          expect(await claimsIn(page, 'access')).toMatchObject({ 'refresh token': 'yes, used 1 times' })
          await press(page, 'Fetch my notes')
          await page.locator('#notes').waitFor()
          expect(await page.locator('#notes').textContent()).toContain('Sourdough, third try')
          await press(page, 'Sign out of Journal')
          await waitForHeading(page, 'Your days, in your own words')
          const pages = pagesOf(page)
          await page.getByRole('link', { name: 'Sign in with Notes' }).click()
          await waitForHeading(page, `Hello, ${mira.name}`)
          expect(pages).toEqual(['/'])
        },
        { javaScriptEnabled },
      ),
  )

  test('after signing out at Notes the login form leads straight to the client that was allowed', () =>
    example.visit(async (page) => {
      await allow(page, ines)
      await press(page, 'Sign out of Journal')
      await page.goto(example.urls.notesUrl)
      await waitForHeading(page, 'Your notes')
      await press(page, 'Sign out')
      await waitForHeading(page, 'Sign in to Notes')
      const pages = pagesOf(page)
      await example.toLogin(page)
      await enter(page, ines)
      await waitForHeading(page, `Hello, ${ines.name}`)
      expect(pages).toEqual(['/', '/oauth/login', '/'])
      expect(await claimsIn(page, 'id-token')).toMatchObject({ sub: '2', email_verified: 'false' })
    }))

  test('Journal on a television shows the notes when its code is allowed in another browser', () =>
    example.visit(async (television) => {
      await television.goto(`${example.urls.journalUrl}/tv`)
      await television.locator('.qr svg').waitFor()
      const code = (await television.locator('#user-code').textContent()) ?? ''
      await example.visit(async (phone) => {
        await phone.goto(`${example.urls.notesUrl}/oauth/device`)
        await phone.fill('#user-code', code)
        await press(phone, 'Continue')
        await enter(phone, mira)
        await press(phone, 'Yes, continue')
        await press(phone, 'Allow')
        await waitForHeading(phone, 'Your device is connected')
      })
      await television.locator('#notes').waitFor()
      expect(await television.locator('#notes').textContent()).toContain('Sourdough, third try')
    }))

  test('a login at Notes holds for Journal; storage is empty, and no script can read a cookie', () =>
    example.visit(async (page) => {
      await page.goto(`${example.urls.notesUrl}/login`)
      await page.getByLabel('Email').fill(mira.email)
      await page.getByLabel('Password').fill(mira.password)
      await press(page, 'Sign in')
      await waitForHeading(page, 'Your notes')
      await example.toLogin(page)
      const allowing = page.getByRole('button', { name: 'Allow' })
      await allowing.or(page.getByRole('button', { name: 'Fetch my notes' })).waitFor()
      if (await allowing.isVisible()) await press(page, 'Allow')
      await waitForHeading(page, `Hello, ${mira.name}`)
      for (const url of [example.urls.journalUrl, example.urls.notesUrl]) {
        await page.goto(url)
        const seen = await page.evaluate('[localStorage.length, sessionStorage.length, document.cookie]')
        expect(seen).toEqual([0, 0, ''])
      }
      const cookies = await page.context().cookies()
      expect(cookies.map(({ name }) => name)).toEqual(expect.arrayContaining(['notes.sid', 'journal.sid']))
      for (const { name, httpOnly, sameSite } of cookies)
        expect({ name, httpOnly, sameSite }).toEqual({ name, httpOnly: true, sameSite: 'Lax' })
    }))
})
