import { authorizeUrl, callback, clients, type Host, startHost } from '../support/host.ts'
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
    ],
  })
})
afterAll(() => host.close())

const browser = () => new RawBrowser(host.app)
const web = { client_id: 'web', scope: 'openid', state: 'a state' }
/** A whole request as raw text, to which a test adds what it is about. */
const raw = (more: string, without = '') =>
  `/oauth/authorize?${[
    'response_type=code',
    'client_id=web',
    `redirect_uri=${encodeURIComponent(callback)}`,
    'scope=openid',
    'state=s',
  ]
    .filter((pair) => without === '' || !pair.startsWith(`${without}=`))
    .concat(more)
    .join('&')}`

describe('before client and redirect URI are verified every error is a page', () => {
  test.each([
    ['an unknown client_id', raw('client_id=nobody', 'client_id')],
    ['a repeated client_id', raw('client_id=web')],
    ['65 parameters', raw(Array.from({ length: 60 }, (_, n) => `x${n}=1`).join('&'))],
    ['no redirect_uri', raw('', 'redirect_uri')],
    ['a foreign redirect_uri', raw('redirect_uri=https://evil.example&prompt=none', 'redirect_uri')],
  ])('%s', async (_, url) => {
    const answer = await browser().get(url)
    expectErrorPage(answer, 400)
    expect(answer.setCookies).toEqual([])
  })

  test('the page does not repeat the request; in development it shows the reason', async () => {
    const attack = `"'><script>alert(1)</script>`
    for (const name of ['client_id', 'redirect_uri', 'state', 'scope']) {
      const { html } = await browser().get(
        authorizeUrl({ ...web, client_id: 'unknown-client', [name]: attack }),
      )
      expect(html).not.toContain('<script')
    }
    const { html } = await browser().get(authorizeUrl({ ...web, client_id: 'unknown-client' }))
    expect(html).toContain('client_id does not name a registered client')
  })
})

describe('afterwards every error goes to the client', () => {
  test.each([
    ['invalid_request', 'no response_type', raw('', 'response_type'), 's'],
    ['unsupported_response_type', 'an odd one', raw('response_type=sausage', 'response_type'), 's'],
    ['request_not_supported', 'a request object', raw('request=e30.e30.'), 's'],
    ['request_uri_not_supported', 'a request_uri', raw('request_uri=https://client.example.com/r'), 's'],
    ['invalid_scope', 'a quote in scope', raw('scope=openid+%22', 'scope'), 's'],
    ['invalid_request', 'a repeated state', raw('state=other'), undefined],
  ])('%s for %s', async (error, _, url, state) => {
    const before = await host.table('pending_requests')
    const answer = await browser().get(url)
    expectErrorRedirect(answer, error, { state })
    expect(answer.setCookies).toEqual([])
    expect(await host.table('pending_requests')).toEqual(before)
    expectErrorRedirect(await browser().get(`${url}&prompt=none`), error, { state })
  })

  test('unauthorized_client for a client without the code grant', async () => {
    const shop = () => host.table('clients').where({ client_id: 'shop' })
    const [{ metadata }] = await shop()
    const changed = { ...JSON.parse(metadata), grant_types: ['client_credentials'] }
    await shop().update({ metadata: JSON.stringify(changed) })
    const answer = await browser().get(authorizeUrl({ ...web, client_id: 'shop' }))
    expectErrorRedirect(answer, 'unauthorized_client', { state: 'a state' })
    await shop().update({ metadata })
  })

  test('invalid_request for repeats in a request that another site posts', async () => {
    const agent = browser()
    const pairs = Object.entries({ ...web, response_type: 'code', redirect_uri: callback })
    const answer = await agent.post('/oauth/authorize', [...pairs, ['nonce', '1'], ['nonce', '2']])
    expectErrorRedirect(answer, 'invalid_request', { state: 'a state' })
  })
})

test('scopes that the client may not have are dropped', async () => {
  const agent = browser()
  const code = codeOf(await agent.grant(authorizeUrl({ ...web, scope: 'openid phone nothing notes:read' })))
  expect((await redeem(host, code)).body.scope).toBe('openid notes:read')
})

test('a waiting request ends with its client, or with the place where the answer would go', async () => {
  const agent = browser()
  const shop = () => host.table('clients').where({ client_id: 'shop' })
  const page = await agent.open(authorizeUrl({ ...web, client_id: 'shop' }))
  await shop().update({ disabled_at: 1 })
  const isOff = '<h1>This app is turned off</h1>'
  expectErrorPage(await agent.get(page.url.href), 400, isOff)
  expectErrorPage(await agent.signIn(page), 400, isOff)
  await shop().update({ disabled_at: null })
  const [row] = await shop()
  const metadata = JSON.stringify({ ...JSON.parse(row.metadata), redirect_uris: [withQuery] })
  await shop().update({ metadata })
  expectExpiredPage(await agent.signIn(page))
  const id = page.url.searchParams.get('authorization_request')
  expectExpiredPage(await agent.get(`/oauth/authorize?authorization_request=${id}`))
  await shop().update({ metadata: row.metadata })
})

test('a page that a browser prefetches creates no code and changes nothing', async () => {
  const agent = browser()
  const { body } = await redeem(host, codeOf(await agent.grant(authorizeUrl(web))))
  const silent = authorizeUrl({ ...web, prompt: 'none' })
  const names = ['authorizations', 'pending_requests', 'logins']
  const rows = () => Promise.all(names.map((name) => host.table(name)))
  const before = await rows()
  const pages = [silent, authorizeUrl({ ...web, prompt: 'login' }), '/oauth/account']
  for (const name of ['Sec-Purpose', 'Purpose', 'X-Moz']) {
    for (const page of [...pages, `/oauth/logout?id_token_hint=${body.id_token}`]) {
      const { status, location, html, setCookies } = await agent.get(page, { [name]: 'prefetch' })
      expect([name, status, location, html, setCookies]).toEqual([name, 503, undefined, '', []])
    }
  }
  expect(await rows()).toEqual(before)
  codeOf(await agent.get(silent))
})

describe('requests of new browsers', () => {
  const start = async (): Promise<Host> => {
    const limits = { quotas: { newBrowser: { max: 2, seconds: 60 } } }
    const limited = await startHost({ clients, options: { limits } })
    limited.app.set('trust proxy', 1)
    return limited
  }
  const from = (limited: Host, address: string): RawBrowser =>
    new RawBrowser(limited.app, undefined, { 'X-Forwarded-For': address })

  test('have a quota by address, a page that says to wait, and made-up cookies do not help (L18)', async () => {
    const limited = await start()
    const [first, second, third] = [1, 2, 3].map(() => from(limited, '192.0.2.1')) as [
      RawBrowser,
      RawBrowser,
      RawBrowser,
    ]
    for (const agent of [first, second])
      expect((await agent.open(authorizeUrl(web))).url.pathname).toBe('/oauth/login')
    const refused = await third.get(authorizeUrl(web))
    expect(refused.status).toBe(429)
    // The time until the oldest of the minute's requests leaves it: a second less on a busy machine.
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(50)
    expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(60)
    expect(refused.html).toContain('Wait a few minutes, then reload this page.')
    // The refused answer gave it a cookie that is well formed.
    expect((await third.get(authorizeUrl(web))).status).toBe(429)
    const kept = limited.table('pending_requests')
    expect(await kept).toHaveLength(2)
    // A browser that is known opens more tabs, and another address has its own quota.
    expect((await first.open(authorizeUrl(web))).url.pathname).toBe('/oauth/login')
    expect((await from(limited, '192.0.2.2').open(authorizeUrl(web))).url.pathname).toBe('/oauth/login')
    await limited.close()
  })
})
