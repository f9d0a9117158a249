import { randomUUID } from 'node:crypto'
import type { RequestListener, ServerResponse } from 'node:http'
import express, { type Express } from 'express'
import helmet from 'helmet'
import type { Page } from 'playwright-core'
import { type PageOptions, withPage } from '../support/browser.ts'
import { press, signIn, waitForHeading } from '../support/browser-person.ts'
import { withWatchedPage } from '../support/browser-watch.ts'
import { authorizeUrl, type Host, secret, startHost } from '../support/host.ts'
import { testsAll } from '../support/sample.ts'
import { describeWith } from '../support/services.ts'
import { hasIpv6, openWeb, sendPage, type Web } from './web.ts'

/** Where a client waits for its answer. */
interface Place {
  readonly is: string
  readonly redirectUri: (web: Web) => string
  /** Where the browser ends when the client sends it on. */
  readonly onward?: (web: Web) => string
  /** A `form-action` with which the browser must not get there. */
  readonly tooNarrow: (web: Web) => string
}

const ourselves = (): string => "'self'"
const third = (web: Web): string => `${web.origin('third.test')}/welcome`

const places: readonly Place[] = [
  {
    is: 'https on another site',
    redirectUri: (web) => `${web.origin('client.test')}/callback`,
    tooNarrow: ourselves,
  },
  {
    is: 'https that redirects on to a third site',
    redirectUri: (web) => `${web.origin('client.test')}/onward`,
    onward: third,
    tooNarrow: (web) => `'self' ${web.origin('client.test')}`,
  },
  {
    is: 'http://127.0.0.1',
    redirectUri: (web) => `${web.loopback('127.0.0.1')}/callback`,
    tooNarrow: ourselves,
  },
  {
    is: 'http://127.0.0.1 that redirects on to an https site',
    redirectUri: (web) => `${web.loopback('127.0.0.1')}/onward`,
    onward: third,
    tooNarrow: (web) => `'self' ${web.loopback('127.0.0.1')}`,
  },
  {
    is: 'http://[::1]',
    redirectUri: (web) => `${web.loopback('[::1]')}/callback`,
    // What looks as if it would do, and would not.
    tooNarrow: () => "'self' https: http://127.0.0.1:* http://localhost:*",
  },
  {
    is: 'http://localhost',
    redirectUri: (web) => `${web.loopback('localhost')}/callback`,
    tooNarrow: ourselves,
  },
  {
    is: 'http://app.localhost',
    redirectUri: (web) => `${web.loopback('app.localhost')}/callback`,
    tooNarrow: () => "'self' https: http://127.0.0.1:* http://localhost:*",
  },
  {
    is: 'a private-use scheme',
    redirectUri: () => 'com.example.app:/callback',
    tooNarrow: ourselves,
  },
]

const hasPlace = ({ is }: Place): boolean => hasIpv6 || !is.includes('[::1]')
const missing = places.filter((place) => !hasPlace(place))
for (const { is } of missing)
  console.warn(`skipped: redirects to ${is}, because there is no ::1 on this machine`)

/** Each reachable place by its name, for `test.each`. */
const eachPlace = places.filter(hasPlace).map((place) => [place.is, place] as const)
/** Some of them: those with these names, or all with TEST_ALL=1. */
const sample = (...names: readonly string[]): typeof eachPlace =>
  eachPlace.filter(([name]) => testsAll || names.includes(name))
const onward = 'https that redirects on to a third site'
const loopback = 'http://127.0.0.1 that redirects on to an https site'
const scheme = 'a private-use scheme'

/** How an app sends helmet's default policy, which contains `form-action 'self'`, beside Latchkey's. */
const around = {
  'before Latchkey': (app: Express) => app,
  'after Latchkey': (app: Express) => express().use(app).use(helmet()),
}
type Side = keyof typeof around

const anyPolicy = /content.security.policy/i

/** The app with another `form-action`, to see that the browser checks it. */
const withFormAction =
  (app: Express, sources: string): RequestListener =>
  (req, res: ServerResponse) => {
    const setHeader = res.setHeader.bind(res)
    res.setHeader = (name, value) =>
      setHeader(
        name,
        anyPolicy.test(name) ? String(value).replace(/form-action [^;]+/, `form-action ${sources}`) : value,
      )
    app(req, res)
  }

describeWith('chromium', 'the way back to the client, in an app with helmet()', () => {
  let web: Web
  const hosts: Host[] = []
  beforeAll(async () => {
    web = await openWeb()
    const on =
      (location: string): RequestListener =>
      (_req, res) =>
        void res.writeHead(303, { Location: location }).end()
    web.answer(`${web.origin('client.test')}/onward`, on(third(web)))
    web.answer(`${web.loopback('127.0.0.1')}/onward`, on(third(web)))
  })
  afterAll(async () => {
    await web?.close()
    await Promise.all(hosts.map((host) => host.close()))
  })

  const issuerAt = (name: string): string => `${web.origin(name)}/oauth`

  /** An https issuer of that name; the client is confidential, so that its consent is remembered wherever it is. */
  const startIssuer = async (name: string, side: Side): Promise<Host> => {
    const redirectUris = [
      ...places.filter(hasPlace).map(({ redirectUri }) => redirectUri(web)),
      `${web.origin('client.test')}/popup`,
    ]
    const host = await startHost({
      options: { issuer: issuerAt(name) },
      clients: [{ client_id: 'client', client_secret: secret, redirect_uris: redirectUris }],
      before: side === 'before Latchkey' ? [helmet()] : [],
    })
    hosts.push(host)
    web.serve(name, around[side](host.app))
    return host
  }

  /** Runs a test in a browser that must not block anything in any tab. */
  const inBrowser = (run: (page: Page) => Promise<void>, options: PageOptions = {}): Promise<void> =>
    withWatchedPage(web.browser, options, async ({ page }) => {
      const blocked: string[] = []
      page.context().on('console', (message) => {
        if (anyPolicy.test(message.text())) blocked.push(message.text())
      })
      await page.context().addInitScript(`
        addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) =>
          console.error('Content Security Policy: ' + violatedDirective + ' ' + blockedURI))`)
      await run(page)
      expect(blocked).toEqual([])
    })

  interface Visit {
    readonly page: Page
    readonly place: Place
    /** Site of the issuer. */
    readonly at: string
  }

  /** Chromium hands over to a program once in a tab, then wants a click of its own first. */
  const nextTab = async (visit: Visit): Promise<Visit> => ({
    ...visit,
    page: await visit.page.context().newPage(),
  })

  const open = async (
    { page, place, at }: Visit,
    parameters: Readonly<Record<string, string>> = {},
  ): Promise<string> => {
    const state = randomUUID()
    const redirect_uri = place.redirectUri(web)
    await page.goto(
      web.origin(at) +
        authorizeUrl({ client_id: 'client', scope: 'openid', redirect_uri, state, ...parameters }),
    )
    return state
  }

  /** Does something and waits until the browser shows where it leads. */
  const lookup = async ({ page, place }: Visit, act: () => Promise<void>): Promise<void> => {
    const end = new URL(place.onward?.(web) ?? place.redirectUri(web))
    await Promise.all([page.getByRole('heading', { name: `This is ${end.host}` }).waitFor(), act()])
    expect(page.url().split('?')[0]).toBe(end.href)
  }

  /** A program would take over here, after the redirects of the form's POST. */
  const handedOver = async ({ page }: Visit, act: () => Promise<void>): Promise<URL> => {
    const isLast = (url: string): boolean => url.startsWith('com.example.app:/callback?')
    const [last] = await Promise.all([
      page.waitForEvent('request', (request) => isLast(request.url())),
      act(),
    ])
    expect(last.redirectedFrom()?.method()).toBe('POST')
    return new URL(last.url())
  }

  /** What the client was told; it must be the answer to this very request. */
  const answerAfter = async (visit: Visit, state: string, act: () => Promise<void>): Promise<void> => {
    const fields = await clientAnswer(visit, state, act)
    const code = expect.stringMatching(/^lk_ac_[\w-]{43}$/)
    expect(fields).toEqual({ code, state, iss: issuerAt(visit.at) })
  }

  const clientAnswer = async (
    visit: Visit,
    state: string,
    act: () => Promise<void>,
  ): Promise<Record<string, string>> => {
    if (visit.place.redirectUri(web).startsWith('com.')) {
      return Object.fromEntries((await handedOver(visit, act)).searchParams)
    }
    await lookup(visit, act)
    const [answer, ...others] = arrivals(state)
    expect(others).toEqual([])
    return answer!
  }

  /** What came to the place that a client waits at. */
  const arrivals = (state: string, method = /GET|POST/): Record<string, string>[] =>
    web.received
      .filter((request) => method.test(request.method) && /^\/(callback|onward)$/.test(request.url.pathname))
      .map(({ url, body }) => Object.fromEntries(new URLSearchParams(body || url.search)))
      .filter((fields) => fields.state === state)

  const allow = async (visit: Visit, parameters: Readonly<Record<string, string>> = {}): Promise<string> => {
    const state = await open(visit, { prompt: 'consent', ...parameters })
    await signIn(visit.page)
    await answerAfter(visit, state, () => press(visit.page, 'Allow'))
    return state
  }

  // Helmet after the router never runs for our routes, so one place proves it unless everything is asked for.
  const sides = [
    ['before Latchkey', 'id.test'],
    ['after Latchkey', 'late.test'],
  ] as const
  describe.each(testsAll ? sides : sides.slice(0, 1))('%s', (side, at) => {
    beforeAll(async () => void (await startIssuer(at, side)))

    // Each rule for form-action: a place that redirects on is at a place like the others, too.
    test.each(sample(onward, loopback, 'http://app.localhost', scheme))(
      'Allow reaches %s; when that is remembered, so does the login form itself',
      (_, place) =>
        inBrowser(async (page) => {
          const visit = { page, place, at }
          await allow(visit)
          await page.context().clearCookies()
          const again = await nextTab(visit)
          const state = await open(again)
          await answerAfter(again, state, () => signIn(again.page))
        }),
    )

    test.each(sample(scheme))(
      'with prompt=login Allow reaches %s, and so does the login form once consent is remembered',
      (_, place) =>
        inBrowser(async (page) => {
          const visit = { page, place, at }
          await open(visit, { prompt: 'consent' })
          await signIn(page)
          await page.waitForSelector('[value=allow]')
          await allow(visit, { prompt: 'login consent' })
          const again = await nextTab(visit)
          const state = await open(again, { prompt: 'login' })
          await waitForHeading(again.page, 'Confirm it’s you')
          await answerAfter(again, state, () => signIn(again.page))
        }),
    )

    test.each(sample(scheme))('without JavaScript Allow and Cancel reach %s', (_, place) =>
      inBrowser(
        async (page) => {
          const visit = { page, place, at }
          await allow(visit)
          const again = await nextTab(visit)
          const state = await open(again, { prompt: 'consent' })
          const answer = await clientAnswer(again, state, () => press(again.page, 'Cancel'))
          expect(answer).toMatchObject({ error: 'access_denied', state, iss: issuerAt(at) })
        },
        { javaScriptEnabled: false },
      ),
    )

    test.each(sample(onward).slice(0, 3))('a response by form_post reaches %s', (_, place) =>
      inBrowser(async (page) => {
        const state = await allow({ page, place, at }, { response_mode: 'form_post' })
        expect(arrivals(state, /POST/)).toHaveLength(1)
      }),
    )

    test.each(sample(onward, scheme))(
      'a form of the client’s page reaches %s, with the login of this browser and with or without scripts',
      (_, place) =>
        inBrowser(async (page) => {
          const visit = { page, place, at }
          await allow(visit)
          for (const javaScriptEnabled of [true, false])
            await withPage(
              web.browser,
              { javaScriptEnabled, storageState: await page.context().storageState() },
              async (tab) => {
                const state = randomUUID()
                const redirect_uri = place.redirectUri(web)
                const url = new URL(
                  web.origin(at) +
                    authorizeUrl({ client_id: 'client', scope: 'openid', redirect_uri, state }),
                )
                const fields = [...url.searchParams].map(
                  ([name, value]) => `<input type="hidden" name="${name}" value="${value}">`,
                )
                const start = `${web.origin('client.test')}/start`
                web.answer(start, (_req, res) =>
                  sendPage(
                    res,
                    `<form method="post" action="${web.origin(at)}${url.pathname}">${fields.join('')}<button>Go</button></form>`,
                  ),
                )
                await tab.goto(start)
                const there = { ...visit, page: tab }
                if (javaScriptEnabled) return answerAfter(there, state, () => tab.click('button'))
                await tab.click('button')
                await answerAfter(there, state, () => press(tab, 'Continue'))
              },
            )
        }),
    )

    test('a client that signs users in through a popup receives the answer', () =>
      withPage(web.browser, {}, async (page) => {
        const client = web.origin('client.test')
        const redirect_uri = `${client}/popup`
        web.answer(redirect_uri, (_req, res) =>
          sendPage(res, `<script>opener && opener.postMessage(location.search, '${client}')</script>Popup`),
        )
        const state = randomUUID()
        const url = web.origin(at) + authorizeUrl({ client_id: 'client', redirect_uri, state })
        web.answer(`${client}/`, (_req, res) =>
          sendPage(
            res,
            `<button>Sign in</button><p></p><script>
              const url = ${JSON.stringify(url)}
              document.querySelector('button').onclick = () => open(url, 'login', 'popup')
              addEventListener('message', ({ data }) => { document.querySelector('p').textContent = data })
            </script>`,
          ),
        )
        await page.goto(`${client}/`)
        const [popup] = await Promise.all([page.waitForEvent('popup'), page.click('button')])
        await signIn(popup)
        const heard = page.getByText(state)
        await popup
          .getByText('Popup')
          .or(popup.getByRole('button', { name: 'Allow' }))
          .waitFor()
        if (await popup.getByRole('button', { name: 'Allow' }).isVisible()) await press(popup, 'Allow')
        await heard.waitFor()
        expect(await heard.textContent()).toContain('code=lk_ac_')
      }))
  })

  describe('with a form-action that is too narrow', () => {
    let formAction = ourselves()
    beforeAll(async () => {
      const host = await startIssuer('strict.test', 'after Latchkey')
      web.serve('strict.test', (req, res) => withFormAction(host.app, formAction)(req, res))
    })

    test.each(sample(onward, 'http://[::1]'))('the browser stops before %s', (_, place) => {
      formAction = place.tooNarrow(web)
      const stopped = inBrowser(async (page) => {
        const state = await open({ page, place, at: 'strict.test' }, { prompt: 'consent' })
        await signIn(page)
        await page.waitForSelector('[value=allow]')
        const asHere = page.url()
        const isBlocked = page.waitForEvent('console', (message) => message.text().includes('form-action'))
        await Promise.all([isBlocked, press(page, 'Allow')])
        expect(page.url()).toBe(asHere)
        expect(arrivals(state)).toHaveLength(place.onward ? 1 : 0)
      })
      return expect(stopped).rejects.toThrow(/Content Security Policy.*form-action/)
    })
  })
})
