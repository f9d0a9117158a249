import { randomUUID } from 'node:crypto'
import type { RequestListener } from 'node:http'
import session from 'express-session'
import type { Page, Response } from 'playwright-core'
import type { ClientSeed } from '../../lib/index.ts'
import { withPage } from '../support/browser.ts'
import { press, signIn, waitForHeading } from '../support/browser-person.ts'
import { openWeb, sendPage, type Web } from '../support/browser-web.ts'
import { authorizeUrl, type Host, people, secret, startHost } from '../support/host.ts'
import { describeWith } from '../support/services.ts'

const ada = people[0]!
const expired = 'This sign-in took too long'

/** Two clients of two companies, and one whose answers the person waits for. */
const names = ['notes', 'photos', 'slow'] as const
type Name = (typeof names)[number]

const scopes: Readonly<Record<Name, string>> = {
  notes: 'openid notes:read',
  photos: 'openid email',
  slow: 'openid',
}

/** A tab in which a client waits for an answer. */
interface Tab {
  readonly page: Page
  readonly client: Name
  readonly state: string
}

// A browser on a busy machine takes its time; each wait for one thing ends sooner (support/browser.ts).
jest.setTimeout(60_000)

describeWith('chromium', 'tabs, buttons and cookies in Chromium', () => {
  let web: Web
  const hosts: Host[] = []
  const siteOf = (client: Name): string => web.origin(`${client}.test`)
  const callbackOf = (client: Name): string => `${siteOf(client)}/callback`
  const origin = (): string => web.origin('id.test')
  const issuer = (): string => `${origin()}/oauth`

  beforeAll(async () => {
    web = await openWeb(['id.test', 'host-session.test', ...names.map((name) => `${name}.test`)])
    const clients = names.map(
      (name): ClientSeed => ({
        client_id: name,
        client_secret: secret,
        redirect_uris: [callbackOf(name)],
        scope: 'openid profile email notes:read notes:write',
      }),
    )
    const own = await startHost({ options: { issuer: issuer() }, clients })
    hosts.push(own)
    web.serve('id.test', own.app)
    const hostIssuer = `${web.origin('host-session.test')}/oauth`
    const before = [
      session({ secret: 'of the host', resave: false, saveUninitialized: true, name: 'host.sid' }),
    ]
    const other = await startHost({ options: { issuer: hostIssuer }, clients, before })
    hosts.push(other)
    web.serve('host-session.test', other.app)
  })
  afterAll(async () => {
    await web?.close()
    await Promise.all(hosts.map((host) => host.close()))
  })

  /** Every answer of ours to any tab; none may be a fault. */
  const inBrowser = (run: (page: Page) => Promise<void>): Promise<void> =>
    withPage(web.browser, {}, async (page) => {
      const faults: string[] = []
      page.context().on('response', (response: Response) => {
        if (response.status() >= 500) faults.push(`${response.status()} ${response.url()}`)
      })
      await run(page)
      expect(faults).toEqual([])
    })

  const open = async (
    page: Page,
    client: Name,
    parameters: Readonly<Record<string, string>> = {},
    at = origin(),
  ): Promise<Tab> => {
    const state = randomUUID()
    const redirect_uri = callbackOf(client)
    const request = { client_id: client, redirect_uri, state, scope: scopes[client], ...parameters }
    await page.goto(at + authorizeUrl({ prompt: 'consent', ...request }))
    return { page, client, state }
  }

  const newTab = async (page: Page, client: Name): Promise<Tab> =>
    open(await page.context().newPage(), client)

  const atConsent = (page: Page): Promise<unknown> => page.waitForSelector('#allow')

  const atClient = ({ page, client }: Tab): Promise<void> =>
    waitForHeading(page, `This is ${new URL(siteOf(client)).host}`)

  /** What came to a client, by the state of its request. */
  const answersTo = ({ client, state }: Tab): Record<string, string>[] =>
    web.received
      .filter(({ url }) => url.origin + url.pathname === callbackOf(client))
      .map(({ url }) => Object.fromEntries(url.searchParams))
      .filter((fields) => fields.state === state)

  /** The client has its own answer, once, and the code is worth exactly what was asked for. */
  const expectFinished = async (tab: Tab): Promise<void> => {
    await atClient(tab)
    const code = expect.stringMatching(/^lk_ac_/)
    const answers = answersTo(tab)
    expect(answers).toEqual([{ code, state: tab.state, iss: issuer() }])
    expect(new URL(tab.page.url()).searchParams.get('code')).toBe(answers[0]?.code)
    const { status, body } = await web.post(`${issuer()}/token`, {
      grant_type: 'authorization_code',
      code: String(answers[0]?.code),
      redirect_uri: callbackOf(tab.client),
      client_id: tab.client,
      client_secret: secret,
    })
    expect({ status, scope: JSON.parse(body).scope }).toEqual({ status: 200, scope: scopes[tab.client] })
  }

  const expectExpired = async (page: Page): Promise<void> => {
    await waitForHeading(page, expired)
    expect(new URL(page.url()).origin).toBe(origin())
  }

  const statusOf = async (act: Promise<Response | null>): Promise<number | undefined> => (await act)?.status()

  describe('two tabs of one browser', () => {
    test.each([
      ['in the order of their beginning', 0],
      ['the later one first', 1],
    ])('both finish, %s, each with its own state, place and scopes', (_, first) =>
      inBrowser(async (page) => {
        const tabs = [await open(page, 'notes'), await newTab(page, 'photos')]
        const [one, other] = [tabs[first]!, tabs[1 - first]!]
        // The second login renews the session under the consent page of the first.
        await signIn(one.page)
        await atConsent(one.page)
        await signIn(other.page)
        await atConsent(other.page)
        await press(one.page, 'Allow')
        await expectFinished(one)
        await press(other.page, 'Allow')
        await expectFinished(other)
      }),
    )

    test('a tab that was left at the login page goes on with the login of the other', () =>
      inBrowser(async (page) => {
        const left = await open(page, 'notes')
        const other = await newTab(page, 'photos')
        await signIn(other.page)
        await press(other.page, 'Allow')
        await expectFinished(other)
        await signIn(left.page)
        await press(left.page, 'Allow')
        await expectFinished(left)
      }))

    test('Cancel in one tab leaves the other as it is', () =>
      inBrowser(async (page) => {
        const cancelled = await open(page, 'notes')
        const other = await newTab(page, 'photos')
        await signIn(cancelled.page)
        await press(cancelled.page, 'Cancel')
        await atClient(cancelled)
        expect(answersTo(cancelled)).toMatchObject([{ error: 'access_denied', state: cancelled.state }])
        await signIn(other.page)
        await press(other.page, 'Allow')
        await expectFinished(other)
      }))

    const invalid: readonly [string, Readonly<Record<string, string>>, string][] = [
      ['a redirect URI that is not registered', { redirect_uri: 'https://elsewhere.test/' }, 'error page'],
      ['a client that does not exist', { client_id: 'nobody' }, 'error page'],
      ['a scope that is not allowed', { scope: 'notes:delete' }, 'invalid_scope'],
      ['a response type that is off', { response_type: 'token' }, 'unsupported_response_type'],
    ]

    test.each(invalid)('%s in one tab does not disturb the other', (_, parameters, outcome) =>
      inBrowser(async (page) => {
        const tab = await open(page, 'notes')
        const wrong = await open(await page.context().newPage(), 'photos', parameters)
        if (outcome === 'error page') {
          await waitForHeading(wrong.page, 'This request can’t be completed')
        } else {
          await atClient(wrong)
          expect(answersTo(wrong)).toMatchObject([{ error: outcome, state: wrong.state }])
        }
        await signIn(tab.page)
        await press(tab.page, 'Allow')
        await expectFinished(tab)
      }),
    )
  })

  describe('what people do with buttons', () => {
    test('Back after Allow shows that it is over, and Forward the client again', () =>
      inBrowser(async (page) => {
        const tab = await open(page, 'notes')
        await signIn(page)
        await press(page, 'Allow')
        await expectFinished(tab)
        expect(await statusOf(page.goBack())).toBe(400)
        await expectExpired(page)
        expect(await statusOf(page.reload())).toBe(400)
        await expectExpired(page)
        await page.goForward()
        await atClient(tab)
      }))

    test('Back from consent shows the login page again, where another login leads on', () =>
      inBrowser(async (page) => {
        const tab = await open(page, 'notes')
        await signIn(page)
        await atConsent(page)
        await page.goBack()
        await page.waitForSelector('#password')
        await signIn(page)
        await press(page, 'Allow')
        await expectFinished(tab)
      }))

    test('Allow on a second copy of the page, after the first, shows that it is over', () =>
      inBrowser(async (page) => {
        const tab = await open(page, 'notes')
        await signIn(page)
        await atConsent(page)
        const copy = await page.context().newPage()
        await copy.goto(page.url())
        await press(page, 'Allow')
        await expectFinished(tab)
        await press(copy, 'Allow')
        await expectExpired(copy)
        expect(answersTo(tab)).toHaveLength(1)
      }))

    test('a double click on Sign in and on Allow ends at the client, or says that it is over; with one code', () =>
      inBrowser(async (page) => {
        const tab = await open(page, 'notes')
        await page.fill('#username', ada.email)
        await page.fill('#password', ada.password)
        await page.dblclick('#submit')
        await atConsent(page)
        await page.dblclick('#allow')
        // The second click stops the first navigation: before the code was issued, or after.
        const over = page.getByRole('heading', { name: expired })
        await page.getByRole('heading', { name: 'This is notes.test' }).or(over).waitFor()
        if (await over.isVisible()) expect(answersTo(tab).length).toBeLessThanOrEqual(1)
        else await expectFinished(tab)
      }))

    test('Allow once more, while the client is slow to answer, ends in a page and gives no second code', () =>
      inBrowser(async (page) => {
        let answer = (): void => {}
        const isAsked = new Promise<void>((resolve) => {
          const slowly: RequestListener = (_req, res) => {
            answer = () => sendPage(res, '<h1>At last</h1>')
            resolve()
          }
          web.answer(callbackOf('slow'), slowly)
        })
        const tab = await open(page, 'slow')
        await signIn(page)
        await atConsent(page)
        const { x, y, width, height } = (await page.locator('#allow').boundingBox())!
        // The mouse itself, since a locator would wait for the navigation that has begun.
        const click = (): Promise<void> => page.mouse.click(x + width / 2, y + height / 2)
        await click()
        await isAsked
        const [second] = await Promise.all([
          page.waitForResponse((response) => response.request().method() === 'POST'),
          click(),
        ])
        expect(second.status()).toBe(400)
        await expectExpired(page)
        answer()
        expect(answersTo(tab)).toHaveLength(1)
      }))

    test('reloading the answer to a wrong password sends it again and shows the same page; the right one leads on', () =>
      inBrowser(async (page) => {
        const tab = await open(page, 'notes')
        await signIn(page, { ...ada, password: 'not ada’s password' })
        await page.waitForSelector('#error')
        const [again] = await Promise.all([page.waitForRequest(`${issuer()}/login`), page.reload()])
        expect(again.method()).toBe('POST')
        await page.getByText('We couldn’t sign you in').waitFor()
        await signIn(page)
        await press(page, 'Allow')
        await expectFinished(tab)
      }))

    test('sending the login form once more after it has led to the client shows that it is over', () =>
      inBrowser(async (page) => {
        const tab = await open(page, 'notes')
        const copy = await page.context().newPage()
        await copy.goto(page.url())
        await signIn(page)
        await press(page, 'Allow')
        await expectFinished(tab)
        await signIn(copy)
        await expectExpired(copy)
      }))
  })
})
