import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'

const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8')

const guidelines = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

const run = (rules: readonly string[]): string =>
  `axe.run({ runOnly: ${JSON.stringify(rules)}, resultTypes: ['violations'] }).then(({ violations, passes }) => [
  ...(passes.length === 0 ? ['axe-core had nothing to look at'] : []),
  ...violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' | ')),
])`

const overflow = 'document.documentElement.scrollWidth > document.documentElement.clientWidth'

/**
 * What axe-core finds against WCAG 2.2 AA, and whether the page scrolls sideways (1.4.10 Reflow).
 *
 * @param rules ids of rules or of sets of rules; contrast alone for another colour scheme of a page that was examined
 */
export const barriersOf = async (page: Page, rules: readonly string[] = guidelines): Promise<string[]> => {
  if ((await page.evaluate('typeof axe')) === 'undefined') await page.evaluate(axe)
  const found = (await page.evaluate(run(rules))) as string[]
  return [...found, ...((await page.evaluate(overflow)) ? ['scrolls sideways'] : [])]
}

/** Which control has the focus, by its id. */
export const focused = (page: Page): Promise<string> => page.evaluate('document.activeElement?.id ?? ""')

/** Presses Tab, or Shift+Tab, until a control has the focus, as users without a mouse do. */
export const tabTo = async (
  page: Page,
  selector: string,
  key: 'Tab' | 'Shift+Tab' = 'Tab',
): Promise<void> => {
  for (let presses = 0; presses < 40; presses += 1) {
    if (await page.evaluate(`document.activeElement.matches(${JSON.stringify(selector)})`)) return
    await page.keyboard.press(key)
  }
  throw new Error(`${key} does not lead to ${selector}`)
}
