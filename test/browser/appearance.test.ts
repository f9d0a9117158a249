import type { Browser, Page } from 'playwright-core'
import { launchBrowser, withPage } from '../support/browser.ts'
import { type Gallery, openGallery } from '../support/browser-gallery.ts'
import { describeWith } from '../support/services.ts'

// Many pages, each looked at in many ways: a busy machine takes its time.
jest.setTimeout(180_000)

/** Whatever moves or fades, in every state that a style gives it: what the stylesheets say, wherever it applies now. */
const moving = `[...document.querySelectorAll('*')].flatMap((element) =>
  [undefined, '::before', '::after'].flatMap((part) => {
    const style = getComputedStyle(element, part)
    const lasts = (durations) => durations.split(',').some((duration) => parseFloat(duration) > 0)
    const isAnimated = lasts(style.animationDuration) && style.animationName !== 'none'
    return lasts(style.transitionDuration) || isAnimated || style.scrollBehavior === 'smooth' ? [element.localName] : []
  }))`

describeWith('chromium', 'as people have set their devices', () => {
  let browser: Browser
  let gallery: Gallery
  beforeAll(async () => {
    browser = await launchBrowser()
    gallery = await openGallery()
  })
  afterAll(async () => {
    await browser?.close()
    await gallery?.close()
  })

  test('with reduced motion nothing moves or fades, and otherwise only for a moment', () =>
    withPage(browser, { reducedMotion: 'reduce' }, async (page) => {
      const found: Record<string, string[]> = {}
      for (const name of gallery.names) {
        await gallery.show(page, name)
        found[name] = await page.evaluate(moving)
      }
      expect(Object.entries(found).filter(([, elements]) => elements.length > 0)).toEqual([])
      await page.emulateMedia({ reducedMotion: 'no-preference' })
      await gallery.show(page, 'login')
      expect(await page.evaluate(moving)).toEqual(['input', 'input', 'button'])
    }))

  describe('forced colours', () => {
    const picture = async (page: Page, selector: string): Promise<Buffer> => {
      // Else the mouse would make a difference too.
      await page.mouse.move(0, 0)
      return page.locator(selector).first().screenshot({ animations: 'disabled', caret: 'hide' })
    }
    /** Whether two pictures of the same place differ. */
    const differ = (one: Buffer, other: Buffer): boolean => !one.equals(other)

    test.each(['light', 'dark'] as const)(
      '%s: a tick, a focus and the primary button can be seen',
      (colorScheme) =>
        withPage(browser, {}, async (page) => {
          await page.emulateMedia({ forcedColors: 'active', colorScheme })
          await gallery.show(page, 'consent')
          const row = '.scope:has(#scope-4)'
          const ticked = await picture(page, row)
          await page.uncheck('#scope-4')
          await page.evaluate('document.activeElement.blur()')
          const unticked = await picture(page, row)
          expect(differ(ticked, unticked)).toBe(true)
          await page.keyboard.press('Tab')
          await page.focus('#scope-4')
          expect(differ(unticked, await picture(page, row))).toBe(true)
          const contrasts =
            await page.evaluate(`['#allow', '#deny', '.tag', 'a[href]', 'summary', '.icon', 'dt']
          .map((selector) => [selector, inPage.contrastOf(selector)]).filter(([, contrast]) => !(contrast >= 4.5))`)
          expect(contrasts).toEqual([])
        }),
    )

    test('a chosen workspace can be told from the others', () =>
      withPage(browser, {}, async (page) => {
        await page.emulateMedia({ forcedColors: 'active' })
        await gallery.show(page, 'consent-organizations')
        const row = 'li:has(#organization-0)'
        const other = await picture(page, row)
        await page.check('#organization-0')
        await page.evaluate('document.activeElement.blur()')
        expect(differ(other, await picture(page, row))).toBe(true)
      }))

    test('the two answers of the consent page differ by more than their words', () =>
      withPage(browser, {}, async (page) => {
        await page.emulateMedia({ forcedColors: 'active' })
        await gallery.show(page, 'consent')
        const fill = (id: string) =>
          page.evaluate(`getComputedStyle(document.getElementById('${id}')).backgroundColor`)
        expect(await fill('allow')).not.toBe(await fill('deny'))
      }))
  })
})
