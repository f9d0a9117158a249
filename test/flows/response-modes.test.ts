import type { IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import type { Browser } from 'playwright-core'
import { launchBrowser } from '../support/browser.ts'
import { withWatchedPage } from '../support/browser-watch.ts'
import { clientAnswer } from '../support/client-answer.ts'
import { openServer, type TestServer } from '../support/client-server.ts'
import { authorizeUrl, callback, clients, type Host, issuer, secret, startHost } from '../support/host.ts'
import { type Answer, RawBrowser } from '../support/raw-browser.ts'
import { describeWith } from '../support/services.ts'
import { ada, redeem } from '../support/tokens.ts'

const withQuery = `${callback}?organization=7&a=b%20c&x`
const code = expect.stringMatching(/^lk_ac_[\w-]{43}$/)
const web = { client_id: 'web', scope: 'openid', state: 'a state' }

/** What a client might keep in its state: markup, quotes, both directions of writing, plus signs, astral characters. */
const hostileState =
  `"'></form></script><script src=//evil.example>alert(1)</script><!-- &amp; &quot; a+b%20c ` +
  '\u202egnp.exe\u2066 \u200f عربى 🗝️ <bdi> {{x}} <%= z %>'

let host: Host
beforeAll(async () => {
  host = await startHost({
    clients: [
      ...clients,
      { client_id: 'shop', client_secret: secret, redirect_uris: [callback, withQuery], scope: 'openid' },
      { client_id: 'own', client_secret: secret, redirect_uris: [callback], first_party: true },
    ],
  })
})
afterAll(() => host.close())

const browser = () => new RawBrowser(host.app)
const granted = (parameters: Record<string, string>) =>
  browser().grant(authorizeUrl({ ...web, ...parameters }))
const refused = (parameters: Record<string, string>) =>
  browser().get(authorizeUrl({ ...web, prompt: 'none', ...parameters }))
const failed = (error: string) => ({ error, error_description: expect.any(String) })

describe.each([
  ['none named', {}, 'query'],
  ['query', { response_mode: 'query' }, 'query'],
  ['fragment', { response_mode: 'fragment' }, 'fragment'],
  ['form_post', { response_mode: 'form_post' }, 'form_post'],
])('with response_mode %s', (_, asked, mode) => {
  test('a code arrives with state and issuer alone, and can be redeemed', async () => {
    const answer = clientAnswer(await granted(asked))
    expect(answer).toEqual({ mode, fields: { code, state: 'a state', iss: issuer } })
    expect((await redeem(host, String(answer.fields.code))).status).toBe(200)
  })

  test('without a state there is none in the answer', async () => {
    const agent = browser()
    const answer = await agent.grant(authorizeUrl({ client_id: 'web', scope: 'openid', ...asked }))
    expect(clientAnswer(answer).fields).toEqual({ code, iss: issuer })
  })

  test('errors of the request, of the user and of prompt=none arrive in the same way', async () => {
    const common = { state: 'a state', iss: issuer }
    const expectRefusal = (answer: Answer, error: string) =>
      expect(clientAnswer(answer)).toEqual({ mode, fields: { ...failed(error), ...common } })
    expectRefusal(await refused({ ...asked }), 'login_required')
    expectRefusal(await refused({ ...asked, max_age: 'soon' }), 'invalid_request')
    const agent = browser()
    const login = await agent.open(authorizeUrl({ ...web, prompt: 'login consent', ...asked }))
    expectRefusal(await agent.decide(await agent.signIn(login), 'deny'), 'access_denied')
  })

  test('any state is returned unchanged', async () => {
    const state = hostileState
    expect(clientAnswer(await granted({ ...asked, state })).fields).toEqual({ code, state, iss: issuer })
    expect(clientAnswer(await refused({ ...asked, state })).fields.state).toBe(state)
  })

  test('a registered query is kept as it is', async () => {
    const parameters = { ...web, client_id: 'shop', redirect_uri: withQuery, ...asked }
    const done = await browser().grant(authorizeUrl(parameters))
    const error = await browser().get(authorizeUrl({ ...parameters, prompt: 'none' }))
    if (mode === 'query') {
      expect(done.headers.location).toMatch(`${withQuery}&code=lk_ac_`)
      expect(error.headers.location).toMatch(`${withQuery}&error=login_required&`)
      return
    }
    expect(clientAnswer(done, withQuery)).toEqual({ mode, fields: { code, state: 'a state', iss: issuer } })
    expect(clientAnswer(error, withQuery)).toMatchObject({ mode, fields: { error: 'login_required' } })
  })
})

describe('a mode that cannot be', () => {
  test('and none is an error page before client and redirect URI are verified, form_post too', async () => {
    const wrongs: Record<string, string>[] = [{ client_id: 'nobody' }, { redirect_uri: `${callback}/other` }]
    for (const wrong of wrongs) {
      const answer = await browser().get(authorizeUrl({ ...web, response_mode: 'form_post', ...wrong }))
      expect([answer.status, answer.location]).toEqual([400, undefined])
      expect(answer.html).not.toContain('<form')
    }
  })
})

describe('the form of form_post', () => {
  const inputs = (page: Answer): string[][] =>
    [...page.html.matchAll(/<input\b[^>]*>/g)].map(([tag]) =>
      ['type', 'name'].map((name) => new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1] ?? ''),
    )

  test('is the only form on an uncacheable page, and has only the parameters', async () => {
    const asked = { response_mode: 'form_post' }
    for (const page of [await granted(asked), await refused(asked)]) {
      expect(page.status).toBe(200)
      expect(page.html.match(/<form\b/g)).toHaveLength(1)
      expect(page.html).toMatch(/<form id="form-post" method="post" action="https:\/\/client\.example\.com/)
      expect(inputs(page).every(([type]) => type === 'hidden')).toBe(true)
      const names = inputs(page).map(([, name]) => name)
      expect(names.sort()).toEqual(Object.keys(clientAnswer(page).fields).sort())
      expect(page.headers).toMatchObject({
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
      })
      // A button for browsers without scripts, which is no parameter.
      expect(page.html).toMatch(/<button(?![^>]*\sname=)[^>]*>/)
    }
  })

  test('may be sent to the client, and runs only our script', async () => {
    const page = await granted({ response_mode: 'form_post', state: hostileState })
    const policy = page.headers['content-security-policy']
    expect(policy).toMatch(/(^|;)\s*default-src 'none'(;|$)/)
    expect(policy).toMatch(/(^|;)\s*script-src 'self'(;|$)/)
    expect(policy).toMatch(/(^|;)\s*form-action 'self' https:(;|$)/)
    expect(page.html.match(/<script\b/g)).toHaveLength(1)
    expect(page.html).toMatch(/<script [^>]*src="\/oauth\/assets\/form-post\.js(\?[^"]*)?"[^>]*><\/script>/)
    expect(page.html).not.toMatch(/\son\w+=|javascript:/i)
  })

  test('follows the login of a first-party client', async () => {
    const agent = browser()
    const login = await agent.open(authorizeUrl({ ...web, client_id: 'own', response_mode: 'form_post' }))
    expect(login.headers['content-security-policy']).toContain("form-action 'self' https:")
    expect(clientAnswer(await agent.signIn(login))).toMatchObject({ mode: 'form_post', fields: { code } })
  })

  test('opened again is the expired page, never the same code', async () => {
    const agent = browser()
    const url = authorizeUrl({ ...web, prompt: 'consent', response_mode: 'form_post' })
    const consent = await agent.signIn(await agent.open(url))
    const page = await agent.decide(consent, 'allow')
    expect(clientAnswer(page).fields.code).toMatch(/^lk_ac_/)
    const again = await agent.get(consent.url.href)
    expect([again.status, again.html.includes('form-post')]).toEqual([400, false])
  })
})

jest.setTimeout(60_000)

describeWith('chromium', 'form_post in Chromium', () => {
  let chromium: Browser
  let provider: TestServer
  let client: TestServer
  let own: Host
  const received: { method?: string; type?: string; body: string }[] = []
  beforeAll(async () => {
    chromium = await launchBrowser()
    provider = await openServer()
    client = await openServer()
    own = await startHost({
      options: { issuer: `${provider.origin}/oauth` },
      clients: [{ client_id: 'web', client_secret: secret, redirect_uris: [`${client.origin}/callback`] }],
    })
    provider.serve(own.app)
    client.serve(async (req: IncomingMessage, res) => {
      if (req.url === '/callback') {
        received.push({ method: req.method, type: req.headers['content-type'], body: await text(req) })
      }
      res.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html><title>Back</title>')
    })
  })
  afterAll(async () => {
    await chromium?.close()
    await provider?.close()
    await client?.close()
    await own?.close()
  })

  const url = (parameters: Record<string, string>): string =>
    provider.origin +
    authorizeUrl({
      ...{ client_id: 'web', scope: 'openid', state: hostileState, response_mode: 'form_post' },
      ...{ redirect_uri: `${client.origin}/callback`, ...parameters },
    })

  test.each([true, false])('with JavaScript: %s, code and error reach the client', (javaScriptEnabled) =>
    withWatchedPage(chromium, { javaScriptEnabled }, async ({ page }) => {
      received.length = 0
      const arrive = async (): Promise<Record<string, string>> => {
        if (!javaScriptEnabled) await page.click('#form-post button')
        await page.waitForURL(`${client.origin}/callback`)
        const last = received.at(-1)
        expect(last).toMatchObject({ method: 'POST', type: 'application/x-www-form-urlencoded' })
        return Object.fromEntries(new URLSearchParams(last?.body))
      }
      await page.goto(url({ prompt: 'none' }))
      const common = { state: hostileState, iss: `${provider.origin}/oauth` }
      expect(await arrive()).toEqual({ ...failed('login_required'), ...common })
      await page.goto(url({ prompt: 'consent' }))
      await page.fill('#username', ada.email)
      await page.fill('#password', ada.password)
      await page.click('#submit')
      await page.click('[value=allow]')
      expect(await arrive()).toEqual({ code, ...common })
      expect(received).toHaveLength(2)
    }),
  )
})
