import session from 'express-session'
import supertest from 'supertest'
import type { AuthEvent } from '../../lib/index.ts'
import { stopClock } from '../support/clock.ts'
import {
  authorizeUrl,
  callback,
  clients,
  type Host,
  type HostSettings,
  pkce,
  secret,
  startHost,
} from '../support/host.ts'
import { codeOf, expectErrorPage, expectErrorRedirect } from '../support/outcomes.ts'
import { type Answer, fieldsOf, formOf, RawBrowser } from '../support/raw-browser.ts'
import { ada, answerOf, bob, expectError, redeem, refresh, userinfo } from '../support/tokens.ts'

const account = '/oauth/account'
const others = 'https://other.example.com/callback'
const settings: HostSettings = {
  clients: [
    ...clients,
    { client_id: 'other', client_name: 'Other client', client_secret: secret, redirect_uris: [others] },
    {
      client_id: 'ours',
      client_name: 'Ours',
      client_secret: secret,
      redirect_uris: [callback],
      scope: 'openid profile offline_access',
      first_party: true,
    },
  ],
  options: { throttle: false },
}

let host: Host
const events: AuthEvent[] = []
beforeAll(async () => {
  host = await startHost(settings)
  host.oauth.events.on('*', (event) => events.push(event))
})
afterAll(() => host.close())
afterEach(() => jest.restoreAllMocks())
beforeEach(async () => {
  events.length = 0
  for (const name of ['consents', 'authorizations', 'logins']) await table(name).delete()
})

const table = (name: string) => host.database.knex(`${host.database.tablePrefix}${name}`)
const browser = () => new RawBrowser(host.app)
const web = { client_id: 'web', scope: 'openid notes:read offline_access' }
const otherWeb = { client_id: 'other', scope: 'openid', redirect_uri: others }

/** What a page says, without its markup. */
const textOf = ({ html }: Answer): string =>
  html
    .replace(/<head>[\s\S]*<\/head>|<[^>]+>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim()

/** The clients of the list: name, host, what each can do, and its facts. */
const clientsOf = ({ html }: Answer) =>
  (html.match(/<section class="client">[\s\S]*?<\/section>/g) ?? []).map((section) => {
    const all = (pattern: RegExp) => [...section.matchAll(pattern)].map(([, text = '']) => text)
    const [name] = all(/<h2><bdi>(.*?)<\/bdi>/g)
    const [place] = all(/<p><bdi>(.*?)<\/bdi><\/p>/g)
    const [since, lastUsed] = all(/<time datetime="(.*?)"/g)
    const [sessions] = all(/<dd>(\d+)<\/dd>/g)
    const [remove = ''] = all(/<a class="button secondary" href="(.*?)"/g)
    return { name, place, scopes: all(/<li>[\s\S]*?<bdi>(.*?)<\/bdi>/g), since, lastUsed, sessions, remove }
  })
const namesOf = (page: Answer) => clientsOf(page).map(({ name }) => name)

/** A browser in which somebody has allowed a client, and the tokens that came of it. */
const allowed = async (request: Record<string, string> = web, as = ada, agent = browser()) => {
  const done = await agent.grant(authorizeUrl(request), as.email, as.password)
  const redirectUri = request.redirect_uri ?? callback
  const tokens = await answerOf(
    redeem(host, codeOf(done, { redirectUri }), {
      client_id: request.client_id,
      redirect_uri: redirectUri,
    }),
  )
  return { agent, tokens }
}

const confirmOf = async (agent: RawBrowser, name: string): Promise<Answer> => {
  const client = clientsOf(await agent.open(account)).find((one) => one.name === name)
  if (client === undefined) throw new Error(`${name} is not in the list`)
  return agent.open(client.remove)
}
const remove = async (agent: RawBrowser, name: string): Promise<Answer> =>
  agent.submit(await confirmOf(agent, name), 'csrf_token')

describe('without a login', () => {
  const signInPage = async (agent: RawBrowser, path = account) => {
    const page = await agent.open(path)
    expect({ status: page.status, path: page.url.pathname }).toEqual({ status: 200, path: account })
    expect(fieldsOf(page, 'name="password"')).toEqual({
      csrf_token: expect.stringMatching(/^[\w-]{43}$/),
      username: '',
      password: '',
    })
    return page
  }

  test('shows a sign-in form that names no client, and then the list', async () => {
    const agent = browser()
    const page = await signInPage(agent)
    expect(textOf(page)).not.toContain('continue')
    expect(page.headers['content-security-policy']).toMatch(/form-action 'self'$/)
    const list = await agent.signIn(page)
    expect(list.url.pathname + list.url.search).toBe(account)
    expect(textOf(list)).toMatch(/Connected apps .*Signed in as ada@example\.com/)
    expect(await table('pending_requests')).toEqual([])
  })

  test('no parameter of the URL or the form redirects anywhere else', async () => {
    for (const name of ['return_to', 'redirect_uri', 'next', 'url', 'client_uri', 'removed']) {
      const agent = browser()
      const page = await signInPage(agent, `${account}?${name}=https://evil.example/`)
      const form = formOf(page.html, 'name="password"')
      expect(form.action).toBe(account)
      const fields = { ...form.fields, username: ada.email, password: ada.password }
      const answer = await agent.post(`${account}?${name}=https://evil.example/`, {
        ...fields,
        [name]: 'https://evil.example/',
      })
      expect({ status: answer.status, location: answer.headers.location }).toEqual({
        status: 303,
        location: account,
      })
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
    await signInPage(agent)
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

  test('a session id that was planted before the login is invalid after it', async () => {
    const attacker = browser()
    await attacker.signIn(await attacker.open(account), bob.email, bob.password)
    const victim = attacker.clone()
    for (const [name, value] of attacker.cookies) victim.cookies.set(name, value)
    await victim.submit(await victim.open('/oauth/logout'), 'csrf_token')
    const list = await victim.signIn(await victim.open(account))
    expect(textOf(list)).toContain('Signed in as ada@example.com')
    expect(textOf(await attacker.open(account))).toContain('Sign in Email or username')
  })

  test.each<[string, (fields: Record<string, string>, page: Answer) => Promise<Record<string, string>>]>([
    ['without a token', async ({ csrf_token: _, ...fields }) => fields],
    ['with a wrong token', async (fields) => ({ ...fields, csrf_token: 'A'.repeat(43) })],
    [
      'with the token of another browser',
      async (fields) => {
        const others = fieldsOf(await browser().open(account), 'name="password"')
        return { ...fields, csrf_token: others.csrf_token ?? '' }
      },
    ],
    [
      'with the token of a sign-in for a client',
      async (fields) => {
        const login = await browser().open(authorizeUrl(web))
        return { ...fields, csrf_token: fieldsOf(login, 'name="password"').csrf_token ?? '' }
      },
    ],
  ])('a form %s signs no user in', async (_, change) => {
    const agent = browser()
    const page = await signInPage(agent)
    const fields = await change(fieldsOf(page, 'name="password"'), page)
    const answer = await agent.post(account, { ...fields, username: ada.email, password: ada.password })
    expectErrorPage(answer, 403)
    await signInPage(agent)
    expect(events.map(({ type }) => type)).toEqual(['request.refused'])
  })

  test.each<Record<string, string>>([
    { 'Sec-Fetch-Site': 'cross-site' },
    { 'Sec-Fetch-Site': 'same-site' },
    { Origin: 'https://evil.example' },
  ])('a form of another site signs no user in: %j', async (headers) => {
    const agent = browser()
    const fields = fieldsOf(await signInPage(agent), 'name="password"')
    const credentials = { username: ada.email, password: ada.password }
    expectErrorPage(await agent.post(account, { ...fields, ...credentials }, headers), 403)
    await signInPage(agent)
  })

  test('a disabled user is asked to sign in', async () => {
    const agent = browser()
    await agent.signIn(await signInPage(agent), bob.email, bob.password)
    const person = () => host.database.knex(host.usersTable).where({ email: bob.email })
    await person().update({ disabled_at: 1 })
    const page = await agent.open(account)
    await person().update({ disabled_at: null })
    expect(textOf(page)).toContain('Sign in Email or username')
  })
})

describe("with the host's own login page", () => {
  let hosted: Host
  const user = { current: undefined as { id: number; at: number } | undefined }
  beforeAll(async () => {
    hosted = await startHost({
      before: [session({ secret: 'of the host', resave: false, saveUninitialized: false })],
      options: {
        login: {
          url: '/sign-in',
          current: () => user.current && { subject: user.current.id, authTime: user.current.at },
        },
      },
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
    expect(there.headers.location).toBe('/sign-in?return_to=%2Foauth%2Faccount%3Freturned%3D1')
    user.current = { id: 1, at: 1_700_000_000 }
    const back = await agent.open(there.location?.searchParams.get('return_to') ?? '')
    expect(textOf(back)).toContain('Signed in as ada@example.com')
  })

  test('a user who returns without a login gets a page with a link, not another redirect', async () => {
    const back = await new RawBrowser(hosted.app).get(`${account}?returned=1`)
    expect({ status: back.status, text: textOf(back) }).toEqual({
      status: 200,
      text: expect.stringContaining('You’re not signed in'),
    })
    expect(back.html).toContain('href="/sign-in?return_to=%2Foauth%2Faccount%3Freturned%3D1"')
  })

  test('a login page at another origin gets an absolute return URL', async () => {
    const elsewhere = await startHost({
      options: { login: { url: 'https://id.example.com/login', current: () => undefined } },
    })
    const { location } = await new RawBrowser(elsewhere.app).get(account)
    expect(location?.origin).toBe('https://id.example.com')
    expect(location?.searchParams.get('return_to')).toBe('http://localhost:3000/oauth/account?returned=1')
    await elsewhere.close()
  })
})

describe('the list', () => {
  test('is empty at first, and explains itself', async () => {
    const agent = browser()
    const list = await agent.signIn(await agent.open(account))
    expect(textOf(list)).toContain('No app or site can use your Latchkey account.')
    expect(clientsOf(list)).toEqual([])
    expect(list.headers['cache-control']).toBe('no-store')
    expect(list.html).toContain('<a class="link" id="sign-out" href="/oauth/logout">')
  })

  test('names each client, its host, scopes, first and last use, and number of sessions', async () => {
    const clock = stopClock()
    const start = clock.now()
    const { agent } = await allowed({ client_id: 'web', scope: 'openid email notes:read' })
    clock.travel(100)
    await allowed(otherWeb, ada, agent)
    clock.travel(100)
    await allowed({ client_id: 'web', scope: 'openid email notes:read' }, ada, agent)
    const iso = (seconds: number) => new Date(seconds * 1000).toISOString()
    expect(clientsOf(await agent.open(account))).toEqual([
      {
        name: 'Web client',
        place: 'client.example.com',
        scopes: ['Recognise your account', 'See your email address', 'Read your notes'],
        since: iso(start),
        lastUsed: iso(start + 200),
        sessions: '2',
        remove: '/oauth/account?client_id=web',
      },
      {
        name: 'Other client',
        place: 'other.example.com',
        scopes: ['Recognise your account'],
        since: iso(start + 100),
        lastUsed: iso(start + 100),
        sessions: '1',
        remove: '/oauth/account?client_id=other',
      },
    ])
  })

  test('counts what is still valid, and nothing that has ended', async () => {
    const clock = stopClock()
    const sessions = async (agent: RawBrowser) => {
      let page = await agent.open(account)
      if (page.html.includes('name="password"')) page = await agent.signIn(page)
      return clientsOf(page).map((client) => client.sessions)
    }
    const { agent, tokens } = await allowed({ client_id: 'web', scope: 'openid' })
    await agent.get(authorizeUrl({ client_id: 'web', scope: 'openid' }))
    expect(await sessions(agent)).toEqual(['2'])
    // The code was not redeemed.
    clock.travel(61)
    expect(await sessions(agent)).toEqual(['1'])
    await supertest(host.app)
      .post('/oauth/revoke')
      .type('form')
      .send({ token: tokens.refresh_token, client_id: 'web', client_secret: secret })
    expect(await sessions(agent)).toEqual(['0'])
    await allowed(web, ada, agent)
    clock.travel(13 * 3600)
    // The login is over by now; what was allowed to go on without it does.
    expect(await sessions(browser())).toEqual(['1'])
    clock.travel(31 * 86_400)
    expect(await sessions(browser())).toEqual(['0'])
  })

  test('shows a first-party client, which needs no consent', async () => {
    const { agent } = await allowed({ client_id: 'ours', scope: 'openid profile' })
    expect(await table('consents')).toEqual([])
    expect(clientsOf(await agent.open(account))).toMatchObject([
      { name: 'Ours', scopes: ['Recognise your account', 'See your name and profile'], sessions: '1' },
    ])
    expect(textOf(await confirmOf(agent, 'Ours'))).toContain('It belongs to Latchkey')
  })

  test('shows the scopes of older tokens after a scope was unticked', async () => {
    const { agent } = await allowed({ client_id: 'web', scope: 'openid notes:write' })
    const page = await agent.open(
      authorizeUrl({ client_id: 'web', scope: 'openid notes:write', prompt: 'consent' }),
    )
    const { 'scope:notes:write': _, ...fields } = fieldsOf(page, 'value="allow"')
    await agent.follow(await agent.post('/oauth/consent', { ...fields, decision: 'allow' }))
    expect(clientsOf(await agent.open(account))[0]?.scopes).toContain('Write notes for you')
  })

  test('shows only clients of the signed-in user', async () => {
    const { agent } = await allowed()
    const bobs = await allowed(otherWeb, bob)
    expect(namesOf(await agent.open(account))).toEqual(['Web client'])
    expect(namesOf(await bobs.agent.open(account))).toEqual(['Other client'])
    // A client that is not hers is no page of its own, by whatever address.
    const list = await agent.open(`${account}?client_id=other`)
    expect(namesOf(list)).toEqual(['Web client'])
  })

  test('is linked from the consent page', async () => {
    const agent = browser()
    const consent = await agent.signIn(await agent.open(authorizeUrl(web)))
    expect(consent.html).toContain('<a href="/oauth/account">Connected apps</a>')
  })

  test('a deleted client can still be removed', async () => {
    const { agent } = await allowed(otherWeb)
    const row = await table('clients').where({ client_id: 'other' }).first()
    await table('clients').where({ client_id: 'other' }).delete()
    expect(namesOf(await agent.open(account))).toEqual(['other'])
    expect(namesOf(await remove(agent, 'other'))).toEqual([])
    await table('clients').insert(row)
  })

  test.each(['HEAD', 'PUT', 'DELETE'])('%s is 405', async (method) => {
    const refused = await browser().send(method, account)
    expect({ status: refused.status, allow: refused.headers.allow }).toEqual({
      status: 405,
      allow: 'GET, POST',
    })
  })
})

describe('last used', () => {
  test.each([
    ['with rotation', true],
    ['without rotation', false],
  ])('is the last refresh, %s', async (_, rotation) => {
    const clock = stopClock()
    const rotated = clients.map((one) => ({ ...one, refresh_token_rotation: rotation }))
    const own = await startHost({ ...settings, clients: rotated })
    const agent = new RawBrowser(own.app)
    const code = codeOf(await agent.grant(authorizeUrl(web)))
    let tokens = await answerOf(redeem(own, code))
    for (const seconds of [1000, 30]) {
      clock.travel(seconds)
      tokens = await answerOf(refresh(own, tokens.refresh_token))
      const [client] = clientsOf(await agent.open(account))
      expect(client?.lastUsed).toBe(new Date(clock.now() * 1000).toISOString())
    }
    await own.close()
  })
})

describe('removing', () => {
  test('shows a confirmation first, and how soon it takes effect', async () => {
    const { agent, tokens } = await allowed()
    const page = await confirmOf(agent, 'Web client')
    expect(textOf(page)).toContain('Remove access?')
    expect(textOf(page)).toContain(
      'It takes effect at once: Web client can no longer use your Latchkey account',
    )
    expect(textOf(page)).toContain('When you use it again, you will be asked again.')
    expect((await userinfo(host, tokens.access_token)).status).toBe(200)
  })

  test('ends codes, access tokens and refresh tokens at once, in every browser, and the consent', async () => {
    const here = await allowed()
    const there = await allowed({ client_id: 'web', scope: 'openid notes:read' })
    const code = codeOf(await here.agent.get(authorizeUrl({ ...web, prompt: 'none' })))
    const list = await remove(here.agent, 'Web client')
    expect(textOf(list)).toContain('Access removed. Web client can no longer use your account.')
    expect(clientsOf(list)).toEqual([])
    for (const { tokens } of [here, there]) {
      expect((await userinfo(host, tokens.access_token)).status).toBe(401)
      const guarded = supertest(host.app).get('/api/notes')
      expect((await guarded.set('Authorization', `Bearer ${tokens.access_token}`)).status).toBe(401)
      expectError(await refresh(host, tokens.refresh_token), 400, 'invalid_grant')
    }
    expectError(await redeem(host, code), 400, 'invalid_grant')
    const silent = await here.agent.get(authorizeUrl({ ...web, prompt: 'none' }))
    expectErrorRedirect(silent, 'consent_required')
    expect(await table('consents')).toEqual([])
    expect(events.filter(({ type }) => type === 'consent.removed')).toEqual([
      {
        type: 'consent.removed',
        subject: '1',
        clientId: 'web',
        time: expect.any(Number),
        requestId: expect.any(String),
        address: '127.0.0.1',
      },
    ])
  })

  test('leaves other clients, other users and the login as they were', async () => {
    const { agent } = await allowed()
    const other = await allowed(otherWeb, ada, agent)
    const bobs = await allowed(web, bob)
    expect(namesOf(await remove(agent, 'Web client'))).toEqual(['Other client'])
    expect((await userinfo(host, other.tokens.access_token)).status).toBe(200)
    expect((await userinfo(host, bobs.tokens.access_token)).status).toBe(200)
    expect((await refresh(host, bobs.tokens.refresh_token)).status).toBe(200)
    expect(namesOf(await bobs.agent.open(account))).toEqual(['Web client'])
  })

  test('a later consent is valid', async () => {
    const { agent } = await allowed()
    await remove(agent, 'Web client')
    const { tokens } = await allowed(web, ada, agent)
    expect((await userinfo(host, tokens.access_token)).status).toBe(200)
    expect(clientsOf(await agent.open(account))).toMatchObject([{ name: 'Web client', sessions: '1' }])
  })

  test('a first-party client loses its tokens, and gets new ones without consent', async () => {
    const { agent, tokens } = await allowed({ client_id: 'ours', scope: 'openid profile offline_access' })
    expect(clientsOf(await remove(agent, 'Ours'))).toEqual([])
    expect((await userinfo(host, tokens.access_token)).status).toBe(401)
    expectError(await refresh(host, tokens.refresh_token, { client_id: 'ours' }), 400, 'invalid_grant')
    codeOf(await agent.get(authorizeUrl({ client_id: 'ours', scope: 'openid profile', prompt: 'none' })))
  })

  test('sending the form twice is harmless and emits one event', async () => {
    const { agent } = await allowed()
    const page = await confirmOf(agent, 'Web client')
    for (const _ of [1, 2]) expect((await agent.submit(page, 'csrf_token')).url.pathname).toBe(account)
    expect(events.filter(({ type }) => type === 'consent.removed')).toHaveLength(1)
  })

  test('a link cannot make the page claim a removal', async () => {
    const { agent } = await allowed()
    for (const removed of ['web', 'nobody', '<b>']) {
      const page = await agent.open(`${account}?${new URLSearchParams({ removed })}`)
      expect(page.html).not.toContain('role="status"')
    }
    const page = await agent.open(`${account}?removed=native`)
    expect(textOf(page)).toContain('Native client can no longer use your account')
  })

  test('after the session ended, the form leads to the sign-in page and removes nothing', async () => {
    const { agent, tokens } = await allowed()
    const page = await confirmOf(agent, 'Web client')
    await agent.submit(await agent.open('/oauth/logout'), 'csrf_token')
    const login = await agent.submit(page, 'name="client_id"')
    expect(textOf(login)).toContain('Sign in Email or username')
    expect((await refresh(host, tokens.refresh_token)).status).toBe(200)
  })

  const wrong = 'A'.repeat(43)
  test.each<[string, (fields: Record<string, string>, agent: RawBrowser) => Promise<Record<string, string>>]>(
    [
      ['without a token', async ({ csrf_token: _, ...fields }) => fields],
      ['with a wrong token', async (fields) => ({ ...fields, csrf_token: wrong })],
      ['about another client', async (fields) => ({ ...fields, client_id: 'other' })],
      [
        'with the token of another user',
        async (fields) => {
          const bobs = await allowed(web, bob)
          return { ...fields, ...fieldsOf(await confirmOf(bobs.agent, 'Web client'), 'csrf_token') }
        },
      ],
      [
        'with the token of the sign-out',
        async (fields, agent) => {
          const page = await agent.open('/oauth/logout')
          return { ...fields, csrf_token: fieldsOf(page, 'csrf_token').csrf_token ?? '' }
        },
      ],
    ],
  )('a form %s removes nothing', async (_, change) => {
    const { agent } = await allowed()
    await allowed(otherWeb, ada, agent)
    const fields = await change(fieldsOf(await confirmOf(agent, 'Web client'), 'csrf_token'), agent)
    expectErrorPage(await agent.post(account, fields), 403)
    expect(namesOf(await agent.open(account)).sort()).toEqual(['Other client', 'Web client'])
  })

  test('the form of one user removes nothing for the next one who signs in', async () => {
    const { agent } = await allowed()
    const bobs = await allowed(web, bob)
    const page = await confirmOf(agent, 'Web client')
    const choice = await agent.open(authorizeUrl({ ...web, prompt: 'select_account' }))
    await agent.signIn(
      await agent.submit(choice, 'value="another"', { decision: 'another' }),
      bob.email,
      bob.password,
    )
    expectErrorPage(await agent.submit(page, 'csrf_token'), 403)
    expect((await userinfo(host, bobs.tokens.access_token)).status).toBe(200)
  })

  test.each<Record<string, string>>([
    { 'Sec-Fetch-Site': 'cross-site' },
    { 'Sec-Fetch-Site': 'same-site' },
    { Origin: 'https://evil.example' },
  ])('a form of another site removes nothing: %j', async (headers) => {
    const { agent } = await allowed()
    const fields = fieldsOf(await confirmOf(agent, 'Web client'), 'csrf_token')
    expectErrorPage(await agent.post(account, fields, headers), 403)
    expect(namesOf(await agent.open(account))).toEqual(['Web client'])
  })

  test('a GET removes nothing', async () => {
    const { agent } = await allowed()
    const fields = fieldsOf(await confirmOf(agent, 'Web client'), 'csrf_token')
    await agent.open(`${account}?${new URLSearchParams({ ...fields, decision: 'remove', removed: 'web' })}`)
    expect(namesOf(await agent.open(account))).toEqual(['Web client'])
  })

  test('no code that is issued at the same time stays valid', async () => {
    const challenge = pkce()
    const request = authorizeUrl({
      ...web,
      prompt: 'none',
      code_challenge: challenge.challenge,
      code_challenge_method: 'S256',
    })
    let issued = 0
    let refused = 0
    for (let round = 0; round < 12; round += 1) {
      const { agent } = await allowed()
      const fields = fieldsOf(await confirmOf(agent, 'Web client'), 'csrf_token')
      // Each in its place of the queue by turns: the removal first, last, and in between.
      const requests = [0, 1, 2, 3, 4, 5].map(
        (place) => () => (place === round % 6 ? agent.post(account, fields) : agent.get(request)),
      )
      const answers = await Promise.all(requests.map((send) => send()))
      const codes = answers.flatMap(({ location }) => location?.searchParams.get('code') ?? [])
      issued += codes.length
      refused += answers.filter(({ location }) => location?.searchParams.has('error')).length
      for (const code of codes) {
        const redeemed = await redeem(host, code, { code_verifier: challenge.verifier })
        expectError(redeemed, 400, 'invalid_grant')
      }
      expect(await table('consents').where({ subject: '1' })).toEqual([])
      expect(await table('authorizations').whereNull('revoked_at')).toEqual([])
    }
    // Else there was no race.
    expect(issued).toBeGreaterThan(0)
    expect(refused).toBeGreaterThan(0)
  })
})
