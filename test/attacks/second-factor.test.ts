import session from 'express-session'
import { device, secondFactor } from '../../lib/features/index.ts'
import type { AuthEvent, AuthRouterOptions, SecondFactor } from '../../lib/index.ts'
import { stopClock } from '../support/clock.ts'
import { authorizeUrl, clients, type Host, startHost } from '../support/host.ts'
import { codeOf, expectErrorPage, expectErrorRedirect, expectExpiredPage } from '../support/outcomes.ts'
import { type Answer, formOf, locationOf, RawBrowser } from '../support/raw-browser.ts'
import { ada, bob } from '../support/tokens.ts'

// The attacker knows the passwords of Ada and Bob. Only where a test says it does the attacker have a second factor.

const ownSession = { options: { session: 'own' as const } }
const hostSession = {
  options: { session: 'host' as const },
  before: [session({ secret: 'of the host', resave: false, saveUninitialized: false, name: 'host.sid' })],
}

describe.each([
  ['its own session', ownSession],
  ['the session of the host', hostSession],
])('a second factor, with %s', (_session, settings) => {
  let host: Host
  let right: Record<string, string>
  let verified = 0
  let factorOf: (id: unknown) => SecondFactor | undefined
  let events: AuthEvent[] = []
  beforeAll(async () => {
    const features = [secondFactor({ find: (user) => factorOf(user.id) }), device()]
    const acrValues = ['mfa']
    host = await startHost({
      ...settings,
      options: { ...settings.options, features, acrValues },
      clients: [
        ...clients,
        { ...clients[0], client_id: 'first', first_party: true, scope: 'openid notes:read' },
      ] as typeof clients,
    })
    host.oauth.events.on('*', (event) => void events.push(event))
  })
  afterAll(() => host.close())
  beforeEach(async () => {
    right = Object.fromEntries(['1', '2'].map((id) => [id, String(Math.random()).slice(2, 8)]))
    verified = 0
    factorOf = (id) => ({
      kind: 'code',
      verify: async (code) => {
        verified += 1
        return code === right[String(id)]
      },
      acr: 'mfa',
    })
    for (const name of ['throttles', 'logins', 'authorizations', 'pending_logins'])
      await host.table(name).delete()
    events = []
  })
  afterEach(() => jest.restoreAllMocks())

  const url = (more: Record<string, string> = {}): string =>
    authorizeUrl({ client_id: 'first', scope: 'openid notes:read', ...more })
  /** The page that asks for the code, after the right password. */
  const halfway = async (agent: RawBrowser, user = ada, path = url()): Promise<Answer> => {
    const page = await agent.signIn(await agent.open(path), user.email, user.password)
    expect(page.url.pathname).toBe('/oauth/second-factor')
    return page
  }
  const enter = (agent: RawBrowser, page: Answer, code = right['1'] ?? ''): Promise<Answer> =>
    agent.submit(page, 'name="code"', { code })
  const start = async (user = ada): Promise<{ agent: RawBrowser; page: Answer }> => {
    const agent = new RawBrowser(host.app)
    return { agent, page: await halfway(agent, user) }
  }
  const loginCount = async (): Promise<number> => (await host.table('logins').select('sid')).length
  const expectNoLogin = async (): Promise<void> => {
    const issued = await host.table('authorizations').select('id')
    const types = events.map(({ type }) => type).filter((type) => /succeeded|issued/.test(type))
    expect({ logins: await loginCount(), issued, types }).toEqual({ logins: 0, issued: [], types: [] })
  }
  const expectsSignIn = (answer: Answer): void =>
    expect(answer.html).toMatch(/name="(password|code|user_code)"/)
  const request = (page: Answer): string => page.url.searchParams.get('authorization_request') ?? ''

  /** Another process on the same database. */
  const other = (more: Partial<AuthRouterOptions> = {}): Promise<Host> =>
    startHost({
      ...settings,
      database: host.database,
      options: {
        ...settings.options,
        features: [secondFactor({ find: (user) => factorOf(user.id) })],
        acrValues: ['mfa'],
        users: {
          table: host.usersTable,
          columns: { id: 'id', username: 'email', password: 'password_hash' },
        },
        ...more,
      },
    })

  /** The form of the page, filled in with the right code. */
  const filled = (page: Answer) => {
    const { action, fields } = formOf(page.html, 'name="code"')
    return { action, form: { ...fields, code: right['1'] ?? '' } }
  }

  test('is not skipped by opening another page or request, with or without the code in its address', async () => {
    const { agent, page } = await start()
    const tab = await agent.open(url({ client_id: 'web' }))
    const query = `authorization_request=${request(page)}`
    const ofRequest = ['authorize', 'login', 'consent', 'select-account', 'second-factor'].flatMap((path) => [
      `/oauth/${path}?${query}`,
      `/oauth/${path}?${query}&code=${right['1']}`,
    ])
    const others = [
      '/oauth/account',
      '/oauth/second-factor',
      '/oauth/device',
      url(),
      url({ client_id: 'web' }),
    ]
    for (const path of [...ofRequest, ...others]) expectsSignIn(await agent.open(path))
    expectErrorRedirect(await agent.get(url({ prompt: 'none' })), 'login_required')
    const answer = await agent.open(`/oauth/second-factor?authorization_request=${request(tab)}`)
    expect(answer.html).toContain('name="password"')
    await expectNoLogin()
  })

  test.each<[string, (agent: RawBrowser, page: Answer) => Promise<unknown>]>([
    [
      'the code with the form of another tab',
      async (agent, page) => {
        const tab = await agent.open(url({ client_id: 'web' }))
        const form = { ...filled(page).form, authorization_request: request(tab) }
        expectErrorPage(await agent.post('/oauth/second-factor', form), 403)
      },
    ],
    [
      'another user, without the code of that user',
      async (agent, page) => {
        await halfway(agent, bob, page.url.href.replace('/second-factor', '/login'))
        expectsSignIn(await enter(agent, page, right['1']))
        expect(verified).toBe(0)
        expectsSignIn(await enter(agent, await agent.open(page.url.href), right['1']))
      },
    ],
    [
      'the code by GET and by HEAD',
      async (agent, page) => {
        const { action, form } = filled(page)
        const query = new URLSearchParams(form)
        expectsSignIn(await agent.open(`${action}?${query}`))
        await agent.send('HEAD', `${action}?${query}`)
      },
    ],
    [
      'the code in a form of another site, or without its token',
      async (agent, page) => {
        const { action, form } = filled(page)
        expectErrorPage(await agent.post(action, form, { 'Sec-Fetch-Site': 'cross-site' }), 403)
        expectErrorPage(await agent.post(action, { ...form, csrf_token: '' }), 403)
      },
    ],
    [
      'all cookies but the one of the browser, and in another browser',
      async (agent, page) => {
        const { action, form } = filled(page)
        const thief = agent.clone()
        for (const name of thief.cookies.keys()) if (name.endsWith('_browser')) thief.cookies.delete(name)
        expectExpiredPage(await thief.post(action, form))
        const other = new RawBrowser(host.app)
        await halfway(other, bob)
        expectExpiredPage(await other.post(action, form))
        expectErrorPage(await other.post('/oauth/second-factor', { ...form, authorization_request: '' }), 403)
        const account = await agent.signIn(await agent.open('/oauth/account'))
        expect(account.html).toContain('name="code"')
        expect((await other.open('/oauth/second-factor')).html).toContain('name="password"')
      },
    ],
  ])('is not skipped by %s', async (_way, attack) => {
    const { agent, page } = await start()
    await attack(agent, page)
    await expectNoLogin()
  })

  test('is not skipped by a remembered consent or by an earlier login that has ended', async () => {
    const agent = new RawBrowser(host.app)
    const asWeb = url({ client_id: 'web' })
    const page = await enter(agent, await halfway(agent, ada, asWeb))
    codeOf(page.location ? page : await agent.decide(page, 'allow'))
    await host.oauth.users.revokeAll(1)
    expectsSignIn(await halfway(agent, ada, asWeb))
    expectErrorRedirect(await agent.get(url({ client_id: 'web', prompt: 'none' })), 'login_required')
  })

  test('is not skipped by the login of another user in this browser', async () => {
    const agent = new RawBrowser(host.app)
    codeOf(await enter(agent, await halfway(agent, bob), right['2']))
    const page = await agent.open(url({ prompt: 'login' }))
    const [, other = ''] = /class="switch" href="([^"]+)"/.exec(page.html) ?? []
    const asAda = await agent.signIn(await agent.open(other.replaceAll('&amp;', '&')))
    expect(asAda.url.pathname).toBe('/oauth/second-factor')
    codeOf(await agent.get(url({ prompt: 'none' })))
    expect(await host.table('logins').distinct('subject')).toEqual([{ subject: '2' }])
  })

  test('is not skipped by a request for no level after an unfinished step-up', async () => {
    factorOf = () => undefined
    const agent = new RawBrowser(host.app)
    codeOf(await agent.grant(url()))
    factorOf = () => ({ kind: 'code', verify: () => false, acr: 'mfa' })
    const page = await halfway(agent, ada, url({ acr_values: 'mfa' }))
    for (const path of ['authorize', 'login']) {
      expectsSignIn(await agent.open(`/oauth/${path}?authorization_request=${request(page)}`))
    }
    expectErrorRedirect(await agent.get(url({ acr_values: 'mfa', prompt: 'none' })), 'login_required')
  })

  test.each<[string, () => Promise<unknown> | unknown]>([
    ['it has expired', () => stopClock().travel(600)],
    [
      'the user is disabled',
      () => host.database.knex(host.usersTable).where({ id: 1 }).update({ disabled_at: 1 }),
    ],
    ['the user’s password was changed', () => host.oauth.users.revokeAll(1)],
    ['the user is erased', () => host.oauth.users.erase(1)],
    ['the user has no second factor any more', () => (factorOf = () => undefined)],
  ])('a sign-in that waits for a code ends when %s', async (_case, change) => {
    const { agent, page } = await start()
    await change()
    const answer = await enter(agent, page)
    await host.database.knex(host.usersTable).update({ disabled_at: null })
    expect(answer.html).toContain('name="password"')
    await expectNoLogin()
  })

  test('the right code is accepted once: not again in its form, nor in another sign-in', async () => {
    const { agent, page } = await start()
    codeOf(await enter(agent, page))
    expect((await enter(agent, page)).html).not.toContain('name="code"')
    expect(await loginCount()).toBe(1)
    const second = await start()
    expect((await enter(second.agent, second.page)).html).toContain('Wrong code')
    expect(await loginCount()).toBe(1)
  })

  test('parallel forms with the right code, or with several right codes, lead to one login', async () => {
    factorOf = () => ({ kind: 'code', verify: async (code) => code.startsWith('right') })
    for (const codes of [Array(3).fill('right'), ['right', 'right2', 'right3']]) {
      await host.table('logins').delete()
      events = []
      const { agent, page } = await start()
      await Promise.all(codes.map((code) => enter(agent.clone(), page, code)))
      expect(await loginCount()).toBe(1)
      expect(events.filter(({ type }) => type === 'login.succeeded')).toHaveLength(1)
    }
  })

  test('parallel forms check five codes at most, from one browser and from several', async () => {
    const starts = [await start(), await start()]
    await Promise.all(
      starts.flatMap(({ agent, page }) =>
        Array.from({ length: 8 }, (_, guess) => enter(agent.clone(), page, `00${guess}`)),
      ),
    )
    expect(verified).toBeLessThanOrEqual(5)
    await expectNoLogin()
  })

  test('a known browser and the right password again do not allow more wrong codes', async () => {
    const { agent, page } = await start()
    codeOf(await enter(agent, page))
    verified = 0
    for (let round = 0; round < 6; round += 1) {
      const form = await halfway(agent, ada, url({ prompt: 'login' }))
      for (const guess of ['1', '2']) await enter(agent, form, `${round}${guess}`)
    }
    expect(verified).toBe(5)
  })

  test('without any throttle five codes are checked after one password', async () => {
    const open = await other({ limits: false })
    const agent = new RawBrowser(open.app)
    const page = await halfway(agent)
    await Promise.all(Array.from({ length: 8 }, (_, guess) => enter(agent.clone(), page, `00${guess}`)))
    expect(verified).toBe(5)
    expect((await enter(agent, page)).html).toContain('name="password"')
    await expectNoLogin()
    await open.oauth.close()
  })

  test('a restart, or another process, goes on where the first one stopped', async () => {
    const { agent, page } = await start()
    const { app, oauth } = await other()
    const moved = new RawBrowser(app, undefined, {}, agent.cookies)
    expectsSignIn(await enter(moved, page, 'wrong'))
    await expectNoLogin()
    codeOf(await enter(moved, page))
    await oauth.close()
  })

  test('another router in this process does not know the sign-in', async () => {
    const { agent } = await start()
    const elsewhere = await startHost({
      ...settings,
      mount: '/other',
      options: {
        ...settings.options,
        features: [secondFactor({ find: () => ({ kind: 'code', verify: () => true }) })],
      },
    })
    const thief = new RawBrowser(elsewhere.app, undefined, {}, agent.cookies)
    expect(locationOf(await thief.get('/other/second-factor')).pathname).toBe('/other/account')
    expect((await thief.open('/other/account')).html).toContain('name="password"')
    await elsewhere.close()
  })
})
