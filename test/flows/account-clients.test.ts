import { stopClock } from '../support/clock.ts'
import {
  account,
  allowed,
  clientsOf,
  confirmOf,
  host,
  namesOf,
  otherWeb,
  remove,
  settings,
  table,
  textOf,
  web,
  withAccounts,
} from '../support/connected-clients.ts'
import { authorizeUrl, callback, clients, type Host, startHost } from '../support/host.ts'
import { codeOf } from '../support/outcomes.ts'
import { fieldsOf, RawBrowser } from '../support/raw-browser.ts'
import { ada, answerOf, bob, redeem, refresh, revoke, userinfo } from '../support/tokens.ts'

withAccounts()

const browser = () => new RawBrowser(host.app)

describe('the list', () => {
  test('is empty at first, and explains itself', async () => {
    const agent = browser()
    const list = await agent.signIn(await agent.open(account))
    expect(textOf(list)).toContain('No apps are connected to your Latchkey account.')
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
        ...{ name: 'Web client', place: 'client.example.com', remove: '/oauth/account?client_id=web' },
        scopes: ['Sign you in with your Latchkey account', 'See your email address', 'Read your notes'],
        ...{ since: iso(start), lastUsed: iso(start + 200), sessions: '2' },
      },
      {
        ...{ name: 'Other client', place: 'other.example.com', remove: '/oauth/account?client_id=other' },
        scopes: ['Sign you in with your Latchkey account'],
        ...{ since: iso(start + 100), lastUsed: iso(start + 100), sessions: '1' },
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
    await revoke(host, tokens.refresh_token)
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
    const scopes = ['Sign you in with your Latchkey account', 'See your name and profile']
    expect(clientsOf(await agent.open(account))).toMatchObject([{ name: 'Ours', scopes, sessions: '1' }])
    expect(textOf(await confirmOf(agent, 'Ours'))).toContain('It belongs to Latchkey')
  })

  test('shows the scopes of older tokens after a scope was unticked', async () => {
    const { agent } = await allowed({ client_id: 'web', scope: 'openid notes:write' })
    const again = { client_id: 'web', scope: 'openid notes:write', prompt: 'consent' }
    const page = await agent.open(authorizeUrl(again))
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

  test('reads the newest 200 sign-ins of a client, and users.export() every one in order', async () => {
    const { agent } = await allowed({ client_id: 'web', scope: 'openid' })
    const [authorization] = await table('authorizations')
    const now = Math.floor(Date.now() / 1000)
    for (let number = 0; number < 250; number += 1) {
      const its = { id: `id-${number}`, code_hash: `hash-${number}`, created_at: now - 1000 + number }
      await table('authorizations').insert({
        ...authorization,
        ...{ ...its, consumed_at: null, code_expires_at: now + 60 },
        request: JSON.stringify({ ...JSON.parse(authorization.request), redirectUri: callback }),
      })
    }
    expect(clientsOf(await agent.open(account)).map(({ sessions }) => sessions)).toEqual(['200'])
    const { authorizations } = await host.oauth.users.export(1)
    expect(authorizations.map(({ id }) => id)).toEqual([
      ...Array.from({ length: 250 }, (_, number) => `id-${number}`),
      authorization.id,
    ])
  })

  test('of many clients has pages, and each client can be removed', async () => {
    const { agent } = await allowed({ client_id: 'web', scope: 'openid' })
    const consent = { subject: '1', scopes: 'openid', terms: '{}', created_at: 1000 }
    const names = Array.from({ length: 40 }, (_, number) => `gone-${number + 1}`)
    const rows = names.map((client_id, at) => ({ ...consent, client_id, updated_at: 2000 - at }))
    await table('consents').insert(rows)
    const pages = []
    let page = await agent.open(account)
    for (;;) {
      pages.push(namesOf(page))
      const [, next] = /<a href="([^"]+)">Next page</.exec(page.html) ?? []
      if (next === undefined) break
      page = await agent.open(next)
      expect(page.html).toContain(`<a href="/oauth/account?page=${pages.length}">Previous page</a>`)
    }
    expect(pages).toEqual([['Web client', ...names.slice(0, 19)], names.slice(19, 39), names.slice(39)])
    expect(namesOf(await agent.open(`${account}?page=99`))).toEqual(names.slice(39))
    for (const wrong of ['0', '-1', 'x', '1e9', '99999', ''])
      expect(namesOf(await agent.open(`${account}?page=${wrong}`))).toEqual(pages[0])
    const question = await agent.open(`${account}?client_id=gone-40`)
    await agent.submit(question, 'csrf_token')
    expect(namesOf(await agent.open(`${account}?page=3`))).toEqual(names.slice(19, 39))
  })

  test('a deleted client can still be removed', async () => {
    const { agent } = await allowed(otherWeb)
    const row = await table('clients').where({ client_id: 'other' }).first()
    await table('clients').where({ client_id: 'other' }).delete()
    expect(namesOf(await agent.open(account))).toEqual(['other'])
    expect(namesOf(await remove(agent, 'other'))).toEqual([])
    await table('clients').insert(row)
  })
})

describe('last used', () => {
  test.each([true, false])('is the last refresh, with rotation: %s', async (rotation) => {
    const clock = stopClock()
    const rotated = clients
      .filter((one) => one.token_endpoint_auth_method !== 'none')
      .map((one) => ({ ...one, refresh_token_rotation: rotation }))
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

describe('the number of authorizations of one user for one client', () => {
  const offline = { client_id: 'web', scope: 'openid offline_access' }
  const max = 6
  let limited: Host
  const reasons: unknown[] = []
  beforeAll(async () => {
    const options = { throttle: false as const, maxAuthorizationsPerClient: max, prune: false }
    limited = await startHost({ ...settings, options })
    limited.oauth.events.on('authorization.revoked', ({ reason }) => reasons.push(reason))
  })
  afterAll(() => limited.close())

  const grantMore = async (count: number, agent: RawBrowser, request: Record<string, string>) => {
    const url = authorizeUrl(request)
    const all = []
    for (let number = 0; number < count; number += 1) {
      const done = await agent.grant(url)
      all.push(await answerOf(redeem(limited, codeOf(done))))
    }
    return all
  }
  const activeOf = async (tokens: readonly { access_token: string }[]): Promise<boolean[]> =>
    Promise.all(tokens.map(async (one) => (await userinfo(limited, one.access_token)).status === 200))

  test('is limited: the oldest ends with its tokens, but none of another client, user or kind', async () => {
    const clock = stopClock()
    const agent = new RawBrowser(limited.app)
    const online = await grantMore(2, agent, { client_id: 'web', scope: 'openid' })
    const other = new RawBrowser(limited.app)
    const bobs = codeOf(await other.grant(authorizeUrl(offline), bob.email, bob.password))
    const bobsTokens = await answerOf(redeem(limited, bobs))
    const many = []
    for (let round = 0; round < 10; round += 1) {
      clock.travel(1)
      many.push(...(await grantMore(1, agent, offline)))
    }
    await limited.oauth.close()
    const active = await activeOf(many)
    const count = active.filter(Boolean).length
    expect(count).toBeGreaterThanOrEqual(max)
    expect(count).toBeLessThanOrEqual(max + max / 3)
    // The oldest have ended, and no later one.
    expect(active).toEqual(many.map((_, index) => index >= many.length - count))
    expect(await activeOf([...online, bobsTokens])).toEqual([true, true, true])
    expect((await refresh(limited, many[0]?.refresh_token ?? '')).status).toBe(400)
    expect(reasons).toEqual(Array(many.length - count).fill('too_many'))
  })
})
