import type { Page } from 'playwright-core'
import { admin, developers } from '../../lib/features/index.ts'
import { waitForHeading } from '../support/browser-person.ts'
import { describeWith } from '../support/services.ts'
import { useBrowserApp } from './app.ts'
import { tabTo } from './barriers.ts'

describeWith('chromium', 'the admin pages in Chromium', () => {
  const app = useBrowserApp({
    options: { storedEvents: true, features: [admin({ allow: ({ req }) => req.get('x-admin') ?? false })] },
  })
  const carol = { extraHTTPHeaders: { 'x-admin': 'carol' }, javaScriptEnabled: false }
  const follow = async (page: Page, selector: string, heading: string): Promise<void> => {
    await page.locator(selector).first().focus()
    await page.keyboard.press('Enter')
    await waitForHeading(page, heading)
  }

  test('by keyboard alone, without script, a client is created, edited, given a secret and deleted', () =>
    app.visit(async (page) => {
      await page.goto(`${app.origin}/oauth/admin/clients`)
      await follow(page, '#new', 'Register a client')
      await page.locator('#field-client_id').focus()
      await page.keyboard.type('typed')
      await page.keyboard.press('Tab')
      await page.keyboard.type('Typed')
      await page.keyboard.press('Tab')
      await page.keyboard.type('https://typed.example/callback#fragment')
      // A part of the form opens by keyboard; it stays open while it says something of its own.
      expect(await page.locator('#field-grant_types-2').isVisible()).toBe(false)
      await page.locator('#part-sign-in summary').focus()
      await page.keyboard.press('Enter')
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
      await follow(page, '#disable', 'Disable Typed?')
      await follow(page, 'button.danger', 'Typed Disabled')
      expect(await page.getByRole('status').textContent()).toContain('The client is disabled.')
      await follow(page, 'button:has-text("Enable")', 'Typed')
      await follow(page, '#delete', 'Delete Typed?')
      await follow(page, 'button.danger', 'Clients')
      expect(await page.getByRole('status').textContent()).toContain('The client Typed is deleted.')
    }, carol))

  test('Save stays in sight on a phone, and covers no field that has the focus (pages 35)', () =>
    app.visit(
      async (page) => {
        await page.goto(`${app.origin}/oauth/admin/client?client_id=web`)
        await page.evaluate(`document.querySelectorAll('details').forEach((each) => { each.open = true })`)
        const state = `(() => {
          const { activeElement: field } = document
          const bar = document.querySelector('.stays').getBoundingClientRect()
          const box = field.getBoundingClientRect()
          const isIn = field.closest('form')?.querySelector('.stays') && !field.closest('.stays')
          // Of a long field, what is typed at is seen: its first lines.
          const end = Math.min(box.bottom, box.top + 60)
          return { id: field.id, isIn: Boolean(isIn), isSeen: bar.bottom <= innerHeight, isFree: box.top >= 0 && end <= bar.top }
        })()`
        await page.locator('#field-client_name').focus()
        const seen: string[] = []
        for (;;) {
          const at = await page.evaluate<{ id: string; isIn: boolean; isSeen: boolean; isFree: boolean }>(
            state,
          )
          if (!at.isIn) break
          expect(at).toEqual({ ...at, isSeen: true, isFree: true })
          seen.push(at.id)
          await page.keyboard.press('Tab')
        }
        expect(seen).toContain('field-other')
      },
      { ...carol, javaScriptEnabled: true, viewport: { width: 375, height: 667 } },
    ))

  test('the sentence of an empty list stands in one line (pages 31)', () =>
    app.visit(async (page) => {
      await page.goto(`${app.origin}/oauth/admin/clients?q=zzz`)
      const lines = `(() => {
        const sentence = document.querySelector('.empty')
        return sentence.getBoundingClientRect().height / parseFloat(getComputedStyle(sentence).lineHeight)
      })()`
      expect(await page.evaluate(lines)).toBe(1)
    }, carol))

  test('Tab leads from the links through the search to the clients', () =>
    app.visit(
      async (page) => {
        await page.goto(`${app.origin}/oauth/admin/clients`)
        for (const selector of ['[aria-current]', '#new', '#q', 'a[href*="client_id=native"]'])
          await tabTo(page, selector)
      },
      { extraHTTPHeaders: carol.extraHTTPHeaders },
    ))
})

describeWith('chromium', 'requests on the admin pages in Chromium', () => {
  const app = useBrowserApp({
    options: {
      features: [
        admin({ allow: ({ req }) => req.get('x-admin') ?? false }),
        developers({ allow: () => 'approval' }),
      ],
    },
  })

  test('by keyboard alone a request is opened, read and approved, and the picture takes no focus', () =>
    app.visit(
      async (page) => {
        const { clients, developers } = app.host.oauth
        const { client_id } = await clients.create({
          client_name: 'Trail Maps',
          redirect_uris: ['https://trail.example/callback'],
          scope: 'openid email',
        })
        await developers?.transfer(client_id, 1)
        await app.host.table('client_owners').update({ status: 'waiting', approved_at: null })
        await clients.disable(client_id)

        await page.goto(`${app.origin}/oauth/admin/clients`)
        await tabTo(page, '.sections a[href$="/requests"]')
        await page.keyboard.press('Enter')
        await waitForHeading(page, 'Requests')
        await tabTo(page, '.list a')
        await page.keyboard.press('Enter')
        await waitForHeading(page, 'Approve Trail Maps?')
        const picture = page.frameLocator('iframe.picture')
        await picture.getByText('Trail Maps').first().waitFor()
        // Its stylesheet is allowed, and its buttons are not.
        const card = picture.locator('.card')
        expect(await card.evaluate((each) => getComputedStyle(each).borderTopStyle)).not.toBe('')
        expect(
          await picture
            .locator('link[rel=stylesheet]')
            .evaluate((each) => 'sheet' in each && each.sheet !== null),
        ).toBe(true)
        const inFrame = `document.activeElement.localName === 'iframe'`
        for (let presses = 0; presses < 40; presses += 1) {
          await page.keyboard.press('Tab')
          expect(await page.evaluate(inFrame)).toBe(false)
          if (await page.evaluate(`document.activeElement.matches('button.primary')`)) break
        }
        await page.keyboard.press('Enter')
        await waitForHeading(page, 'Requests')
        expect(await page.getByRole('status').textContent()).toContain('The request is approved.')
        expect(await clients.get(client_id)).toMatchObject({ disabled: false })
      },
      { extraHTTPHeaders: { 'x-admin': 'carol' }, javaScriptEnabled: true },
    ))
})
