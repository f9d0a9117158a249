import session from 'express-session'
import { account, events, host, table, textOf, web, withAccounts } from '../support/connected-clients.ts'
import { forgedForms } from '../support/forged-forms.ts'
import { authorizeUrl, type Host, startHost } from '../support/host.ts'
import { expectErrorPage } from '../support/outcomes.ts'
import { fieldsOf, formOf, RawBrowser } from '../support/raw-browser.ts'
import { ada } from '../support/tokens.ts'

withAccounts()

const browser = () => new RawBrowser(host.app)

describe('without a login', () => {
  const signInPage = async (agent: RawBrowser, path = account) => {
    const page = await agent.open(path)
    expect({ status: page.status, path: page.url.pathname }).toEqual({ status: 200, path: account })
    const csrf_token = expect.stringMatching(/^[\w-]{43}$/)
    expect(fieldsOf(page, 'name="password"')).toEqual({ csrf_token, username: '', password: '' })
    return page
  }

  test('shows a sign-in form that names no client, and then the list', async () => {
    const agent = browser()
    const page = await signInPage(agent)
    expect(textOf(page)).not.toContain('continue')
    expect(page.headers['content-security-policy']).toMatch(/form-action 'self'$/)
    const list = await agent.signIn(page)
    expect(list.url.pathname + list.url.search).toBe(account)
    expect(textOf(list)).toMatch(/Connected apps .*ada @example\.com Sign out/)
    expect(await table('pending_requests')).toEqual([])
  })

  test('no parameter of the URL or the form redirects anywhere else', async () => {
    for (const name of ['return_to', 'redirect_uri', 'removed']) {
      const agent = browser()
      const page = await signInPage(agent, `${account}?${name}=https://evil.example/`)
      const form = formOf(page.html, 'name="password"')
      expect(form.action).toBe(account)
      const fields = {
        ...form.fields,
        username: ada.email,
        password: ada.password,
        [name]: 'https://evil.example/',
      }
      const answer = await agent.post(`${account}?${name}=https://evil.example/`, fields)
      expect([answer.status, answer.headers.location]).toEqual([303, `${account}#_`])
    }
  })

  test('a wrong password is a 400 with the name kept, and signs no user in', async () => {
    const agent = browser()
    const wrong = await agent.signIn(await signInPage(agent), ada.email, 'wrong')
    expect(wrong.status).toBe(400)
    expect(fieldsOf(wrong, 'name="password"').username).toBe(ada.email)
    expect(events.map(({ time: _, requestId: __, address: ___, ...event }) => event)).toEqual([
      { type: 'login.failed', account: expect.any(String) },
    ])
    expect(textOf(await agent.signIn(wrong))).toContain('Connected apps')
    expect(events.at(-1)).toMatchObject({ type: 'login.succeeded', subject: '1' })
    expect(events.at(-1)).not.toHaveProperty('clientId')
  })

  test('failures count together with those of the other sign-in page', async () => {
    const strict = await startHost({ options: { throttle: { store: 'memory' } } })
    const agent = new RawBrowser(strict.app)
    const login = await agent.open(authorizeUrl({ client_id: 'web', scope: 'openid' }))
    const page = await agent.open(account)
    for (const _ of [1, 2, 3]) expect((await agent.signIn(page, ada.email, 'wrong')).status).toBe(400)
    for (const _ of [1, 2]) expect((await agent.signIn(login, ada.email, 'wrong')).status).toBe(400)
    const locked = await agent.signIn(page)
    expect({ status: locked.status, path: locked.url.pathname }).toEqual({ status: 429, path: account })
    expect(Number(locked.headers['retry-after'])).toBeGreaterThan(0)
    await strict.close()
  })

  const signInFields = async (agent = browser(), path = account) =>
    fieldsOf(await agent.open(path), 'name="password"')
  const foreign = {
    'another browser': () => signInFields(),
    'a sign-in for a client': (agent: RawBrowser) => signInFields(agent, authorizeUrl(web)),
  }
  test.each(forgedForms(foreign))('a form %s signs no user in', async (_, forge) => {
    const agent = browser()
    const credentials = { username: ada.email, password: ada.password }
    const { fields, headers } = await forge({ ...(await signInFields(agent)), ...credentials }, agent)
    expectErrorPage(await agent.post(account, fields, headers), 403)
    await signInPage(agent)
    expect(events.map(({ type }) => type)).toEqual(['request.refused'])
  })
})

describe("with the host's own login page", () => {
  let hosted: Host
  const user = { current: undefined as { subject: number; authTime: number } | undefined }
  beforeAll(async () => {
    hosted = await startHost({
      before: [session({ secret: 'of the host', resave: false, saveUninitialized: false })],
      options: { login: { url: '/sign-in', current: () => user.current } },
    })
  })
  afterAll(() => hosted.close())
  beforeEach(() => {
    user.current = undefined
  })

  test('the browser goes there and comes back to the list', async () => {
    const agent = new RawBrowser(hosted.app)
    const there = await agent.get(account)
    expect(there.status).toBe(303)
    expect(there.headers.location).toBe('/sign-in?return_to=%2Foauth%2Faccount%3Freturned%3D1#_')
    user.current = { subject: 1, authTime: 1_700_000_000 }
    const back = await agent.open(there.location?.searchParams.get('return_to') ?? '')
    expect(textOf(back)).toContain('ada @example.com Sign out')
  })

  test('a user who returns without a login gets a page with a link, not another redirect', async () => {
    const back = await new RawBrowser(hosted.app).get(`${account}?returned=1`)
    expect(back.status).toBe(200)
    expect(textOf(back)).toContain('You’re not signed in')
    expect(back.html).toContain('href="/sign-in?return_to=%2Foauth%2Faccount%3Freturned%3D1"')
  })
})
