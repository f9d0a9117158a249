import { Secret, TOTP } from 'otpauth'
import type { Page } from 'playwright-core'
import { authenticatorApps } from '../../lib/features/index.ts'
import { press, signIn, waitForHeading } from '../support/browser-person.ts'
import { describeWith } from '../support/services.ts'
import { useBrowserApp } from './app.ts'

describeWith('chromium', 'a second factor in Chromium', () => {
  const app = useBrowserApp({ options: { features: [authenticatorApps()] } })
  const settings = (): string => `${app.origin}/oauth/account/second-factor`
  const title = 'Enter your code'
  beforeEach(async () => {
    for (const name of ['second_factors', 'recovery_codes', 'replays', 'throttles', 'consents'])
      await app.host.table(name).delete()
  })

  /** The code of an app. The server also accepts the next one, because clocks differ. */
  const codeOf = (secret: string, step = 0): string =>
    new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: Date.now() + step * 30_000 })

  /** Sets it up, and returns the secret and a recovery code. */
  const setUp = async (page: Page): Promise<{ secret: string; recovery: string }> => {
    await page.goto(settings())
    await signIn(page)
    await waitForHeading(page, 'Two-step sign-in')
    const secret = String(await page.locator('#secret').textContent()).replaceAll(' ', '')
    await page.fill('#code', codeOf(secret))
    await press(page, 'Turn on')
    await waitForHeading(page, 'Save your recovery codes')
    const [recovery = ''] = String(await page.locator('#recovery-codes').textContent()).split('\n')
    await press(page, 'I’ve saved them')
    await waitForHeading(page, 'Two-step sign-in')
    await page.context().clearCookies()
    return { secret, recovery }
  }

  test('after it is set up, a wrong code, a reload and the right code lead to the client', () =>
    app.visit(async (page) => {
      const { secret } = await setUp(page)
      await page.goto(app.url())
      await signIn(page)
      await waitForHeading(page, title)
      await page.locator('#code:focus').waitFor()
      await page.keyboard.insertText('000000')
      await page.keyboard.press('Enter')
      await page.locator('#error').waitFor()
      await page.reload()
      await waitForHeading(page, title)
      // The script sends the code with its last digit.
      await page.fill('#code', codeOf(secret, 1))
      await waitForHeading(page, 'Web client wants to access your Latchkey account')
      const url = await app.toClient(page, () => press(page, 'Allow'))
      expect(url.searchParams.has('code')).toBe(true)
    }))

  test('Back and another tab lead to the sign-in form or to the code, and a recovery code signs in', () =>
    app.visit(async (page) => {
      const { recovery } = await setUp(page)
      await page.goto(app.url())
      await signIn(page)
      await waitForHeading(page, title)
      await page.goBack()
      await waitForHeading(page, 'Sign in to Latchkey')
      await page.goForward()
      await waitForHeading(page, title)
      const tab = await page.context().newPage()
      await tab.goto(`${app.origin}/oauth/account`)
      await waitForHeading(tab, 'Sign in to Latchkey')
      await tab.close()
      await page.getByRole('link', { name: 'Use a recovery code' }).click()
      await waitForHeading(page, 'Enter a recovery code')
      await page.fill('#code', recovery)
      await press(page, 'Continue')
      await waitForHeading(page, 'Web client wants to access your Latchkey account')
      await page.goto(`${app.origin}/oauth/account`)
      await waitForHeading(page, 'Connected apps')
    }))
})
