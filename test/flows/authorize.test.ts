import { stopClock } from '../support/clock.ts'
import { authorizeUrl, callback, clients, type Host, issuer, pkce, startHost } from '../support/host.ts'
import { codeOf, expectErrorPage, expectErrorRedirect, expectExpiredPage } from '../support/outcomes.ts'
import { fieldsOf, formOf, RawBrowser } from '../support/raw-browser.ts'
import { redeem } from '../support/tokens.ts'

const withQuery = 'https://client.example.com/callback?organization=7&a=b%20c'
const native = 'http://127.0.0.1/callback'

let host: Host
beforeAll(async () => {
  host = await startHost({
    clients: [
      ...clients,
      { client_id: 'shop', client_name: 'Shop', redirect_uris: [callback, withQuery], scope: 'openid' },
      { client_id: 'machine', grant_types: ['client_credentials'], scope: 'notes:read' },
    ],
  })
})
afterAll(() => host.close())
afterEach(() => jest.restoreAllMocks())

const table = (name: string) => host.database.knex(`${host.database.tablePrefix}${name}`)
const countOf = async (name: string): Promise<number> => (await table(name)).length
const browser = () => new RawBrowser(host.app)
const web = { client_id: 'web', scope: 'openid', state: 'a state' }
const query = (pairs: string) => `/oauth/authorize?${pairs}`
const encoded = encodeURIComponent(callback)
/** A whole request as raw text, to which a test adds what it is about. */
const raw = (more: string, without = '') =>
  query(
    ['response_type=code', 'client_id=web', `redirect_uri=${encoded}`, 'scope=openid', 'state=s']
      .filter((pair) => without === '' || !pair.startsWith(`${without}=`))
      .concat(more)
      .join('&'),
  )

describe('before client and redirect URI are verified every error is a page', () => {
  test.each([
    ['no parameters', query('')],
    ['no client_id', raw('', 'client_id')],
    ['an empty client_id', raw('client_id=', 'client_id')],
    ['an unknown client_id', raw('client_id=nobody', 'client_id')],
    ['a client_id with another case', raw('client_id=WEB', 'client_id')],
    ['a repeated client_id', raw('client_id=web')],
    ['a client_id in brackets', raw('client_id[]=web', 'client_id')],
    ['a client_id with NUL', raw('client_id=web%00', 'client_id')],
    ['a client_id that is not UTF-8', raw('client_id=web%ff', 'client_id')],
    ['a client_id of 9,000 characters', raw(`client_id=${'w'.repeat(9000)}`, 'client_id')],
    ['a client_id named like a property', raw('client_id=__proto__', 'client_id')],
    ['a client that has no redirect URIs', raw('client_id=machine', 'client_id')],
    ['no redirect_uri', raw('', 'redirect_uri')],
    ['an empty redirect_uri', raw('redirect_uri=', 'redirect_uri')],
    ['a repeated redirect_uri', raw(`redirect_uri=${encoded}`)],
    ['a redirect_uri with NUL', raw(`redirect_uri=${encoded}%00`, 'redirect_uri')],
    [
      'a redirect_uri of 2,049 characters',
      raw(`redirect_uri=${encoded}/${'x'.repeat(2049)}`, 'redirect_uri'),
    ],
    ['65 parameters', raw(Array.from({ length: 60 }, (_, n) => `x${n}=1`).join('&'))],
    ['an unknown client and prompt=none', raw('client_id=nobody&prompt=none', 'client_id')],
    [
      'a foreign redirect_uri and prompt=none',
      raw('redirect_uri=https://evil.example&prompt=none', 'redirect_uri'),
    ],
  ])('%s', async (_, url) => {
    const answer = await browser().get(url)
    expectErrorPage(answer, 400)
    expect(answer.setCookies).toEqual([])
  })

  test.each([
    'https://client.example.com/callback/',
    'https://client.example.com/Callback',
    'https://CLIENT.example.com/callback',
    'https://client.example.com:443/callback',
    'https://client.example.com/callback?x=1',
    'https://client.example.com/callback#x',
    'https://client.example.com/callback/../callback',
    'https://client.example.com/a/../callback',
    'https://client.example.com/%63allback',
    'https://user@client.example.com/callback',
    'https://client.example.com@evil.example/callback',
    'https://client.example.com.evil.example/callback',
    'https:\\\\client.example.com/callback',
    'https://client.example.com\\@evil.example/callback',
    'https://client.example.com/callback\t',
    ' https://client.example.com/callback',
    'http://client.example.com/callback',
    '//client.example.com/callback',
    '/callback',
    'javascript:alert(1)',
    'data:text/html,x',
    // What another client of this server has registered.
    'com.example.app:/callback',
    native,
  ])('the redirect_uri %j is not one of the client', async (redirect_uri) => {
    expectErrorPage(await browser().get(authorizeUrl({ ...web, redirect_uri })), 400)
  })

  test('a disabled client is as unknown', async () => {
    await table('clients').where({ client_id: 'shop' }).update({ disabled_at: 1 })
    expectErrorPage(await browser().get(authorizeUrl({ ...web, client_id: 'shop' })), 400)
    await table('clients').where({ client_id: 'shop' }).update({ disabled_at: null })
  })

  test('what was sent is not on the page', async () => {
    const attack = `"'><script>alert(1)</script>`
    for (const name of ['client_id', 'redirect_uri', 'state', 'scope']) {
      const { html } = await browser().get(authorizeUrl({ ...web, client_id: 'nobody', [name]: attack }))
      expect(html).not.toContain('<script')
    }
  })

  test('in development the page says to the developer what was wrong', async () => {
    const described = await browser().get(authorizeUrl({ ...web, client_id: 'nobody' }))
    expect(described.html).toContain('client_id does not name a registered client')
  })
})

describe('afterwards every error goes to the client', () => {
  test.each([
    ['invalid_request', 'no response_type', raw('', 'response_type'), 's'],
    ['unsupported_response_type', 'response_type=token', raw('response_type=token', 'response_type'), 's'],
    ['unsupported_response_type', 'a hybrid', raw('response_type=code+id_token', 'response_type'), 's'],
    ['unsupported_response_type', 'response_type=CODE', raw('response_type=CODE', 'response_type'), 's'],
    ['invalid_request', 'an unknown response_mode', raw('response_mode=web_message'), 's'],
    ['invalid_request', 'a repeated response_mode', raw('response_mode=query&response_mode=query'), 's'],
    ['request_not_supported', 'a request object', raw('request=e30.e30.'), 's'],
    ['request_uri_not_supported', 'a request_uri', raw('request_uri=https://client.example.com/r'), 's'],
    ['invalid_scope', 'a quote in scope', raw('scope=openid+%22', 'scope'), 's'],
    ['invalid_scope', 'a backslash in scope', raw('scope=openid+%5C', 'scope'), 's'],
    ['invalid_scope', 'a letter beyond ASCII in scope', raw('scope=openid+caf%C3%A9', 'scope'), 's'],
    ['invalid_scope', 'only scopes that nobody knows', raw('scope=notes:burn', 'scope'), 's'],
    ['invalid_request', 'a repeated scope', raw('scope=email'), 's'],
    ['invalid_request', 'a repeated nonce', raw('nonce=1&nonce=1'), 's'],
    ['invalid_request', 'an unknown parameter twice', raw('color=1&color=2'), 's'],
    ['invalid_request', 'a nonce of 513 characters', raw(`nonce=${'n'.repeat(513)}`), 's'],
    ['invalid_request', 'prompt=none with another', raw('prompt=none+login'), 's'],
    ['invalid_request', 'a max_age that is no number', raw('max_age=1e3'), 's'],
    ['invalid_request', 'a negative max_age', raw('max_age=-1'), 's'],
    ['invalid_request', 'a challenge without its method', raw(`code_challenge=${'c'.repeat(43)}`), 's'],
    ['invalid_request', 'a method without a challenge', raw('code_challenge_method=S256'), 's'],
    [
      'invalid_request',
      'an unknown challenge method',
      raw(`code_challenge=${'c'.repeat(43)}&code_challenge_method=S512`),
      's',
    ],
    [
      'invalid_request',
      'a challenge of 42 characters',
      raw(`code_challenge=${'c'.repeat(42)}&code_challenge_method=S256`),
      's',
    ],
    ['invalid_request', 'a public client without PKCE', raw('client_id=native', 'client_id'), 's'],
    ['invalid_request', 'a repeated state', raw('state=other'), undefined],
    ['invalid_request', 'a state with NUL', raw('state=%00', 'state'), undefined],
    ['invalid_request', 'a state with a line feed', raw('state=a%0Ab', 'state'), undefined],
    ['invalid_request', 'a state with DEL', raw('state=%7F', 'state'), undefined],
    ['invalid_request', 'a state that is not UTF-8', raw('state=%ff%fe', 'state'), undefined],
    ['invalid_request', 'a state of 2,049 characters', raw(`state=${'s'.repeat(2049)}`, 'state'), undefined],
    ['login_required', 'an empty state', raw('state=&prompt=none', 'state'), undefined],
  ])('%s for %s', async (error, _, url, state) => {
    const before = await countOf('pending_requests')
    const answer = await browser().get(url)
    expectErrorRedirect(answer, error, { state })
    expect(answer.setCookies).toEqual([])
    expect(await countOf('pending_requests')).toBe(before)
    // The same with prompt=none: never a page.
    if (!/prompt=/.test(url)) expectErrorRedirect(await browser().get(`${url}&prompt=none`), error, { state })
  })

  test('a client that may not use codes hears so', async () => {
    const metadata = (grants: string[]) => ({ redirect_uris: [callback], grant_types: grants })
    const [row] = await table('clients').where({ client_id: 'shop' })
    await table('clients')
      .where({ client_id: 'shop' })
      .update({
        metadata: JSON.stringify({ ...JSON.parse(row.metadata), ...metadata(['client_credentials']) }),
      })
    expectErrorRedirect(
      await browser().get(authorizeUrl({ ...web, client_id: 'shop' })),
      'unauthorized_client',
      {
        state: 'a state',
      },
    )
    await table('clients').where({ client_id: 'shop' }).update({ metadata: row.metadata })
  })

  test.each([
    ['letters of all kinds', 'äöü 日本語 🙂'],
    ['punctuation', `"'<>&=+%25%00;#?/\\`],
    ['spaces around', ' leading and trailing '],
    ['the name of a property', '__proto__'],
    ['1,000 characters', 'x'.repeat(1000)],
    ['500 pairs of surrogates', '🙂'.repeat(500)],
  ])('state comes back unchanged: %s', async (_, state) => {
    const answer = await browser().get(authorizeUrl({ ...web, state, prompt: 'none' }))
    expectErrorRedirect(answer, 'login_required', { state })
    const agent = browser()
    const done = await agent.grant(authorizeUrl({ ...web, state }))
    expect(done.location?.searchParams.getAll('state')).toEqual([state])
  })

  test('response_mode=fragment has every answer in the fragment', async () => {
    const request = { ...web, response_mode: 'fragment' }
    const refused = await browser().get(authorizeUrl({ ...request, prompt: 'none' }))
    expect(refused.headers.location?.startsWith(`${callback}#`)).toBe(true)
    const error = Object.fromEntries(new URLSearchParams(refused.location?.hash.slice(1)))
    expect(error).toMatchObject({ error: 'login_required', state: 'a state', iss: issuer })
    const done = await browser().grant(authorizeUrl(request))
    expect(done.headers.location?.startsWith(`${callback}#`)).toBe(true)
    const answer = Object.fromEntries(new URLSearchParams(done.location?.hash.slice(1)))
    expect(answer).toEqual({ code: expect.stringMatching(/^lk_ac_/), state: 'a state', iss: issuer })
  })

  test('response_mode=form_post has every answer in a form that leads to the registered URI', async () => {
    const request = { ...web, response_mode: 'form_post', state: `"><script>alert(1)</script>` }
    const refused = await browser().get(authorizeUrl({ ...request, prompt: 'none' }))
    const done = await browser().grant(authorizeUrl(request))
    for (const page of [refused, done]) {
      expect({ status: page.status, location: page.location }).toEqual({ status: 200, location: undefined })
      expect(page.headers['cache-control']).toBe('no-store')
      expect(page.html).not.toContain('<script>alert')
    }
    const { action, fields } = formOf(refused.html, 'name="error"')
    expect({ action, ...fields }).toMatchObject({
      ...{ action: callback, error: 'login_required', state: request.state, iss: issuer },
    })
    const form = formOf(done.html, 'name="code"')
    expect(form.action).toBe(callback)
    const { code, state, iss } = form.fields
    expect({ state, iss }).toEqual({ state: request.state, iss: issuer })
    expect((await redeem(host, String(code))).status).toBe(200)
  })

  test('a registered query is kept, and answers are added to it', async () => {
    const parameters = { client_id: 'shop', scope: 'openid', redirect_uri: withQuery }
    const refused = await browser().get(authorizeUrl({ ...parameters, prompt: 'none' }))
    expectErrorRedirect(refused, 'login_required', { redirectUri: withQuery })
    const done = await browser().grant(authorizeUrl(parameters))
    expect(done.headers.location).toMatch(
      /^https:\/\/client\.example\.com\/callback\?organization=7&a=b%20c&code=/,
    )
  })

  test.each(['http://127.0.0.1:51004/callback', 'http://127.0.0.1/callback', 'com.example.app:/callback'])(
    'a native client is answered at %s',
    async (redirect_uri) => {
      const { challenge } = pkce()
      const parameters = {
        client_id: 'native',
        scope: 'openid',
        state: 'n',
        redirect_uri,
        code_challenge: challenge,
        code_challenge_method: 'S256',
      }
      const refused = await browser().get(authorizeUrl({ ...parameters, prompt: 'none' }))
      expectErrorRedirect(refused, 'login_required', { state: 'n', redirectUri: redirect_uri })
      codeOf(await browser().grant(authorizeUrl(parameters)), { redirectUri: redirect_uri })
    },
  )

  test.each([
    'http://127.0.0.1:51004/other',
    'http://127.0.0.1:65536/callback',
    'http://127.0.0.2:80/callback',
  ])('a native client is not answered at %s', async (redirect_uri) => {
    expectErrorPage(await browser().get(authorizeUrl({ ...web, client_id: 'native', redirect_uri })), 400)
  })
})

describe('what must not disturb', () => {
  test('unknown parameters and names of properties are ignored and never returned', async () => {
    const url = raw('__proto__=1&hasOwnProperty=2&constructor[prototype][x]=3&color=red%00&toString=4')
    const done = await browser().grant(url)
    codeOf(done)
  })

  test('64 parameters', async () => {
    codeOf(await browser().grant(raw(Array.from({ length: 59 }, (_, n) => `x${n}=1`).join('&'))))
  })

  test('display, ui_locales, claims_locales, acr_values, claims and an unknown prompt', async () => {
    codeOf(
      await browser().grant(
        authorizeUrl({
          ...web,
          display: 'popup',
          ui_locales: 'de fr',
          claims_locales: 'de',
          acr_values: 'urn:x',
          claims: '{"userinfo":{"email":null}}',
          prompt: 'create',
        }),
      ),
    )
  })

  test('scopes that the client may not have are dropped', async () => {
    const agent = browser()
    const code = codeOf(await agent.grant(authorizeUrl({ ...web, scope: 'openid phone nothing notes:read' })))
    expect((await redeem(host, code)).body.scope).toBe('openid notes:read')
  })
})

describe('prompt=none', () => {
  const silent = { ...web, prompt: 'none' }

  test('login_required, consent_required, a code, and login_required again when disabled', async () => {
    const { travel } = stopClock()
    const agent = browser()
    expectErrorRedirect(await agent.get(authorizeUrl(silent)), 'login_required', { state: 'a state' })
    codeOf(await agent.grant(authorizeUrl(web), 'bob@example.com', 'bob’s password'))
    const wider = authorizeUrl({ ...silent, scope: 'openid profile' })
    expectErrorRedirect(await agent.get(wider), 'consent_required', { state: 'a state' })
    codeOf(await agent.get(authorizeUrl(silent)))
    travel(10)
    const old = await agent.get(authorizeUrl({ ...silent, max_age: '9' }))
    expectErrorRedirect(old, 'login_required', { state: 'a state' })
    await host.database.knex(host.usersTable).where({ id: 2 }).update({ disabled_at: 1 })
    expectErrorRedirect(await agent.get(authorizeUrl(silent)), 'login_required', { state: 'a state' })
    await host.database.knex(host.usersTable).where({ id: 2 }).update({ disabled_at: null })
  })

  test('a public client on the device itself is never served in silence', async () => {
    const { challenge } = pkce()
    const request = {
      client_id: 'native',
      scope: 'openid',
      redirect_uri: 'http://127.0.0.1:4711/callback',
      code_challenge: challenge,
      code_challenge_method: 'S256',
    }
    const agent = browser()
    const { redirect_uri: redirectUri } = request
    codeOf(await agent.grant(authorizeUrl(request)), { redirectUri })
    const again = await agent.get(authorizeUrl({ ...request, prompt: 'none' }))
    expectErrorRedirect(again, 'consent_required', { redirectUri })
  })
})

describe('by POST, from another site', () => {
  test('no cookie is read or set, and the browser comes again by GET', async () => {
    const agent = browser()
    codeOf(await agent.grant(authorizeUrl(web)))
    const stored = await countOf('pending_requests')
    const fields = { ...web, response_type: 'code', redirect_uri: callback, state: 'ä&=+ 🙂' }
    const answer = await agent.post('/oauth/authorize', fields, {
      'Sec-Fetch-Site': 'cross-site',
      Origin: 'https://client.example.com',
    })
    expect(answer.status).toBe(303)
    expect(answer.setCookies).toEqual([])
    expect(answer.location?.pathname).toBe('/oauth/authorize')
    expect(Object.fromEntries(answer.location?.searchParams ?? [])).toEqual(fields)
    expect(await countOf('pending_requests')).toBe(stored)
    const done = await agent.follow(answer)
    codeOf(done)
    expect(done.location?.searchParams.get('state')).toBe('ä&=+ 🙂')
  })

  test('repeats survive the way and are refused by redirect', async () => {
    const agent = browser()
    const pairs: [string, string][] = [
      ...Object.entries(web),
      ['response_type', 'code'],
      ['redirect_uri', callback],
    ]
    const answer = await agent.post('/oauth/authorize', [...pairs, ['nonce', '1'], ['nonce', '2']])
    expectErrorRedirect(await agent.follow(answer), 'invalid_request', { state: 'a state' })
  })

  test.each([
    [415, 'application/json', JSON.stringify(web)],
    [415, 'multipart/form-data; boundary=x', '--x--'],
    [415, 'text/plain', 'client_id=web'],
    [413, 'application/x-www-form-urlencoded', `client_id=${'x'.repeat(100_000)}`],
    [400, 'application/x-www-form-urlencoded', Array.from({ length: 65 }, (_, n) => `x${n}=1`).join('&')],
  ])('%d for %s', async (status, type, body) => {
    const answer = await browser().send('POST', '/oauth/authorize', {
      body,
      headers: { 'Content-Type': type },
    })
    expectErrorPage(answer, status)
  })

  test('415 for a compressed form', async () => {
    const headers = { 'Content-Type': 'application/x-www-form-urlencoded', 'Content-Encoding': 'gzip' }
    expectErrorPage(await browser().send('POST', '/oauth/authorize', { body: 'x', headers }), 415)
  })
})

test.each(['HEAD', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])('%s is 405 and issues nothing', async (method) => {
  const agent = browser()
  codeOf(await agent.grant(authorizeUrl(web)))
  const [requests, authorizations] = [await countOf('pending_requests'), await countOf('authorizations')]
  const answer = await agent.send(method, authorizeUrl(web))
  expect(answer.status).toBe(405)
  expect(answer.headers).toMatchObject({ allow: 'GET, POST', 'cache-control': 'no-store' })
  expect(answer.headers.location).toBeUndefined()
  expect([await countOf('pending_requests'), await countOf('authorizations')]).toEqual([
    requests,
    authorizations,
  ])
})

describe('a waiting request', () => {
  const shop = { client_id: 'shop', scope: 'openid', state: 'of the shop' }
  const idIn = (url: URL) => url.searchParams.get('authorization_request') ?? ''
  const resumed = (id: string) => `/oauth/authorize?authorization_request=${id}`

  test('belongs to the browser that started it', async () => {
    const [owner, other] = [browser(), browser()]
    const page = await owner.open(authorizeUrl(web))
    await other.open(authorizeUrl(web))
    const id = idIn(page.url)
    expectExpiredPage(await other.get(`/oauth/login?authorization_request=${id}`))
    expectExpiredPage(await other.get(`/oauth/consent?authorization_request=${id}`))
    expectExpiredPage(await other.get(resumed(id)))
    const fields = {
      ...fieldsOf(page, 'name="password"'),
      username: 'ada@example.com',
      password: 'ada’s password',
    }
    const stolen = await other.post('/oauth/login', fields)
    expectExpiredPage(stolen)
    expect(stolen.setCookies).toEqual([])
    // Without any cookie of ours, and for one who is logged in elsewhere, too.
    expectExpiredPage(await browser().get(resumed(id)))
    codeOf(await other.grant(authorizeUrl(web)))
    expectExpiredPage(await other.get(resumed(id)))
    // The owner is not disturbed.
    const consent = await owner.signIn(page)
    codeOf(consent.url.pathname === '/oauth/consent' ? await owner.decide(consent, 'allow') : consent)
  })

  test('two tabs with two clients finish in either order', async () => {
    await table('consents').delete()
    const agent = browser()
    const first = await agent.open(authorizeUrl(web))
    const second = await agent.open(authorizeUrl(shop))
    const secondConsent = await agent.signIn(second)
    expect(secondConsent.html).toContain('Shop')
    const firstConsent = await agent.signIn(first)
    expect(firstConsent.html).toContain('Web client')
    // The second tab was signed in before the first: its session was replaced, its request was not.
    const shopDone = await agent.decide(secondConsent, 'allow')
    codeOf(shopDone)
    expect(shopDone.location?.searchParams.get('state')).toBe('of the shop')
    const webDone = await agent.decide(firstConsent, 'allow')
    codeOf(webDone)
    expect(webDone.location?.searchParams.get('state')).toBe('a state')
  })

  test('a browser has at most ten, and the oldest make room', async () => {
    const { travel } = stopClock()
    const agent = browser()
    const ids: string[] = []
    for (let tab = 0; tab < 12; tab += 1) {
      ids.push(idIn((await agent.open(authorizeUrl(web))).url))
      travel(1)
    }
    const statuses = []
    for (const id of ids) statuses.push((await agent.get(`/oauth/login?authorization_request=${id}`)).status)
    expect(statuses).toEqual([400, 400, ...Array(10).fill(200)])
  })

  test('waits ten minutes', async () => {
    const { travel } = stopClock()
    const agent = browser()
    const page = await agent.open(authorizeUrl(web))
    travel(595)
    expect((await agent.get(page.url.href)).status).toBe(200)
    travel(6)
    expectExpiredPage(await agent.get(page.url.href))
    expectExpiredPage(await agent.signIn(page))
    expectExpiredPage(await agent.get(resumed(idIn(page.url))))
  })

  test('is used once: double submit and the back button meet the expired page', async () => {
    await table('consents').delete()
    const agent = browser()
    const login = await agent.open(authorizeUrl(web))
    const consent = await agent.signIn(login)
    codeOf(await agent.decide(consent, 'allow'))
    expectExpiredPage(await agent.decide(consent, 'allow'))
    expectExpiredPage(await agent.decide(consent, 'deny'))
    expectExpiredPage(await agent.get(consent.url.href))
    expectExpiredPage(await agent.get(login.url.href))
    expectExpiredPage(await agent.signIn(login))
    expectExpiredPage(await agent.get(resumed(idIn(login.url))))
  })

  test('a double submit at the same moment gives one code', async () => {
    await table('consents').delete()
    const agent = browser()
    const consent = await agent.signIn(await agent.open(authorizeUrl(web)))
    const before = await countOf('authorizations')
    const answers = await Promise.all([1, 2, 3, 4].map(() => agent.clone().decide(consent, 'allow')))
    const done = answers.filter(({ status }) => status === 303)
    expect(done).toHaveLength(1)
    codeOf(done[0] as (typeof answers)[number])
    for (const answer of answers.filter(({ status }) => status !== 303)) expectExpiredPage(answer)
    expect(await countOf('authorizations')).toBe(before + 1)
  })

  test('ends with its client, or with the place where the answer would go', async () => {
    const agent = browser()
    const page = await agent.open(authorizeUrl(shop))
    await table('clients').where({ client_id: 'shop' }).update({ disabled_at: 1 })
    expectExpiredPage(await agent.get(page.url.href))
    expectExpiredPage(await agent.signIn(page))
    await table('clients').where({ client_id: 'shop' }).update({ disabled_at: null })
    const [row] = await table('clients').where({ client_id: 'shop' })
    const metadata = JSON.stringify({ ...JSON.parse(row.metadata), redirect_uris: [withQuery] })
    await table('clients').where({ client_id: 'shop' }).update({ metadata })
    expectExpiredPage(await agent.signIn(page))
    expectExpiredPage(await agent.get(resumed(idIn(page.url))))
    await table('clients').where({ client_id: 'shop' }).update({ metadata: row.metadata })
  })

  test.each([
    ['missing', ''],
    ['garbage', '%00%ff<script>'],
    ['forged', `lk_ar_${'A'.repeat(43)}`],
    ['a code', `lk_ac_${'A'.repeat(43)}`],
    ['too long', `lk_ar_${'A'.repeat(5000)}`],
    ['its own hash', 'HASH'],
  ])('an id that is %s is a page', async (_, given) => {
    const agent = browser()
    await agent.open(authorizeUrl(web))
    const [row] = await table('pending_requests').orderBy('created_at', 'desc').limit(1)
    const id = given === 'HASH' ? row.id : given
    expectErrorPage(await agent.get(`/oauth/login?authorization_request=${id}`), 400)
    expectErrorPage(await agent.get(`/oauth/consent?authorization_request=${id}`), 400)
    expectErrorPage(await agent.get(`/oauth/authorize?authorization_request=${id}`), 400)
    expectErrorPage(
      await agent.post('/oauth/login', { authorization_request: decodeURIComponent(id.replace('%ff', '')) }),
      400,
    )
  })

  test('cannot be given other parameters on the way', async () => {
    await table('consents').delete()
    const agent = browser()
    const login = await agent.open(authorizeUrl(web))
    const evil = { redirect_uri: native, scope: 'openid email', client_id: 'native', state: 'evil' }
    const signedIn = await agent.submit(login, 'name="password"', {
      username: 'ada@example.com',
      password: 'ada’s password',
      ...evil,
    })
    const done = await agent.decide(signedIn, 'allow', evil)
    const code = codeOf(done)
    expect(done.location?.searchParams.get('state')).toBe('a state')
    expect((await redeem(host, code)).body.scope).toBe('openid')
  })
})
