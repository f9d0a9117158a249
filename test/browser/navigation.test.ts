import { randomUUID } from 'node:crypto'
import type { RequestListener } from 'node:http'
import type { Page, Response } from 'playwright-core'
import type { ClientSeed } from '../../lib/index.ts'
import { withPage } from '../support/browser.ts'
import { press, signIn, waitForHeading } from '../support/browser-person.ts'
import { authorizeUrl, type Host, people, secret, startHost } from '../support/host.ts'
import { headings } from '../support/outcomes.ts'
import { describeWith } from '../support/services.ts'
import { openWeb, sendPage, type Web } from './web.ts'

const ada = people[0]!
const { finished } = headings

/** A client, and one that answers slowly. */
const names = ['notes', 'slow'] as const
type Name = (typeof names)[number]

const scopes: Readonly<Record<Name, string>> = {
  notes: 'openid notes:read',
  slow: 'openid',
}

/** A tab in which a client waits for an answer. */
interface Tab {
  readonly page: Page
  readonly client: Name
  readonly state: string
}

describeWith('chromium', 'the buttons of browser and page in Chromium', () => {
  let web: Web
  let host: Host
  const siteOf = (client: Name): string => web.origin(`${client}.test`)
  const callbackOf = (client: Name): string => `${siteOf(client)}/callback`
  const origin = (): string => web.origin('id.test')
  const issuer = (): string => `${origin()}/oauth`

  beforeAll(async () => {
    web = await openWeb()
    const clients = names.map(
      (name): ClientSeed => ({
        client_id: name,
        client_secret: secret,
        redirect_uris: [callbackOf(name)],
        scope: 'openid profile email notes:read notes:write',
      }),
    )
    host = await startHost({ options: { issuer: issuer() }, clients })
    web.serve('id.test', host.app)
  })
  afterAll(async () => {
    await web?.close()
    await host?.close()
  })

  /** Runs a test in a browser where no response may be a server error. */
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
  ): Promise<Tab> => {
    const state = randomUUID()
    const redirect_uri = callbackOf(client)
    const request = { client_id: client, redirect_uri, state, scope: scopes[client], ...parameters }
    await page.goto(origin() + authorizeUrl({ prompt: 'consent', ...request }))
    return { page, client, state }
  }

  const atConsent = (page: Page): Promise<unknown> => page.waitForSelector('[value=allow]')

  const atClient = ({ page, client }: Tab): Promise<void> =>
    waitForHeading(page, `This is ${new URL(siteOf(client)).host}`)

  /** What came to a client, by the state of its request. */
  const answersTo = ({ client, state }: Tab): Record<string, string>[] =>
    web.received
      .filter(({ url }) => url.origin + url.pathname === callbackOf(client))
      .map(({ url }) => Object.fromEntries(url.searchParams))
      .filter((fields) => fields.state === state)

  /** The client has its own answer, once, and the code is worth exactly what was asked for. */
  const expectAnswered = async (tab: Tab): Promise<void> => {
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

  const expectFinished = async (page: Page): Promise<void> => {
    await waitForHeading(page, finished)
    expect(new URL(page.url()).origin).toBe(origin())
  }

  const statusOf = async (act: Promise<Response | null>): Promise<number | undefined> => (await act)?.status()

  test('Back after Allow shows that the request has ended, and Forward the client again', () =>
    inBrowser(async (page) => {
      const tab = await open(page, 'notes')
      await signIn(page)
      await press(page, 'Allow')
      await expectAnswered(tab)
      expect(await statusOf(page.goBack())).toBe(400)
      await expectFinished(page)
      expect(await statusOf(page.reload())).toBe(400)
      await expectFinished(page)
      await page.goForward()
      await atClient(tab)
    }))

  test('Back from consent goes on with the login that there is', () =>
    inBrowser(async (page) => {
      const tab = await open(page, 'notes')
      await signIn(page)
      await atConsent(page)
      await page.goBack()
      await atConsent(page)
      await press(page, 'Allow')
      await expectAnswered(tab)
    }))

  test('a double click on Sign in and on Allow issues at most one code', () =>
    inBrowser(async (page) => {
      const tab = await open(page, 'notes')
      await page.fill('#username', ada.email)
      await page.fill('#password', ada.password)
      await page.dblclick('#submit')
      await atConsent(page)
      await page.dblclick('[value=allow]')
      // The second click stops the first navigation: before the code was issued, or after.
      const over = page.getByRole('heading', { name: finished })
      await page.getByRole('heading', { name: 'This is notes.test' }).or(over).waitFor()
      if (await over.isVisible()) expect(answersTo(tab).length).toBeLessThanOrEqual(1)
      else await expectAnswered(tab)
    }))

  test('a second Allow while the client is slow sends nothing, and the answer arrives', () =>
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
      const { x, y, width, height } = (await page.locator('[value=allow]').boundingBox())!
      // The mouse itself, since a locator would wait for the navigation that has begun.
      const click = (): Promise<void> => page.mouse.click(x + width / 2, y + height / 2)
      await click()
      await isAsked
      const posts: string[] = []
      page.on('request', (request) => request.method() === 'POST' && posts.push(request.url()))
      await click()
      answer()
      await page.getByRole('heading', { name: 'At last' }).waitFor()
      expect(posts).toEqual([])
      expect(answersTo(tab)).toHaveLength(1)
    }))

  test('Reload and Back after a wrong password send nothing again, and the right one works', () =>
    inBrowser(async (page) => {
      const tab = await open(page, 'notes')
      const posts: string[] = []
      page.on('request', (request) => {
        if (request.method() === 'POST') posts.push(request.url())
      })
      const wrong = { ...ada, password: 'not ada’s password' }
      for (let time = 1; time <= 2; time += 1) {
        await signIn(page, wrong)
        await page.getByText('Wrong email or password').waitFor()
        expect(await statusOf(page.reload())).toBe(400)
        await page.getByText('Wrong email or password').waitFor()
        expect(await page.inputValue('#username')).toBe(ada.email)
      }
      expect(posts).toHaveLength(2)
      await signIn(page)
      await atConsent(page)
      await page.goBack()
      await atConsent(page)
      expect(posts).toHaveLength(3)
      await press(page, 'Allow')
      await expectAnswered(tab)
    }))

  test('Back straight after a wrong password sends nothing, and shows a form that works', () =>
    inBrowser(async (page) => {
      const tab = await open(page, 'notes')
      await page.goto('about:blank')
      await page.goBack()
      const posts: string[] = []
      page.on('request', (request) => {
        if (request.method() === 'POST') posts.push(request.url())
      })
      await signIn(page, { ...ada, password: 'not ada’s password' })
      await page.getByText('Wrong email or password').waitFor()
      await page.goBack()
      expect(page.url()).not.toBe('about:blank')
      await page.locator('#password').waitFor()
      expect(posts).toHaveLength(1)
      await signIn(page)
      await press(page, 'Allow')
      await expectAnswered(tab)
    }))
})
