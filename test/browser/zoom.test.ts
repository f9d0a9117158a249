import type { Browser } from 'playwright-core'
import { launchBrowser, withPage } from '../support/browser.ts'
import { type Gallery, openGallery } from '../support/browser-gallery.ts'
import { describeWith } from '../support/services.ts'

// Many pages, each looked at in many ways: a busy machine takes its time.
jest.setTimeout(180_000)

/** 1280 × 1024 at 400 % (WCAG 2.2 §1.4.10), a phone, a desk. */
const zoomed = { width: 320, height: 256 }
const desk = { width: 1280, height: 1024 }

/** What readers may set without losing anything (WCAG 2.2 §1.4.12). */
const spacing = `* { line-height: 1.5 !important; letter-spacing: 0.12em !important; word-spacing: 0.16em !important }
  p { margin-bottom: 2em !important }`
/** Text alone at 200 % (WCAG 2.2 §1.4.4). */
const largeText = ':root { font-size: 200% !important }'

/** Plain, with the details open, and with the reader's own text. */
const look = (name: string): string => `(() => {
  for (const details of document.querySelectorAll('details')) details.open = true
  return {
    ${JSON.stringify(name)}: [...inPage.layoutFaults(), ...inPage.smallTargets()],
    ${JSON.stringify(`${name}, spaced`)}: inPage.faultsWith(${JSON.stringify(spacing)}),
    ${JSON.stringify(`${name}, large`)}: inPage.faultsWith(${JSON.stringify(largeText)}),
  }
})()`

const planted = `#deny { position: relative; left: 40px; top: 40px; }
  p.lead { height: 1em; overflow: hidden }
  .small-print a { display: inline-block; height: 20px; line-height: 20px; padding: 0 }
  .tag { width: 92px; white-space: nowrap }`

describeWith('chromium', 'the pages, enlarged', () => {
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

  test.each([
    ['at 400 %', zoomed, 'en'],
    ['on a desk', desk, 'en'],
    ['at 400 % in the longest words', zoomed, 'de'],
    ['at 400 % in words without spaces', zoomed, 'ja'],
    ['at 400 % from right to left', zoomed, 'ar'],
  ])(
    '%s nothing scrolls sideways, is cut off, overlaps or is too small to press, nor with a reader’s own text',
    (_, viewport, language) =>
      withPage(browser, { viewport }, async (page) => {
        const found: Record<string, string[]> = {}
        for (const name of gallery.names) {
          await gallery.show(page, name, language)
          Object.assign(found, await page.evaluate(look(name)))
        }
        expect(Object.entries(found).filter(([, faults]) => faults.length > 0)).toEqual([])
      }),
  )

  test('what would be a fault is found', () =>
    withPage(browser, { viewport: zoomed }, async (page) => {
      await gallery.show(page, 'consent')
      await page.addStyleTag({ content: planted })
      const found = (await page.evaluate(look('consent'))) as Record<string, string[]>
      expect(found.consent).toEqual(
        expect.arrayContaining([
          expect.stringMatching(/^scrolls sideways: \d+ of 320$/),
          'button#deny.secondary is beyond the edge',
          'button#deny.secondary and button#allow.primary overlap',
          'p.lead cuts off what it holds',
          'a is 20 high',
        ]),
      )
      expect(found.consent?.join()).not.toContain('Sensitive')
      expect(found['consent, spaced']).toContain('“Sensitive” runs out of span.tag.risk')
      expect(found['consent, large']).toContain('“Sensitive” runs out of span.tag.risk')
    }))
})
