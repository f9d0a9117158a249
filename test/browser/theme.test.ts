import type { Browser, Page } from 'playwright-core'
import { launchBrowser } from '../support/browser.ts'
import { barriersOf } from '../support/browser-barriers.ts'
import { withWatchedPage } from '../support/browser-watch.ts'
import { type RunningExample, startExampleApp } from '../support/client-server-example-app.ts'
import { describeWith } from '../support/services.ts'

// A browser on a busy machine takes its time; each wait for one thing ends sooner (support/browser.ts).
jest.setTimeout(60_000)

describeWith('chromium', 'the example app with its theme', () => {
  let browser: Browser
  let example: RunningExample
  beforeAll(async () => {
    ;[browser, example] = await Promise.all([launchBrowser(), startExampleApp('--theme')])
  })
  afterAll(() => Promise.all([browser?.close(), example?.close()]))

  const toLogin = async (page: Page): Promise<void> => {
    await page.goto(example.journalUrl)
    await page.getByRole('link', { name: 'Sign in with Notes' }).click()
    await page.waitForSelector('#password')
  }

  const enter = async (page: Page, password: string): Promise<void> => {
    await page.fill('#username', 'mira@notes.example')
    await page.fill('#password', password)
    await page.click('#submit')
  }

  describe.each(['light', 'dark'] as const)('%s', (colorScheme) => {
    test.each([1280, 320])('at %i pixels nobody is shut out, from login to consent', (width) =>
      withWatchedPage(browser, { colorScheme, viewport: { width, height: 720 } }, async ({ page }) => {
        const barriers: Record<string, string[]> = {}
        await toLogin(page)
        barriers.login = await barriersOf(page)
        await enter(page, 'not the password')
        await page.waitForSelector('#error')
        barriers['login error'] = await barriersOf(page)
        await enter(page, 'seven green lanterns')
        await page.waitForSelector('#allow')
        barriers.consent = await barriersOf(page)
        expect(barriers).toEqual({ login: [], 'login error': [], consent: [] })
      }),
    )
  })

  test('the layout, the colours and the logo are those of the theme', () =>
    withWatchedPage(browser, { viewport: { width: 1280, height: 720 } }, async ({ page }) => {
      await toLogin(page)
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
    }))

  test('whoever asks for Dutch reads Dutch, and may choose another language', () =>
    withWatchedPage(browser, { locale: 'nl-NL' }, async ({ page }) => {
      await toLogin(page)
      expect(await page.locator('html').getAttribute('lang')).toBe('nl')
      await page.getByRole('heading', { name: 'Inloggen' }).waitFor()
      expect(await page.locator('.saying').textContent()).toBe('Schrijf het op.Laat het los.')
      expect(await barriersOf(page)).toEqual([])
      await enter(page, 'seven green lanterns')
      await page.getByRole('heading', { name: 'Journal wil toegang tot je account bij Notes' }).waitFor()
      expect(await page.locator('main').textContent()).toContain('Je notities lezen')
      await page.getByRole('link', { name: 'Deutsch' }).click()
      await page.getByText('Ihre Notizen lesen').waitFor()
      await page.getByRole('link', { name: 'Nederlands' }).click()
      await page.getByRole('button', { name: 'Toestaan' }).waitFor()
    }))

  test('the page after signing out leads back to Notes', () =>
    withWatchedPage(browser, {}, async ({ page }) => {
      await toLogin(page)
      await enter(page, 'seven green lanterns')
      await page.waitForSelector('#allow')
      await page.goto(`${example.notesUrl}/oauth/logout`)
      await page.click('#submit')
      await page.getByRole('heading', { name: 'You’re signed out' }).waitFor()
      await page.getByRole('link', { name: 'Back to Notes' }).click()
      await page.getByRole('heading', { name: 'Sign in to Notes' }).waitFor()
    }))
})
