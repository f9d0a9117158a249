import { callback, clients, secret } from '../support/host.ts'
import { expectErrorPage, expectExpiredPage, withoutOwnScript } from '../support/outcomes.ts'
import { type Answer, fieldsOf, pageOf, type RawBrowser } from '../support/raw-browser.ts'
import { ada } from '../support/tokens.ts'
import { browserSide, evil, ownCookies, still } from './browser-side.ts'
import { forUsers, type Mount, mounts, plainMount, targetIn } from './target.ts'

type Fields = Record<string, string>

const hostileName = `"><img src=x onerror=alert(1)> {username} {product} <%= 7*7 %> </title><script>alert(1)</script>`
const hostileEmail = `"><svg/onload=alert(1)>'@example.com`
const hostileFullName = `</bdi><script>alert(1)</script><%= it %>{client}\u202e`
const { password } = ada

const settings = () => ({
  options: still,
  clients: [
    ...clients,
    {
      client_id: 'hostile',
      client_name: hostileName,
      client_secret: secret,
      redirect_uris: [callback],
      post_logout_redirect_uris: ['https://client.example.com/bye'],
      client_uri: `https://client.example.com/?"><script>alert(1)</script>`,
      policy_uri: `https://client.example.com/?'><img`,
      tos_uri: 'https://client.example.com/tos?a=1&b=<script>',
      logo_uri: 'https://tracker.example.com/logo.png',
      scope: 'openid profile email',
    },
  ],
})

/** What would run, close an attribute, or leave a template if it stood on a page as it was sent. */
const payloads = [
  `"><script>alert(1)</script>`,
  `'><img src=x onerror=alert(1)>`,
  `" autofocus onfocus=alert(1) x="`,
  `javascript:alert(1)`,
  `<%= 6121371*77 %><%~ 6121371*77 %>{{6121371*77}}#{6121371*77}`,
]

/** Everything on a page that could run, load, lead or submit somewhere. */
const expectInert = (answer: Answer, base: string): void => {
  const { html } = answer
  expect(html).toMatch(/^<!doctype html>\n<html lang="en" dir="ltr">/)
  const others = withoutOwnScript(html)
  expect(
    others.match(/<(?:script|style|iframe|object|embed|base|template|math|img)\b[^>]*>/gi) ?? [],
  ).toEqual([])
  expect(html.match(/<meta [^>]*http-equiv[^>]*>/gi) ?? []).toEqual([])
  const tags = html.match(/<[a-z][^>]*>/gi) ?? []
  for (const tag of tags) {
    // What is left of a tag without its quoted values: names alone, none of an event or a style.
    const names = tag.slice(1).replace(/="[^"]*"/g, '')
    expect(names).not.toMatch(/[=<'"`]|\bon[a-z]+\b|\bstyle\b|\bsrcdoc\b|\bformaction\b/i)
  }
  const links = [...html.matchAll(/\s(?:href|src|action)="([^"]*)"/g)].map(([, link = '']) => link)
  for (const link of links) {
    if (!link.startsWith(`${base}/`) && !link.startsWith('#'))
      expect(link).toMatch(/^https:\/\/client\.example\.com\//)
  }
  for (const tag of tags.filter((each) => /href="https:/.test(each)))
    expect(tag).toContain('rel="noopener noreferrer"')
}

/** What the attacks have at a target in that mount. */
const attackerIn = (mount: Mount) => {
  const target = targetIn(mount, settings)
  const side = browserSide(target)
  const { at, authorizeUrl, silent, browser, loginPage, consentPage, signedIn } = side

  /** A user who stays signed in. */
  let visitor: RawBrowser
  beforeAll(async () => {
    visitor = await signedIn()
  })
  const logoutPage = (parameters: Fields = {}) => visitor.get(at('/logout', parameters))
  /** Each page there is, with where its forms may end. */
  const gallery: [string, string, () => Promise<Answer>][] = [
    ['sign-in', 'https:', async () => (await loginPage()).page],
    [
      'sign-in of a native app, after a wrong password',
      'https: com.example.app:',
      async () => {
        const s256 = { code_challenge: 'c'.repeat(43), code_challenge_method: 'S256' }
        const native = { client_id: 'native', redirect_uri: 'com.example.app:/callback', ...s256 }
        const { agent, page } = await loginPage(native)
        return agent.signIn(page, 'nobody', 'wrong')
      },
    ],
    ['consent', 'https:', async () => (await consentPage()).page],
    ['error', '', () => browser().get(authorizeUrl({ client_id: 'unregistered' }))],
    ['expired request', '', () => browser().get(at('/login', { authorization_request: 'x' }))],
    ['wrong method', '', () => browser().send('PUT', at('/consent'))],
    ['sign-out', '', () => logoutPage()],
    [
      'sign-out to a client',
      'https:',
      () => logoutPage({ client_id: 'hostile', post_logout_redirect_uri: 'https://client.example.com/bye' }),
    ],
    ['signed out', '', () => browser().get(at('/logout'))],
    ['form_post', 'https:', () => browser().get(silent({ response_mode: 'form_post' }))],
  ]
  return { ...side, target, visitor: () => visitor, logoutPage, gallery }
}

describe('a page', () => {
  const side = attackerIn(plainMount)
  const { target, at, authorizeUrl, silent, browser, loginPage } = side
  const { consentPage, signedIn, code, person, visitor, logoutPage } = side

  // CWE-79; CVE-2022-4137, CVE-2023-6134 and CVE-2024-21637 in comparable servers.
  describe('shows what was sent as text, or not at all:', () => {
    test.each(payloads)('%s on an error page', async (payload) => {
      const names = ['client_id', 'redirect_uri', 'response_type', 'state', 'authorization_request']
      for (const name of [...names, payload]) {
        const said = { [name]: payload }
        for (const url of [
          authorizeUrl({ redirect_uri: 'https://other.example.com/', ...said }),
          at('/login', { authorization_request: 'x', ...said }),
        ]) {
          const answer = await browser().get(url)
          expectErrorPage(answer, 400)
          expectInert(answer, target().base)
          expect(forUsers(answer.html)).not.toMatch(/alert\(1\)|evil|6121371|471345567/)
        }
      }
    })

    test.each(payloads)('%s on the sign-in page', async (payload) => {
      const names = ['state', 'login_hint', 'ui_locales', 'display', 'acr_values', 'claims_locales']
      for (const name of [...names, payload]) {
        const { page } = await loginPage({ [name]: payload })
        expectInert(page, target().base)
        expect(fieldsOf(page, 'name="password"').username).toBe(name === 'login_hint' ? payload : '')
      }
      const { page, agent } = await loginPage()
      const failed = await agent.signIn(page, payload, payload)
      expect(pageOf(failed)).toBe('400 /login')
      expectInert(failed, target().base)
      expect(fieldsOf(failed, 'name="password"')).toMatchObject({ username: payload, password: '' })
    })

    test.each(payloads)('%s on the page of a user who is signed out', async (payload) => {
      const names = [
        'client_id',
        'post_logout_redirect_uri',
        'id_token_hint',
        'state',
        'logout_hint',
        payload,
      ]
      for (const name of names) {
        const place = { client_id: 'web', post_logout_redirect_uri: payload }
        const answer = await browser().get(at('/logout', { ...place, [name]: payload }))
        expect([pageOf(answer), answer.headers.location]).toEqual(['200 /logout', undefined])
        expectInert(answer, target().base)
        expect(forUsers(answer.html)).not.toMatch(/alert\(1\)|evil|6121371|471345567/)
      }
    })

    test.each(payloads)('%s on the sign-out page', async (payload) => {
      const sent = { client_id: payload, state: payload, ui_locales: payload, logout_hint: payload }
      const place = { client_id: 'hostile', post_logout_redirect_uri: 'https://client.example.com/bye' }
      const token = ['csrf_token', expect.stringMatching(/^[\w-]{43}$/)]
      for (const [asked, carried] of [
        [sent, []],
        [{ ...sent, ...place }, Object.entries({ ...place, state: payload })],
        // An address that is not registered is not used.
        [{ ...sent, client_id: 'hostile', post_logout_redirect_uri: payload }, [['client_id', 'hostile']]],
      ] as const) {
        const page = await visitor().get(at('/logout', asked))
        expectInert(page, target().base)
        expect(Object.entries(fieldsOf(page, 'csrf_token'))).toEqual([...carried, token])
      }
    })

    test('headers too', async () => {
      for (const name of 'User-Agent Referer Accept-Language X-Forwarded-For X-Request-Id Via'.split(' ')) {
        for (const url of [authorizeUrl({ client_id: 'unregistered' }), at('/logout')]) {
          const answer = await browser().get(url, { [name]: payloads[0] ?? '' })
          expectInert(answer, target().base)
          expect(answer.html).not.toContain('alert(1)')
        }
      }
    })
  })

  // RFC 6819 §4.4.1.4, ASVS 10.7.2, CVE-2026-22752: what a client says of itself.
  describe('that names a hostile client', () => {
    test('shows its name to the letter, fills in nothing and loads no logo of it (RFC 9700 §4.2.4)', async () => {
      const { page: login } = await loginPage({ client_id: 'hostile' })
      const { page: consent } = await consentPage({ client_id: 'hostile' })
      const out = await logoutPage({ client_id: 'hostile' })
      for (const answer of [login, consent, out]) {
        expectInert(answer, target().base)
        expect(answer.html).toContain(
          `<bdi>&quot;&gt;&lt;img src=x onerror=alert(1)&gt; {username} {product}`,
        )
        expect(answer.html).not.toContain('tracker.example.com')
      }
    })
  })

  describe('that names a hostile user', () => {
    const hostile = { ...ada, email: hostileEmail }
    beforeAll(() => person().update({ email: hostileEmail, full_name: hostileFullName }))
    afterAll(() => person(hostile).update({ email: ada.email, full_name: ada.full_name }))

    test('shows name and claims as text, without what turns text around', async () => {
      const asked = { scope: 'openid profile email' }
      const { page, agent } = await consentPage(asked, hostile)
      const confirm = await agent.open(authorizeUrl({ prompt: 'login' }))
      const out = await agent.get(at('/logout'))
      for (const answer of [page, confirm, out]) {
        expectInert(answer, target().base)
        expect(answer.html).toContain('&quot;&gt;&lt;svg/onload=alert(1)&gt;')
        expect(answer.html).not.toMatch(/[\u202a-\u202e\u2066-\u2069]/)
      }
      expect(page.html).toContain(
        '<bdi>&lt;/bdi&gt;&lt;script&gt;alert(1)&lt;/script&gt;&lt;%= it %&gt;{client}</bdi>',
      )
    })
  })

  test('a code in an address appears on no page (RFC 9700 §4.2 and §4.3)', async () => {
    const agent = await signedIn()
    const value = code(await agent.get(silent()))
    for (const path of ['/login', '/consent', '/logout', '/authorize']) {
      const { html, headers } = await agent.get(at(path, { code: value }))
      expect(JSON.stringify([html, headers])).not.toContain(value)
    }
  })
})

describe.each(mounts)('a page, mounted $name', (mount) => {
  const { target, at, authorizeUrl, silent, browser, loginPage, post, expectRefusal, gallery } =
    attackerIn(mount)

  // RFC 9700 §4.16, RFC 6819 §4.4.1.9, RFC 6749 §10.13; §4.2.4 (referrers); ASVS 3.4.3 to 3.4.6 and 14.3.2 (caches).
  describe('cannot be framed, leaks no referrer and is not cached, in spite of the host’s headers:', () => {
    test.each(gallery)(
      '%s, which runs nothing and loads nothing from elsewhere (RFC 9700 §4.2.4)',
      async (name, mayEndAt, open) => {
        const answer = await open()
        const { headers } = answer
        const policy = "default-src 'none';style-src 'self';img-src 'self';script-src 'self';base-uri 'none'"
        expect(headers).toMatchObject({
          'content-security-policy': `${policy};frame-ancestors 'none';form-action 'self'${mayEndAt && ` ${mayEndAt}`}`,
          'x-frame-options': 'DENY',
          'x-content-type-options': 'nosniff',
          'referrer-policy': 'same-origin',
          'cache-control': 'no-store',
          'x-robots-tag': 'noindex',
          'content-type': 'text/html; charset=utf-8',
        })
        const unwanted =
          /^(etag|last-modified|expires|cross-origin-opener-policy|access-control-.*|.*-report-only)$/
        expect(Object.keys(headers).filter((each) => unwanted.test(each))).toEqual([])
        // Its own script sends the form.
        if (name !== 'form_post') expectInert(answer, target().base)
      },
    )

    test('no cache is asked whether it still holds: each time there is a whole page', async () => {
      const agent = browser()
      const { page } = await loginPage({}, agent)
      const conditions: Fields[] = [
        { 'If-None-Match': '*' },
        { 'If-Modified-Since': new Date(Date.now() + 1e6).toUTCString() },
        { Range: 'bytes=0-10' },
      ]
      for (const headers of conditions) {
        const again = await agent.get(page.url.href, headers)
        expect({ status: again.status, html: again.html }).toEqual({ status: 200, html: page.html })
      }
    })
  })

  // CWE-644, RFC 9700 §4.13; CVE-2023-49097 took over accounts so.
  describe('is built from the issuer, not from the headers of the request:', () => {
    const forgeries: Fields[] = [
      { Host: 'evil.example' },
      { 'X-Forwarded-Host': 'evil.example', 'X-Forwarded-Port': '1337' },
      { 'X-Forwarded-Prefix': '//evil.example' },
      { Forwarded: 'host=evil.example;proto=https;for=1.2.3.4', 'X-Original-URL': '//evil.example/' },
      { Referer: evil, Origin: 'https://evil.example' },
    ]
    test.each(forgeries)('%j', async (headers) => {
      const unforged = (answer: Answer): Answer => {
        expect(JSON.stringify([answer.html, answer.headers, answer.setCookies])).not.toMatch(/evil|1337/)
        return answer
      }
      const agent = browser()
      const started = unforged(await agent.get(authorizeUrl(), headers))
      expect(started.headers.location).toMatch(
        new RegExp(`^${target().base}/login\\?authorization_request=lk_ar_[\\w-]{43}&client_id=web#_$`),
      )
      const page = unforged(await agent.get(started.headers.location ?? '', headers))
      expect(page.html).toContain(`action="${at('/login')}"`)
      const form = { ...fieldsOf(page, 'name="password"'), username: 'ada@example.com', password }
      const { Origin: _own, ...sent } = headers
      const posted = unforged(await post(agent, '/login', form, sent))
      const { location = '' } = posted.headers
      expect([`${target().base}/consent`, callback]).toContain(location.split('?')[0])
      expectRefusal(unforged(await browser().get(silent(), headers)), 'login_required')
    })

    test('X-Forwarded-Proto, which decides about nothing but whether to answer', async () => {
      const answer = await browser().get(authorizeUrl(), { 'X-Forwarded-Proto': 'http' })
      if (mount.isProxied) {
        expectErrorPage(answer, 503)
        expect(answer.setCookies).toEqual([])
      } else expect(answer.headers.location).toMatch(new RegExp(`^${target().base}/login\\?`))
      const other = await browser().get(silent(), { 'X-Forwarded-Proto': 'https' })
      expectRefusal(other, 'login_required')
    })
  })

  // RFC 9700 §4.11.2: the path of a request never becomes the place of a redirect.
  test('that does not exist leads nowhere, under whatever prefix', async () => {
    const prefixes = ['//evil.example/..', '/\\evil.example/..', '//evil.example', '/%2f%2fevil.example']
    for (const prefix of [...prefixes, '/%5cevil']) {
      for (const path of ['/authorize', '/login', '/logout', '/']) {
        const { status, headers } = await browser().get(`${prefix}${at(path)}`)
        expect(headers).not.toHaveProperty('location')
        expect([400, 404]).toContain(status)
      }
    }
  })

  // CWE-436: what one reads as a form and another does not.
  test('answers odd bodies by a page of its own', async () => {
    const form = 'authorization_request=x&csrf_token=x'
    const type = 'application/x-www-form-urlencoded'
    const bodies: [string, Fields][] = [
      [form, {}],
      [form, { 'Content-Type': `${type}; a=b; c` }],
      ['&&==&=&', { 'Content-Type': type }],
      ['authorization_request=%00', { 'Content-Type': type }],
    ]
    for (const [body, headers] of bodies) {
      for (const path of ['/login', '/consent']) {
        const answer = await browser().send('POST', at(path), { body, headers })
        expect([400, 415]).toContain(answer.status)
        expectErrorPage(answer, answer.status)
        expect(ownCookies(answer)).toEqual([])
      }
    }
    expectExpiredPage(await browser().send('POST', at('/login')))
  })
})
