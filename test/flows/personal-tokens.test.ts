import { crc32 } from 'node:zlib'
import { personalAccessTokens } from '../../lib/features/index.ts'
import { issuePersonalToken, revokePersonalToken } from '../../lib/features/personal-tokens/issue.ts'
import { personalTokenOptionIn } from '../../lib/features/personal-tokens/option.ts'
import { isPersonalTokenValue } from '../../lib/features/personal-tokens/value.ts'
import type { AuthEvent } from '../../lib/index.ts'
import { tokenExchangeGrantType } from '../../lib/protocol/tokens/token-exchange.ts'
import { serverBehind } from '../../lib/router.ts'
import { removeExpiredRows } from '../../lib/storage/repositories/pruning/schedule.ts'
import { allowedUserOf } from '../support/allowed-user.ts'
import { type Clock, stopClock } from '../support/clock.ts'
import { expiredIn } from '../support/features.ts'
import { clients, type Host, type HostSettings, secret, startHost } from '../support/host.ts'
import { fieldsOf, RawBrowser, textOf } from '../support/raw-browser.ts'
import { standingLogin } from '../support/standing-login.ts'
import { bob, guarded, introspect, post, revoke, tokensFor, userinfo, web } from '../support/tokens.ts'

const day = 86_400
const options = {
  protocol: { tokenExchange: { allow: () => true } },
  features: [personalAccessTokens({ maxPerUser: 3 })],
}

let clock: Clock
let host: Host
const events: AuthEvent[] = []
beforeAll(async () => {
  const api = {
    client_id: 'api',
    client_secret: secret,
    redirect_uris: [],
    grant_types: [tokenExchangeGrantType],
  }
  host = await startHost({
    clients: [...clients, { ...api, may_introspect: true } as (typeof clients)[0]],
    options,
  })
  host.oauth.events.on('*', (event) => void events.push(event))
})
afterAll(() => host.close())
beforeEach(async () => {
  clock = stopClock()
  events.length = 0
  await host.table('personal_tokens').delete()
  await host.database.knex(host.usersTable).where({ id: 1 }).update({ disabled_at: null })
})
afterEach(() => jest.restoreAllMocks())

/** Another router on the same database, with these options. */
const another = (more: HostSettings['options'] = {}): Promise<Host> =>
  startHost({ database: host.database, clients: [], options: { ...options, ...more } })
const optionOf = (of: Host) => personalTokenOptionIn(serverBehind(of.oauth)!.options)!
const server = async (of = host) => serverBehind(of.oauth)!.ready()
const make = async (given: { subject?: string; scopes?: string[]; days?: number } = {}, of = host) => {
  const { subject = '1', scopes = ['notes:read'], days = 30 } = given
  const context = await server(of)
  const sid = await standingLogin(context.database, subject, clock.now())
  const choice = {
    user: allowedUserOf(subject),
    sid,
    name: 'Backup script',
    scopes,
    expiresAt: clock.now() + days * day,
  }
  const made = await issuePersonalToken(context, optionOf(of), choice)
  if (made === undefined) throw new Error('no token was made')
  return made
}
const rows = (of = host) => of.table('personal_tokens').select()
const status = async (value: string, of = host): Promise<number> => (await guarded(of, value)).status

describe('a personal access token', () => {
  test('has a form that a scanner can verify, and is stored as a hash only', async () => {
    const { value } = await make()
    expect(value).toMatch(/^lk_pat_[0-9A-Za-z]{49}$/)
    const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
    const checksum = [...value.slice(-6)].reduce((sum, digit) => sum * 62 + digits.indexOf(digit), 0)
    expect(checksum).toBe(crc32(value.slice(0, -6)))
    expect(isPersonalTokenValue('lk_pat_', value)).toBe(true)
    expect(isPersonalTokenValue('lk_pat_', `${value.slice(0, -6)}000000`)).toBe(false)
    const stored = JSON.stringify(await rows())
    expect(stored).not.toContain(value)
    expect(stored).not.toContain(value.slice(7, 30))
    expect(JSON.stringify(events)).not.toContain(value.slice(7, 30))
  })

  test('is accepted by guards, which see its user and its name', async () => {
    const guard = host.oauth.requireToken('notes:read')
    host.app.get('/me', guard, ({ auth }, res) => void res.json(auth))
    const { id, value } = await make()
    expect((await guarded(host, value, '/me')).body).toEqual({
      token: value,
      subject: '1',
      clientId: `personal:${id}`,
      scopes: ['notes:read'],
      expiresAt: clock.now() + 30 * day,
      personalToken: { id, name: 'Backup script' },
      claims: expect.objectContaining({ iss: 'http://localhost:3000/oauth', sub: '1', iat: clock.now() }),
    })
  })

  test.each<[string, (value: string) => string]>([
    [
      'another character',
      (value) => `${value.slice(0, -9)}${value.at(-9) === 'x' ? 'y' : 'x'}${value.slice(-8)}`,
    ],
    ['a character more', (value) => `${value}0`],
    ['another prefix', (value) => value.replace('lk_pat_', 'lk_at_')],
  ])('with %s is refused', async (_what, changed) => {
    const { value } = await make()
    expect(await status(changed(value))).toBe(401)
  })

  const people = () => host.database.knex(host.usersTable).where({ id: 1 })
  test.each<[string, () => unknown]>([
    ['it has expired', () => clock.travel(30 * day)],
    ['its user is disabled', () => people().update({ disabled_at: 1 })],
    ['revokeAll()', () => host.oauth.users.revokeAll(1)],
    ['erase()', () => host.oauth.users.erase(1)],
  ])('is refused after %s', async (_what, end) => {
    const { value } = await make()
    expect(await status(value)).toBe(200)
    await end()
    expect(await status(value)).toBe(401)
  })

  test('a guard for another scope, a resource or a recent login refuses it', async () => {
    const { value } = await make()
    const resource = 'https://app.example.com/mcp'
    const other = await another({ resources: { [resource]: { scopes: ['notes:read'] } } })
    const guards = {
      scope: host.oauth.requireToken('notes:write'),
      login: host.oauth.requireToken('notes:read', { maxAge: 60 }),
      resource: other.oauth.requireToken('notes:read', { resource }),
    }
    const answers: unknown[] = []
    for (const [path, guard] of Object.entries(guards)) {
      host.app.get(`/${path}`, guard, (_req, res) => void res.end())
      const { status, body } = await guarded(host, value, `/${path}`)
      answers.push([status, body.error])
    }
    expect(answers).toEqual([
      [403, 'insufficient_scope'],
      [401, 'insufficient_user_authentication'],
      [401, 'invalid_token'],
    ])
  })

  test('is not accepted by UserInfo, revocation and token exchange', async () => {
    const { value } = await make()
    expect((await userinfo(host, value)).status).toBe(403)
    expect((await revoke(host, value)).status).toBe(200)
    const type = 'urn:ietf:params:oauth:token-type:access_token'
    const { access_token } = await tokensFor(host, { scope: 'openid notes:read' })
    const exchange = (subject_token: string, actor_token: string) => {
      const types = { subject_token_type: type, actor_token_type: type }
      const asked = { ...web, client_id: 'api', grant_type: tokenExchangeGrantType, ...types }
      return post(host, { ...asked, subject_token, actor_token })
    }
    const { access_token: other } = await tokensFor(host, {}, {}, { as: bob })
    expect((await exchange(access_token, other)).status).toBe(200)
    for (const tokens of [[value, other] as const, [access_token, value] as const]) {
      const { status, body } = await exchange(...tokens)
      expect({ status, error: body.error }).toEqual({ status: 400, error: 'invalid_request' })
    }
    expect(await status(value)).toBe(200)
  })

  test('is shown by introspection to APIs of the host, and to no other client', async () => {
    const { id, value } = await make()
    expect((await introspect(host, value)).body).toEqual({ active: false })
    expect((await introspect(host, value, { client_id: 'api' })).body).toEqual({
      active: true,
      iss: 'http://localhost:3000/oauth',
      client_id: `personal:${id}`,
      sub: '1',
      scope: 'notes:read',
      token_type: 'Bearer',
      iat: clock.now(),
      exp: clock.now() + 30 * day,
    })
  })

  test('loses scopes that the option no longer has, and is refused when the option is off', async () => {
    const { value } = await make({ scopes: ['notes:read', 'notes:write'] })
    const started = (own: Parameters<typeof personalAccessTokens>[0]) =>
      another({ features: [personalAccessTokens(own)] })
    const narrow = await started({ scopes: ['notes:write'] })
    expect((await guarded(narrow, value)).status).toBe(403)
    expect(await status(value, await another({ features: [personalAccessTokens.off()] }))).toBe(401)
    expect(await status(value, await started({ prefix: 'acme_pat_' }))).toBe(401)
    expect(await status(value)).toBe(200)
  })

  test('stores the hour of its last use, in the background', async () => {
    const { value } = await make()
    const used = async () => {
      await status(value)
      await (await server()).close()
      return (await rows())[0].last_used_at
    }
    const first = clock.now()
    expect(Number(await used())).toBe(first)
    clock.travel(3599)
    expect(Number(await used())).toBe(first)
    clock.travel(1)
    expect(Number(await used())).toBe(first + 3600)
  })

  test('counts towards the limit of its user until it ends, also in parallel requests', async () => {
    await make({ subject: '2' })
    const context = await server()
    const sid = await standingLogin(context.database, '1', clock.now())
    const choice = {
      user: allowedUserOf('1'),
      sid,
      name: 'x',
      scopes: ['notes:read'],
      expiresAt: clock.now() + day,
    }
    const made = await Promise.all(
      [1, 2, 3, 4, 5, 6].map(() => issuePersonalToken(context, optionOf(host), choice)),
    )
    expect(made.filter((one) => one !== undefined)).toHaveLength(3)
    clock.travel(day)
    await make()
    expect((await rows()).map(({ subject }) => subject).sort()).toEqual(['1', '2'])
  })

  test('is exported, erased with its user, and pruned a month after it expires', async () => {
    const { id } = await make()
    await make({ subject: String(bob.id) })
    const { personalTokens } = await host.oauth.users.export(1)
    expect(personalTokens).toEqual([
      {
        id,
        name: 'Backup script',
        scopes: ['notes:read'],
        createdAt: clock.now(),
        lastUsedAt: null,
        expiresAt: clock.now() + 30 * day,
      },
    ])
    await host.oauth.users.erase(1)
    expect(await rows()).toEqual([expect.objectContaining({ subject: '2' })])
    const prune = async () => {
      const { database } = await server()
      await removeExpiredRows(database, {
        now: clock.now(),
        expired: expiredIn(host.oauth),
        refreshGracePeriod: 10,
      })
      return (await rows()).length
    }
    clock.travel(60 * day + 59)
    expect(await prune()).toBe(1)
    clock.travel(1)
    expect(await prune()).toBe(0)
  })

  test('of a member names the organization, and ends with the membership', async () => {
    const members = new Set(['acme'])
    const organizations = () => [...members].map((id) => ({ id, name: id }))
    const many = await another({ organizations })
    many.app.get('/org', many.oauth.requireToken('notes:read'), ({ auth }, res) => void res.json(auth))
    const context = await server(many)
    const sid = await standingLogin(context.database, '1', clock.now())
    const choice = {
      user: allowedUserOf('1'),
      sid,
      name: 'x',
      scopes: ['notes:read'],
      expiresAt: clock.now() + day,
    }
    const { value = '' } =
      (await issuePersonalToken(context, optionOf(many), { ...choice, organization: 'acme' })) ?? {}
    expect((await guarded(many, value, '/org')).body.organization).toBe('acme')
    members.delete('acme')
    expect((await guarded(many, value, '/org')).status).toBe(401)
  })
})

describe('the pages', () => {
  const form = 'name="decision"'
  const signedIn = async (of = host) => {
    const agent = new RawBrowser(of.app)
    await agent.signIn(await agent.open('/oauth/account'))
    return agent
  }
  const chosen = { name: ' Backup script ', days: '90', 'scope:notes:read': 'on' }
  const create = async (agent: RawBrowser, fields: Record<string, string> = {}) =>
    agent.submit(await agent.open('/oauth/account/tokens/new'), form, { ...chosen, ...fields })
  const dateIn = (days: number): string =>
    new Date((clock.now() + days * day) * 1000).toISOString().slice(0, 10)
  const valueOn = ({ html }: { html: string }): string | undefined =>
    / id="secret" dir="ltr">([^<]*)</.exec(html)?.[1]

  test('a token is created, shown once, used, seen, and revoked', async () => {
    const agent = await signedIn()
    const account = await agent.open('/oauth/account')
    expect(account.html).toContain('href="/oauth/account/tokens"')
    const page = await create(agent)
    expect(page.url.pathname).toBe('/oauth/account/tokens')
    expect(page.headers['cache-control']).toBe('no-store')
    const value = valueOn(page) ?? ''
    // A link to another language would lose it.
    expect(page.html).not.toContain('language=de')
    expect(await status(value)).toBe(200)
    expect((await rows())[0]).toMatchObject({ name: 'Backup script', scopes: 'notes:read' })
    expect(Number((await rows())[0].expires_at)).toBe(clock.now() + 90 * day)

    const again = await agent.open('/oauth/account/tokens')
    expect(again.html).not.toContain(value)
    expect(again.html).toContain('<bdi>Backup script</bdi>')
    expect(again.html).toContain('<bdi>Read your notes</bdi>')
    const [, link = ''] = / href="([^"]*tokens\?id=[^"]*)"/.exec(again.html) ?? []
    const done = await agent.submit(await agent.open(link), 'name="id"')
    expect(done.html).toContain('The token no longer works.')
    expect(await status(value)).toBe(401)
    expect(await rows()).toEqual([])
    const about = { subject: '1', tokenId: new URL(link, 'http://x').searchParams.get('id') }
    expect(events.filter(({ type }) => type.startsWith('token.personal'))).toEqual([
      expect.objectContaining({ ...about, type: 'token.personal.created', name: 'Backup script' }),
      expect.objectContaining({ ...about, type: 'token.personal.revoked' }),
    ])
  })

  test('the form says why a scope is sensitive, and what is missing in its own words', async () => {
    const risky = {
      description: 'Delete your notes',
      risk: 'high',
      riskReason: 'They are gone for ever',
    } as const
    const other = await another({
      scopes: { 'notes:delete': risky, 'notes:read': 'Read your notes', 'notes:write': 'Write notes' },
    })
    const agent = await signedIn(other)
    const page = await agent.open('/oauth/account/tokens/new')
    expect(textOf(page)).toContain('Sensitive Delete your notes They are gone for ever')
    // The browser's own words are in another language than the page, and cover it.
    expect(page.html).toMatch(/<form method="post" action="[^"]*tokens\/new"[^>]* novalidate>/)
    const refused = await agent.submit(page, form, { ...chosen, name: '' })
    expect(textOf(refused)).toContain('Enter a name of at most 60 characters.')
  })

  test('a new token is shown to no other browser, to no other user, and not by HEAD', async () => {
    const agent = await signedIn()
    const made = await agent.post('/oauth/account/tokens/new', {
      ...fieldsOf(await agent.open('/oauth/account/tokens/new'), form),
      ...chosen,
    })
    expect([made.status, made.location?.pathname]).toEqual([303, '/oauth/account/tokens'])
    const other = await signedIn()
    for (const [name, value] of agent.cookies) if (name.endsWith('_notice')) other.cookies.set(name, value)
    expect(valueOn(await other.open('/oauth/account/tokens'))).toBeUndefined()
    await agent.send('HEAD', '/oauth/account/tokens')
    expect(valueOn(await agent.open('/oauth/account/tokens'))).toMatch(/^lk_pat_/)
  })

  test('a wrong name, scope or lifetime is refused, and what was typed stays', async () => {
    const agent = await signedIn()
    const opened = fieldsOf(await agent.open('/oauth/account/tokens/new'), form)
    for (const [wrong, message] of [
      [{ name: ' ' }, 'Enter a name'],
      [{ name: 'x'.repeat(61) }, 'Enter a name'],
      [{ name: 'a\nb' }, 'Enter a name'],
      [{ 'scope:notes:read': '', 'scope:openid': 'on' }, 'Choose at least one permission'],
      [{ days: '0' }, 'Choose a date from tomorrow to'],
      [{ days: '366' }, 'Choose a date from tomorrow to'],
      [{ days: '1e2' }, 'Choose a date from tomorrow to'],
      [{ days: 'other', until: '' }, 'Choose a date from tomorrow to'],
      [{ days: 'other', until: dateIn(0) }, 'Choose a date from tomorrow to'],
      [{ days: 'other', until: dateIn(366) }, 'Choose a date from tomorrow to'],
      [{ days: 'other', until: '2026-02-31' }, 'Choose a date from tomorrow to'],
      [{ days: 'other', until: '9'.repeat(300) }, 'Choose a date from tomorrow to'],
    ] as [Record<string, string>, string][]) {
      const { 'scope:notes:read': scope, ...others } = { ...chosen, ...wrong }
      const given = { ...others, ...(scope && { 'scope:notes:read': scope }) }
      const page = await agent.post('/oauth/account/tokens/new', { ...opened, ...given })
      expect({ wrong, status: page.status }).toEqual({ wrong, status: 400 })
      expect(page.html).toContain(message)
      if (!wrong.days) expect(page.html).toContain('value="90" checked')
      if (wrong.until) expect(page.html).toContain(`value="${wrong.until}"`)
    }
    expect(await rows()).toEqual([])
  })

  test('its life is one of three, each with its date, or ends on a date that the user chooses', async () => {
    const agent = await signedIn()
    const open = await agent.open('/oauth/account/tokens/new')
    const offered = [...open.html.matchAll(/name="days" id="[^"]+" value="(\w+)"( checked)?/g)]
    expect(offered.map(([, days, checked]) => [days, checked !== undefined])).toEqual([
      ['7', false],
      ['30', true],
      ['90', false],
      ['other', false],
    ])
    expect(open.html).toContain('Expires on ')
    expect(open.html).toContain(`min="${dateIn(1)}" max="${dateIn(365)}"`)
    await agent.submit(open, form, { ...chosen, days: 'other', until: dateIn(45) })
    expect(Number((await rows())[0].expires_at)).toBe(clock.now() + 45 * day)
    const short = await another({ features: [personalAccessTokens({ maxLifetime: 2 * day })] })
    const last = await (await signedIn(short)).open('/oauth/account/tokens/new')
    expect(last.html).toMatch(/value="other" checked/)
    expect(last.html).toContain(`value="${dateIn(2)}" min="${dateIn(1)}" max="${dateIn(2)}"`)
  })

  test('expired tokens stand apart below a heading (pages 23)', async () => {
    await make()
    await make({ days: 1 })
    clock.travel(day + 1)
    const { html } = await (await signedIn()).open('/oauth/account/tokens')
    const [valid = '', ended = ''] = html.split('<h2 class="legend">Expired</h2>')
    expect([valid, ended].map((part) => part.match(/class="client"/g)?.length)).toEqual([1, 1])
    expect(ended).toContain('Expired on ')
    expect(valid).toContain('Expires on ')
  })

  test('only a user who has just signed in may create one; the form comes back to the page', async () => {
    const agent = await signedIn()
    const open = await agent.open('/oauth/account/tokens/new')
    clock.travel(600)
    expect((await agent.open('/oauth/account/tokens/new')).html).toContain('scope:notes:read')
    clock.travel(1)
    const late = await agent.submit(open, form, chosen)
    expect(late.html).toContain('Confirm it’s you')
    expect(await rows()).toEqual([])
    const back = await agent.signIn(late)
    expect(back.url.pathname).toBe('/oauth/account/tokens/new')
    expect(valueOn(await agent.submit(back, form, chosen))).toMatch(/^lk_pat_/)
  })

  test('users see and revoke their own tokens only', async () => {
    const { id } = await make({ subject: String(bob.id) })
    const agent = await signedIn()
    const page = await agent.open(`/oauth/account/tokens?id=${id}`)
    expect(page.html).toContain('You have no access tokens yet.')
    const own = await make()
    const confirm = await agent.open(`/oauth/account/tokens?id=${own.id}`)
    const fields = { ...fieldsOf(confirm, 'name="id"'), id }
    expect((await agent.post('/oauth/account/tokens', fields)).status).toBe(403)
    expect(await revokePersonalToken(await server(), { id, subject: '1' })).toBe(false)
    expect(await rows()).toHaveLength(2)
  })

  test.each(['/oauth/account/tokens', '/oauth/account/tokens/new'])(
    '%s asks a stranger to sign in',
    async (path) => {
      const agent = new RawBrowser(host.app)
      const page = await agent.signIn(await agent.open(path))
      expect(page.url.pathname).toBe(path)
      const none = { decision: 'create', ...chosen, id: 'x', csrf_token: 'x' }
      expect((await new RawBrowser(host.app).post(path, none)).status).toBeLessThan(500)
    },
  )

  test('a form of another site is refused', async () => {
    const agent = await signedIn()
    const fields = { ...fieldsOf(await agent.open('/oauth/account/tokens/new'), form), ...chosen }
    const cross = { Origin: 'https://evil.example.com', 'Sec-Fetch-Site': 'cross-site' }
    expect((await agent.post('/oauth/account/tokens/new', fields, cross)).status).toBe(403)
    expect((await agent.post('/oauth/account/tokens/new', { ...fields, csrf_token: 'x' })).status).toBe(403)
    expect(await rows()).toEqual([])
  })

  test('a user who has reached the limit sees this and gets no other token', async () => {
    const agent = await signedIn()
    const open = await agent.open('/oauth/account/tokens/new')
    for (const _ of [1, 2, 3]) await make()
    const page = await agent.submit(open, form, chosen)
    expect(page.html).toContain('You have reached the limit of <bdi>3</bdi> tokens.')
    expect(page.html).not.toContain('/tokens/new"')
    expect(await rows()).toHaveLength(3)
  })

  test('a member of several organizations chooses one; a user without any gets no token', async () => {
    const acme = { id: 'acme', name: 'Acme' }
    const globex = { id: 'globex', name: 'Globex' }
    let member = [acme, globex, { ...globex, id: 'globex-2' }]
    const many = await another({ organizations: () => member })
    const agent = await signedIn(many)
    const page = await agent.open('/oauth/account/tokens/new')
    // Two of one name are distinguishable.
    expect(textOf(page)).toContain('Acme Globex · globex Globex · globex-2')
    const opened = fieldsOf(page, form)
    const wrong = await agent.post('/oauth/account/tokens/new', {
      ...opened,
      ...chosen,
      organization: 'other',
    })
    expect(wrong.html).toContain('Choose a workspace.')
    expect((await create(agent, { organization: 'globex' })).html).toContain('Workspace <bdi>Globex</bdi>')
    member = [acme]
    await create(agent)
    member = []
    const none = await agent.open('/oauth/account/tokens/new')
    expect(none.html).not.toContain('/tokens/new"')
    expect((await rows()).map(({ organization }) => organization).sort()).toEqual(['acme', 'globex'])
  })

  test('without the option there are none', async () => {
    const off = await another({ features: [] })
    const agent = await signedIn(off)
    expect((await agent.open('/oauth/account')).html).not.toContain('/account/tokens')
    expect((await agent.get('/oauth/account/tokens')).status).toBe(404)
  })

  test('a host with its own login page is asked to sign the user in again', async () => {
    let authTime = clock.now() - 700
    const own = await another({ login: { url: '/login', current: () => ({ subject: 1, authTime }) } })
    const agent = new RawBrowser(own.app)
    const { location } = await agent.get('/oauth/account/tokens/new')
    expect(location?.pathname).toBe('/login')
    expect(Object.fromEntries(location?.searchParams ?? [])).toEqual({
      return_to: '/oauth/account/tokens/new?returned=1',
      prompt: 'login',
    })
    authTime = clock.now()
    expect((await agent.open('/oauth/account/tokens/new?returned=1')).html).toContain('scope:notes:read')
  })
})
