import helmet from 'helmet'
import type { Browser, Page } from 'playwright-core'
import type { Organization } from '../../lib/index.ts'
import { launchBrowser } from '../support/browser.ts'
import { tabTo } from '../support/browser-barriers.ts'
import { answerFor, type WatchedPage, withWatchedPage } from '../support/browser-watch.ts'
import { openServer, type TestServer } from '../support/client-server.ts'
import {
  authorizeUrl,
  callback,
  clients,
  type Host,
  people,
  pkce,
  secret,
  startHost,
} from '../support/host.ts'
import { describeWith } from '../support/services.ts'

const ada = people[0]!

const several: Organization[] = [
  { id: 'acme', name: 'Acme' },
  { id: 'globex', name: 'Globex Corporation' },
  { id: 'twin-1', name: 'Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft' },
  { id: 'twin-2', name: 'Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft' },
]

jest.setTimeout(60_000)

describeWith('chromium', 'the choice of a workspace in Chromium', () => {
  let browser: Browser
  let server: TestServer
  let host: Host
  let organizations = several
  beforeAll(async () => {
    browser = await launchBrowser()
    server = await openServer()
    host = await startHost({
      options: { issuer: `${server.origin}/oauth`, organizations: () => organizations },
      clients: [
        ...clients,
        { client_id: 'own', client_secret: secret, redirect_uris: [callback], first_party: true },
      ],
      before: [helmet()],
    })
    server.serve(host.app)
  })
  afterAll(async () => {
    await browser?.close()
    await server?.close()
    await host?.close()
  })
  beforeEach(async () => {
    organizations = several
    for (const name of ['consents', 'authorizations'])
      await host.database.knex(`${host.database.tablePrefix}${name}`).delete()
  })

  const url = (client_id = 'web'): string =>
    server.origin +
    authorizeUrl({
      client_id,
      scope: 'openid email notes:write',
      code_challenge: pkce().challenge,
      code_challenge_method: 'S256',
    })
  const signIn = async (page: Page): Promise<void> => {
    await page.fill('#username', ada.email)
    await page.fill('#password', ada.password)
    await page.click('#submit')
    await page.waitForSelector('#allow, #choose')
  }
  const pretendClient = ({ session }: WatchedPage): Promise<void> =>
    answerFor(session, ['https://client.example.com/*'])
  /** Presses a button, and waits for the client. */
  const leaveBy = async (page: Page, press: () => Promise<void>): Promise<URL> => {
    await Promise.all([page.getByRole('heading', { name: 'Back at the client' }).waitFor(), press()])
    return new URL(page.url())
  }
  const focusOn = (page: Page, id: string): Promise<void> => page.locator(`#${id}:focus`).waitFor()
  const allowedFor = async (): Promise<string[]> =>
    (await host.database.knex(`${host.database.tablePrefix}consents`)).map(({ organization }) =>
      String(organization),
    )

  describe.each([true, false])('with JavaScript: %s', (javaScriptEnabled) => {
    test('none is ticked at first; without one the page shows an error, and with one Allow reaches the client', () =>
      withWatchedPage(browser, { javaScriptEnabled }, async (watched) => {
        const { page } = watched
        await pretendClient(watched)
        await page.goto(url())
        await signIn(page)
        expect(await page.getByRole('radio', { checked: true }).count()).toBe(0)
        await page.click('#allow')
        await page.getByRole('alert').waitFor()
        expect(await page.title()).toMatch(/^Error: /)
        await focusOn(page, 'organization-0')
        await page.getByRole('radio', { name: 'Globex Corporation', exact: true }).check()
        const back = await leaveBy(page, () => page.click('#allow'))
        expect(back.searchParams.get('code')).toMatch(/^lk_ac_/)
        expect(await allowedFor()).toEqual(['globex'])
      }))

    test('where nothing else is to ask, it asks for the workspace alone', () =>
      withWatchedPage(browser, { javaScriptEnabled }, async (watched) => {
        const { page } = watched
        await pretendClient(watched)
        await page.goto(url('own'))
        await signIn(page)
        await page.getByRole('heading', { name: 'Choose a workspace', level: 1, exact: true }).waitFor()
        await page.getByRole('radio', { name: 'Acme', exact: true }).check()
        const press = (): Promise<void> => page.getByRole('button', { name: 'Continue', exact: true }).click()
        const back = await leaveBy(page, press)
        expect(back.searchParams.get('code')).toMatch(/^lk_ac_/)
        expect(await allowedFor()).toEqual(['acme'])
      }))

    test('the one that was chosen before is ticked', () =>
      withWatchedPage(browser, { javaScriptEnabled }, async (watched) => {
        const { page } = watched
        await pretendClient(watched)
        await page.goto(url())
        await signIn(page)
        await page.getByRole('radio', { name: 'Acme', exact: true }).check()
        await leaveBy(page, () => page.click('#allow'))
        await page.goto(url())
        await page.waitForSelector('#allow')
        expect(await page.getByRole('radio', { checked: true }).getAttribute('value')).toBe('acme')
      }))
  })

  test('the group is named by its legend, required, and the words of the error belong to it', () =>
    withWatchedPage(browser, {}, async (watched) => {
      const { page } = watched
      await page.goto(url())
      await signIn(page)
      const group = page.getByRole('radiogroup', { name: 'Choose a workspace', exact: true })
      expect(await group.getByRole('radio').count()).toBe(4)
      // Two of one name are distinguishable.
      for (const id of ['twin-1', 'twin-2'])
        await page.getByRole('radio', { name: `${several[2]?.name} ${id}`, exact: true }).waitFor()
      await page.click('#allow')
      await page.getByRole('alert').waitFor()
      const snapshot = await group.ariaSnapshot()
      expect(snapshot).toContain('Choose the workspace that Web client may use.')
      expect(await group.getAttribute('aria-invalid')).toBe('true')
      await page.getByRole('alert').getByRole('link').click()
      await focusOn(page, 'organization-0')
    }))

  test('by keyboard alone: arrows choose, Enter decides nothing, Allow sends the choice', () =>
    withWatchedPage(browser, {}, async (watched) => {
      const { page } = watched
      await pretendClient(watched)
      await page.goto(url())
      await signIn(page)
      await tabTo(page, 'organization-0')
      await page.keyboard.press('ArrowDown')
      await page.locator('#organization-1:focus:checked').waitFor()
      await page.keyboard.press('ArrowUp')
      await page.locator('#organization-0:focus:checked').waitFor()
      await page.keyboard.press('ArrowDown')
      const posts: string[] = []
      page.on('request', (request) => void (request.method() === 'POST' && posts.push(request.url())))
      await page.keyboard.press('Enter')
      expect(new URL(page.url()).pathname).toBe('/oauth/consent')
      await tabTo(page, 'allow')
      expect(posts).toEqual([])
      const back = await leaveBy(page, () => page.keyboard.press('Enter'))
      expect(back.searchParams.get('code')).toMatch(/^lk_ac_/)
      expect(await allowedFor()).toEqual(['globex'])
    }))

  test('Cancel needs no choice', () =>
    withWatchedPage(browser, { javaScriptEnabled: false }, async (watched) => {
      const { page } = watched
      await pretendClient(watched)
      await page.goto(url())
      await signIn(page)
      const back = await leaveBy(page, () => page.click('#deny'))
      expect(back.searchParams.get('error')).toBe('access_denied')
    }))
})
