import session from 'express-session'
import { authenticatorApps, developers, passkeys, personalAccessTokens } from '../../lib/features/index.ts'
import { type Clock, stopClock } from '../support/clock.ts'
import { openTestDatabase } from '../support/database.ts'
import { authorizeUrl, callback, createUsers, type Host, pkce, startHost } from '../support/host.ts'
import { codeOf, expectErrorPage, expectErrorRedirect } from '../support/outcomes.ts'
import { type Answer, fieldsOf, formOf, RawBrowser, textOf } from '../support/raw-browser.ts'
import {
  ada,
  answerOf,
  bob,
  expectError,
  guarded,
  redeem,
  refresh,
  revoke,
  userinfo,
} from '../support/tokens.ts'
import {
  account,
  allowed,
  clientsOf,
  confirmOf,
  events,
  host,
  namesOf,
  otherWeb,
  remove,
  settings,
  web,
  withAccounts,
} from './connected-clients.ts'
import { expectForgedFormsRefused } from './forged-forms.ts'

withAccounts()

type Allowed = Awaited<ReturnType<typeof allowed>>

const browser = () => new RawBrowser(host.app)
const expire = async (...names: readonly string[]): Promise<void> => {
  for (const name of names) await host.table(name).update({ expires_at: 1 })
}

describe('without a login', () => {
  const signInPage = async (agent: RawBrowser, path = account) => {
    const page = await agent.open(path)
    expect({ status: page.status, path: page.url.pathname }).toEqual({ status: 200, path: account })
    const csrf_token = expect.stringMatching(/^[\w-]{43}$/)
    expect(fieldsOf(page, 'name="password"')).toEqual({ csrf_token, username: '', password: '' })
    return page
  }

  test('shows a sign-in form without a client, refuses a wrong password, then shows the empty list', async () => {
    const agent = browser()
    const page = await signInPage(agent)
    expect(textOf(page)).not.toContain('continue')
    expect(page.headers['content-security-policy']).toMatch(/form-action 'self'$/)
    const wrong = await agent.signIn(page, ada.email, 'wrong')
    expect(wrong.status).toBe(400)
    expect(fieldsOf(wrong, 'name="password"').username).toBe(ada.email)
    expect(events.map(({ time: _, requestId: __, address: ___, ...event }) => event)).toEqual([
      { type: 'login.failed', account: expect.any(String) },
    ])
    const list = await agent.signIn(wrong)
    expect(list.url.pathname + list.url.search).toBe(account)
    expect(textOf(list)).toMatch(/Connected apps .*ada@example\.com Sign out/)
    expect(textOf(list)).toContain('No apps are connected to your Latchkey account.')
    expect(clientsOf(list)).toEqual([])
    expect(list.headers['cache-control']).toBe('no-store')
    expect(list.html).toContain('<a class="link" id="sign-out" href="/oauth/logout">')
    expect(events.at(-1)).toMatchObject({ type: 'login.succeeded', subject: '1' })
    expect(events.at(-1)).not.toHaveProperty('clientId')
    expect(await host.table('pending_requests')).toEqual([])
  })

  test('no parameter of the URL or the form redirects anywhere else', async () => {
    const evil = 'https://evil.example/'
    const more = { return_to: evil, redirect_uri: evil, removed: evil }
    const agent = browser()
    const page = await signInPage(agent, `${account}?${new URLSearchParams(more)}`)
    const form = formOf(page.html, 'name="password"')
    expect(form.action).toBe(account)
    const fields = { ...form.fields, username: ada.email, password: ada.password, ...more }
    const answer = await agent.post(`${account}?${new URLSearchParams(more)}`, fields)
    expect([answer.status, answer.headers.location]).toEqual([303, `${account}#_`])
  })

  test('failures count together with those of the other sign-in page', async () => {
    const strict = await startHost({ options: { limits: { store: 'memory' } } })
    const agent = new RawBrowser(strict.app)
    const login = await agent.open(authorizeUrl({ client_id: 'web', scope: 'openid' }))
    const page = await agent.open(account)
    for (const each of [page, page, page, login, login])
      expect((await agent.signIn(each, ada.email, 'wrong')).status).toBe(400)
    const locked = await agent.signIn(page)
    expect({ status: locked.status, path: locked.url.pathname }).toEqual({ status: 429, path: account })
    expect(Number(locked.headers['retry-after'])).toBeGreaterThan(0)
    await strict.close()
  })

  test('a forged form signs no user in', async () => {
    const agent = browser()
    const signInFields = async (by: RawBrowser, path = account) => ({
      ...fieldsOf(await by.open(path), 'name="password"'),
      username: ada.email,
      password: ada.password,
    })
    await expectForgedFormsRefused(agent, account, () => signInFields(agent), {
      'another browser': () => signInFields(browser()),
      'a sign-in for a client': () => signInFields(agent, authorizeUrl(web)),
    })
    await signInPage(agent)
    expect(new Set(events.map(({ type }) => type))).toEqual(new Set(['request.refused']))
  })

  test('the browser goes to the login page of the host, and comes back to the list or to a link', async () => {
    let user: { subject: number; authTime: number } | undefined
    const hosted = await startHost({
      before: [session({ secret: 'of the host', resave: false, saveUninitialized: false })],
      options: { session: 'host', login: { url: '/sign-in', current: () => user } },
    })
    const agent = new RawBrowser(hosted.app)
    const there = await agent.get(account)
    expect(there.status).toBe(303)
    expect(there.headers.location).toBe('/sign-in?return_to=%2Foauth%2Faccount%3Freturned%3D1#_')
    const returnTo = there.location?.searchParams.get('return_to') ?? ''
    const withoutLogin = await agent.get(returnTo)
    expect(withoutLogin.status).toBe(200)
    expect(textOf(withoutLogin)).toContain('You’re not signed in')
    expect(withoutLogin.html).toContain('href="/sign-in?return_to=%2Foauth%2Faccount%3Freturned%3D1"')
    user = { subject: 1, authTime: 1_700_000_000 }
    expect(textOf(await agent.open(returnTo))).toContain('ada@example.com Sign out')
    await hosted.close()
  })
})

describe('the links between the pages of an account', () => {
  const all = [
    ...['', '/devices', '/passkeys', '/second-factor', '/tokens'].map((path) => account + path),
    '/oauth/developer',
  ]
  /** The paths that the navigation links to, and those that it marks as the present page. */
  const navigationOf = ({ html }: Answer) => {
    const [list = ''] = /<nav class="sections account-nav".*?<\/nav>/s.exec(html) ?? []
    const links = [...list.matchAll(/href="([^"]+)"( aria-current="page")?/g)]
    return {
      paths: links.map(([, path = '']) => path),
      present: links.flatMap(([, path = '', mark]) => (mark === undefined ? [] : [path])),
    }
  }

  test('each page links to all, marks itself, and offers the sign-out and the languages', async () => {
    const many = await startHost({
      options: {
        features: [
          personalAccessTokens(),
          passkeys(),
          authenticatorApps(),
          developers({ allow: () => true }),
        ],
      },
    })
    const agent = new RawBrowser(many.app)
    await agent.signIn(await agent.open(account))
    for (const path of all) {
      const page = await agent.open(path)
      expect(new Set(navigationOf(page).paths)).toEqual(new Set(all))
      expect(navigationOf(page).present).toEqual([path])
      expect(page.html).toContain('id="sign-out" href="/oauth/logout"')
      expect(page.html).toContain(`href="${path}?language=de"`)
    }
    await many.close()
  })

  test('a host without these options has the pages of the core', async () => {
    const agent = browser()
    const { paths } = navigationOf(await agent.signIn(await agent.open(account)))
    expect(paths).toEqual([account, `${account}/devices`])
  })
})

describe('the list', () => {
  test('says “username” where the app maps no name, also on the consent page', async () => {
    const database = openTestDatabase()
    const table = `${database.tablePrefix}people`
    await createUsers(database, table)
    const users = { table, columns: { id: 'id', username: 'full_name', password: 'password_hash' } }
    const named = await startHost({ database, options: { users } })
    const agent = new RawBrowser(named.app)
    const request = authorizeUrl({ client_id: 'web', scope: 'openid profile' })
    const consent = await agent.signIn(await agent.open(request), 'Ada Lovelace', ada.password)
    expect(textOf(consent)).not.toContain('your name')
    await agent.decide(consent, 'allow')
    expect(clientsOf(await agent.open(account))[0]?.scopes).toContain('See your username')
    await named.close()
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
        remove: '/oauth/account?client_id=web',
        scopes: ['Sign you in with your Latchkey account', 'See your email address', 'Read your notes'],
        since: iso(start),
        lastUsed: iso(start + 200),
        sessions: '2',
      },
      {
        name: 'Other client',
        place: 'other.example.com',
        remove: '/oauth/account?client_id=other',
        scopes: ['Sign you in with your Latchkey account'],
        since: iso(start + 100),
        lastUsed: iso(start + 100),
        sessions: '1',
      },
    ])
  })

  test('two clients of one name are told apart by their hosts', async () => {
    const { agent } = await allowed({ client_id: 'web', scope: 'openid' })
    await allowed(otherWeb, ada, agent)
    const summaries = async () =>
      [...(await agent.open(account)).html.matchAll(/<summary>([\s\S]*?)<\/summary>/g)].map(
        ([, summary = '']) => /(?:client|other)\.example\.com/.exec(summary)?.[0],
      )
    expect(await summaries()).toEqual([undefined, undefined])
    await host.oauth.clients.update('other', { client_name: 'WEB client' })
    expect((await summaries()).sort()).toEqual(['client.example.com', 'other.example.com'])
    await host.oauth.clients.update('other', { client_name: 'Other client' })
  })

  const onceMore = authorizeUrl({ client_id: 'web', scope: 'openid' })
  const hours = 3600
  const days = 24 * hours

  // Each begins with one sign-in of Ada for a client, whose code is redeemed.
  test.each<[string, string, Record<string, string>, (given: Allowed, clock: Clock) => unknown]>([
    ['1', 'a code that was redeemed is one session with its tokens', otherWeb, () => {}],
    ['2', 'a code that waits counts', web, ({ agent }) => agent.get(onceMore)],
    [
      '1',
      'a code that was not redeemed in time does not count',
      web,
      async ({ agent }, clock) => {
        await agent.get(onceMore)
        clock.travel(61)
      },
    ],
    ['0', 'a revoked token does not count', web, ({ tokens }) => revoke(host, tokens.refresh_token)],
    ['0', 'tokens of a login that has ended do not count', otherWeb, (_, clock) => clock.travel(13 * hours)],
    ['1', 'offline access needs no login', web, (_, clock) => clock.travel(13 * hours)],
    ['0', 'offline access ends when it is not used', web, (_, clock) => clock.travel(31 * days)],
    ['0', 'expired tokens do not count', otherWeb, () => expire('access_tokens', 'refresh_tokens')],
    ['2', 'a sign-in in another browser counts', otherWeb, () => allowed(otherWeb)],
    [
      '1',
      'tokens of another browser, whose login has ended, do not count',
      otherWeb,
      async () => {
        const [mine] = await host.table('logins').select('sid')
        await allowed(otherWeb)
        await host.table('logins').whereNot(mine).update({ ended_at: 1 })
      },
    ],
  ])('counts %s: %s', async (count, _, request, act) => {
    const clock = stopClock()
    const given = await allowed(request)
    await act(given, clock)
    const page = await given.agent.open(account)
    const list = page.html.includes('name="password"') ? await given.agent.signIn(page) : page
    expect(clientsOf(list).map(({ sessions }) => sessions)).toEqual([count])
  })

  test('shows the scopes of older tokens after a scope was unticked', async () => {
    const { agent } = await allowed({ client_id: 'web', scope: 'openid notes:write' })
    const again = { client_id: 'web', scope: 'openid notes:write', prompt: 'consent' }
    const page = await agent.open(authorizeUrl(again))
    const { 'scope:notes:write': _, ...fields } = fieldsOf(page, 'value="allow"')
    await agent.follow(await agent.post('/oauth/consent', { ...fields, decision: 'allow' }))
    expect(clientsOf(await agent.open(account))[0]?.scopes).toContain('Write notes for you')
  })

  test('reads the newest 200 sign-ins of a client, and users.export() every one in order', async () => {
    const { agent } = await allowed({ client_id: 'web', scope: 'openid' })
    const [authorization] = await host.table('authorizations')
    const now = Math.floor(Date.now() / 1000)
    const request = JSON.stringify({ ...JSON.parse(authorization.request), redirectUri: callback })
    const rows = Array.from({ length: 250 }, (_, number) => ({
      ...authorization,
      id: `id-${number}`,
      code_hash: `hash-${number}`,
      request,
      created_at: now - 1000 + number,
      consumed_at: null,
      code_expires_at: now + 60,
    }))
    await host.database.knex.batchInsert(`${host.database.tablePrefix}authorizations`, rows, 25)
    expect(clientsOf(await agent.open(account)).map(({ sessions }) => sessions)).toEqual(['200'])
    const { authorizations } = await host.oauth.users.export(1)
    expect(authorizations.map(({ id }) => id)).toEqual([...rows.map(({ id }) => id), authorization.id])
  })

  describe('of many clients', () => {
    const gone = Array.from({ length: 40 }, (_, number) => `gone-${number + 1}`)
    const [first, second, third] = [['Web client', ...gone.slice(0, 19)], gone.slice(19, 39), gone.slice(39)]
    let agent: RawBrowser
    beforeEach(async () => {
      agent = (await allowed({ client_id: 'web', scope: 'openid' })).agent
      const consent = { subject: '1', scopes: 'openid', terms: '{"place":"","entries":{}}', created_at: 1000 }
      await host
        .table('consents')
        .insert(gone.map((client_id, at) => ({ ...consent, client_id, updated_at: 2000 - at })))
    })

    test.each([
      ['the first page', '', first],
      ['the second page', '?page=2', second],
      ['the third page', '?page=3', third],
      ['the last page for a number beyond it', '?page=99', third],
      ['the first page for zero', '?page=0', first],
      ['the first page for a negative number', '?page=-1', first],
      ['the first page for what is no number', '?page=x', first],
      ['the first page for another notation', '?page=1e9', first],
      ['the first page for five digits', '?page=99999', first],
      ['the first page for an empty number', '?page=', first],
    ])('shows %s', async (_, query, names) => {
      expect(namesOf(await agent.open(account + query))).toEqual(names)
    })

    test.each([
      ['first', '', [undefined, '/oauth/account?page=2']],
      ['second', '?page=2', ['/oauth/account?page=1', '/oauth/account?page=3']],
      ['third', '?page=3', ['/oauth/account?page=2', undefined]],
    ])('the %s page links to its neighbours', async (_, query, links) => {
      const { html } = await agent.open(account + query)
      const linkOf = (text: string) => new RegExp(`<a href="([^"]+)">${text} page<`).exec(html)?.[1]
      expect([linkOf('Previous'), linkOf('Next')]).toEqual(links)
    })

    test('each client can be removed, also one that does not exist any more', async () => {
      await agent.submit(await agent.open(`${account}?client_id=gone-40`), 'csrf_token')
      expect(namesOf(await agent.open(`${account}?page=3`))).toEqual(second)
    })
  })

  test.each([true, false])('the last use is the last refresh, with rotation: %s', async (rotation) => {
    const clock = stopClock()
    await host.oauth.clients.update('web', { refresh_token_rotation: rotation })
    const { agent, tokens } = await allowed()
    let { refresh_token } = tokens
    for (const seconds of [1000, 30]) {
      clock.travel(seconds)
      refresh_token = (await answerOf(refresh(host, refresh_token))).refresh_token ?? refresh_token
      const [client] = clientsOf(await agent.open(account))
      expect(client?.lastUsed).toBe(new Date(clock.now() * 1000).toISOString())
    }
    await host.oauth.clients.update('web', { refresh_token_rotation: true })
  })
})

test('beyond the limit the oldest authorizations end, only of the same client, user and kind', async () => {
  const max = 6
  const reasons: unknown[] = []
  const options = { limits: { authorizationsPerClient: max }, database: { prune: false } }
  const limited: Host = await startHost({ ...settings, options })
  limited.oauth.events.on('authorization.revoked', ({ reason }) => reasons.push(reason))
  const offline = authorizeUrl({ client_id: 'web', scope: 'openid offline_access' })
  const clock = stopClock()
  const agent = new RawBrowser(limited.app)
  const grant = async (url: string, by = agent, as = ada) =>
    answerOf(redeem(limited, codeOf(await by.grant(url, as.email, as.password))))
  const online = authorizeUrl({ client_id: 'web', scope: 'openid' })
  const others = [await grant(online), await grant(online)]
  others.push(await grant(offline, new RawBrowser(limited.app), bob))
  const many = []
  for (let round = 0; round < 10; round += 1) {
    clock.travel(1)
    many.push(await grant(offline))
  }
  await limited.oauth.close()
  const isActive = async (tokens: { access_token: string }): Promise<boolean> =>
    (await userinfo(limited, tokens.access_token)).status === 200
  const active = await Promise.all(many.map(isActive))
  const count = active.filter(Boolean).length
  expect(count).toBeGreaterThanOrEqual(max)
  expect(count).toBeLessThanOrEqual(max + max / 3)
  // The oldest have ended, and no later one.
  expect(active).toEqual(many.map((_, index) => index >= many.length - count))
  expect(await Promise.all(others.map(isActive))).toEqual([true, true, true])
  expect((await refresh(limited, many[0]?.refresh_token ?? '')).status).toBe(400)
  expect(reasons).toEqual(Array(many.length - count).fill('too_many'))
  await limited.close()
})

test('authorizations beyond the limit never end a code that can still be redeemed (L20)', async () => {
  const options = { limits: { authorizationsPerClient: 1 }, database: { prune: false } }
  const limited: Host = await startHost({ ...settings, options })
  const clock = stopClock()
  const agent = new RawBrowser(limited.app)
  const asked = authorizeUrl({ client_id: 'web', scope: 'openid offline_access' })
  const issue = async () => codeOf(await agent.grant(asked, ada.email, ada.password))
  const codes = [await issue(), await issue(), await issue()]
  clock.travel(1)
  codes.push(await issue())
  // The check has run once the host has closed.
  await limited.oauth.close()
  const next: Host = await startHost({ ...settings, options, database: limited.database })
  const tokens = await Promise.all(codes.map((code) => answerOf(redeem(next, code))))
  const fresh = codeOf(await new RawBrowser(next.app).grant(asked, ada.email, ada.password))
  await next.oauth.close()
  const statuses = await Promise.all(
    tokens.map(async ({ access_token }) => (await userinfo(next, access_token)).status),
  )
  // Of those that are redeemed, the oldest have ended.
  expect(statuses).toEqual([401, 401, 401, 200])
  await answerOf(redeem(next, fresh))
  await limited.close()
})

describe('removing', () => {
  test('asks first, then ends codes and tokens at once, in every browser, and the consent', async () => {
    const here = await allowed()
    const there = await allowed({ client_id: 'web', scope: 'openid notes:read' })
    const code = codeOf(await here.agent.get(authorizeUrl({ ...web, prompt: 'none' })))
    const page = await confirmOf(here.agent, 'Web client')
    expect(textOf(page)).toContain('Remove Web client’s access?')
    expect(textOf(page)).toContain('Web client loses access to your Latchkey account immediately')
    expect(textOf(page)).toContain('If you use it again, it must ask you first.')
    expect((await userinfo(host, here.tokens.access_token)).status).toBe(200)
    const list = await here.agent.submit(page, 'csrf_token')
    expect(textOf(list)).toContain('Access removed. Web client can no longer use your account.')
    expect(clientsOf(list)).toEqual([])
    for (const { tokens } of [here, there]) {
      expect((await userinfo(host, tokens.access_token)).status).toBe(401)
      expect((await guarded(host, tokens.access_token)).status).toBe(401)
      expectError(await refresh(host, tokens.refresh_token), 400, 'invalid_grant')
    }
    expectError(await redeem(host, code), 400, 'invalid_grant')
    const silent = await here.agent.get(authorizeUrl({ ...web, prompt: 'none' }))
    expectErrorRedirect(silent, 'consent_required')
    expect(await host.table('consents')).toEqual([])
    // The same form again is harmless, and announces nothing.
    expect((await here.agent.submit(page, 'csrf_token')).url.pathname).toBe(account)
    const removed = events.filter(({ type }) => type === 'consent.removed')
    expect(removed).toMatchObject([{ subject: '1', clientId: 'web', address: '127.0.0.1' }])

    const { tokens } = await allowed(web, ada, here.agent)
    expect((await userinfo(host, tokens.access_token)).status).toBe(200)
    const [again] = clientsOf(await here.agent.open(account))
    expect(again).toMatchObject({ name: 'Web client', sessions: '1' })
  })

  test('leaves other clients and other users as they were, who are in no list of this user', async () => {
    const { agent } = await allowed()
    const other = await allowed(otherWeb, ada, agent)
    const bobs = await allowed(web, bob)
    expect(namesOf(await agent.open(account)).sort()).toEqual(['Other client', 'Web client'])
    expect(namesOf(await bobs.agent.open(account))).toEqual(['Web client'])
    // The address of a client that Bob does not use shows the list.
    expect(namesOf(await bobs.agent.open(`${account}?client_id=other`))).toEqual(['Web client'])
    expect(namesOf(await remove(agent, 'Web client'))).toEqual(['Other client'])
    expect((await userinfo(host, other.tokens.access_token)).status).toBe(200)
    expect((await userinfo(host, bobs.tokens.access_token)).status).toBe(200)
    expect((await refresh(host, bobs.tokens.refresh_token)).status).toBe(200)
    expect(namesOf(await bobs.agent.open(account))).toEqual(['Web client'])
  })

  test('a first-party client, which needs no consent, loses its tokens and gets new ones', async () => {
    const { agent, tokens } = await allowed({ client_id: 'ours', scope: 'openid profile offline_access' })
    expect(await host.table('consents')).toEqual([])
    const [listed] = clientsOf(await agent.open(account))
    expect(listed).toMatchObject({ name: 'Ours', sessions: '1' })
    expect(listed?.scopes).toContain('See your name and profile')
    const page = await confirmOf(agent, 'Ours')
    expect(textOf(page)).toContain('It belongs to Latchkey')
    expect(clientsOf(await agent.submit(page, 'csrf_token'))).toEqual([])
    expect((await userinfo(host, tokens.access_token)).status).toBe(401)
    expectError(await refresh(host, tokens.refresh_token, { client_id: 'ours' }), 400, 'invalid_grant')
    codeOf(await agent.get(authorizeUrl({ client_id: 'ours', scope: 'openid profile', prompt: 'none' })))
  })

  test('works for a deleted client', async () => {
    const { agent } = await allowed(otherWeb)
    const row = await host.table('clients').where({ client_id: 'other' }).first()
    await host.table('clients').where({ client_id: 'other' }).delete()
    expect(namesOf(await remove(agent, 'other'))).toEqual([])
    await host.table('clients').insert(row)
  })

  test('a link with the fields of the form removes nothing', async () => {
    const { agent } = await allowed()
    const fields = fieldsOf(await confirmOf(agent, 'Web client'), 'csrf_token')
    await agent.open(`${account}?${new URLSearchParams({ ...fields, decision: 'remove', removed: 'web' })}`)
    expect(namesOf(await agent.open(account))).toEqual(['Web client'])
  })

  test.each([
    ['is silent about a client that is in the list', 'web', false],
    ['is silent about a client that does not exist', 'unknown-client', false],
    ['names a client that is not in the list', 'native', true],
  ])('a link that claims a removal %s', async (_, removed, isShown) => {
    const { agent } = await allowed()
    const page = await agent.open(`${account}?${new URLSearchParams({ removed })}`)
    expect(namesOf(page)).toEqual(['Web client'])
    expect(page.html.includes('role="status"')).toBe(isShown)
    expect(textOf(page).includes('Native client can no longer use your account')).toBe(isShown)
  })

  test('after the session ended, the form leads to the sign-in page and removes nothing', async () => {
    const { agent, tokens } = await allowed()
    const page = await confirmOf(agent, 'Web client')
    await agent.submit(await agent.open('/oauth/logout'), 'csrf_token')
    const login = await agent.submit(page, 'name="client_id"')
    expect(textOf(login)).toContain('Sign in to Latchkey Email Password')
    expect((await refresh(host, tokens.refresh_token)).status).toBe(200)
  })

  test('a forged form, or one about another client, removes nothing', async () => {
    const { agent } = await allowed()
    await allowed(otherWeb, ada, agent)
    const bobs = await allowed(web, bob)
    const form = async (of = agent) => fieldsOf(await confirmOf(of, 'Web client'), 'csrf_token')
    await expectForgedFormsRefused(agent, account, form, {
      'another user': () => form(bobs.agent),
      'the sign-out': async () => fieldsOf(await agent.open('/oauth/logout'), 'csrf_token'),
    })
    expectErrorPage(await agent.post(account, { ...(await form()), client_id: 'other' }), 403)
    expect(namesOf(await agent.open(account)).sort()).toEqual(['Other client', 'Web client'])
  })

  test('the form of one user removes nothing for the next one who signs in', async () => {
    const { agent } = await allowed()
    const bobs = await allowed(web, bob)
    const page = await confirmOf(agent, 'Web client')
    const choice = await agent.open(authorizeUrl({ ...web, prompt: 'select_account' }))
    const login = await agent.submit(choice, 'value="another"', { decision: 'another' })
    await agent.signIn(login, bob.email, bob.password)
    expectErrorPage(await agent.submit(page, 'csrf_token'), 403)
    expect((await userinfo(host, bobs.tokens.access_token)).status).toBe(200)
  })

  test('no code that is issued at the same time stays valid', async () => {
    const { challenge, verifier } = pkce()
    const asked = { ...web, prompt: 'none', code_challenge: challenge, code_challenge_method: 'S256' }
    const outcomes: string[] = []
    // The removal is first, in between, and last among the requests.
    for (const turn of [0, 1, 2]) {
      const { agent } = await allowed()
      const fields = fieldsOf(await confirmOf(agent, 'Web client'), 'csrf_token')
      const requests = [0, 1, 2].map((place) =>
        place === turn ? agent.post(account, fields) : agent.get(authorizeUrl(asked)),
      )
      for (const { location } of await Promise.all(requests)) {
        if (location?.searchParams.has('error')) outcomes.push('refused')
        const code = location?.searchParams.get('code') ?? undefined
        if (code === undefined) continue
        outcomes.push('issued')
        expectError(await redeem(host, code, { code_verifier: verifier }), 400, 'invalid_grant')
      }
      expect(await host.table('consents').where({ subject: '1' })).toEqual([])
      expect(await host.table('authorizations').whereNull('revoked_at')).toEqual([])
    }
    // Otherwise nothing happened at the same time.
    expect(outcomes).toEqual(expect.arrayContaining(['issued', 'refused']))
  })
})
