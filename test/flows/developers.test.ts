import type { AuthEvent, AuthRouterOptions, HostLogin } from '../../lib/index.ts'
import { stopClock } from '../support/clock.ts'
import { textOf } from '../support/connected-clients.ts'
import { forgedForms } from '../support/forged-forms.ts'
import { authorizeUrl, type Host, startHost } from '../support/host.ts'
import { codeOf, expectErrorPage } from '../support/outcomes.ts'
import { type Answer, fieldsOf, RawBrowser } from '../support/raw-browser.ts'
import { countStatements } from '../support/statement-count.ts'
import { ada, bob, redeem } from '../support/tokens.ts'

jest.setTimeout(60_000)

const root = '/oauth/developer'
const redirectUri = 'https://desk.example.com/callback'
const events: AuthEvent[] = []
let host: Host
/** What `allow` returns, by the name of the user. */
let says: Record<string, unknown>

const developers: NonNullable<AuthRouterOptions['developers']> = {
  allow: (user) => says[String(user.email)] as boolean,
  maxClients: 3,
  scopes: ['openid', 'profile', 'offline_access', 'notes:read'],
  redirectUris: (uri) => !uri.includes('//forbidden.'),
}

beforeAll(async () => {
  host = await startHost({ options: { developers } })
  host.oauth.events.on('*', (event) => events.push(event))
})
afterAll(() => host.close())
beforeEach(async () => {
  says = { [ada.email]: true, [bob.email]: true }
  for (const name of ['client_owners', 'throttles']) await table(name).delete()
  events.length = 0
})
afterEach(() => jest.restoreAllMocks())

const table = (name: string) => host.database.knex(`${host.database.tablePrefix}${name}`)
const typesOf = () => events.map(({ type }) => type).filter((type) => type.startsWith('client.'))

/** A browser in which a developer is signed in. */
const signedIn = async (as = ada, at = host): Promise<RawBrowser> => {
  const agent = new RawBrowser(at.app)
  await agent.signIn(await agent.open(root), as.email, as.password)
  return agent
}

const desk = { client_name: 'Order Desk', redirect_uris: redirectUri, 'scopes:notes:read': 'on' }

const sent = async (agent: RawBrowser, path: string, fields: Record<string, string>): Promise<Answer> =>
  agent.submit(await agent.open(root + path), 'name="decision"', fields)

const idOf = ({ url }: Answer): string => url.searchParams.get('client_id') ?? ''
const secretOf = ({ html }: Answer) => / id="secret" value="([^"]+)"/.exec(html)?.[1]
const stateOf = async (agent: RawBrowser, clientId: string) =>
  /class="lead">(.*?)</.exec((await agent.open(`${root}/client?client_id=${clientId}`)).html)?.[1]

/** A new client. */
const register = async (agent: RawBrowser, fields: Record<string, string> = {}) => {
  const page = await sent(agent, '/new', { ...desk, ...fields })
  return { page, clientId: idOf(page), secret: secretOf(page) }
}

/** What a client of a developer gets: the status of the token request, or that of the request before it. */
const tokensOf = async (clientId: string, secret = '', scope = 'openid notes:read') => {
  const request = authorizeUrl({ client_id: clientId, scope, redirect_uri: redirectUri })
  const done = await new RawBrowser(host.app).grant(request)
  if (done.location === undefined) return { status: done.status, html: done.html }
  const code = codeOf(done, { redirectUri })
  const fields = { client_id: clientId, client_secret: secret, redirect_uri: redirectUri }
  const { status } = await redeem(host, code, fields)
  return { status, html: '' }
}

describe('who may register clients', () => {
  test('without the option there are no pages', async () => {
    const plain = await startHost()
    for (const path of ['', '/new', '/client', '/edit', '/rotate', '/delete'])
      expect((await new RawBrowser(plain.app).get(root + path)).status).toBe(404)
    await plain.close()
  })

  test.each([false, undefined, 'yes', 1])(
    'a user for whom allow returns %p gets 403 at every page',
    async (no) => {
      const agent = await signedIn()
      const { clientId } = await register(agent)
      const fields = fieldsOf(await agent.open(`${root}/new`), 'name="decision"')
      says[ada.email] = no
      for (const path of [
        '',
        '/new',
        ...['client', 'edit', 'rotate', 'delete'].map((each) => `/${each}?client_id=${clientId}`),
      ]) {
        const page = await agent.open(root + path)
        expect({ path, status: page.status }).toEqual({ path, status: 403 })
        expect(textOf(page)).toContain('You can’t register apps with this account')
      }
      expect((await agent.post(`${root}/new`, { ...fields, ...desk })).status).toBe(403)
      expect(await table('client_owners')).toHaveLength(1)
    },
  )

  test('allow gets the user and the request; if it fails, the user sees an error page', async () => {
    const asked: unknown[] = []
    const allow = (user: { id: unknown }, req: { path: string }) => {
      asked.push([user.id, req.path])
      throw Object.assign(new Error('away'), { code: 'ECONNREFUSED' })
    }
    const broken = await startHost({ options: { developers: allow as never } })
    const agent = new RawBrowser(broken.app)
    const page = await agent.signIn(await agent.open(root))
    expectErrorPage(page, 503)
    expect(asked).toEqual([[1, '/developer']])
    await broken.close()
  })

  test('a user whose sign-in is too old confirms the password and returns to the same page', async () => {
    const clock = stopClock()
    const agent = await signedIn()
    const { clientId } = await register(agent)
    // The session is used, so that only the sign-in is old.
    for (const seconds of [1500, 1500, 601]) {
      clock.travel(seconds)
      expect(await stateOf(agent, clientId)).toBe('Active')
    }
    for (const path of [
      '/new',
      ...['edit', 'rotate', 'delete'].map((each) => `/${each}?client_id=${clientId}`),
    ]) {
      const login = await agent.open(root + path)
      expect({ path, title: textOf(login) }).toEqual({
        path,
        title: expect.stringContaining('Confirm it’s you'),
      })
    }
    const login = await agent.open(`${root}/rotate?client_id=${clientId}`)
    const back = await agent.submit(login, 'name="password"', { password: ada.password })
    expect(textOf(back)).toContain('Create a new secret for Order Desk ?')
    const form = fieldsOf(back, 'name="decision"')
    for (const seconds of [1500, 1500, 601]) {
      clock.travel(seconds)
      await agent.open(root)
    }
    const late = await agent.follow(await agent.post(`${root}/rotate?client_id=${clientId}`, form))
    expect(textOf(late)).toContain('Confirm it’s you')
    expect(typesOf()).toEqual(['client.created'])
  })
})

describe('the sign-in of these pages', () => {
  const target = (path: string): string => `${root}/${path}?client_id=web`

  test('asks for the second factor and returns to the page', async () => {
    const secondFactor = () => ({ kind: 'code' as const, verify: (code: string) => code === '123456' })
    const strict = await startHost({ options: { developers, login: { secondFactor } } })
    await strict.oauth.developers.transfer('web', 1)
    const agent = new RawBrowser(strict.app)
    const code = await agent.signIn(await agent.open(target('edit')))
    expect(code.url.pathname).toBe('/oauth/second-factor')
    expect(textOf(await agent.open(target('edit')))).toContain('Password')
    const page = await agent.submit(code, 'name="code"', { code: '123456' })
    expect([page.url.pathname + page.url.search, page.status]).toEqual([target('edit'), 200])
    await strict.close()
  })

  test('happens on the login page of the host, with prompt=login if the user must sign in again', async () => {
    let current: HostLogin | undefined
    const login = { url: '/login', current: () => current }
    const own = await startHost({ options: { developers, login } })
    await own.oauth.developers.transfer('web', 1)
    const agent = new RawBrowser(own.app)
    const returnTo = `${target('edit')}&returned=1`
    const asked = async () => (await agent.get(target('edit'))).location?.searchParams
    expect(Object.fromEntries((await asked()) ?? [])).toEqual({ return_to: returnTo })
    const now = Math.floor(Date.now() / 1000)
    // The time of the first visit says nothing about the sign-in.
    for (current of [{ subject: '1' }, { subject: '1', authTime: now - 3700 }])
      expect(Object.fromEntries((await asked()) ?? [])).toEqual({ return_to: returnTo, prompt: 'login' })
    expect(textOf(await agent.open(returnTo))).toContain('You’re not signed in')
    expect((await agent.open(target('client'))).status).toBe(200)
    // Forms are long: half an hour is still recent.
    current = { subject: '1', authTime: now - 1800 }
    expect((await agent.get(target('edit'))).status).toBe(200)
    await own.close()
  })
})

describe('a client of a developer', () => {
  test('works with the secret that is shown once, is marked as unverified, and its acts are announced', async () => {
    const agent = await signedIn()
    const { page, clientId, secret } = await register(agent)
    expect(textOf(page)).toContain('Your app is registered.')
    expect(secret).toMatch(/^lk_cs_[\w-]{43}$/)
    expect(page.url.search + page.html.replace(`value="${secret}"`, '')).not.toContain('lk_cs_')
    expect(page.headers['cache-control']).toBe('no-store')
    const again = await agent.open(page.url.href)
    expect(again.html).not.toMatch(/lk_cs_|id="secret"|Your app is registered/)
    expect(agent.cookies.values().join()).not.toContain('lk_cs_')

    const request = authorizeUrl({ client_id: clientId, scope: 'openid', redirect_uri: redirectUri })
    expect((await agent.open(request)).html).toContain('Unverified app')
    expect((await tokensOf(clientId, secret)).status).toBe(200)
    expect((await tokensOf(clientId, 'x'.repeat(40))).status).toBe(401)
    const created = events.find(({ type }) => type === 'client.created')
    expect(created).toMatchObject({ clientId, subject: '1', address: '127.0.0.1' })
    expect(JSON.stringify(events)).not.toContain('lk_cs_')
    const { client_id_issued_at: _, ...metadata } = (await host.oauth.clients.get(clientId)) ?? {}
    expect(metadata).toEqual({
      ...{ client_id: clientId, disabled: false, client_name: 'Order Desk', redirect_uris: [redirectUri] },
      ...{ scope: 'openid notes:read', grant_types: ['authorization_code', 'refresh_token'] },
      ...{ response_types: ['code'], id_token_signed_response_alg: 'RS256', subject_type: 'public' },
      ...{ first_party: false, require_pkce: false, id_token_scope_claims: true },
      ...{ refresh_token_rotation: true, self_described: 'developer' },
    })
  })

  test('that is public has no secret and cannot get one', async () => {
    const agent = await signedIn()
    const { page, clientId, secret } = await register(agent, { token_endpoint_auth_method: 'none' })
    expect(secret).toBeUndefined()
    expect(page.html).not.toContain('/developer/rotate')
    const rotated = await sent(agent, `/rotate?client_id=${clientId}`, {})
    expect(rotated.status).toBe(400)
    expect(typesOf()).toEqual(['client.created'])
  })

  test.each([
    [{ client_name: '' }, 'client_name is required'],
    [{ client_name: 'Pаypal' }, 'client_name must not mix alphabets within a word'],
    [{ client_name: 'Order\u202eksed' }, 'client_name must not contain control or direction characters'],
    [{ redirect_uris: '' }, 'redirect_uris is required'],
    [{ redirect_uris: 'http://desk.example.com/cb' }, 'redirect_uri must use https beyond loopback'],
    [{ redirect_uris: 'https://*.example.com/cb' }, 'redirect_uri must not contain a wildcard'],
    [{ redirect_uris: 'com.example.desk:/cb' }, 'redirect_uris must use https, or http on loopback'],
    [
      { redirect_uris: `${redirectUri}\nhttps://forbidden.example/cb` },
      'redirect_uris has one that this server',
    ],
    [{ 'scopes:openid': '', 'scopes:notes:read': '' }, 'scope must name at least one scope'],
    [{ client_uri: 'javascript:alert(1)' }, 'client_uri must be an https URL'],
  ])('%p is refused beside its field, and what was typed stays', async (fields, error) => {
    const agent = await signedIn()
    const page = await sent(agent, '/new', { ...desk, client_uri: 'https://desk.example.com/', ...fields })
    expect(page.status).toBe(400)
    expect(textOf(page)).toContain(error)
    expect(page.html).toContain('aria-invalid="true"')
    const kept = fieldsOf(page, 'name="decision"')
    const typed = { client_name: desk.client_name, redirect_uris: redirectUri, ...fields }
    for (const name of ['client_name', 'redirect_uris'] as const)
      expect(kept[name]).toBe(typed[name].replace('\u202e', ''))
    expect(await table('client_owners')).toEqual([])
  })

  test('gets nothing that the form does not offer', async () => {
    const agent = await signedIn()
    const more = {
      ...{ 'scopes:notes:write': 'on', scope: 'notes:write', first_party: 'on', 'first_party:true': 'on' },
      ...{ 'grant_types:client_credentials': 'on', grant_types: 'implicit', other: '{"first_party":true}' },
      ...{ client_id: 'mine', client_secret: 'x'.repeat(40), may_introspect: 'on', subject: '2' },
    }
    const { clientId } = await register(agent, more)
    const client = await host.oauth.clients.get(clientId)
    expect(client).toMatchObject({ scope: 'openid notes:read', first_party: false })
    expect(client).toMatchObject({ grant_types: ['authorization_code', 'refresh_token'] })
    expect(client).not.toHaveProperty('may_introspect')
    expect(await host.oauth.developers.ownerOf(clientId)).toBe('1')
  })

  test('keeps the scopes and lifetimes of the host when its owner changes it, but not first_party', async () => {
    const agent = await signedIn()
    const { clientId } = await register(agent)
    await host.oauth.clients.update(clientId, {
      ...{ scope: 'openid notes:read notes:write', access_token_lifetime: 60, first_party: true },
    })
    expect(await host.oauth.clients.get(clientId)).not.toHaveProperty('self_described')
    const page = await sent(agent, `/edit?client_id=${clientId}`, {
      client_name: 'Desk 2',
      'scopes:openid': '',
    })
    expect(textOf(page)).toContain('Your changes are saved.')
    expect(await host.oauth.clients.get(clientId)).toMatchObject({
      ...{ client_name: 'Desk 2', scope: 'notes:read notes:write', access_token_lifetime: 60 },
      ...{ first_party: false, self_described: 'developer' },
    })
    expect(typesOf()).toEqual(['client.created', 'client.updated', 'client.updated'])
  })

  test('is not overwritten by a form that was opened before the last change', async () => {
    const agent = await signedIn()
    const { clientId } = await register(agent)
    const url = `${root}/edit?client_id=${clientId}`
    const early = fieldsOf(await agent.open(url), 'name="decision"')
    await sent(agent, `/edit?client_id=${clientId}`, { client_name: 'Second' })
    const late = await agent.post(url, { ...early, client_name: 'Third' })
    expect(late.status).toBe(409)
    expect(textOf(late)).toContain('This app has changed since you opened this form.')
    expect(fieldsOf(late, 'name="decision"')).toMatchObject({ client_name: 'Third' })
    expect(await host.oauth.clients.get(clientId)).toMatchObject({ client_name: 'Second' })
    await agent.submit(late, 'name="decision"')
    expect(await host.oauth.clients.get(clientId)).toMatchObject({ client_name: 'Third' })
  })

  test('gets a new secret, beside the previous one or in its place', async () => {
    const agent = await signedIn()
    const { clientId, secret } = await register(agent)
    const second = secretOf(await sent(agent, `/rotate?client_id=${clientId}`, {}))
    for (const valid of [secret, second]) expect((await tokensOf(clientId, valid)).status).toBe(200)
    const third = secretOf(await sent(agent, `/rotate?client_id=${clientId}`, { now: 'on' }))
    expect((await tokensOf(clientId, third)).status).toBe(200)
    for (const old of [secret, second]) expect((await tokensOf(clientId, old)).status).toBe(401)
    expect(events.filter(({ type }) => type === 'client.secret_rotated')).toMatchObject(
      [1, 2].map(() => ({ clientId, subject: '1' })),
    )
  })

  test('is deleted with its owner and can be registered again', async () => {
    const agent = await signedIn()
    const { clientId, secret } = await register(agent)
    const list = await sent(agent, `/delete?client_id=${clientId}`, {})
    expect(textOf(list)).toContain('The app is deleted.')
    expect(textOf(list)).toContain('You have no apps yet.')
    expect(textOf(await agent.open(root))).not.toContain('The app is deleted.')
    expect(await host.oauth.clients.get(clientId)).toBeUndefined()
    expect(await table('client_owners')).toEqual([])
    expect((await tokensOf(clientId, secret)).status).toBe(400)
    expect(events.find(({ type }) => type === 'client.deleted')).toMatchObject({ clientId, subject: '1' })
  })

  test('that the host disabled stays disabled, and its owner sees why it does not work', async () => {
    const agent = await signedIn()
    const { clientId } = await register(agent)
    await host.oauth.clients.disable(clientId)
    await sent(agent, `/edit?client_id=${clientId}`, { client_name: 'Desk 2' })
    expect(await stateOf(agent, clientId)).toBe('Disabled by <bdi>Latchkey</bdi>'.split('<')[0])
    expect(await host.oauth.clients.get(clientId)).toMatchObject({ disabled: true, client_name: 'Desk 2' })
  })
})

describe('clients of others', () => {
  const acts = {
    client: undefined,
    edit: { ...desk, client_name: 'Taken', revision: '1' },
    rotate: {},
    delete: {},
  }

  test.each(Object.entries(acts))('%s answers as for a client that does not exist', async (path, fields) => {
    const bobs = await register(await signedIn(bob))
    const agent = await signedIn()
    const own = await register(agent)
    const before = await host.oauth.clients.get(bobs.clientId)
    events.length = 0
    for (const clientId of [bobs.clientId, 'web', 'unknown-client', '', `${own.clientId} `]) {
      const query = `/${path}?${new URLSearchParams({ client_id: clientId })}`
      expectErrorPage(await agent.open(root + query), 404)
      if (fields === undefined) continue
      // The form for Ada's own client, and Bob's form for his client.
      const form = fieldsOf(await agent.open(`${root}/${path}?client_id=${own.clientId}`), 'name="decision"')
      const bobsForm = fieldsOf(
        await (await signedIn(bob)).open(`${root}/${path}?client_id=${bobs.clientId}`),
        'name="decision"',
      )
      for (const each of [form, bobsForm])
        expectErrorPage(await agent.post(root + query, { ...each, ...fields }), 403)
    }
    expect(await host.oauth.clients.get(bobs.clientId)).toEqual(before)
    expect(await tokensOf(bobs.clientId, bobs.secret)).toMatchObject({ status: 200 })
    expect(typesOf()).toEqual([])
    expect((await agent.open(root)).html).not.toContain(bobs.clientId)
  })

  test('a form that was opened before the client went to another user does nothing', async () => {
    const agent = await signedIn()
    const { clientId } = await register(agent)
    const forms = await Promise.all(
      Object.keys(acts)
        .slice(1)
        .map(async (path) => {
          const url = `${root}/${path}?client_id=${clientId}`
          return { url, fields: fieldsOf(await agent.open(url), 'name="decision"') }
        }),
    )
    await host.oauth.developers.transfer(clientId, 2)
    const before = await host.oauth.clients.get(clientId)
    for (const { url, fields } of forms) expectErrorPage(await agent.post(url, fields), 404)
    expect(await host.oauth.clients.get(clientId)).toEqual(before)
  })

  const foreign = {
    'another page': async (agent: RawBrowser) => fieldsOf(await agent.open(`${root}/new`), 'name="decision"'),
    'the sign-out': async (agent: RawBrowser) => fieldsOf(await agent.open('/oauth/logout'), 'csrf_token'),
  }
  test.each(forgedForms(foreign))('a form %s changes nothing', async (_, forge) => {
    const agent = await signedIn()
    const { clientId } = await register(agent)
    events.length = 0
    for (const path of ['edit', 'rotate', 'delete']) {
      const url = `${root}/${path}?client_id=${clientId}`
      const { fields, headers } = await forge(fieldsOf(await agent.open(url), 'name="decision"'), agent)
      expectErrorPage(await agent.post(url, fields, headers), 403)
    }
    expect(typesOf()).toEqual([])
  })

  test('GET changes nothing', async () => {
    const agent = await signedIn()
    const { clientId } = await register(agent)
    for (const path of ['edit', 'rotate', 'delete']) {
      const fields = fieldsOf(await agent.open(`${root}/${path}?client_id=${clientId}`), 'name="decision"')
      await agent.open(`${root}/${path}?${new URLSearchParams({ ...fields, client_id: clientId })}`)
    }
    expect(typesOf()).toEqual(['client.created'])
  })
})

describe('the quota', () => {
  test('holds for parallel requests', async () => {
    const agent = await signedIn()
    const fields = fieldsOf(await agent.open(`${root}/new`), 'name="decision"')
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => agent.clone().post(`${root}/new`, { ...fields, ...desk })),
    )
    // A request that loses too often gets an error that asks to try again.
    expect(answers.every(({ status }) => status === 303 || status === 503)).toBe(true)
    expect(await table('client_owners')).toHaveLength(3)
    expect(answers.filter(({ location }) => location?.pathname.endsWith('/client'))).toHaveLength(3)
    const list = await agent.open(root)
    expect(textOf(list)).toContain('You have reached the limit of 3 apps.')
    expect(list.html).not.toContain('/developer/new')
  })

  test('counts each user separately, and does not count deleted clients', async () => {
    const [agent, bobs] = [await signedIn(), await signedIn(bob)]
    const all = [await register(agent), await register(agent), await register(agent)]
    expect((await register(agent)).clientId).toBe('')
    expect((await register(bobs)).clientId).not.toBe('')
    await sent(agent, `/delete?client_id=${all[1]?.clientId}`, {})
    expect((await register(agent)).clientId).not.toBe('')
    expect((await register(agent)).clientId).toBe('')
  })

  test('a user who registers and deletes again and again is stopped', async () => {
    const limits = { developerClient: { failures: 2, seconds: 60 } }
    const limited = await startHost({ options: { developers, throttle: { limits } } })
    const agent = await signedIn(ada, limited)
    for (const _ of [1, 2]) {
      const { clientId } = await register(agent)
      await sent(agent, `/delete?client_id=${clientId}`, {})
    }
    const refused = await sent(agent, '/new', desk)
    expect([refused.status, refused.headers['retry-after']]).toEqual([429, expect.stringMatching(/^\d\d$/)])
    await limited.close()
  })
})

describe('approval', () => {
  beforeEach(() => {
    says[ada.email] = 'approval'
  })

  test('a client works only when it is approved, and then without the mark', async () => {
    const agent = await signedIn()
    const { page, clientId, secret } = await register(agent)
    expect(textOf(page)).toContain('Sent to Latchkey for approval.')
    expect(await stateOf(agent, clientId)).toBe('Waiting for approval')
    expect((await tokensOf(clientId, secret)).status).toBe(400)
    const [waiting] = await host.oauth.developers.list({ status: 'waiting' })
    expect(waiting).toMatchObject({
      subject: '1',
      approved: false,
      client: { client_id: clientId, disabled: true },
    })

    await host.oauth.developers.approve(clientId, { by: 'root', revision: waiting?.revision ?? 0 })
    expect((await tokensOf(clientId, secret)).status).toBe(200)
    const request = authorizeUrl({
      client_id: clientId,
      scope: 'openid',
      redirect_uri: redirectUri,
      prompt: 'consent',
    })
    expect((await agent.open(request)).html).not.toContain('Unverified app')
    expect(await stateOf(agent, clientId)).toBe('Active')
    expect(await host.oauth.developers.list({ status: 'waiting' })).toEqual([])
    expect(typesOf()).toEqual(['client.created', 'client.approval_requested', 'client.approved'])
    expect(events.find(({ type }) => type === 'client.approved')).toMatchObject({
      clientId,
      subject: '1',
      by: 'root',
    })
  })

  test('a client keeps working as approved while a change waits; a change that was not seen is not approved', async () => {
    const agent = await signedIn()
    const { clientId, secret } = await register(agent)
    await host.oauth.developers.approve(clientId)
    const page = await sent(agent, `/edit?client_id=${clientId}`, {
      redirect_uris: 'https://evil.example/cb',
    })
    expect(textOf(page)).toContain('Sent to Latchkey for approval.')
    expect(await stateOf(agent, clientId)).toBe('Active. Changes are waiting for approval')
    expect((await tokensOf(clientId, secret)).status).toBe(200)
    const [seen] = await host.oauth.developers.list({ status: 'waiting' })
    expect(seen).toMatchObject({ approved: true, changes: { redirect_uris: ['https://evil.example/cb'] } })
    expect(Object.keys(seen?.changes ?? {})).toEqual(['redirect_uris'])

    const form = await agent.open(`${root}/edit?client_id=${clientId}`)
    expect(fieldsOf(form, 'name="decision"')).toMatchObject({ redirect_uris: 'https://evil.example/cb' })
    await agent.submit(form, 'name="decision"', {
      redirect_uris: `${redirectUri}\nhttps://desk.example.com/2`,
    })
    const old = { revision: seen?.revision ?? 0 }
    await expect(host.oauth.developers.approve(clientId, old)).rejects.toMatchObject({
      code: 'invalid_client',
    })
    await expect(host.oauth.developers.refuse(clientId, old)).rejects.toMatchObject({
      code: 'invalid_client',
    })
    await host.oauth.developers.approve(clientId, { revision: old.revision + 1 })
    const { redirect_uris } = (await host.oauth.clients.get(clientId)) ?? {}
    expect(redirect_uris).toEqual([redirectUri, 'https://desk.example.com/2'])
  })

  test('a change that only removes applies at once and leaves the client approved', async () => {
    const agent = await signedIn()
    const two = `${redirectUri}\nhttps://desk.example.com/2`
    const { clientId } = await register(agent, { redirect_uris: two })
    await host.oauth.developers.approve(clientId)
    const page = await sent(agent, `/edit?client_id=${clientId}`, {
      redirect_uris: redirectUri,
      'scopes:openid': '',
    })
    expect(textOf(page)).toContain('Your changes are saved.')
    const client = await host.oauth.clients.get(clientId)
    expect(client).toMatchObject({ redirect_uris: [redirectUri], scope: 'notes:read', disabled: false })
    expect(client).not.toHaveProperty('self_described')
    const changes: Record<string, string>[] = [
      { client_name: 'Bank' },
      { 'scopes:profile': 'on' },
      { logo_uri: 'https://x.example/l.png' },
    ]
    for (const change of changes)
      expect(textOf(await sent(agent, `/edit?client_id=${clientId}`, change))).toContain('for approval')
    expect(await host.oauth.clients.get(clientId)).toEqual(client)
  })

  test('a refusal tells the owner why, and the client can be sent again', async () => {
    const agent = await signedIn()
    const { clientId } = await register(agent)
    await host.oauth.developers.refuse(clientId, { by: 'root', reason: 'The <b>name</b> is ours.' })
    const page = await agent.open(`${root}/client?client_id=${clientId}`)
    expect(page.html).toContain('The &lt;b&gt;name&lt;/b&gt; is ours.')
    expect(await stateOf(agent, clientId)).toBe('Not approved')
    expect(await host.oauth.clients.get(clientId)).toMatchObject({ disabled: true })
    await expect(host.oauth.developers.approve(clientId)).rejects.toMatchObject({ code: 'invalid_client' })
    await sent(agent, `/edit?client_id=${clientId}`, { client_name: 'Desk 2' })
    expect(await host.oauth.clients.get(clientId)).toMatchObject({ client_name: 'Desk 2', disabled: true })
    await host.oauth.developers.approve(clientId)
    await sent(agent, `/edit?client_id=${clientId}`, { client_name: 'Desk 3' })
    await host.oauth.developers.refuse(clientId)
    expect(await stateOf(agent, clientId)).toBe('Active. Changes were not approved')
    expect(await host.oauth.clients.get(clientId)).toMatchObject({ client_name: 'Desk 2', disabled: false })
  })

  test('one of several parallel decisions takes effect', async () => {
    const agent = await signedIn()
    const { clientId } = await register(agent)
    const { approve, refuse } = host.oauth.developers
    const outcomes = await Promise.allSettled([approve(clientId), refuse(clientId), approve(clientId)])
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    expect(typesOf().filter((type) => /approved|refused/.test(type))).toHaveLength(1)
  })

  test('a form that was opened before enable() changes nothing', async () => {
    const agent = await signedIn()
    const { clientId } = await register(agent)
    const form = await agent.open(`${root}/edit?client_id=${clientId}`)
    await host.oauth.clients.enable(clientId)
    const late = { redirect_uris: 'https://evil.example/cb' }
    expect((await agent.submit(form, 'name="decision"', late)).status).toBe(409)
    expect(await host.oauth.clients.get(clientId)).toMatchObject({ redirect_uris: [redirectUri] })
  })

  test('enable() with ifUnchanged refuses a client that has changed since it was read', async () => {
    const agent = await signedIn()
    const { clientId } = await register(agent)
    const ifUnchanged = await host.oauth.clients.get(clientId)
    await sent(agent, `/edit?client_id=${clientId}`, { redirect_uris: 'https://evil.example/cb' })
    await expect(host.oauth.clients.enable(clientId, { ifUnchanged })).rejects.toMatchObject({ status: 409 })
    const [waiting] = await host.oauth.developers.list({ status: 'waiting' })
    expect(waiting).toMatchObject({ approved: false, client: { client_id: clientId, disabled: true } })
  })

  test('is no longer needed once allow returns true; enable() approves a client too', async () => {
    const agent = await signedIn()
    const [first, second] = [await register(agent), await register(agent)]
    says[ada.email] = true
    await sent(agent, `/edit?client_id=${first.clientId}`, {})
    await host.oauth.clients.enable(second.clientId)
    for (const { clientId, secret } of [first, second]) {
      expect(await stateOf(agent, clientId)).toBe('Active')
      expect((await tokensOf(clientId, secret)).status).toBe(200)
    }
  })
})

test('on the admin pages, a decision applies only to the request that the administrator saw', async () => {
  says[ada.email] = 'approval'
  const admin = (req: { get(name: string): string | undefined }) => req.get('x-admin') ?? false
  const both = await startHost({ options: { developers, admin } })
  const heard: AuthEvent[] = []
  both.oauth.events.on('*', (event) => heard.push(event))
  const agent = await signedIn(ada, both)
  const [one, two] = [await register(agent), await register(agent)]
  const url = '/oauth/admin/requests'
  expectErrorPage(await agent.get(url), 403)
  const carol = new RawBrowser(both.app, undefined, { 'x-admin': 'carol' })
  const formAbout = (page: Answer, act: string, { clientId }: { clientId: string }) =>
    fieldsOf({ ...page, html: page.html.slice(page.html.indexOf(clientId)) }, `value="${act}"`)
  const page = await carol.open(url)
  const { csrf_token: _, ...unproven } = formAbout(page, 'approve', one)
  expectErrorPage(await carol.post(url, unproven), 403)
  expectErrorPage(await carol.post(url, { ...formAbout(page, 'approve', one), revision: '2' }), 403)
  const seen = formAbout(page, 'refuse', two)
  await sent(agent, `/edit?client_id=${two.clientId}`, { client_name: 'Desk 2' })
  const stale = await carol.follow(await carol.post(url, seen))
  expect(textOf(stale)).toContain('Nothing was done')
  const adminPage = `/oauth/admin/client?client_id=${two.clientId}`
  const enable = fieldsOf(await carol.open(adminPage), 'value="enable"')
  await sent(agent, `/edit?client_id=${two.clientId}`, { client_name: 'Desk 3' })
  await carol.post(adminPage, enable)
  expect(await both.oauth.clients.get(two.clientId)).toMatchObject({ client_name: 'Desk 3', disabled: true })
  const now = await carol.open(url)
  await carol.post(url, formAbout(now, 'approve', one))
  await carol.post(url, { ...formAbout(now, 'refuse', two), reason: 'No.' })
  expect(textOf(await carol.open(url))).toContain('No client waits for approval.')
  const [approved, refused] = [one, two].map(({ clientId }) => both.oauth.clients.get(clientId))
  expect([(await approved)?.disabled, (await refused)?.disabled]).toEqual([false, true])
  const decisions = heard.filter(({ type }) => /approved|approval_refused/.test(type))
  expect(decisions).toMatchObject(
    [one, two].map(({ clientId }) => ({ clientId, by: 'carol', subject: '1', address: '127.0.0.1' })),
  )
  await both.close()
  const plain = await startHost({ options: { admin } })
  expect((await new RawBrowser(plain.app, undefined, { 'x-admin': 'carol' }).get(url)).status).toBe(404)
  await plain.close()
})

describe('owners', () => {
  test('transfer() gives a client to another user or to none, regardless of the quota', async () => {
    const [agent, bobs] = [await signedIn(), await signedIn(bob)]
    const { clientId } = await register(agent)
    for (const _ of [1, 2, 3]) await register(bobs)
    for (const id of [clientId, 'web']) await host.oauth.developers.transfer(id, 2)
    expect(await host.oauth.developers.ownerOf('web')).toBe('2')
    expect(await stateOf(bobs, clientId)).toBe('Active')
    expectErrorPage(await agent.open(`${root}/client?client_id=${clientId}`), 404)
    await host.oauth.developers.transfer('web', null)
    expect(await host.oauth.developers.ownerOf('web')).toBeUndefined()
    await expect(host.oauth.developers.transfer('unknown-client', 1)).rejects.toMatchObject({
      code: 'invalid_client',
    })
    await expect(host.oauth.developers.transfer(clientId, '')).rejects.toThrow('subject must be the id')
  })

  test('transfer() drops the waiting change of the previous owner, whose open form then changes nothing', async () => {
    says[ada.email] = 'approval'
    const agent = await signedIn()
    const { clientId } = await register(agent)
    await host.oauth.developers.approve(clientId)
    const evil = { redirect_uris: 'https://evil.example/cb' }
    await sent(agent, `/edit?client_id=${clientId}`, evil)
    const form = await agent.open(`${root}/edit?client_id=${clientId}`)
    await host.oauth.developers.transfer(clientId, 2)
    const [owned] = await host.oauth.developers.list()
    expect(owned).toMatchObject({ subject: '2', status: 'active' })
    expect(owned).not.toHaveProperty('changes')
    await host.oauth.developers.transfer(clientId, 1)
    expect((await agent.submit(form, 'name="decision"', evil)).status).toBe(409)
  })

  test('the registration access token of a client is refused once its new owner has changed the client', async () => {
    const open = await startHost({ options: { developers, features: { registration: true } } })
    const agent = await signedIn(ada, open)
    const body = JSON.stringify({ client_name: 'Self', redirect_uris: [redirectUri] })
    const headers = { 'content-type': 'application/json' }
    const made = JSON.parse((await agent.send('POST', '/oauth/register', { body, headers })).html)
    await open.oauth.developers.transfer(made.client_id, 1)
    await sent(agent, `/edit?client_id=${made.client_id}`, { client_name: 'Desk' })
    const authorization = `Bearer ${made.registration_access_token}`
    const path = `/oauth/register/${made.client_id}`
    expect((await agent.send('DELETE', path, { headers: { authorization } })).status).toBe(401)
    expect(await open.oauth.clients.get(made.client_id)).toMatchObject({ client_name: 'Desk' })
    await open.close()
  })

  test('an erased user leaves disabled clients without an owner', async () => {
    const erased = await startHost({ options: { developers } })
    const agent = await signedIn(ada, erased)
    const [{ clientId }, { clientId: other }] = [
      await register(agent),
      await register(await signedIn(bob, erased)),
    ]
    expect((await erased.oauth.users.export(1)).clients).toEqual([clientId])
    await erased.oauth.users.erase(1)
    expect(await erased.oauth.clients.get(clientId)).toMatchObject({ disabled: true })
    expect(await erased.oauth.developers.ownerOf(clientId)).toBeUndefined()
    expect(await erased.oauth.clients.get(other)).toMatchObject({ disabled: false })
    expect(await erased.oauth.users.export(1)).not.toHaveProperty('clients')
    await erased.close()
  })
})

test('a list of 1,000 clients has pages of 20, each with the same few statements', async () => {
  const many = await startHost({ options: { developers: { ...developers, maxClients: 1000 } } })
  const agent = await signedIn(ada, many)
  const { clientId } = await register(agent)
  const prefix = many.database.tablePrefix
  const [client] = await many.database.knex(`${prefix}clients`).where({ client_id: clientId })
  const [owner] = await many.database.knex(`${prefix}client_owners`).where({ client_id: clientId })
  const ids = Array.from({ length: 999 }, (_, number) => `copy-${String(number).padStart(3, '0')}`)
  const created_at = owner.created_at - 1
  await many.database.knex.batchInsert(
    `${prefix}clients`,
    ids.map((client_id) => ({ ...client, client_id })),
    50,
  )
  const owners = ids.map((client_id, slot) => ({ ...owner, client_id, created_at, slot: slot + 1000 }))
  await many.database.knex.batchInsert(`${prefix}client_owners`, owners, 50)
  const count = await countStatements(many.database.knex, [many.usersTable])
  const counts = new Set<number>()
  const seen: string[] = []
  let page: string | undefined = root
  while (page !== undefined) {
    count.reset()
    const { html }: Answer = await agent.open(page)
    counts.add(count.ours.length)
    seen.push(...[...html.matchAll(/client\?client_id=([\w-]+)/g)].map(([, id = '']) => id))
    page = />Previous page<[\s\S]*href="([^"]+)">Next|href="([^"]+)">Next page/
      .exec(html)
      ?.slice(1)
      .find(Boolean)
  }
  expect(seen).toEqual([clientId, ...ids])
  expect(counts.size).toBe(1)
  await many.close()
})
