import { device } from '../../lib/features/index.ts'
import { signIn, waitForHeading } from '../support/browser-person.ts'
import { codesFor, deviceClients, poll } from '../support/device.ts'
import { clients } from '../support/host.ts'
import { describeWith } from '../support/services.ts'
import { answerOf } from '../support/tokens.ts'
import { useBrowserApp } from './app.ts'

describeWith('chromium', 'the pages for a device in Chromium, in an app with helmet()', () => {
  const app = useBrowserApp({
    clients: [...clients, ...deviceClients],
    options: { features: [device()] },
  })

  test('lead from the code to the last page', () =>
    app.visit(async (page) => {
      const codes = await codesFor(app.host)
      await page.goto(`${app.origin}/oauth/device`)
      await page.locator('#user-code:focus').waitFor()
      await page.keyboard.insertText(codes.user_code.toLowerCase())
      await page.keyboard.press('Enter')
      await signIn(page)
      await waitForHeading(page, 'Is this your device?')
      await page.getByText(codes.user_code).waitFor()
      await page.getByRole('button', { name: 'Yes, continue' }).click()
      await page.getByRole('button', { name: 'Allow' }).click()
      await waitForHeading(page, 'Your device is connected')
      await answerOf(poll(app.host, codes))
    }))
})
