import type { AuthEvent, AuthRouterOptions } from '../../lib/index.ts'
import { serverBehind } from '../../lib/router.ts'
import { stopClock } from '../support/clock.ts'
import { callback, type Host, startHost, clients as testClients } from '../support/host.ts'
import { expectErrorPage } from '../support/outcomes.ts'
import { type Answer, fieldsOf, formOf, RawBrowser } from '../support/raw-browser.ts'
import { countStatements } from '../support/statement-count.ts'
import { ada, guarded, post, tokensFor, userinfo, web } from '../support/tokens.ts'

// The guard of this host: the header says who it is.
const admin: AuthRouterOptions['admin'] = async (req) => req.get('x-admin') ?? false

let host: Host
const events: AuthEvent[] = []
const start = async (): Promise<void> => {
  const self = { client_id: 'self', grant_types: ['client_credentials' as const] }
  const options = { admin, storeEvents: true, throttle: false as const }
  host = await startHost({ clients: [...testClients, self], options })
  host.oauth.events.on('*', (event) => events.push(event))
}
/** A host for each test that changes something. */
const eachWithHost = (): void => {
  beforeEach(start)
  afterEach(() => host.close())
}
beforeEach(() => {
  events.length = 0
})
afterEach(() => jest.restoreAllMocks())

const as = (name: string) => new RawBrowser(host.app, undefined, { 'x-admin': name })
const pathTo = (clientId: string) => `/oauth/admin/client?${new URLSearchParams({ client_id: clientId })}`
/** Administrative events without what differs each time. */
const acts = () =>
  events
    .filter((event) => 'actor' in event)
    .map((event) => {
      const { type, time: _, requestId, address, ...details } = event
      expect({ requestId, address }).toEqual({ requestId: expect.any(String), address: '127.0.0.1' })
      return [type, details]
    })
const textOf = ({ html }: Answer) => html.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ')
const metadataOf = async (id: string) => host.oauth.clients.get(id)
/** Everything that acts could have changed. */
const stored = async () => {
  const { knex, tablePrefix } = host.database
  const tables = ['clients', 'consents', 'authorizations', 'logins', 'signing_keys']
  return Promise.all(tables.map((table) => knex(`${tablePrefix}${table}`).orderBy(1 as never)))
}
/** Ada, signed in to the client `web`. */
const signedIn = async () => {
  const agent = new RawBrowser(host.app)
  const visit = { agent, as: ada }
  const tokens = await tokensFor(host, { scope: 'openid offline_access notes:read' }, {}, visit)
  return { agent, tokens }
}

/** Every act: the page that has its form, a text in that form, and what is changed there. */
const forms: Readonly<Record<string, readonly [page: string, has: string, fields?: Record<string, string>]>> =
  {
    create: ['/oauth/admin/new-client', 'value="create"', { client_id: 'new', redirect_uris: callback }],
    save: [pathTo('web'), 'value="save"', { client_name: 'Shop' }],
    rotate: [pathTo('web'), 'value="rotate"'],
    disable: [pathTo('web'), 'value="disable"'],
    delete: ['/oauth/admin/delete-client?client_id=web', 'value="delete"'],
    remove: ['/oauth/admin/users?q=1', 'value="remove"'],
    revoke: ['/oauth/admin/users?q=1', 'value="revoke"'],
    'sign-out': ['/oauth/admin/users?q=1', 'value="sign-out"'],
    end: ['/oauth/admin/users?q=1', 'value="end"'],
    'next keys': ['/oauth/admin/keys', 'value="rotate"'],
  }
const pages = [
  ...new Set([...Object.values(forms).map(([page]) => page), '/oauth/admin', '/oauth/admin/events']),
]

describe('refusals', () => {
  beforeAll(async () => {
    await start()
    await signedIn()
  })
  afterAll(() => host.close())

  describe('a browser without an administrator', () => {
    test.each(pages)('is refused at %s, by GET and POST', async (page) => {
      const stranger = new RawBrowser(host.app)
      const answers = [await stranger.get(page), await stranger.post(page, { act: 'save' })]
      const onlyShows = page === '/oauth/admin' || page === '/oauth/admin/events'
      for (const [index, answer] of answers.entries()) {
        expectErrorPage(answer, index === 1 && onlyShows ? 405 : 403)
        expect(answer.setCookies).toEqual([])
      }
      const [refusal] = events.filter(({ type }) => type === 'request.refused')
      expect(refusal).toMatchObject({
        code: 'access_denied',
        reason: 'the option admin refused this request',
      })
    })

    test.each(Object.keys(forms))('cannot send the form of an administrator: %s', async (act) => {
      const [page, has, fields] = forms[act]!
      const carol = as('carol')
      const form = formOf((await carol.get(page)).html, has)
      const before = await stored()
      // In the same browser: another administrator, and a person who is not one.
      for (const headers of [{ 'x-admin': 'dave' }, { 'x-admin': '' }]) {
        const other = new RawBrowser(host.app, undefined, headers, carol.cookies)
        expectErrorPage(await other.post(form.action, { ...form.fields, ...fields }), 403)
      }
      expect(await stored()).toEqual(before)
      expect(acts()).toEqual([])
    })

    test.each([
      ['a user object', { id: 1 }, 500],
      ['a number', 1, 500],
      ['an error', new Error('no'), 500],
      ['an unavailable service', Object.assign(new Error('no'), { code: 'ECONNREFUSED' }), 503],
      ['undefined', undefined, 403],
      ['an empty string', '', 403],
    ])('%s from the option lets no one in', async (_, answer, status) => {
      const decide = () => (answer instanceof Error ? Promise.reject(answer) : answer)
      const options = { admin: decide as never }
      const other = await startHost({ options, database: host.database })
      expectErrorPage(await new RawBrowser(other.app).get('/oauth/admin'), status)
    })

    test('finds no page without the option', async () => {
      const other = await startHost({ database: host.database })
      for (const page of pages) {
        const { status, html } = await new RawBrowser(other.app).get(page)
        expect({ page, status, html }).toEqual({
          page,
          status: 404,
          html: expect.stringContaining('Cannot GET'),
        })
      }
    })
  })

  describe('forms', () => {
    test.each(Object.keys(forms))(
      'are refused from another site, from another browser, or for another act: %s',
      async (act) => {
        const [page, has, fields] = forms[act]!
        const carol = as('carol')
        const { action, fields: given } = formOf((await carol.get(page)).html, has)
        const sent = { ...given, ...fields }
        const { csrf_token: _, ...without } = sent
        const [otherPage, otherHas] = forms[act === 'disable' ? 'rotate' : 'disable']!
        const { csrf_token } = fieldsOf(await carol.get(otherPage), otherHas)
        const before = await stored()
        const other = as('carol')
        await other.get(page)
        for (const answer of [
          await carol.post(action, without),
          await carol.post(action, { ...sent, csrf_token: csrf_token ?? '' }),
          await carol.post(action, sent, { 'sec-fetch-site': 'cross-site' }),
          await carol.post(action, sent, { origin: 'https://evil.example' }),
          await carol.post(action, { ...sent, act: 'enable' }),
          await other.post(action, sent),
          await as('carol').post(action, sent),
        ])
          expectErrorPage(answer, 403)
        expect(await stored()).toEqual(before)
        expect(acts()).toEqual([])
      },
    )

    test('for one client do not change another one', async () => {
      const carol = as('carol')
      const { action, fields } = formOf((await carol.get(pathTo('self'))).html, 'value="disable"')
      expectErrorPage(await carol.post(action, { ...fields, client_id: 'web' }), 403)
      expect(await metadataOf('web')).toMatchObject({ disabled: false })
    })
  })
})

describe('clients', () => {
  eachWithHost()

  test('are registered with the values of the form; the secret is shown once', async () => {
    const carol = as('carol')
    const page = await carol.get('/oauth/admin/new-client')
    const fields = {
      ...{
        client_id: 'new',
        client_name: 'New <b>',
        redirect_uris: `${callback}\r\n\r\n com.example.app:/cb `,
      },
      ...{ scope: ' openid  email ', 'grant_types:client_credentials': 'on', first_party: 'on' },
      other: '{ "default_max_age": 60 }',
    }
    const created = await carol.submit(page, 'value="create"', fields)
    expect(created.url.href).toBe(`http://localhost:3000${pathTo('new')}#_`)
    expect(created.html).toContain('The client is registered.')
    const [, secret = ''] = /id="client-secret"[^>]*>([^<]+)</.exec(created.html) ?? []
    const { status } = await post(host, {
      grant_type: 'client_credentials',
      client_id: 'new',
      client_secret: secret,
    })
    expect(status).toBe(200)
    expect(await metadataOf('new')).toMatchObject({
      ...{ client_name: 'New <b>', redirect_uris: [callback, 'com.example.app:/cb'], scope: 'openid email' },
      ...{ grant_types: ['authorization_code', 'refresh_token', 'client_credentials'], first_party: true },
      ...{ require_pkce: false, default_max_age: 60 },
    })
    const again = await carol.get(pathTo('new'))
    expect(again.html).not.toContain(secret)
    expect(again.html).not.toContain('The client is registered.')
    expect(again.html).toContain('New &lt;b&gt;')
    expect(acts()).toEqual([['client.created', { clientId: 'new', actor: 'carol' }]])
    expect(JSON.stringify(events)).not.toContain(secret)
  })

  const refusals: Record<string, [fields: Record<string, string>, field: string, error: string]> = {
    'a fragment': [
      { redirect_uris: 'https://a.example/#x' },
      'redirect_uris',
      'redirect_uri must not have a fragment',
    ],
    'no redirect URI': [
      { redirect_uris: '' },
      'redirect_uris',
      'redirect_uris is required with the grant types authorization_code and implicit',
    ],
    'an unknown scope': [{ scope: 'opendi' }, 'scope', 'scope: opendi'],
    'a taken id': [{ client_id: 'web' }, 'client_id', 'client_id: web is already registered'],
    'no URL': [{ policy_uri: 'privacy' }, 'policy_uri', 'policy_uri must be an https URL'],
    'no JSON': [{ other: '{' }, 'other', 'other must be JSON'],
    'a list': [{ other: '[]' }, 'other', 'other must be an object'],
    'a member that has a field': [
      { other: '{"scope":"openid"}' },
      'other',
      'other must not contain scope, which has a field above',
    ],
    'a secret': [
      { other: `{"client_secret":"${'s'.repeat(40)}"}` },
      'other',
      'other must not contain client_secret, which is not client metadata',
    ],
    'an internal member': [
      { other: '{"self_described":"document"}' },
      'other',
      'other must not contain self_described, which is not client metadata',
    ],
    'a member of the wrong type': [
      { other: '{"default_max_age":"1"}' },
      'other',
      'default_max_age must be a whole number of seconds',
    ],
    'an unknown method': [
      { token_endpoint_auth_method: 'magic' },
      'token_endpoint_auth_method',
      'token_endpoint_auth_method must be one of',
    ],
  }
  test.each(Object.entries(refusals))(
    '%s is refused beside its field, and the form keeps what was typed',
    async (_, entry) => {
      const [wrong, field, error] = entry
      const carol = as('carol')
      const page = await carol.get('/oauth/admin/new-client')
      const before = await stored()
      const fields = { client_id: 'typed', client_name: 'Typed', redirect_uris: callback, ...wrong }
      const refused = await carol.submit(page, 'value="create"', fields)
      expect(refused.status).toBe(400)
      const [, said = ''] =
        new RegExp(`id="field-${field}-error"><bdi lang="en">([^<]+)<`).exec(refused.html) ?? []
      expect(said.replaceAll('&#39;', "'").replaceAll('&quot;', '"')).toContain(error)
      expect(fieldsOf(refused, 'value="create"')).toMatchObject(fields)
      expect(await stored()).toEqual(before)
      // The form can be corrected at once.
      const corrected = { client_id: 'typed', redirect_uris: callback, scope: '', policy_uri: '', other: '' }
      const saved = await carol.submit(refused, 'value="create"', {
        ...corrected,
        token_endpoint_auth_method: 'none',
      })
      expect(saved.html).toContain('The client is registered.')
      expect(saved.html).not.toContain('client-secret')
    },
  )

  test('are changed to the values of the form, and members without a field to those of its JSON', async () => {
    await host.oauth.clients.update('web', {
      default_max_age: 60,
      'client_name#de': 'Netz',
      contacts: ['a@b.example'],
    })
    const before = await metadataOf('web')
    const carol = as('carol')
    const page = await carol.get(pathTo('web'))
    // Unchanged, it changes nothing.
    await carol.submit(page, 'value="save"')
    expect(await metadataOf('web')).toEqual(before)
    const shown = await carol.get(pathTo('web'))
    const { default_max_age: _, ...other } = JSON.parse(fieldsOf(shown, 'value="save"').other ?? '')
    const fields = {
      client_name: 'Shop',
      contacts: '',
      other: JSON.stringify({ ...other, tls_client_certificate_bound_access_tokens: false }),
    }
    const saved = await carol.submit(shown, 'value="save"', fields)
    expect(saved.html).toContain('Your changes are saved.')
    const { default_max_age: __, contacts: ___, ...kept } = before!
    expect(await metadataOf('web')).toEqual({
      ...{ ...kept, client_name: 'Shop', tls_client_certificate_bound_access_tokens: false },
    })
    expect(acts()).toEqual(Array(2).fill(['client.updated', { clientId: 'web', actor: 'carol' }]))
  })

  test('a form that was opened before another change overwrites nothing, and is refused with a notice', async () => {
    const [carol, dave] = [as('carol'), as('dave')]
    const [hers, his] = [await carol.get(pathTo('web')), await dave.get(pathTo('web'))]
    await carol.submit(hers, 'value="save"', { client_name: 'Hers' })
    const stale = await dave.submit(his, 'value="save"', { client_name: 'His' })
    expect(stale.html).toContain('Nothing was saved')
    expect(fieldsOf(stale, 'value="save"').client_name).toBe('Hers')
    expect(await metadataOf('web')).toMatchObject({ client_name: 'Hers' })
    await dave.submit(stale, 'value="save"', { client_name: 'His' })
    expect(await metadataOf('web')).toMatchObject({ client_name: 'His' })
  })

  test('get a new secret, which only its administrator sees, once; the previous one works for a day', async () => {
    const clock = stopClock()
    const carol = as('carol')
    const form = formOf((await carol.get(pathTo('web'))).html, 'value="rotate"')
    const answer = await carol.post(form.action, form.fields)
    expect(answer.status).toBe(303)
    expect(answer.location?.href).toBe(`http://localhost:3000${pathTo('web')}#_`)
    const dave = new RawBrowser(host.app, undefined, { 'x-admin': 'dave' }, carol.cookies)
    expect((await dave.get(pathTo('web'))).html).not.toContain('id="client-secret"')
    expect((await carol.send('HEAD', pathTo('web'))).setCookies).toEqual([])
    const page = await carol.get(pathTo('web'))
    const [, secret = ''] = /id="client-secret"[^>]*>([^<]+)</.exec(page.html) ?? []
    expect(page.headers['cache-control']).toBe('no-store')
    expect((await carol.get(pathTo('web'))).html).not.toContain(secret)
    for (const sent of [...answer.setCookies, answer.location?.href]) expect(sent).not.toContain(secret)
    const withSecret = async (client_secret: string) =>
      (await post(host, { grant_type: 'client_credentials', client_id: 'web', client_secret })).status
    expect([await withSecret(secret), await withSecret(web.client_secret)]).toEqual([200, 200])
    clock.travel(86_399)
    expect(await withSecret(secret)).toBe(200)
    expect(acts()).toEqual([['client.secret_rotated', { clientId: 'web', actor: 'carol' }]])
  })

  test('are disabled, enabled and deleted; the page says what a deletion ends', async () => {
    const { tokens } = await signedIn()
    const carol = as('carol')
    const disabled = await carol.submit(await carol.get(pathTo('web')), 'value="disable"')
    expect(textOf(disabled)).toContain('The client is disabled.')
    expect((await userinfo(host, tokens.access_token)).status).toBe(401)
    await carol.submit(disabled, 'value="enable"')
    expect((await userinfo(host, tokens.access_token)).status).toBe(200)
    const asked = await carol.get('/oauth/admin/delete-client?client_id=web')
    expect(textOf(asked)).toMatch(/Users who allowed it something 1 Authorizations that were not ended 1 /)
    const list = await carol.submit(asked, 'value="delete"')
    expect(textOf(list)).toContain('The client Web client is deleted.')
    expect(await metadataOf('web')).toBeUndefined()
    const named = { clientId: 'web', actor: 'carol' }
    expect(acts()).toEqual([
      ['client.disabled', named],
      ['client.enabled', named],
      ['client.deleted', named],
    ])
    expectErrorPage(await carol.get(pathTo('web')), 404)
    expectErrorPage(await carol.get('/oauth/admin/delete-client'), 404)
    expectErrorPage(await carol.submit(asked, 'value="delete"'), 404)
  })

  test('a thousand of them have pages of fifty and a search, with one statement each', async () => {
    const { knex, tablePrefix } = host.database
    const [row] = await knex(`${tablePrefix}clients`).where({ client_id: 'self' })
    const rows = Array.from({ length: 1000 }, (_, index) => {
      const client_id = `c-${String(index).padStart(4, '0')}`
      return {
        ...row,
        client_id,
        metadata: JSON.stringify({ ...JSON.parse(row.metadata), client_name: `No. ${index}` }),
      }
    })
    for (let start = 0; start < rows.length; start += 50)
      await knex(`${tablePrefix}clients`).insert(rows.slice(start, start + 50))
    const carol = as('carol')
    await carol.get('/oauth/admin')
    const count = await countStatements(knex, [`${tablePrefix}sessions`])
    const seen: string[] = []
    let next: string | undefined = '/oauth/admin?q=no.'
    let pagesSeen = 0
    while (next !== undefined) {
      count.reset()
      const { html }: Answer = await carol.get(next)
      expect(count.ours).toHaveLength(1)
      pagesSeen += 1
      seen.push(...[...html.matchAll(/client\?client_id=(c-[0-9]{4})"/g)].map(([, id = '']) => id))
      next = /href="([^"]+)">Next page/.exec(html)?.[1]?.replaceAll('&amp;', '&')
    }
    expect(pagesSeen).toBe(20)
    expect(seen).toEqual(rows.map(({ client_id }) => client_id))
    const found = await carol.get('/oauth/admin?q=NO.%20999')
    expect(textOf(found)).toContain('No. 999')
    expect(found.html).not.toContain('Next page')
    expect(textOf(await carol.get('/oauth/admin?q=%25%3Cb%3E'))).toContain('“ %&lt;b&gt; ”')
  })
})

describe('users', () => {
  eachWithHost()

  test.each([
    [
      'remove',
      'The client no longer has access',
      ['consent.removed', { subject: '1', clientId: 'web' }],
      401,
    ],
    [
      'revoke',
      'The authorization is revoked',
      ['authorization.revoked', { subject: '1', clientId: 'web', reason: 'revoked_by_admin' }],
      401,
    ],
    ['sign-out', 'The login has ended', ['login.ended', { subject: '1' }], 200],
    ['end', 'have ended', ['user.revoked', { subject: '1', reason: 'by an administrator' }], 401],
  ] as const)('%s takes effect, is confirmed and announced', async (act, notice, [type, details], status) => {
    const { tokens } = await signedIn()
    const carol = as('carol')
    const page = await carol.get('/oauth/admin/users?q=ADA%40example.com')
    expect(textOf(page)).toMatch(/ada@example\.com 1 .*Web client Scopes openid offline_access notes:read/)
    const done = await carol.submit(page, `value="${act}"`)
    expect(done.url.search).toBe('?subject=1')
    expect(textOf(done)).toContain(notice)
    expect(acts()).toContainEqual([type, expect.objectContaining({ ...details, actor: 'carol' })])
    // With offline_access it outlives the login.
    expect((await guarded(host, tokens.access_token)).status).toBe(status)
    // A second time there is nothing to end.
    events.length = 0
    await carol.submit(page, `value="${act}"`)
    expect(acts().filter(([name]) => name !== 'user.revoked')).toEqual([])
  })

  test('are found by id before login name; what is stored under an unknown id is shown and can be ended', async () => {
    const { tokens } = await signedIn()
    await host.database.knex(host.usersTable).where({ id: 1 }).delete()
    const carol = as('carol')
    const gone = await carol.get('/oauth/admin/users?q=1')
    expect(textOf(gone)).toMatch(/No enabled user has this ID or login name.*Web client/)
    await host.database.knex(host.usersTable).where({ id: 2 }).update({ email: '1' })
    // The link after an act names the id, which is not looked up as a login name.
    const done = await carol.submit(gone, 'value="end"')
    expect(textOf(done)).toContain('No enabled user has this ID')
    expect(textOf(await carol.get('/oauth/admin/users?q=1'))).toMatch(/1 2 Events of this user/)
    await post(host, { grant_type: 'refresh_token', refresh_token: tokens.refresh_token, ...web }).expect(400)
  })
})

describe('keys and events', () => {
  eachWithHost()

  test('the next keys are published on request, in the name of the administrator', async () => {
    const carol = as('carol')
    const page = await carol.get('/oauth/admin/keys')
    expect(textOf(page)).not.toContain('Signs later')
    const done = await carol.submit(page, 'value="rotate"')
    expect(textOf(done)).toContain('The next keys are published.')
    const published = acts()
    expect(published.length).toBeGreaterThan(2)
    expect(textOf(done).match(/Signs later/g)).toHaveLength(published.length)
    for (const act of published) expect(act).toMatchObject(['key.published', { actor: 'carol' }])
    await carol.submit(done, 'value="rotate"')
    expect(acts()).toEqual(published)
    expect(done.html).not.toMatch(/"d"|private/)
  })

  test('events are shown newest first, by user, client, type and error id, in pages', async () => {
    await signedIn()
    const carol = as('carol')
    const { html: refused } = await carol.get(
      '/oauth/authorize?client_id=web&redirect_uri=https://evil.example',
    )
    const [, errorId = ''] = /id="error-id">([^<]+)/.exec(refused) ?? []
    await serverBehind(host.oauth)!.eventLog!.settled()
    const typesAt = async (query: string) => {
      const { html } = await carol.get(`/oauth/admin/events?${query}`)
      return [...html.matchAll(/<span class="name">([^<]+)</g)].map(([, type]) => type)
    }
    const all = await typesAt('')
    expect(all).toEqual(
      expect.arrayContaining(['login.succeeded', 'consent.allowed', 'tokens.issued', 'request.refused']),
    )
    expect(await typesAt('type=login')).toEqual(['login.succeeded'])
    expect(await typesAt('type=log')).toEqual([])
    expect(await typesAt(`error_id=%20${errorId.toLowerCase()}`)).toEqual(['request.refused'])
    expect(await typesAt('user=1&type=tokens.issued')).toEqual(['tokens.issued'])
    expect(await typesAt('user=2')).toEqual([])
    expect(await typesAt('client=native')).toEqual([])
    expect(await typesAt('client=web&type=request')).toEqual(['request.refused'])
    const explained = await carol.get(`/oauth/admin/events?error_id=${errorId}`)
    expect(textOf(explained)).toContain('received https://evil.example')

    const { knex, tablePrefix } = host.database
    const rows = Array.from({ length: 1105 }, (_, index) => ({
      ...{ id: `x${index}`, type: 'login.failed', request_id: 'X', subject: null, time: 1, details: '{}' },
      expires_at: 5_000_000_000 + (index >> 1),
    }))
    for (let start = 0; start < rows.length; start += 65)
      await knex(`${tablePrefix}events`).insert(rows.slice(start, start + 65))
    let next: string | undefined = '/oauth/admin/events?type=login'
    let found = 0
    while (next !== undefined) {
      const { html }: Answer = await carol.get(next)
      found += html.match(/<span class="name">login/g)?.length ?? 0
      next = /href="([^"]+)">Older events/.exec(html)?.[1]?.replaceAll('&amp;', '&')
    }
    expect(found).toBe(1106)
    // A filter that finds nothing reads a thousand events, and links to the next ones.
    const none = await carol.get('/oauth/admin/events?type=key')
    expect(textOf(none)).toMatch(/No such event .* Older events/)
    expect((await carol.get('/oauth/admin/events?before=1;drop')).status).toBe(200)
  })

  test('without storeEvents the page says which option is missing, and others do not link to it', async () => {
    const other = await startHost({ options: { admin: () => true }, database: host.database })
    const someone = new RawBrowser(other.app)
    expect(textOf(await someone.get('/oauth/admin/events'))).toContain('storeEvents')
    expect(textOf(await someone.get('/oauth/admin/client?client_id=web'))).not.toContain(
      'Events of this client',
    )
    // An administrator without an id is no actor.
    const heard: AuthEvent[] = []
    other.oauth.events.on('client.disabled', (event) => heard.push(event))
    await someone.submit(await someone.get('/oauth/admin/client?client_id=web'), 'value="disable"')
    expect(heard).toEqual([expect.not.objectContaining({ actor: expect.anything() })])
  })
})

describe('pages', () => {
  eachWithHost()

  test('pages are in English, never stored, and cannot be framed; what strangers wrote is text', async () => {
    const client_name = '<script>alert(1)</script>‮"\' onmouseover=x'
    await host.oauth.clients.update('web', { client_name: 'x' })
    const { knex, tablePrefix } = host.database
    const [{ metadata }] = await knex(`${tablePrefix}clients`).where({ client_id: 'web' })
    const hostile = JSON.stringify({
      ...JSON.parse(metadata),
      client_name,
      client_uri: 'javascript:alert(1)',
      logo_uri: 'https://evil.example/x.png',
    })
    await knex(`${tablePrefix}clients`).where({ client_id: 'web' }).update({ metadata: hostile })
    await signedIn()
    for (const page of [
      '/oauth/admin',
      pathTo('web'),
      '/oauth/admin/delete-client?client_id=web',
      '/oauth/admin/users?q=1',
      '/oauth/admin/events',
    ]) {
      const { html, headers } = await as('carol').get(page, { 'accept-language': 'de' })
      expect(html).toContain('<html lang="en" dir="ltr">')
      expect(html).not.toMatch(/<script|<img|‮|href="javascript|src="http/)
      expect(headers).toMatchObject({
        'cache-control': 'no-store',
        'content-language': 'en',
        'x-frame-options': 'DENY',
      })
      expect(headers['content-security-policy']).toContain("frame-ancestors 'none'")
    }
  })
})
