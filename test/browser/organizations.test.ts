import type { Page } from 'playwright-core'
import type { Organization } from '../../lib/index.ts'
import { people } from '../support/host.ts'
import { describeWith } from '../support/services.ts'
import { useBrowserApp } from './app.ts'
import { barriersOf, tabTo } from './barriers.ts'

const ada = people[0]!
const long = 'Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft'

const few: Organization[] = [
  { id: 'acme', name: 'Acme' },
  { id: 'globex', name: 'Globex Corporation', detail: '12 members' },
  { id: 'twin-1', name: long },
  { id: 'twin-2', name: long },
]
const many = Array.from({ length: 400 }, (_, number) => ({ id: `org-${number}`, name: `Fjord ${number}` }))

describeWith('chromium', 'the choice of a workspace in Chromium', () => {
  let offered: Organization[]
  const app = useBrowserApp({
    options: { organizations: () => offered },
  })
  const consents = () => app.host.table('consents')
  beforeEach(async () => {
    offered = few
    await consents().delete()
    await app.host.table('authorizations').delete()
  })

  const url = (): string => app.url({ scope: 'openid email notes:read notes:write' })
  const signIn = async (page: Page): Promise<void> => {
    await page.goto(url())
    await page.fill('#username', ada.email)
    await page.fill('#password', ada.password)
    await page.click('#submit')
    await page.waitForSelector('body:not([data-page=login])')
  }
  const allowedFor = async (): Promise<string[]> =>
    (await consents()).map(({ organization }) => String(organization))

  test('no permission stands below Allow, however many workspaces there are', () =>
    app.visit(async (page) => {
      await signIn(page)
      for (const count of [1, 6, 400]) {
        offered = many.slice(0, count)
        for (const viewport of [
          { width: 375, height: 667 },
          { width: 1280, height: 800 },
        ]) {
          await page.setViewportSize(viewport)
          await page.goto(url())
          const choice = page.locator('button[name=organization]').first()
          if ((await choice.count()) > 0) await choice.click()
          await page.waitForSelector('[value=allow]')
          const places = await page.evaluate(
            `['.scope:last-of-type', '[value=allow]'].map((each) => document.querySelector(each).getBoundingClientRect().bottom)`,
          )
          const [permission, allow] = places as [number, number]
          expect({ count, viewport, isBelow: allow > permission }).toEqual({ count, viewport, isBelow: true })
          expect(allow).toBeLessThan(viewport.height)
        }
      }
    }))

  test('without JavaScript it is found by search, works, and the next time needs one press', () =>
    app.visit(
      async (page) => {
        offered = [...many, ...few]
        await signIn(page)
        expect(await page.getByRole('list').getByRole('button').count()).toBe(50)
        await page.getByLabel('Find a workspace').fill('corporation')
        await page.click('[form=find][type=submit]')
        await page.getByRole('button', { name: 'Globex Corporation 12 members' }).click()
        const back = await app.toClient(page, () => page.click('[value=allow]'))
        expect(back.searchParams.get('code')).toMatch(/^lk_ac_/)
        expect(await allowedFor()).toEqual(['globex'])
        await page.goto(url())
        expect(await page.locator('#organization').textContent()).toBe('Globex Corporation')
        await app.toClient(page, () => page.getByRole('button', { name: 'Continue' }).click())
      },
      { javaScriptEnabled: false },
    ))

  test('by keyboard alone: Enter searches, chooses and changes, and Allow sends the choice', () =>
    app.visit(async (page) => {
      offered = [...many, ...few]
      await signIn(page)
      await tabTo(page, '#q')
      await page.keyboard.type('globex')
      await page.keyboard.press('Enter')
      await page.waitForURL(/[?&]q=globex/)
      expect(await page.getByRole('list').getByRole('button').count()).toBe(1)
      await tabTo(page, 'button[value=globex]')
      await page.keyboard.press('Enter')
      await page.waitForSelector('[value=allow]')
      await tabTo(page, '[value=organization]')
      await page.keyboard.press('Enter')
      await page.waitForSelector('[value=org-1]')
      await tabTo(page, '[value=org-1]')
      await page.keyboard.press('Enter')
      await page.waitForSelector('[value=allow]')
      await tabTo(page, '[value=allow]')
      const back = await app.toClient(page, () => page.keyboard.press('Enter'))
      expect(back.searchParams.get('code')).toMatch(/^lk_ac_/)
      expect(await allowedFor()).toEqual(['org-1'])
    }))

  test('two of one name are told apart, and the row says what Change is about', () =>
    app.visit(async (page) => {
      await signIn(page)
      expect(await barriersOf(page)).toEqual([])
      await page.getByRole('button', { name: `${long} twin-2`, exact: true }).click()
      const change = page.getByRole('button', { name: 'Change', exact: true })
      expect(await change.getAttribute('aria-describedby')).toBe('organization')
      expect(await page.locator('dl.single').textContent()).toContain('twin-2')
    }))

  test('the list follows what is typed, and the answer to earlier letters never replaces a later one', () =>
    app.visit(async (page) => {
      offered = many
      await signIn(page)
      // The first answer is under way until the test lets it go.
      const isAsked = new Promise<() => void>((asked) => {
        void page.route(/[?&]q=1$/, (route) => asked(() => void route.continue().catch(() => {})))
      })
      const counts = (said: string) => page.locator('#count', { hasText: new RegExp(`^${said}$`) }).waitFor()
      const names = () => page.locator('button[name=organization] bdi').allTextContents()
      const address = page.url()
      await page.locator('#q').focus()
      await page.keyboard.type('1')
      const answer = await isAsked
      await page.keyboard.type('23')
      await counts('1–1 of 1')
      answer()
      await page.unroute(/[?&]q=1$/)
      await page.keyboard.type('x')
      await counts('No workspace matches “123x”.')
      await page.keyboard.press('Backspace')
      await counts('1–1 of 1')
      expect(await names()).toEqual(['Fjord 123'])
      expect(await page.evaluate('document.activeElement.id')).toBe('q')
      expect(page.url()).toBe(address)
      await page.locator('#q').fill('1')
      await counts('1–50 of \\d+')
      await page.getByRole('link', { name: 'Next page' }).click()
      await page.waitForURL(/[?&]page=2/)
      expect(new URL(page.url()).searchParams.get('q')).toBe('1')
    }))

  test('the one that the consent page was for is marked in the list, and no other one', () =>
    app.visit(async (page) => {
      await signIn(page)
      const marked = page.locator('button[name=organization][aria-current=true]')
      expect(await marked.count()).toBe(0)
      await page.click('[value=globex]')
      await page.click('[value=organization]')
      await page.waitForSelector('button[name=organization]')
      expect(await marked.count()).toBe(1)
      expect(await marked.getAttribute('value')).toBe('globex')
    }))
})
