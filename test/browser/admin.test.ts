import type { Page } from 'playwright-core'
import { useBrowserApp } from '../support/browser-app.ts'
import { tabTo } from '../support/browser-barriers.ts'
import { waitForHeading } from '../support/browser-person.ts'
import { describeWith } from '../support/services.ts'

jest.setTimeout(120_000)

describeWith('chromium', 'the admin pages in Chromium', () => {
  const app = useBrowserApp({
    options: { features: { admin: { allow: ({ req }) => req.get('x-admin') ?? false }, storedEvents: true } },
  })
  const carol = { extraHTTPHeaders: { 'x-admin': 'carol' }, javaScriptEnabled: false }
  const follow = async (page: Page, selector: string, heading: string): Promise<void> => {
    await page.locator(selector).first().focus()
    await page.keyboard.press('Enter')
    await waitForHeading(page, heading)
  }

  test('by keyboard alone and without script a client is registered, corrected, given a secret and deleted', () =>
    app.visit(async (page) => {
      await page.goto(`${app.origin}/oauth/admin`)
      await follow(page, '#new', 'Register a client')
      await page.locator('#field-client_id').focus()
      await page.keyboard.type('typed')
      await page.keyboard.press('Tab')
      await page.keyboard.type('Typed')
      await page.keyboard.press('Tab')
      await page.keyboard.type('https://typed.example/callback#fragment')
      await page.locator('#field-grant_types-2').focus()
      await page.keyboard.press('Space')
      await page.locator('button.primary').focus()
      await page.keyboard.press('Enter')
      await page.getByRole('alert').waitFor()
      // The link of the message leads to the field.
      await page.locator('#form-error a').focus()
      await page.keyboard.press('Enter')
      expect(await page.title()).toBe('Error: Register a client · Latchkey')
      expect(await page.locator('#field-grant_types-2').isChecked()).toBe(true)
      await page.locator('#field-redirect_uris').focus()
      await page.keyboard.press('ControlOrMeta+A')
      await page.keyboard.type('https://typed.example/callback')
      await page.locator('button.primary').focus()
      await page.keyboard.press('Enter')
      await waitForHeading(page, 'Typed')
      const secret = await page.locator('#secret').textContent()
      expect(secret).toMatch(/^lk_cs_/)
      await page.reload()
      await waitForHeading(page, 'Typed')
      expect(await page.locator('#secret').count()).toBe(0)
      expect(page.url()).not.toContain(String(secret))
      await follow(page, 'button:has-text("Create a new secret")', 'Typed')
      expect(await page.locator('#secret').textContent()).not.toBe(secret)
      await follow(page, '#delete', 'Delete Typed?')
      await follow(page, 'button.danger', 'Clients')
      expect(await page.getByRole('status').textContent()).toContain('The client Typed is deleted.')
    }, carol))

  test('Tab leads from the links through the search to the clients', () =>
    app.visit(
      async (page) => {
        await page.goto(`${app.origin}/oauth/admin`)
        for (const selector of ['[aria-current]', '#new', '#q', 'a[href*="client_id=native"]'])
          await tabTo(page, selector)
      },
      { extraHTTPHeaders: carol.extraHTTPHeaders },
    ))
})
