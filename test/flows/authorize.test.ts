import { authorizeUrl, callback, clients, type Host, pkce, startHost } from '../support/host.ts'
import { codeOf, expectErrorPage, expectErrorRedirect, expectExpiredPage } from '../support/outcomes.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import { redeem } from '../support/tokens.ts'

const withQuery = 'https://client.example.com/callback?organization=7&a=b%20c'

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
    ['an unknown client_id', raw('client_id=nobody', 'client_id')],
    ['a repeated client_id', raw('client_id=web')],
    ['a client that has no redirect URIs', raw('client_id=machine', 'client_id')],
    ['no redirect_uri', raw('', 'redirect_uri')],
    ['a repeated redirect_uri', raw(`redirect_uri=${encoded}`)],
    ['65 parameters', raw(Array.from({ length: 60 }, (_, n) => `x${n}=1`).join('&'))],
    [
      'a foreign redirect_uri and prompt=none',
      raw('redirect_uri=https://evil.example&prompt=none', 'redirect_uri'),
    ],
  ])('%s', async (_, url) => {
    const answer = await browser().get(url)
    expectErrorPage(answer, 400)
    expect(answer.setCookies).toEqual([])
  })

  test('a disabled client is treated as unknown', async () => {
    await table('clients').where({ client_id: 'shop' }).update({ disabled_at: 1 })
    expectErrorPage(await browser().get(authorizeUrl({ ...web, client_id: 'shop' })), 400)
    await table('clients').where({ client_id: 'shop' }).update({ disabled_at: null })
  })

  test('a state that is too long to be returned is an error page', async () => {
    expectErrorPage(await browser().get(authorizeUrl({ ...web, state: 's'.repeat(2049) })), 400)
  })

  test('the page does not repeat the request', async () => {
    const attack = `"'><script>alert(1)</script>`
    for (const name of ['client_id', 'redirect_uri', 'state', 'scope']) {
      const { html } = await browser().get(authorizeUrl({ ...web, client_id: 'nobody', [name]: attack }))
      expect(html).not.toContain('<script')
    }
  })

  test('in development the page shows the reason', async () => {
    const described = await browser().get(authorizeUrl({ ...web, client_id: 'nobody' }))
    expect(described.html).toContain('client_id does not name a registered client')
  })
})

describe('afterwards every error goes to the client', () => {
  test.each([
    ['invalid_request', 'no response_type', raw('', 'response_type'), 's'],
    [
      'unsupported_response_type',
      'response_type=sausage',
      raw('response_type=sausage', 'response_type'),
      's',
    ],
    ['invalid_request', 'an unknown response_mode', raw('response_mode=web_message'), 's'],
    ['request_not_supported', 'a request object', raw('request=e30.e30.'), 's'],
    ['request_uri_not_supported', 'a request_uri', raw('request_uri=https://client.example.com/r'), 's'],
    ['invalid_scope', 'a quote in scope', raw('scope=openid+%22', 'scope'), 's'],
    ['invalid_scope', 'only scopes that nobody knows', raw('scope=notes:burn', 'scope'), 's'],
    ['invalid_request', 'an unknown parameter twice', raw('color=1&color=2'), 's'],
    ['invalid_request', 'prompt=none with another', raw('prompt=none+login'), 's'],
    ['invalid_request', 'a negative max_age', raw('max_age=-1'), 's'],
    ['invalid_request', 'a public client without PKCE', raw('client_id=native', 'client_id'), 's'],
    ['invalid_request', 'a repeated state', raw('state=other'), undefined],
    ['invalid_request', 'a state with NUL', raw('state=%00', 'state'), undefined],
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

  test('a client without the code grant gets unauthorized_client', async () => {
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
      { state: 'a state' },
    )
    await table('clients').where({ client_id: 'shop' }).update({ metadata: row.metadata })
  })
})

describe('what must not disturb', () => {
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

  test('415 for a compressed form', async () => {
    const headers = { 'Content-Type': 'application/x-www-form-urlencoded', 'Content-Encoding': 'gzip' }
    expectErrorPage(await browser().send('POST', '/oauth/authorize', { body: 'x', headers }), 415)
  })
})

describe('a waiting request', () => {
  const shop = { client_id: 'shop', scope: 'openid', state: 'of the shop' }
  const idIn = (url: URL) => url.searchParams.get('authorization_request') ?? ''
  const resumed = (id: string) => `/oauth/authorize?authorization_request=${id}`

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
})

describe('a page that a browser fetches before the user follows the link', () => {
  test.each([
    { 'Sec-Purpose': 'prefetch' },
    { 'Sec-Purpose': 'prefetch;prerender' },
    { Purpose: 'prefetch' },
    { 'X-Purpose': 'preview' },
    { 'X-Moz': 'prefetch' },
  ] as Record<string, string>[])('with %j makes no code and changes nothing', async (headers) => {
    const agent = browser()
    const { body } = await redeem(host, codeOf(await agent.grant(authorizeUrl(web))))
    const silent = authorizeUrl({ ...web, prompt: 'none' })
    const names = ['authorizations', 'pending_requests', 'logins', 'sessions']
    const rows = () => Promise.all(names.map((name) => table(name)))
    const before = await rows()
    const pages = [silent, authorizeUrl({ ...web, prompt: 'login' })]
    for (const page of [...pages, `/oauth/logout?id_token_hint=${body.id_token}`, '/oauth/account']) {
      const { status, location, html, setCookies } = await agent.get(page, headers)
      expect({ status, location, html, setCookies }).toEqual({
        status: 503,
        location: undefined,
        html: '',
        setCookies: [],
      })
    }
    expect(await rows()).toEqual(before)
    codeOf(await agent.get(silent))
  })
})
