import { authorizeUrl, callback, clients, type Host, pkce, secret, startHost } from '../support/host.ts'
import { claimsOf, codeOf, expectErrorRedirect, expectExpiredPage } from '../support/outcomes.ts'
import { type Answer, fieldsOf, RawBrowser } from '../support/raw-browser.ts'
import { redeem, refresh } from '../support/tokens.ts'

const loopback = 'http://127.0.0.1/desk'

let host: Host
beforeAll(async () => {
  host = await startHost({
    clients: [
      ...clients,
      { client_id: 'desk', client_secret: secret, redirect_uris: [loopback], scope: 'openid' },
      { client_id: 'ours', redirect_uris: [callback], scope: 'openid profile', first_party: true },
    ],
  })
})
afterAll(() => host.close())
beforeEach(() => consents().delete())

const consents = () => host.database.knex(`${host.database.tablePrefix}consents`)
const logins = () => host.database.knex(`${host.database.tablePrefix}logins`)
const web = { client_id: 'web', scope: 'openid', state: 's' }
const bob = ['bob@example.com', 'bob’s password'] as const
const browser = () => new RawBrowser(host.app)
const isConsent = (answer: Answer) => ({ status: answer.status, path: answer.url.pathname })
const consentPage = { status: 200, path: '/oauth/consent' }
/** A browser in which Ada is logged in and has been asked. */
const asked = async (parameters: Record<string, string> = web) => {
  const agent = browser()
  const page = await agent.signIn(await agent.open(authorizeUrl(parameters)))
  expect(isConsent(page)).toEqual(consentPage)
  return { agent, page }
}
const answer = async (agent: RawBrowser, fields: Record<string, string> | [string, string][], headers = {}) =>
  agent.follow(await agent.post('/oauth/consent', fields, headers))
const grantedBy = async (done: Answer, of = redeem) => (await of(host, codeOf(done))).body.scope
/** The lines of the page, each with the tags it has. */
const linesOf = (page: Answer) =>
  [...page.html.matchAll(/<span class="scope-text">([\s\S]*?)<\/span>\s*(?:<input|<\/)/g)].map(
    ([, text = '']) =>
      text
        .replace(/<[^>]+>/g, ' ')
        .replace(/\s+/g, ' ')
        .trim(),
  )

describe('the page', () => {
  test('names the client, the user, the scopes with their data, and the destination', async () => {
    const scope = 'openid profile email offline_access notes:read notes:write'
    const { page } = await asked({ ...web, scope })
    const text = page.html.replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ')
    expect(text).toContain('Web client wants to access your Latchkey account')
    expect(text).toMatch(/ada @example\.com Not you\?/)
    expect(text).toMatch(/You’ll return to client\.example\.com/)
    expect(linesOf(page)).toEqual([
      'See who you are Ada Lovelace · ada @example.com',
      'Read your notes',
      'Write notes for you Optional',
      'Keep access while you’re away, until you remove it',
    ])
  })

  test('forms carry the request, a token and the boxes, and nothing of the protocol', async () => {
    const { page } = await asked({ ...web, scope: 'openid notes:write' })
    const names = Object.keys(fieldsOf(page, 'value="allow"')).sort()
    expect(names).toEqual([
      ...['account', 'authorization_request', 'csrf_token', 'locale', 'scope:notes:write', 'shown'],
    ])
  })

  test('without a login asks to sign in, says why, and continues after it', async () => {
    const { agent, page } = await asked()
    agent.cookies.delete([...agent.cookies.keys()].find((name) => name.endsWith('_session')) ?? '')
    const signedOut = [await agent.open(page.url.href), await agent.decide(page, 'allow')]
    for (const { status, url, html } of signedOut) {
      expect({ status, path: url.pathname }).toEqual({ status: 200, path: '/oauth/login' })
      expect(html).toContain('You were signed out. Sign in to continue.')
    }
    const again = await agent.signIn(signedOut[1] as Answer)
    expect(again.html).not.toContain('signed out')
    codeOf(await agent.decide(again, 'allow'))
  })
})

describe('is remembered', () => {
  const challenge = () => ({ code_challenge: pkce().challenge, code_challenge_method: 'S256' })

  test.each([
    ['a confidential client on https', { client_id: 'web', redirect_uri: callback }],
    ['a confidential client on loopback', { client_id: 'desk', redirect_uri: 'http://127.0.0.1:4000/desk' }],
    ['a public client on https', { client_id: 'native', redirect_uri: callback }],
  ])('for %s', async (_, parameters) => {
    const request = authorizeUrl({ scope: 'openid', ...parameters, ...challenge() })
    const agent = browser()
    const redirectUri = parameters.redirect_uri
    const page = await agent.signIn(await agent.open(request))
    expect(isConsent(page)).toEqual(consentPage)
    codeOf(await agent.decide(page, 'allow'), { redirectUri })
    codeOf(await agent.get(request), { redirectUri })
    // In another browser of the same person too.
    const other = browser()
    codeOf(await other.signIn(await other.open(request)), { redirectUri })
  })

  test.each(['http://127.0.0.1:4000/callback', 'com.example.app:/callback'])(
    'never for a public client at %s',
    async (redirect_uri) => {
      const request = authorizeUrl({ client_id: 'native', scope: 'openid', redirect_uri, ...challenge() })
      const agent = browser()
      codeOf(await agent.grant(request), { redirectUri: redirect_uri })
      expect(isConsent(await agent.open(request))).toEqual(consentPage)
    },
  )

  test('for one person and one client', async () => {
    const { agent, page } = await asked()
    codeOf(await agent.decide(page, 'allow'))
    const other = browser()
    expect(isConsent(await other.signIn(await other.open(authorizeUrl(web)), ...bob))).toEqual(consentPage)
    const native = authorizeUrl({ client_id: 'native', scope: 'openid', ...challenge() })
    expect(isConsent(await agent.open(native))).toEqual(consentPage)
  })

  test('until more is asked for; then what is new is marked, and both are remembered', async () => {
    const { agent, page } = await asked({ ...web, scope: 'openid email' })
    expect(page.html).not.toContain('>New<')
    codeOf(await agent.decide(page, 'allow'))
    codeOf(await agent.get(authorizeUrl({ ...web, scope: 'email openid' })))
    const wider = await agent.open(authorizeUrl({ ...web, scope: 'openid email profile notes:read' }))
    expect(linesOf(wider)).toEqual([
      'See who you are New ada @example.com · Ada Lovelace',
      'Read your notes New',
    ])
    codeOf(await agent.decide(wider, 'allow'))
    const fewer = await agent.get(authorizeUrl({ ...web, scope: 'openid profile' }))
    expect(await grantedBy(fewer)).toBe('openid profile')
    codeOf(await agent.get(authorizeUrl({ ...web, scope: 'openid email profile notes:read' })))
  })
})

describe('optional scopes', () => {
  const request = { ...web, scope: 'openid notes:read notes:write' }
  const name = 'scope:notes:write'

  test('are not granted or remembered once unticked; the others cannot be unticked', async () => {
    const { agent, page } = await asked(request)
    const { [name]: ticked, ...fields } = fieldsOf(page, 'value="allow"')
    expect(ticked).toBe('on')
    const done = await answer(agent, { ...fields, decision: 'allow' })
    expect(await grantedBy(done)).toBe('openid notes:read')
    expect(await consents().where({ subject: '1' })).toMatchObject([{ scopes: 'openid notes:read' }])
    codeOf(await agent.get(authorizeUrl({ ...web, scope: 'openid notes:read' })))
    const again = await agent.open(authorizeUrl(request))
    expect(linesOf(again)[0]).toBe('Write notes for you New Optional')
  })

  test('unticking withdraws what was allowed before', async () => {
    const { agent, page } = await asked(request)
    codeOf(await agent.decide(page, 'allow'))
    const again = await agent.open(authorizeUrl({ ...request, prompt: 'consent' }))
    const { [name]: _, ...fields } = fieldsOf(again, 'value="allow"')
    expect(await grantedBy(await answer(agent, { ...fields, decision: 'allow' }))).toBe('openid notes:read')
    const silent = await agent.get(authorizeUrl({ ...request, prompt: 'none' }))
    expectErrorRedirect(silent, 'consent_required', { state: 's' })
  })
})

describe('the answer', () => {
  test('deny is access_denied, uses the request up and remembers nothing', async () => {
    const { agent, page } = await asked()
    expectErrorRedirect(await agent.decide(page, 'deny'), 'access_denied', { state: 's' })
    expectExpiredPage(await agent.decide(page, 'allow'))
    expect(await consents()).toEqual([])
    expect(isConsent(await agent.open(authorizeUrl(web)))).toEqual(consentPage)
  })

  test('deny keeps an earlier consent', async () => {
    const { agent, page } = await asked()
    codeOf(await agent.decide(page, 'allow'))
    const wider = await agent.open(authorizeUrl({ ...web, scope: 'openid email' }))
    expectErrorRedirect(await agent.decide(wider, 'deny'), 'access_denied', { state: 's' })
    codeOf(await agent.get(authorizeUrl(web)))
  })

  test('“Not you?” ends the login with its tokens as soon as another user has signed in, and not before', async () => {
    const { agent, page } = await asked({ ...web, scope: 'openid email' })
    const first = await agent.decide(page, 'allow')
    const { body } = await redeem(host, codeOf(first))
    const { sid } = (await logins().whereNull('ended_at').orderBy('auth_time', 'desc'))[0]
    const open = (await logins().whereNull('ended_at')).length
    const again = await agent.open(authorizeUrl({ ...web, prompt: 'consent' }))
    const thief = agent.clone()
    const login = await agent.decide(again, 'switch')
    expect({ status: login.status, path: login.url.pathname }).toEqual({ status: 200, path: '/oauth/login' })
    expect(fieldsOf(login, 'name="password"').username).toBe('')
    expect(sid).toEqual(expect.any(String))
    const wrong = await agent.signIn(login, bob[0], 'not bob’s')
    expect({ status: wrong.status, username: fieldsOf(wrong, 'name="password"').username }).toEqual({
      ...{ status: 400, username: bob[0] },
    })
    expect(await logins().whereNull('ended_at')).toHaveLength(open)
    codeOf(await thief.get(authorizeUrl({ ...web, prompt: 'none' })))
    const bobs = await agent.signIn(wrong, ...bob)
    expect(await logins().whereNull('ended_at')).toHaveLength(open)
    const silent = await thief.get(authorizeUrl({ ...web, prompt: 'none' }))
    expectErrorRedirect(silent, 'login_required', { state: 's' })
    expect((await refresh(host, body.refresh_token)).body.error).toBe('invalid_grant')
    expect(bobs.html).toContain('bob<wbr>@example.com')
    const { body: token } = await redeem(host, codeOf(await agent.decide(bobs, 'allow')))
    expect(claimsOf(token.id_token).sub).toBe('2')
  })

  test('a first-party client gets no consent page without prompt=consent', async () => {
    const agent = browser()
    const ours = { client_id: 'ours', scope: 'openid profile', state: 's' }
    codeOf(await agent.signIn(await agent.open(authorizeUrl(ours))))
    codeOf(await agent.get(authorizeUrl({ ...ours, prompt: 'none' })))
    expect(isConsent(await agent.open(authorizeUrl({ ...ours, prompt: 'consent' })))).toEqual(consentPage)
  })
})
