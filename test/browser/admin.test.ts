import type { Browser, Page } from 'playwright-core'
import { adminSamples } from '../../lib/pages/admin-samples.ts'
import { launchBrowser, type PageOptions, withPage } from '../support/browser.ts'
import { useBrowserApp } from '../support/browser-app.ts'
import { barriersOf, preloadAxe, tabTo } from '../support/browser-barriers.ts'
import { type Gallery, openGallery } from '../support/browser-gallery.ts'
import { waitForHeading } from '../support/browser-person.ts'
import { describeWith } from '../support/services.ts'

jest.setTimeout(120_000)

const zoomed = { width: 320, height: 256 }
const modes: readonly (readonly [string, PageOptions])[] = [
  ['on a desktop', { viewport: { width: 1280, height: 1024 } }],
  ['at 400 % and dark', { viewport: zoomed, colorScheme: 'dark' }],
]

describeWith('chromium', 'every state of every admin page', () => {
  let browser: Browser
  let gallery: Gallery
  beforeAll(async () => {
    browser = await launchBrowser()
    gallery = await openGallery(adminSamples)
  })
  afterAll(async () => {
    await browser?.close()
    await gallery?.close()
  })

  test.each(modes)('%s meets WCAG 2.2 AA, without a fault in layout or reading order', (_, options) =>
    withPage(browser, { reducedMotion: 'reduce', bypassCSP: true, ...options }, async (page) => {
      await preloadAxe(page)
      for (const name of gallery.names) {
        await gallery.show(page, name)
        const order = (await page.evaluate('inPage.readingOrder()')) as number[]
        const faults = await page.evaluate('[...inPage.layoutFaults(), ...inPage.smallTargets()]')
        expect({ name, barriers: await barriersOf(page), faults, order }).toEqual({
          ...{ name, barriers: [], faults: [] },
          order: order.map((_number, index) => index),
        })
      }
    }),
  )

  test('the focus is visible in light, dark and forced colours', () =>
    withPage(browser, {}, async (page) => {
      for (const name of gallery.fullest) {
        await gallery.show(page, name)
        await page.keyboard.press('Tab')
        for (const forcedColors of ['none', 'active'] as const)
          for (const colorScheme of ['light', 'dark'] as const) {
            await page.emulateMedia({ forcedColors, colorScheme })
            expect({ name, unseen: await page.evaluate('inPage.unseenFocus()') }).toEqual({
              name,
              unseen: [],
            })
          }
      }
    }))
})

describeWith('chromium', 'the admin pages in Chromium', () => {
  const app = useBrowserApp({
    options: { admin: (req) => req.get('x-admin') ?? false, storeEvents: true },
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
      await page.locator('#save').focus()
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
      await page.locator('#save').focus()
      await page.keyboard.press('Enter')
      await waitForHeading(page, 'Typed')
      const secret = await page.locator('#client-secret').textContent()
      expect(secret).toMatch(/^lk_cs_/)
      await page.reload()
      await waitForHeading(page, 'Typed')
      expect(await page.locator('#client-secret').count()).toBe(0)
      expect(page.url()).not.toContain(String(secret))
      await follow(page, 'button:has-text("Create a new secret")', 'Typed')
      expect(await page.locator('#client-secret').textContent()).not.toBe(secret)
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
