import type { Page } from 'playwright-core'
import { device, personalAccessTokens } from '../../lib/features/index.ts'
import { waitForHeading } from '../support/browser-person.ts'
import { codesFor, deviceClients, poll } from '../support/device.ts'
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
    clients: [{ ...clients[0]!, scope }, ...deviceClients],
    options: {
      features: [device(), personalAccessTokens()],
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
      const marks = [page.getByText('Needed'), page.getByText('Optional')]
      const visible = () => Promise.all([box, out, ...marks].map((each) => each.last().isVisible()))
      expect(await visible()).toEqual([false, false, false, false])
      await page.keyboard.press('ArrowDown')
      expect((await heardOn(page)).focus).toBe('radio: Read only')
      expect(await visible()).toEqual([false, true, false, false])
      await page.keyboard.press('ArrowDown')
      expect((await heardOn(page)).focus).toBe('radio: Let me choose')
      expect(await visible()).toEqual([true, false, true, true])
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

  test('a key that is held on the page of choosing presses nothing on the consent page that follows', () =>
    app.visit(async (page) => {
      count = 2000
      await signIn(page)
      await page.getByLabel('Only these').check()
      await page.getByRole('button', { name: 'Choose…' }).click()
      await page.getByLabel('Project 4', { exact: true }).check()
      await page.locator('[value=use]').focus()
      await page.keyboard.down('Enter')
      await page.waitForSelector('body[data-page=consent]')
      const posted: string[] = []
      page.on('request', (request) => request.method() === 'POST' && posted.push(request.url()))
      await page.locator('[value=allow]').focus()
      for (let times = 0; times < 5; times += 1) await page.keyboard.down('Enter')
      await page.keyboard.up('Enter')
      // What the key had set going would have been sent before this is.
      await page.evaluate(`new Promise((onload) =>
        Object.assign(new Image(), { onload: () => onload(), src: '/oauth/assets/icon.svg?later' }))`)
      expect(posted).toEqual([])
      expect(await app.host.table('authorizations').select()).toEqual([])
      expect(idsIn(await granted(page, () => page.keyboard.press('Enter')))).toEqual(['p4'])
    }))

  test.each([
    ['with', true],
    ['without', false],
  ])('%s script the user of a device chooses projects for it', (_, javaScriptEnabled) =>
    app.visit(
      async (page) => {
        count = 2000
        const codes = await codesFor(app.host, { scope: 'openid notes:read offline_access' })
        await page.goto(codes.verification_uri_complete)
        await page.locator('#user-code').press('Enter')
        await page.fill('#username', ada.email)
        await page.fill('#password', ada.password)
        await page.click('#submit')
        await page.getByRole('button', { name: 'Yes, continue' }).click()
        await page.waitForSelector('body[data-page=consent]')
        await page.getByLabel('Only these').check()
        await page.getByRole('button', { name: 'Choose…' }).click()
        await page.getByRole('searchbox').fill('Project 1999')
        await page.getByRole('button', { name: 'Search' }).click()
        await page.getByLabel('Project 1999', { exact: true }).check()
        await page.locator('[value=use]').click()
        await page.getByText('Project 1999', { exact: true }).waitFor()
        if (javaScriptEnabled) expect(await barriersOf(page)).toEqual([])
        await page.click('[value=allow]')
        await waitForHeading(page, 'Your device is connected')
        const tokens = await answerOf(poll(app.host, codes))
        expect(idsIn(tokens as Awaited<ReturnType<typeof granted>>)).toEqual(['p1999'])
      },
      { javaScriptEnabled },
    ),
  )

  test.each([
    ['with', true],
    ['without', false],
  ])('%s script a user makes a token for some of 2,000 projects', (_, javaScriptEnabled) =>
    app.visit(
      async (page) => {
        count = 2000
        await page.goto(`${app.origin}/oauth/account/tokens/new`)
        await page.fill('#username', ada.email)
        await page.fill('#password', ada.password)
        await page.click('#submit')
        await page.fill('#name', 'Backup script')
        await page.getByLabel('See notes').check()
        await page.getByRole('button', { name: 'Choose…' }).click()
        await page.waitForSelector('body[data-page=things]')
        await page.getByLabel('Project 4', { exact: true }).check()
        await page.getByRole('button', { name: 'Next' }).click()
        await page.getByLabel('Project 60', { exact: true }).check()
        await page.locator('[value=use]').click()
        await page.getByText('Project 60', { exact: true }).waitFor()
        expect(await page.inputValue('#name')).toBe('Backup script')
        expect(await page.getByLabel('See notes').isChecked()).toBe(true)
        for (const width of javaScriptEnabled ? [320, 1280] : []) {
          await page.setViewportSize({ width, height: 700 })
          expect({ width, found: await barriersOf(page) }).toEqual({ width, found: [] })
        }
        await page.getByRole('button', { name: 'Create token' }).click()
        await page.waitForSelector('body[data-page=personal-tokens]')
        const value = String(await page.textContent('#secret'))
        const request = new Request(app.origin, { headers: { authorization: `Bearer ${value}` } })
        const { auth } = await app.host.oauth.verify(request, 'notes:read')
        expect(auth?.chosen('project' as never)).toEqual(['p4', 'p60'])
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
