import { authorizeUrl, clients, type Host, people, startHost } from '../support/host.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import { tokensFor } from '../support/tokens.ts'

const bye = 'https://client.example.com/bye'
const web = { client_id: 'web', scope: 'openid' }

let host: Host
beforeAll(async () => {
  const own = clients.map((client) => ({ ...client, post_logout_redirect_uris: [bye] }))
  host = await startHost({ clients: own })
})
afterAll(() => host.close())

/** Every row that a request of a browser could make, change or remove. */
const stored = async (of = host): Promise<unknown> => {
  const names = [
    'logins',
    'pending_requests',
    'authorizations',
    'access_tokens',
    'refresh_tokens',
    'consents',
    'consent_receipts',
    'throttles',
  ]
  return Promise.all(names.map((name) => of.table(name)))
}

const signedIn = async (): Promise<RawBrowser> => {
  const agent = new RawBrowser(host.app)
  await agent.grant(authorizeUrl(web))
  return agent
}

/** A page whose address names a pending request. */
const pendingAt = async (agent: RawBrowser, prompt: string): Promise<string> =>
  (await agent.open(authorizeUrl({ ...web, prompt }))).url.href

const logoutUrl = async (): Promise<string> => {
  const { id_token } = await tokensFor(host)
  return `/oauth/logout?${new URLSearchParams({ id_token_hint: id_token, post_logout_redirect_uri: bye })}`
}

test.each<[string, (agent: RawBrowser) => string | Promise<string>]>([
  ['the login page', (agent) => pendingAt(agent, 'login')],
  ['the consent page', (agent) => pendingAt(agent, 'consent')],
  ['the choice of an account', (agent) => pendingAt(agent, 'select_account')],
  ['a request that would get a code', () => authorizeUrl({ ...web, prompt: 'none' })],
  ['a request that would be kept', () => authorizeUrl({ ...web, prompt: 'consent' })],
  ['a request of an unknown client', () => authorizeUrl({ client_id: 'unknown-client' })],
  ['a request that has expired', () => '/oauth/consent?authorization_request=lk_ar_x'],
  ['connected apps', () => '/oauth/account'],
  ['the removal of one', () => '/oauth/account?client_id=web'],
  ['the choice of a language', () => '/oauth/account?language=de'],
  ['sign-out', () => '/oauth/logout'],
  ['sign-out at once', logoutUrl],
])('HEAD of a page is empty, and makes nothing: %s', async (_, urlOf) => {
  const agent = await signedIn()
  const url = await urlOf(agent)
  const before = await stored()
  const { status, html, headers, setCookies } = await agent.send('HEAD', url)
  expect([status, html, headers.location, headers['cache-control']]).toEqual([200, '', undefined, 'no-store'])
  expect([setCookies, await stored()]).toEqual([[], before])
})

test('HEAD of a page that a signed-out browser opens keeps no request', async () => {
  const before = await stored()
  const { status, setCookies } = await new RawBrowser(host.app).send('HEAD', authorizeUrl(web))
  expect([status, setCookies, await stored()]).toEqual([200, [], before])
})

test.each([
  ['keys', '/oauth/jwks'],
  ['metadata', '/oauth/.well-known/openid-configuration'],
  ['a stylesheet', '/oauth/assets/style.css'],
])('HEAD answers as GET does, without a body: %s', async (_, url) => {
  const agent = new RawBrowser(host.app)
  const [head, get] = [await agent.send('HEAD', url), await agent.get(url)]
  const shown = ({ status, headers }: typeof get) => [
    status,
    headers['content-type'],
    headers['content-length'],
  ]
  expect([head.html, shown(head)]).toEqual(['', shown(get)])
})

test('HEAD of UserInfo needs a token, and counts as a failure without one', async () => {
  const { access_token } = await tokensFor(host)
  const head = (token: string) => {
    const headers = { Authorization: `Bearer ${token}` }
    return new RawBrowser(host.app).send('HEAD', '/oauth/userinfo', { headers })
  }
  const { status, html, headers } = await head(access_token)
  expect([status, html, headers['content-type']]).toEqual([200, '', 'application/json'])
  expect((await head('lk_at_x')).headers['www-authenticate']).toContain('invalid_token')
})

test('HEAD records no login of the host’s own, and ends none', async () => {
  const [ada] = people
  const forget = jest.fn()
  const current = () => ({ subject: 1, authTime: 1_700_000_000 })
  const other = await startHost({ options: { login: { current, forget, url: '/sign-in' } } })
  const before = await stored(other)
  const { id_token } = await tokensFor(host)
  await new RawBrowser(other.app).send('HEAD', `/oauth/logout?id_token_hint=${id_token}`)
  expect(forget).not.toHaveBeenCalled()
  const { status, setCookies } = await new RawBrowser(other.app).send('HEAD', '/oauth/account')
  expect([status, setCookies, await stored(other)]).toEqual([200, [], before])
  const { html } = await new RawBrowser(other.app).get('/oauth/account')
  expect(html).toContain(ada!.email.replace('@', '<wbr>@'))
  await other.close()
})
