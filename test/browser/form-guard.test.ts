import type { Page } from 'playwright-core'
import supertest from 'supertest'
import { admin, developers, registration } from '../../lib/features/index.ts'
import { signIn, waitForHeading } from '../support/browser-person.ts'
import { callback } from '../support/host.ts'
import { sampleOf } from '../support/sample.ts'
import { describeWith } from '../support/services.ts'
import { useBrowserApp } from './app.ts'

describeWith(
  'chromium',
  'a key or a click that was not meant for a page of administrators or developers',
  () => {
    const app = useBrowserApp({
      options: {
        features: [
          admin({ allow: ({ req }) => req.get('x-admin') ?? false }),
          developers({ allow: () => true }),
          registration(),
        ],
      },
    })
    const carol = { 'x-admin': 'carol' }
    /** A client that a stranger has registered, and one of Ada that waits for approval. */
    let [evil, waiting] = ['', '']

    const at = (path: string): string => `${app.origin}/oauth${path}`

    const register = async (): Promise<string> => {
      const answer = await supertest(app.host.app)
        .post('/oauth/register')
        .send({ client_name: 'Evil', redirect_uris: [callback] })
      expect(answer.status).toBe(201)
      return answer.body.client_id
    }

    beforeAll(async () => {
      evil = await register()
      const created = await app.host.oauth.clients.create({ client_name: 'Desk', redirect_uris: [callback] })
      waiting = created.client_id
      for (const clientId of [waiting, 'web']) await app.host.oauth.developers?.transfer(clientId, 1)
      await app.host
        .table('client_owners')
        .where({ client_id: waiting })
        .update({ status: 'waiting', approved_at: null })
      await app.host.oauth.clients.disable(waiting)
    })

    const inBrowser = (run: (page: Page) => Promise<void>, javaScriptEnabled = true): Promise<void> =>
      app.visit(
        async (page) => {
          await page.goto(at('/developer'))
          await signIn(page)
          await waitForHeading(page, 'Your apps')
          await run(page)
        },
        { javaScriptEnabled, extraHTTPHeaders: carol },
      )

    /** The addresses that the page posts to from now on. */
    const postsOf = (page: Page): string[] => {
      const posted: string[] = []
      page.on('request', (request) => request.method() === 'POST' && posted.push(request.url()))
      return posted
    }
    /** What a press had set going would have been sent before this is. */
    const settle = (page: Page): Promise<unknown> => page.request.get(at('/assets/icon.svg'))

    /** Pages, the fragment of a link that gives a field of them the focus, and the button that decides. */
    const decisions: Readonly<
      Record<string, readonly [page: () => string, fields: readonly string[], button: string]>
    > = {
      'verifies the client of a stranger': [
        () => `/admin/client?client_id=${evil}`,
        ['save', 'field-client_name', 'field-redirect_uris', 'field-first_party'],
        'form:has(#field-client_name) button.primary',
      ],
      'approves the client of a user': [
        () => `/admin/request?client_id=${waiting}`,
        ['reason'],
        'button.primary',
      ],
      'refuses the client of a user': [
        () => `/admin/request?client_id=${waiting}`,
        ['reason'],
        'form:has(#reason) [type=submit]',
      ],
      'rotates the secret of a client': [
        () => '/developer/rotate?client_id=web',
        ['submit', 'now'],
        'button.primary',
      ],
      'deletes a client': [() => '/developer/delete?client_id=web', ['submit'], 'button.danger'],
      'deletes a client as an administrator': [
        () => `/admin/delete-client?client_id=${evil}`,
        ['submit'],
        'button.danger',
      ],
      'disables a client': [() => `/admin/disable-client?client_id=${evil}`, ['submit'], 'button.danger'],
      'makes new keys': [() => '/admin/publish-keys', ['submit'], 'button.primary'],
    }

    const tried = sampleOf(Object.keys(decisions), 2)

    describe.each([
      ['with', true],
      ['without', false],
    ])('Enter that is held since an earlier page, %s JavaScript', (_, javaScriptEnabled) => {
      test.each(tried)('never %s when a link gives a field the focus (M3)', (name) =>
        inBrowser(async (page) => {
          const [path, fragments] = decisions[name]!
          const posted = postsOf(page)
          await page.keyboard.down('Enter')
          for (const fragment of fragments) {
            await page.goto('about:blank')
            await page.goto(`${at(path())}#${fragment}`)
            for (let times = 0; times < 3; times += 1) await page.keyboard.down('Enter')
            await settle(page)
          }
          expect(posted).toEqual([])
        }, javaScriptEnabled),
      )
    })

    test.each(tried)('Enter that is held never %s, even when the button has the focus (M3)', (name) =>
      inBrowser(async (page) => {
        const [path, , button] = decisions[name]!
        const posted = postsOf(page)
        await page.keyboard.down('Enter')
        await page.goto(at(path()))
        await page.locator(button).first().focus()
        for (let times = 0; times < 3; times += 1) await page.keyboard.down('Enter')
        await page.keyboard.up('Enter')
        await settle(page)
        expect(posted).toEqual([])
      }),
    )

    test.each(tried)(
      'a click just as the page comes to the front never %s, and the page asks for another click',
      (name) =>
        inBrowser(async (page) => {
          const [path, , button] = decisions[name]!
          const posted = postsOf(page)
          await page.goto(at(path()))
          const click = `dispatchEvent(new Event('focus')); document.querySelector(${JSON.stringify(button)}).click()`
          await page.evaluate(click)
          await settle(page)
          expect(posted).toEqual([])
          expect(await page.getByText('Press the button once more.').isVisible()).toBe(true)
        }),
    )

    test('a press that was meant for the page counts (M3)', () =>
      inBrowser(async (page) => {
        const [path, , button] = decisions['refuses the client of a user']!
        await page.goto(at(path()))
        await page.locator(button).first().focus()
        await page.keyboard.press('Enter')
        await page.getByText('The request is refused', { exact: false }).waitFor()
        expect(await app.host.table('client_owners').where({ client_id: waiting }).first()).toMatchObject({
          status: 'refused',
        })
      }))
  },
)
