import type { Locator, Page } from 'playwright-core'
import { developers, passkeys } from '../../lib/features/index.ts'
import { signIn, waitForHeading } from '../support/browser-person.ts'
import { describeWith } from '../support/services.ts'
import { useBrowserApp } from './app.ts'

const withoutConditionalMediation = 'PublicKeyCredential.isConditionalMediationAvailable = async () => false'

/** Every shift that was seen, those before this call included. */
const shifts = `new Promise((resolve) => {
  const found = []
  new PerformanceObserver((list) => found.push(...list.getEntries().map(({ value }) => value)))
    .observe({ type: 'layout-shift', buffered: true })
  requestAnimationFrame(() => setTimeout(() => resolve(found)))
})`

describeWith('chromium', 'what a page shows before its scripts have come', () => {
  const app = useBrowserApp({ options: { features: [passkeys(), developers({ allow: () => true })] } })

  /** The pages answer at once, and their scripts when the function that is returned is called. */
  const holdScripts = async (page: Page): Promise<() => void> => {
    let release = (): void => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    await page.route(/(passkey|copy)\.js/, async (route) => {
      await held
      await route.continue()
    })
    return release
  }

  /** A frame is shown before the script shows the button, and nothing moves when it does. */
  const expectPlaceFor = async (button: Locator, release: () => void): Promise<void> => {
    const page = button.page()
    await button.waitFor({ state: 'attached' })
    await page.screenshot()
    expect(await button.isVisible()).toBe(false)
    release()
    await button.waitFor()
    await page.screenshot()
    expect(await page.evaluate(shifts)).toEqual([])
  }

  test.each([320, 1280])('stays where it is when they have, at %d px (pages 5)', (width) =>
    app.visit(
      async (page) => {
        await page.addInitScript(withoutConditionalMediation)
        const release = await holdScripts(page)
        await page.goto(app.url({ prompt: 'consent' }), { waitUntil: 'commit' })
        await expectPlaceFor(page.locator('#use-passkey'), release)
        await signIn(page)
        await page.waitForSelector('[value=allow]')
        await page.screenshot()
        expect(await page.evaluate(shifts)).toEqual([])
      },
      { viewport: { width, height: 720 } },
    ),
  )

  test.each([320, 1280])('the buttons that copy have their place, at %d px', (width) =>
    app.visit(
      async (page) => {
        await page.goto(`${app.origin}/oauth/developer/new`)
        await signIn(page)
        await waitForHeading(page, 'Register an app')
        await page.fill('#field-client_name', 'Trail Maps')
        await page.fill('#field-redirect_uris', 'https://trail.example/callback')
        const release = await holdScripts(page)
        await page.getByRole('button', { name: 'Register', exact: true }).click({ noWaitAfter: true })
        await expectPlaceFor(page.locator('[data-copy=issuer]'), release)
      },
      { viewport: { width, height: 720 } },
    ),
  )

  test('a shift that is planted is seen', () =>
    app.visit(async (page) => {
      await page.goto(app.url())
      await page.screenshot()
      await page.evaluate(`document.querySelector('h1').style.marginTop = '64px'`)
      await page.screenshot()
      expect(await page.evaluate<number[]>(shifts)).not.toEqual([])
    }))
})
