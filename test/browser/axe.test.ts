import type { Browser } from 'playwright-core'
import { launchBrowser, withPage } from '../support/browser.ts'
import { sampleOf } from '../support/sample.ts'
import { describeWith } from '../support/services.ts'
import { barriersOf } from './barriers.ts'
import { type Gallery, openGallery } from './gallery.ts'

// Hundreds of pages for each setting, on a machine that may be busy.
jest.setTimeout(180_000)

/** English, the longest words, and from right to left. */
const languages = ['en', 'de', 'ar']
const widths = [320, 1280]
const schemes = ['light', 'dark'] as const

const settings = languages.flatMap((language) =>
  widths.flatMap((width) => schemes.map((colorScheme) => ({ language, width, colorScheme }))),
)

/** The pages for operators are in English only. */
const isShownIn = (language: string, name: string): boolean =>
  language === 'en' || !name.startsWith('operator')

const openDetails = `for (const details of document.querySelectorAll('details')) details.open = true`

describeWith('chromium', 'axe and the edge of the window', () => {
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

  /** Every state in its turn, so that all settings together show each kind of element. Each in all settings found nothing more. */
  const statesFor = (setting: number, language: string): readonly string[] =>
    gallery.sample
      .filter((_name, index) => index % settings.length === setting)
      .filter((name) => isShownIn(language, name))

  const numbered = settings.map((setting, index) => ({ ...setting, index }))
  test.each(sampleOf(numbered, 2))(
    'find nothing in $language at $width px, $colorScheme, with details closed and open',
    ({ index, language, width, colorScheme }) =>
      withPage(
        browser,
        { colorScheme, reducedMotion: 'reduce', viewport: { width, height: 720 } },
        async (page) => {
          const states = statesFor(index, language)
          const found: [string, readonly string[]][] = []
          for (const name of states) {
            await gallery.show(page, name, language)
            const closed = await barriersOf(page)
            await page.evaluate(openDetails)
            const opened = (await page.locator('details').count()) > 0 ? await barriersOf(page) : []
            const barriers = [...new Set([...closed, ...opened])]
            if (barriers.length > 0) found.push([name, barriers])
          }
          expect(states.length).toBeGreaterThan(0)
          expect(found).toEqual([])
        },
      ),
  )
})
