import type { Page } from 'playwright-core'
import { developers } from '../../lib/features/index.ts'
import { signIn, waitForHeading } from '../support/browser-person.ts'
import { describeWith } from '../support/services.ts'
import { useBrowserApp } from './app.ts'
import { barriersOf, tabTo } from './barriers.ts'

/** Opens a link or presses a button, as users without a mouse do. */
const press = async (page: Page, selector: string): Promise<void> => {
  await tabTo(page, selector)
  await page.keyboard.press('Enter')
}

const type = async (page: Page, selector: string, text: string): Promise<void> => {
  await tabTo(page, selector)
  await page.keyboard.press('Control+A')
  await page.keyboard.insertText(text)
}

describeWith('chromium', 'the developer pages in Chromium, in an app with helmet()', () => {
  const app = useBrowserApp({ options: { features: [developers({ allow: () => true })] } })

  test('are used with the keyboard alone', () =>
    app.visit(
      async (page) => {
        const expectNoBarriers = async (): Promise<void> => expect(await barriersOf(page)).toEqual([])
        await page.goto(`${app.origin}/oauth/developer`)
        await signIn(page)
        await waitForHeading(page, 'Your apps')
        await press(page, '#new')
        await waitForHeading(page, 'Register an app')
        await expectNoBarriers()
        await type(page, '#field-client_name', 'Order Desk')
        await type(page, '#field-redirect_uris', 'https://*.example.com/')
        await press(page, 'button.primary, button.danger')
        await page.getByRole('alert').waitFor()
        await expectNoBarriers()
        await type(page, '#field-redirect_uris', 'https://desk.example.com/callback')
        await press(page, 'button.primary, button.danger')
        await waitForHeading(page, 'Order Desk')
        await expectNoBarriers()
        expect(await page.locator('#secret').textContent()).toMatch(/^lk_cs_/)
        await page.reload()
        await waitForHeading(page, 'Order Desk')
        expect(await page.locator('#secret').count()).toBe(0)
        await press(page, '#rotate')
        await waitForHeading(page, 'Create a new secret for Order Desk?')
        await tabTo(page, '#now')
        await page.keyboard.press('Space')
        await press(page, 'button.primary, button.danger')
        await page.getByText('Your app has a new secret.').waitFor()
        await press(page, '#delete')
        await waitForHeading(page, 'Delete Order Desk?')
        await press(page, 'button.primary, button.danger')
        await page.getByText('You have no apps yet.').waitFor()
        await expectNoBarriers()
      },
      { viewport: { width: 320, height: 640 } },
    ))
})
