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
    ['unsupported_response_type', 'an odd one', raw('response_type=sausage', 'response_type'), 's'],
    ['request_not_supported', 'a request object', raw('request=e30.e30.'), 's'],
    ['request_uri_not_supported', 'a request_uri', raw('request_uri=https://client.example.com/r'), 's'],
    ['invalid_scope', 'a quote in scope', raw('scope=openid+%22', 'scope'), 's'],
    ['invalid_request', 'a repeated state', raw('state=other'), undefined],
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
    const shop = () => table('clients').where({ client_id: 'shop' })
    const [{ metadata }] = await shop()
    const changed = { ...JSON.parse(metadata), grant_types: ['client_credentials'] }
    await shop().update({ metadata: JSON.stringify(changed) })
    const answer = await browser().get(authorizeUrl({ ...web, client_id: 'shop' }))
    expectErrorRedirect(answer, 'unauthorized_client', { state: 'a state' })
    await shop().update({ metadata })
  })
})

describe('what must not disturb', () => {
  test('scopes that the client may not have are dropped', async () => {
    const agent = browser()
    const code = codeOf(await agent.grant(authorizeUrl({ ...web, scope: 'openid phone nothing notes:read' })))
    expect((await redeem(host, code)).body.scope).toBe('openid notes:read')
  })
})

describe('by POST, from another site', () => {
  test('repeats survive the way and are refused by redirect', async () => {
    const agent = browser()
    const pairs = Object.entries({ ...web, response_type: 'code', redirect_uri: callback })
    const answer = await agent.post('/oauth/authorize', [...pairs, ['nonce', '1'], ['nonce', '2']])
    expectErrorRedirect(await agent.follow(answer), 'invalid_request', { state: 'a state' })
  })
})

describe('a waiting request', () => {
  const shop = { client_id: 'shop', scope: 'openid', state: 'of the shop' }
  const idIn = (url: URL) => url.searchParams.get('authorization_request') ?? ''
  const resumed = (id: string) => `/oauth/authorize?authorization_request=${id}`

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
  test.each([{ 'Sec-Purpose': 'prefetch' }, { Purpose: 'prefetch' }, { 'X-Moz': 'prefetch' }] as Record<
    string,
    string
  >[])('with %j makes no code and changes nothing', async (headers) => {
    const agent = browser()
    const { body } = await redeem(host, codeOf(await agent.grant(authorizeUrl(web))))
    const silent = authorizeUrl({ ...web, prompt: 'none' })
    const names = ['authorizations', 'pending_requests', 'logins', 'sessions']
    const rows = () => Promise.all(names.map((name) => table(name)))
    const before = await rows()
    const pages = [silent, authorizeUrl({ ...web, prompt: 'login' })]
    for (const page of [...pages, `/oauth/logout?id_token_hint=${body.id_token}`, '/oauth/account']) {
      const { status, location, html, setCookies } = await agent.get(page, headers)
      expect([status, location, html, setCookies]).toEqual([503, undefined, '', []])
    }
    expect(await rows()).toEqual(before)
    codeOf(await agent.get(silent))
  })
})
