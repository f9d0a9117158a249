import type { Page } from 'playwright-core'
import { clients, people } from '../support/host.ts'
import { describeWith } from '../support/services.ts'
import { answerOf, redeem } from '../support/tokens.ts'
import { heardOn } from './accessibility-tree.ts'
import { useBrowserApp } from './app.ts'
import { barriersOf, tabTo } from './barriers.ts'

const ada = people[0]!
const scope = 'openid notes:read notes:write offline_access'

describeWith('chromium', 'the choice of projects in Chromium', () => {
  let count: number
  const all = () => Array.from({ length: count }, (_, n) => ({ id: `p${n}`, name: `Project ${n}` }))
  const app = useBrowserApp({
    clients: [{ ...clients[0]!, scope }],
    options: {
      scopes: {
        'notes:read': { description: 'See notes', group: 'read' },
        'notes:write': { description: 'Change notes', group: 'change', optional: true },
      },
      choices: {
        project: {
          name: { one: 'project', other: 'projects' },
          locales: { de: { one: 'Projekt', other: 'Projekte' }, ar: { one: 'مشروع', other: 'المشاريع' } },
          scopes: ['notes:read', 'notes:write'],
          list: (_user, { search = '', after = '0', limit }) => {
            const found = all().filter(({ name }) => name.includes(search))
            const end = Number(after) + limit
            return {
              items: found.slice(Number(after), end),
              total: found.length,
              ...(end < found.length && { next: String(end) }),
            }
          },
          find: (_user, { ids }) => all().filter(({ id }) => ids.includes(id)),
        },
      },
    },
  })
  beforeEach(async () => {
    count = 3
    for (const name of ['consents', 'authorizations']) await app.host.table(name).delete()
  })

  const url = (more: Record<string, string> = {}): string =>
    app.url({ scope, code_challenge: '', code_challenge_method: '', ...more })
  const signIn = async (page: Page, more: Record<string, string> = {}): Promise<void> => {
    await page.goto(url(more))
    await page.fill('#username', ada.email)
    await page.fill('#password', ada.password)
    await page.click('#submit')
    await page.waitForSelector('body[data-page=consent]')
  }
  const granted = async (page: Page, act: () => Promise<unknown>) => {
    const code = (await app.toClient(page, act)).searchParams.get('code')
    return answerOf(redeem(app.host, String(code))) as Promise<{
      scope: string
      authorization_details?: { identifiers?: string[] }[]
    }>
  }
  const idsIn = (tokens: Awaited<ReturnType<typeof granted>>) =>
    tokens.authorization_details?.[0]?.identifiers ?? 'all'

  test('by keyboard alone: arrows choose a preset and some projects, and the list shows what it leaves out', () =>
    app.visit(async (page) => {
      await signIn(page)
      const box = page.locator('[name="scope:notes:write"]')
      const out = page.getByText('Not included')
      await tabTo(page, '[name=preset]')
      expect((await heardOn(page)).focus).toBe('radio: All it asks for')
      expect([await box.isVisible(), await out.isVisible()]).toEqual([false, false])
      await page.keyboard.press('ArrowDown')
      expect((await heardOn(page)).focus).toBe('radio: Read only')
      expect([await box.isVisible(), await out.isVisible()]).toEqual([false, true])
      await page.keyboard.press('ArrowDown')
      expect((await heardOn(page)).focus).toBe('radio: Let me choose')
      expect([await box.isVisible(), await out.isVisible()]).toEqual([true, false])
      expect(await barriersOf(page)).toEqual([])
      await page.keyboard.press('ArrowUp')
      await tabTo(page, '[name="choice:project"]')
      await page.keyboard.press('ArrowDown')
      expect((await heardOn(page)).focus).toBe('radio: Only these')
      await tabTo(page, '[name="thing:project:p1"]')
      expect((await heardOn(page)).focus).toBe('checkbox: Project 1')
      await page.keyboard.press('Space')
      await tabTo(page, '[value=allow]')
      const tokens = await granted(page, () => page.keyboard.press('Enter'))
      expect(tokens.scope).toBe('openid notes:read offline_access')
      expect(idsIn(tokens)).toEqual(['p1'])
    }))

  test.each([
    ['with', true],
    ['without', false],
  ])('%s script a page of 2,000 keeps each tick while it is searched and turned', (_, javaScriptEnabled) =>
    app.visit(
      async (page) => {
        count = 2000
        await signIn(page)
        await page.getByLabel('Only these').check()
        await page.getByRole('button', { name: 'Choose…' }).click()
        await page.waitForSelector('body[data-page=things]')
        expect(await page.title()).toContain('projects')
        await page.getByLabel('Project 4', { exact: true }).check()
        await page.getByRole('button', { name: 'Next' }).click()
        await page.getByLabel('Project 60', { exact: true }).check()
        await page.getByRole('searchbox').fill('Project 1999')
        await page.getByRole('button', { name: 'Search' }).click()
        await page.getByText('Project 1998', { exact: true }).waitFor({ state: 'detached' })
        await page.getByLabel('Project 1999', { exact: true }).check()
        await page.locator('[value=use]').click()
        await page.waitForSelector('body[data-page=consent]')
        for (const name of ['Project 4', 'Project 60', 'Project 1999'])
          expect(await page.getByText(name, { exact: true }).isVisible()).toBe(true)
        expect(idsIn(await granted(page, () => page.click('[value=allow]')))).toEqual(['p4', 'p60', 'p1999'])
      },
      { javaScriptEnabled },
    ),
  )

  test.each(['de', 'ar'])(
    'in %s Allow follows every permission, nothing overflows, and axe finds nothing',
    (ui_locales) =>
      app.visit(async (page) => {
        await signIn(page, { ui_locales })
        for (const [number, width] of [320, 375, 1280].entries()) {
          count = [3, 2000, 3][number]!
          await page.setViewportSize({ width, height: 700 })
          await page.goto(url({ ui_locales }))
          const [last, allow] = (await page.evaluate(
            `[[...document.querySelectorAll('.scope, .things, [name=duration]')].at(-1), document.querySelector('[value=allow]')].map((each) => each.getBoundingClientRect().bottom)`,
          )) as [number, number]
          expect({ width, isBelow: allow > last }).toEqual({ width, isBelow: true })
          for (const colorScheme of ['light', 'dark'] as const) {
            await page.emulateMedia({ colorScheme })
            await page.reload()
            expect({ width, colorScheme, found: await barriersOf(page) }).toEqual({
              width,
              colorScheme,
              found: [],
            })
          }
        }
      }),
  )
})
