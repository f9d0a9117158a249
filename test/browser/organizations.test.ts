import type { Page } from 'playwright-core'
import type { Organization } from '../../lib/index.ts'
import { people } from '../support/host.ts'
import { describeWith } from '../support/services.ts'
import { useBrowserApp } from './app.ts'
import { tabTo } from './barriers.ts'

const ada = people[0]!
const long = 'Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft'

const several: Organization[] = [
  { id: 'acme', name: 'Acme' },
  { id: 'globex', name: 'Globex Corporation' },
  { id: 'twin-1', name: long },
  { id: 'twin-2', name: long },
]

jest.setTimeout(60_000)

describeWith('chromium', 'the choice of a workspace in Chromium', () => {
  const app = useBrowserApp({
    options: { organizations: () => several },
  })
  const consents = () => app.host.table('consents')
  beforeEach(async () => {
    await consents().delete()
    await app.host.table('authorizations').delete()
  })

  const url = (): string => app.url({ scope: 'openid email notes:write' })
  const signIn = async (page: Page): Promise<void> => {
    await page.fill('#username', ada.email)
    await page.fill('#password', ada.password)
    await page.click('#submit')
    await page.waitForSelector('[value=allow], [value=choose]')
  }
  const focusOn = (page: Page, id: string): Promise<void> => page.locator(`#${id}:focus`).waitFor()
  const allowedFor = async (): Promise<string[]> =>
    (await consents()).map(({ organization }) => String(organization))

  test('without JavaScript a choice is required, works and is remembered', () =>
    app.visit(
      async (page) => {
        await page.goto(url())
        await signIn(page)
        expect(await page.getByRole('radio', { checked: true }).count()).toBe(0)
        await page.click('[value=allow]')
        await page.getByRole('alert').waitFor()
        expect(await page.title()).toMatch(/^Error: /)
        await focusOn(page, 'organization-0')
        await page.getByRole('radio', { name: 'Globex Corporation', exact: true }).check()
        const back = await app.toClient(page, () => page.click('[value=allow]'))
        expect(back.searchParams.get('code')).toMatch(/^lk_ac_/)
        expect(await allowedFor()).toEqual(['globex'])
        await page.goto(url())
        await page.waitForSelector('[value=allow]')
        expect(await page.getByRole('radio', { checked: true }).getAttribute('value')).toBe('globex')
      },
      { javaScriptEnabled: false },
    ))

  test('the group is named by its legend, required, and described by its error', () =>
    app.visit(async (page) => {
      await page.goto(url())
      await signIn(page)
      const group = page.getByRole('radiogroup', { name: 'Choose a workspace', exact: true })
      expect(await group.getByRole('radio').count()).toBe(4)
      // Two of one name are distinguishable.
      for (const id of ['twin-1', 'twin-2'])
        await page.getByRole('radio', { name: `${several[2]?.name} ${id}`, exact: true }).waitFor()
      await page.click('[value=allow]')
      await page.getByRole('alert').waitFor()
      const [, about = ''] = (await group.getAttribute('aria-describedby'))?.split(' ') ?? []
      expect(await page.locator(`#${about}`).textContent()).toContain('Choose a workspace to continue')
      expect(await group.getAttribute('aria-invalid')).toBe('true')
      await page.getByRole('alert').getByRole('link').click()
      await focusOn(page, 'organization-0')
    }))

  test('by keyboard alone: arrows choose, Enter decides nothing, Allow sends the choice', () =>
    app.visit(async (page) => {
      await page.goto(url())
      await signIn(page)
      await tabTo(page, '#organization-0')
      await page.keyboard.press('ArrowDown')
      await page.locator('#organization-1:focus:checked').waitFor()
      await page.keyboard.press('ArrowUp')
      await page.locator('#organization-0:focus:checked').waitFor()
      await page.keyboard.press('ArrowDown')
      const posts: string[] = []
      page.on('request', (request) => void (request.method() === 'POST' && posts.push(request.url())))
      await page.keyboard.press('Enter')
      expect(new URL(page.url()).pathname).toBe('/oauth/consent')
      await tabTo(page, '[value=allow]')
      expect(posts).toEqual([])
      const back = await app.toClient(page, () => page.keyboard.press('Enter'))
      expect(back.searchParams.get('code')).toMatch(/^lk_ac_/)
      expect(await allowedFor()).toEqual(['globex'])
    }))
})
