import type { Page } from 'playwright-core'
import { signIn, waitForHeading } from '../support/browser-person.ts'
import { describeWith } from '../support/services.ts'
import { useBrowserApp } from './app.ts'
import { focused, tabTo } from './barriers.ts'

describeWith('chromium', 'connected apps and the choice of an account in Chromium', () => {
  const app = useBrowserApp()
  beforeEach(async () => {
    for (const name of ['consents', 'authorizations']) await app.host.table(name).delete()
  })

  const account = (): string => `${app.origin}/oauth/account`
  const allow = async (page: Page): Promise<void> => {
    await page.goto(app.url())
    await signIn(page)
    await app.toClient(page, () => page.click('[value=allow]'))
  }

  test('by keyboard alone a user removes a client and signs out', () =>
    app.visit(async (page) => {
      const follow = async (selector: string, heading: string): Promise<void> => {
        await tabTo(page, selector)
        await page.keyboard.press('Enter')
        await waitForHeading(page, heading)
      }
      await allow(page)
      await page.goto(account())
      await waitForHeading(page, 'Connected apps')
      await follow('a[href*=client_id]', 'Remove Web client’s access?')
      expect(await focused(page)).toBe('')
      await follow('#cancel', 'Connected apps')
      await follow('a[href*=client_id]', 'Remove Web client’s access?')
      await tabTo(page, 'form button')
      await page.keyboard.press('Enter')
      await page.getByRole('status').waitFor()
      expect(await page.locator('a[href*=client_id]').count()).toBe(0)
      await follow('#sign-out', 'Sign out?')
      await follow('form button', 'You’re signed out')
    }))

  test('the consent page leads to the list, and Back to the consent page, which still works', () =>
    app.visit(async (page) => {
      await page.goto(app.url({ prompt: 'consent' }))
      await signIn(page)
      await page.getByRole('link', { name: 'Connected apps' }).click()
      await waitForHeading(page, 'Connected apps')
      await page.goBack()
      const back = await app.toClient(page, () => page.click('[value=allow]'))
      expect(back.searchParams.get('code')).toMatch(/^lk_ac_/)
    }))

  test('“Continue” reaches the client by keyboard, and a native client after consent', () =>
    app.visit(async (page) => {
      await allow(page)
      await page.goto(app.url({ prompt: 'select_account' }))
      await waitForHeading(page, 'Choose an account')
      await page.keyboard.press('Tab')
      await page.locator('[value=continue]:focus').waitFor()
      await page.keyboard.press('Tab')
      await page.locator('[value=another]:focus').waitFor()
      await page.keyboard.press('Shift+Tab')
      const back = await app.toClient(page, () => page.keyboard.press('Enter'))
      expect(back.searchParams.get('code')).toMatch(/^lk_ac_/)
      const redirect_uri = 'com.example.app:/callback'
      await page.goto(app.url({ client_id: 'native', redirect_uri, prompt: 'select_account' }))
      await page.click('[value=continue]')
      const native = await app.toClient(page, () => page.click('[value=allow]'), redirect_uri)
      expect(native.searchParams.get('code')).toMatch(/^lk_ac_/)
    }))
})
