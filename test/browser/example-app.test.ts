import type { Browser, Locator, Page } from 'playwright-core'
import { launchBrowser } from '../support/browser.ts'
import { withWatchedPage } from '../support/browser-watch.ts'
import { type RunningExample, startExampleApp } from '../support/client-server-example-app.ts'
import { describeWith } from '../support/services.ts'

const mira = { email: 'mira@notes.example', password: 'seven green lanterns', name: 'Mira Okafor' }
const ines = { email: 'ines@notes.example', password: 'paper boats on water', name: 'Ines Dahl' }
type Person = typeof mira

const press = (page: Page, name: string): Promise<void> =>
  page.getByRole('button', { name, exact: true }).click()

const waitForHeading = (page: Page, name: string): Promise<void> =>
  page.getByRole('heading', { level: 1, name, exact: true }).waitFor()

const claimsIn = (page: Page, id: string): Promise<Record<string, string>> =>
  page
    .locator(`#${id} > div`)
    .evaluateAll((rows) =>
      Object.fromEntries(rows.map((row) => [...row.children].map((cell) => cell.textContent ?? ''))),
    )

/** The consent page, or Journal where the same person has consented before. */
const passwordAccepted = (page: Page): Locator =>
  page.getByRole('button', { name: 'Allow' }).or(page.getByRole('button', { name: 'Fetch my notes' }))

/** Every page that the browser has been shown, in order; redirects are not pages. */
const pagesOf = (page: Page): string[] => {
  const paths: string[] = []
  page.on('response', (response) => {
    const isPage = response.request().isNavigationRequest() && response.status() < 300
    if (isPage) paths.push(new URL(response.url()).pathname)
  })
  return paths
}

// A browser on a busy machine takes its time; each wait for one thing ends sooner (support/browser.ts).
jest.setTimeout(60_000)

describeWith('chromium', 'Notes and Journal in Chromium', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launchBrowser()
  })
  afterAll(() => browser?.close())

  describe.each([true, false])('with JavaScript: %s', (javaScriptEnabled) => {
    let example: RunningExample
    beforeAll(async () => {
      example = await startExampleApp()
    })
    afterAll(() => example?.close())

    const startAtJournal = async (page: Page): Promise<void> => {
      await page.goto(example.journalUrl)
      await page.getByRole('link', { name: 'Sign in with Notes' }).click()
    }

    const enter = async (page: Page, { email }: Person, password: string): Promise<void> => {
      await page.getByLabel('Email or username').fill(email)
      await page.getByLabel('Password').fill(password)
      await press(page, 'Sign in')
    }

    /** Signs in from nothing and allows Journal in, whether it is asked or was before. */
    const allow = async (page: Page, person: Person): Promise<void> => {
      await startAtJournal(page)
      await enter(page, person, person.password)
      await passwordAccepted(page).waitFor()
      if (await page.getByRole('button', { name: 'Allow' }).isVisible()) await press(page, 'Allow')
      await waitForHeading(page, `Hello, ${person.name}`)
    }

    const inPage = (run: (page: Page) => Promise<void>) =>
      withWatchedPage(browser, { javaScriptEnabled }, ({ page }) => run(page))

    test('signs in, consents, and Journal shows verified claims, refreshes and calls the API', () =>
      inPage(async (page) => {
        await allow(page, mira)
        expect(await claimsIn(page, 'id-token')).toMatchObject({
          iss: `${example.notesUrl}/oauth`,
          aud: 'journal',
          sub: '1',
          name: mira.name,
          email: mira.email,
          email_verified: 'true',
        })
        expect(await claimsIn(page, 'userinfo')).toEqual({
          sub: '1',
          name: mira.name,
          email: mira.email,
          email_verified: 'true',
        })
        await press(page, 'Refresh the token')
        await page.getByText('The token was refreshed.').waitFor()
        expect(await claimsIn(page, 'access')).toMatchObject({ 'refresh token': 'yes, used 1 times' })
        await press(page, 'Fetch my notes')
        await page.locator('#notes').waitFor()
        expect(await page.locator('#notes').textContent()).toContain('Sourdough, third try')
      }))

    test('a second visit asks for neither password nor consent, and a second browser only for the password', async () => {
      await inPage(async (page) => {
        await allow(page, mira)
        await press(page, 'Sign out of Journal')
        await waitForHeading(page, 'Your days, in your own words')
        const pages = pagesOf(page)
        await page.getByRole('link', { name: 'Sign in with Notes' }).click()
        await waitForHeading(page, `Hello, ${mira.name}`)
        expect(pages).toEqual(['/'])
      })
      await inPage(async (page) => {
        const pages = pagesOf(page)
        await startAtJournal(page)
        await enter(page, mira, mira.password)
        await waitForHeading(page, `Hello, ${mira.name}`)
        expect(pages).toEqual(['/', '/oauth/login', '/'])
      })
    })

    test('signed out at Notes, allowed before: the login form itself ends at the client', () =>
      inPage(async (page) => {
        await allow(page, ines)
        await press(page, 'Sign out of Journal')
        await page.goto(example.notesUrl)
        await press(page, 'Sign out')
        await waitForHeading(page, 'Sign in to Notes')
        const pages = pagesOf(page)
        await startAtJournal(page)
        await enter(page, ines, ines.password)
        await waitForHeading(page, `Hello, ${ines.name}`)
        expect(pages).toEqual(['/', '/oauth/login', '/'])
        expect(await claimsIn(page, 'id-token')).toMatchObject({ sub: '2', email_verified: 'false' })
      }))

    test('whoever signs in on the way to Journal is signed in at Notes, and the other way round', async () => {
      await inPage(async (page) => {
        await allow(page, mira)
        await page.goto(example.notesUrl)
        await waitForHeading(page, 'Your notes')
      })
      await inPage(async (page) => {
        await page.goto(`${example.notesUrl}/login`)
        await page.getByLabel('Email').fill(mira.email)
        await page.getByLabel('Password').fill(mira.password)
        await press(page, 'Sign in')
        await waitForHeading(page, 'Your notes')
        await startAtJournal(page)
        await waitForHeading(page, `Hello, ${mira.name}`)
      })
    })

    test('nothing lies in browser storage, and no script reads a cookie', () =>
      inPage(async (page) => {
        await allow(page, mira)
        for (const url of [example.journalUrl, example.notesUrl]) {
          await page.goto(url)
          const seen = await page.evaluate('[localStorage.length, sessionStorage.length, document.cookie]')
          expect(seen).toEqual([0, 0, ''])
        }
        const cookies = await page.context().cookies()
        expect(cookies.map((cookie) => cookie.name)).toEqual(
          expect.arrayContaining(['notes.sid', 'journal.sid']),
        )
        expect(cookies.map((cookie) => [cookie.name, cookie.httpOnly, cookie.sameSite])).toEqual(
          cookies.map((cookie) => [cookie.name, true, 'Lax']),
        )
      }))
  })
})
