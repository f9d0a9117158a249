import type { IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { createLocalJWKSet, type JWTPayload, jwtVerify } from 'jose'
import type { Browser } from 'playwright-core'
import supertest from 'supertest'
import type { ClientSeed } from '../../lib/index.ts'
import { launchBrowser } from '../support/browser.ts'
import { withWatchedPage } from '../support/browser-watch.ts'
import { clientAnswer } from '../support/client-answer.ts'
import { openServer, type TestServer } from '../support/client-server.ts'
import { type Clock, stopClock } from '../support/clock.ts'
import { authorizeUrl, callback, clients, type Host, issuer, secret, startHost } from '../support/host.ts'
import { expectErrorRedirect } from '../support/outcomes.ts'
import { type Answer, RawBrowser } from '../support/raw-browser.ts'
import { describeWith } from '../support/services.ts'
import { ada, redeem } from '../support/tokens.ts'

const withQuery = `${callback}?organization=7&a=b%20c&x`
const code = expect.stringMatching(/^lk_ac_[\w-]{43}$/)
const web = { client_id: 'web', scope: 'openid', state: 'a state' }

/** What clients may have in their state: markup, quotes, both directions of writing, plus signs, astral characters. */
const hostileState =
  `"'></form></script><script src=//evil.example>alert(1)</script><!-- &amp; &quot; a+b%20c ` +
  '\u202egnp.exe\u2066 \u200f عربى 🗝️ <bdi> {{x}} <%= z %>'

const algorithms = ['RS256', 'PS256', 'ES256', 'EdDSA'] as const
/** A client that may also ask for ID tokens in the front channel. */
const implicit = (client_id: string, more: Partial<ClientSeed>): ClientSeed => ({
  client_id,
  client_secret: secret,
  redirect_uris: [callback],
  scope: 'openid',
  response_types: ['code', 'id_token'],
  grant_types: ['authorization_code', 'implicit'],
  ...more,
})

let host: Host
/** A browser in which Ada signs in and allows where she is asked. */
let agent: RawBrowser
beforeAll(async () => {
  host = await startHost({
    options: { protocol: { implicit: true, requestObjects: true } },
    clients: [
      ...clients,
      { client_id: 'shop', client_secret: secret, redirect_uris: [callback, withQuery], scope: 'openid' },
      { client_id: 'own', client_secret: secret, redirect_uris: [callback], first_party: true },
      ...algorithms.map((alg) => implicit(alg, { authorization_signed_response_alg: alg })),
      implicit('only', { response_modes: ['jwt'] }),
      implicit('form', { response_modes: ['form_post', 'form_post.jwt'] }),
    ],
  })
  agent = new RawBrowser(host.app)
})
afterAll(() => host.close())
afterEach(() => jest.restoreAllMocks())

const browser = () => new RawBrowser(host.app)
const granted = (parameters: Record<string, string>) => agent.grant(authorizeUrl({ ...web, ...parameters }))
const refused = (parameters: Record<string, string>) =>
  browser().get(authorizeUrl({ ...web, prompt: 'none', ...parameters }))
const denied = async (parameters: Record<string, string>): Promise<Answer> => {
  const consent = await agent.open(authorizeUrl({ ...web, prompt: 'consent', ...parameters }))
  return agent.decide(consent, 'deny')
}
const failed = (error: string) => ({ error, error_description: expect.any(String) })

describe.each([
  ['none named', {}, 'query'],
  ['query', { response_mode: 'query' }, 'query'],
  ['fragment', { response_mode: 'fragment' }, 'fragment'],
  ['form_post', { response_mode: 'form_post' }, 'form_post'],
])('with response_mode %s', (_, asked, mode) => {
  test('any state is returned unchanged', async () => {
    for (const state of ['a state', hostileState]) {
      const answer = clientAnswer(await granted({ ...asked, state }))
      expect(answer).toEqual({ mode, fields: { code, state, iss: issuer } })
      expect((await redeem(host, String(answer.fields.code))).status).toBe(200)
      expect(clientAnswer(await refused({ ...asked, state })).fields.state).toBe(state)
    }
    const without = await agent.grant(authorizeUrl({ client_id: 'web', scope: 'openid', ...asked }))
    expect(clientAnswer(without).fields).toEqual({ code, iss: issuer })
  })

  test('errors of the request, of the user and of prompt=none arrive in the same way', async () => {
    const common = { state: 'a state', iss: issuer }
    for (const [answer, error] of [
      [await refused(asked), 'login_required'],
      [await refused({ ...asked, max_age: 'soon' }), 'invalid_request'],
      [await denied(asked), 'access_denied'],
    ] as const)
      expect(clientAnswer(answer)).toEqual({ mode, fields: { ...failed(error), ...common } })
  })

  test('a registered query is kept as it is', async () => {
    const parameters = { client_id: 'shop', redirect_uri: withQuery, ...asked }
    const [done, error] = [await granted(parameters), await refused(parameters)]
    if (mode === 'query') {
      expect(done.headers.location).toMatch(`${withQuery}&code=lk_ac_`)
      expect(error.headers.location).toMatch(`${withQuery}&error=login_required&`)
      return
    }
    expect(clientAnswer(done, withQuery)).toEqual({ mode, fields: { code, state: 'a state', iss: issuer } })
    expect(clientAnswer(error, withQuery)).toMatchObject({ mode, fields: { error: 'login_required' } })
  })
})

// JWT Secured Authorization Response Mode (JARM).
describe('a signed response', () => {
  let clock: Clock
  beforeEach(() => {
    clock = stopClock()
  })

  /** What the signed response says; nothing stands beside it. */
  const opened = async (answer: Answer, audience = 'ES256', algorithm = 'ES256'): Promise<JWTPayload> => {
    const { fields } = clientAnswer(answer)
    expect(Object.keys(fields)).toEqual(['response'])
    const { body } = await supertest(host.app).get('/oauth/jwks')
    const rules = { issuer, audience, algorithms: [algorithm], currentDate: new Date(clock.now() * 1000) }
    const { payload } = await jwtVerify(fields.response ?? '', createLocalJWKSet(body), rules)
    expect(payload.exp).toBe(clock.now() + 600)
    return payload
  }
  const asked = (parameters: Record<string, string>) => ({ client_id: 'ES256', nonce: 'n', ...parameters })
  const common = { state: 'a state', iss: issuer }
  const success = { code, ...common }
  const failure = (error: string) => ({ ...failed(error), ...common })

  test.each([
    ['jwt', 'code', 'query'],
    ['query.jwt', 'code', 'query'],
    ['fragment.jwt', 'code', 'fragment'],
    ['form_post.jwt', 'code', 'form_post'],
    ['jwt', 'id_token', 'fragment'],
  ])(
    'with response_mode %s and response_type %s carries codes, tokens and errors in the %s',
    async (...row) => {
      const [response_mode, response_type, mode] = row
      const request = asked({ response_mode, response_type })
      for (const [answer, expected] of [
        [await granted(request), { ...common, [response_type]: expect.any(String) }],
        [await denied(request), failure('access_denied')],
        [await refused(request), failure('login_required')],
        [await refused({ ...request, max_age: 'soon' }), failure('invalid_request')],
      ] as const) {
        expect(clientAnswer(answer).mode).toBe(mode)
        expect(await opened(answer)).toMatchObject(expected)
      }
    },
  )

  test.each(algorithms)('is signed with %s if the client registers it', async (alg) => {
    const answer = await granted(asked({ client_id: alg, response_mode: 'jwt' }))
    expect(await opened(answer, alg, alg)).toMatchObject(success)
  })

  test('needs a registered algorithm or a registered mode', async () => {
    const answer = await refused(asked({ client_id: 'web', response_mode: 'jwt' }))
    expectErrorRedirect(answer, 'invalid_request', { state: 'a state' })
    const plain = await refused(asked({ client_id: 'only' }))
    expect(await opened(plain, 'only', 'RS256')).toMatchObject(failure('invalid_request'))
    for (const [client_id, response_mode] of [
      ['only', 'jwt'],
      ['only', 'query.jwt'],
      ['form', 'form_post.jwt'],
    ] as const) {
      const signed = await granted(asked({ client_id, response_mode }))
      expect(await opened(signed, client_id, 'RS256')).toMatchObject(success)
    }
  })

  test('has no tokens in a query', async () => {
    const answer = await refused(asked({ response_mode: 'query.jwt', response_type: 'id_token' }))
    expect(clientAnswer(answer)).toMatchObject({ mode: 'fragment', fields: failure('invalid_request') })
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

  test('is not sent before client and redirect URI are verified', async () => {
    const wrongs: Record<string, string>[] = [
      { client_id: 'unknown-client' },
      { redirect_uri: `${callback}/other` },
    ]
    for (const wrong of wrongs) {
      const answer = await browser().get(authorizeUrl({ ...web, response_mode: 'form_post', ...wrong }))
      expect([answer.status, answer.location]).toEqual([400, undefined])
      expect(answer.html).not.toContain('<form')
    }
  })

  test('follows the login of a first-party client', async () => {
    const own = browser()
    const login = await own.open(authorizeUrl({ ...web, client_id: 'own', response_mode: 'form_post' }))
    expect(login.headers['content-security-policy']).toContain("form-action 'self' https:")
    expect(clientAnswer(await own.signIn(login))).toMatchObject({ mode: 'form_post', fields: { code } })
  })

  test('opened again is the expired page, never the same code', async () => {
    const url = authorizeUrl({ ...web, prompt: 'consent', response_mode: 'form_post' })
    const consent = await agent.open(url)
    const page = await agent.decide(consent, 'allow')
    expect(clientAnswer(page).fields.code).toMatch(/^lk_ac_/)
    const again = await agent.get(consent.url.href)
    expect([again.status, again.html.includes('form-post')]).toEqual([400, false])
  })
})

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
      client_id: 'web',
      scope: 'openid',
      state: hostileState,
      response_mode: 'form_post',
      redirect_uri: `${client.origin}/callback`,
      ...parameters,
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
