import { admin } from '../../lib/features/index.ts'
import type { AuthEvent } from '../../lib/index.ts'
import { serverBehind } from '../../lib/router.ts'
import { stopClock } from '../support/clock.ts'
import { authorizeUrl, callback, people, startHost } from '../support/host.ts'
import { expectErrorPage, withoutOwnScript } from '../support/outcomes.ts'
import { type Answer, fieldsOf, formOf, locationOf, RawBrowser, textOf } from '../support/raw-browser.ts'
import { ada, bob, guarded, post, userinfo, web } from '../support/tokens.ts'
import {
  acts,
  allow,
  as,
  events,
  host,
  metadataOf,
  pathTo,
  signedIn,
  stored,
  withAdministrators,
  withHost,
} from './administrators.ts'

withAdministrators()

/** Every act: the page that has its form, a text in that form, and what is changed there. */
const forms: Readonly<Record<string, readonly [page: string, has: string, fields?: Record<string, string>]>> =
  {
    create: ['/oauth/admin/new-client', 'value="create"', { client_id: 'new', redirect_uris: callback }],
    save: [pathTo('web'), 'value="save"', { client_name: 'Shop' }],
    rotate: [pathTo('web'), 'value="rotate"'],
    disable: ['/oauth/admin/disable-client?client_id=web', 'value="disable"'],
    delete: ['/oauth/admin/delete-client?client_id=web', 'value="delete"'],
    remove: ['/oauth/admin/users?q=1', 'value="remove"'],
    revoke: ['/oauth/admin/users?q=1', 'value="revoke"'],
    'sign-out': ['/oauth/admin/users?q=1', 'value="sign-out"'],
    end: ['/oauth/admin/user-act?subject=1', 'value="end"'],
    'next keys': ['/oauth/admin/publish-keys', 'value="publish"'],
  }
const pages = [
  ...new Set([
    ...Object.values(forms).map(([page]) => page),
    '/oauth/admin',
    '/oauth/admin/clients',
    '/oauth/admin/keys',
    '/oauth/admin/events',
    '/oauth/admin/report',
  ]),
]

/** Where the link with this id leads. */
const linkOf = ({ html }: Answer, id: string): string =>
  (new RegExp(`id="${id}" href="([^"]+)"`).exec(html)?.[1] ?? '').replaceAll('&amp;', '&')

describe('refusals', () => {
  withHost()
  beforeAll(signedIn)

  test.each(pages)('a browser without an administrator is refused at %s, by GET and POST', async (page) => {
    const stranger = new RawBrowser(host.app)
    const answers = [await stranger.get(page), await stranger.post(page, { decision: 'save' })]
    for (const answer of answers) {
      expectErrorPage(answer, 403)
      expect(answer.html).toContain('You can’t open this page')
      expect(answer.setCookies).toEqual([])
    }
    const [refusal] = events.filter(({ type }) => type === 'request.refused')
    expect(refusal).toMatchObject({
      code: 'access_denied',
      description: 'not an administrator',
    })
  })

  test('who is signed in sees as whom, and can sign in with another account', async () => {
    const { agent } = await signedIn()
    const refused = await agent.get('/oauth/admin')
    expectErrorPage(refused, 403)
    expect(textOf(refused)).toContain(ada.email)
    const form = await agent.open(linkOf(refused, 'another'))
    expect(form.html).toContain('<h1>Sign in to')
    const { action, fields } = formOf(form.html, 'name="password"')
    const bob = people[1]!
    await agent.post(action, { ...fields, username: bob.email, password: bob.password })
    const again = await agent.get('/oauth/admin')
    expect(textOf(again)).toContain(bob.email)
    expect(textOf(again)).not.toContain(ada.email)
    expect((await new RawBrowser(host.app).get('/oauth/admin')).html).not.toContain('id="another"')
  })

  test.each(['/oauth/admin', '/oauth/admin/users?q=ada&page=2', pathTo('web')])(
    'who is signed out signs in and comes back to %s, with our form or on the page of the host',
    async (page) => {
      const agent = new RawBrowser(host.app)
      const form = await agent.open(linkOf(await agent.get(page), 'sign-in'))
      expect(form.html).toContain('<h1>Sign in to')
      const back = await agent.signIn(form)
      expect(back.url.pathname + back.url.search).toBe(page)
      expect(textOf(back)).toContain(ada.email)
      // The form is for those who are signed out.
      expect((await agent.get(page.includes('?') ? `${page}&sign_in=1` : `${page}?sign_in=1`)).status).toBe(
        403,
      )

      const options = { login: { url: '/sign-in', current: () => undefined }, features: [admin({ allow })] }
      const other = await startHost({ options, database: host.database })
      const visitor = new RawBrowser(other.app)
      const sent = await visitor.get(linkOf(await visitor.get(page), 'sign-in'))
      const target = new URL(locationOf(sent).searchParams.get('return_to') ?? '', 'http://localhost')
      target.searchParams.delete('returned')
      expect(target.pathname + target.search).toBe(page)
    },
  )

  test('an administrator who has a login here can end it from every page, any other cannot', async () => {
    const { agent } = await signedIn()
    const page = await agent.get('/oauth/admin/keys', { 'x-admin': 'root' })
    expect(page.status).toBe(200)
    expect(textOf(await agent.open(linkOf(page, 'sign-out')))).toContain(ada.email)
    expect((await as('root').get('/oauth/admin/keys')).html).not.toContain('id="sign-out"')
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
    const options = { features: [admin({ allow: decide as never })] }
    const other = await startHost({ options, database: host.database })
    expectErrorPage(await new RawBrowser(other.app).get('/oauth/admin'), status)
  })

  test('without the option there are no pages', async () => {
    const other = await startHost({ database: host.database })
    for (const page of pages) {
      const { status, html } = await new RawBrowser(other.app).get(page)
      const notOurs = expect.stringContaining('Cannot GET')
      expect({ page, status, html }).toEqual({ page, status: 404, html: notOurs })
    }
  })

  /** Opens the form of an act; returns where it is sent, and what. */
  const opened = async (agent: RawBrowser, act: string) => {
    const [page, has, changes] = forms[act]!
    const { action, fields } = formOf((await agent.get(page)).html, has)
    return { action, fields: { ...fields, ...changes } as Record<string, string> }
  }
  /** Each attempt is refused, and nothing is changed or announced. */
  const expectForbidden = async (attempts: readonly (() => Promise<Answer>)[]): Promise<void> => {
    const before = await stored()
    for (const attempt of attempts) expectErrorPage(await attempt(), 403)
    expect(await stored()).toEqual(before)
    expect(acts()).toEqual([])
  }

  test.each(Object.keys(forms))(
    'only the administrator who opened the form to %s can send it, and only with its own token',
    async (act) => {
      const carol = as('carol')
      const { action, fields } = await opened(carol, act)
      const { csrf_token: _, ...without } = fields
      const { csrf_token = '' } = (await opened(carol, act === 'disable' ? 'rotate' : 'disable')).fields
      // In the same browser: another administrator, and a person who is not one.
      const sameBrowser = (name: string) =>
        new RawBrowser(host.app, undefined, { 'x-admin': name }, carol.cookies)
      await expectForbidden([
        () => sameBrowser('dave').post(action, fields),
        () => sameBrowser('').post(action, fields),
        () => carol.post(action, without),
        () => carol.post(action, { ...fields, csrf_token }),
        () => as('carol').post(action, fields),
      ])
    },
  )

  test('a form is refused from another site or browser, for another act and for another client', async () => {
    const [carol, other] = [as('carol'), as('carol')]
    const { action, fields } = await opened(carol, 'disable')
    await opened(other, 'disable')
    await expectForbidden([
      () => carol.post(action, fields, { 'sec-fetch-site': 'cross-site' }),
      () => carol.post(action, fields, { origin: 'https://evil.example' }),
      () => carol.post(action, { ...fields, decision: 'enable' }),
      () => carol.post(action, { ...fields, client_id: 'self' }),
      () => other.post(action, fields),
    ])
  })
})

describe('clients', () => {
  withHost()

  test('are registered with the values of the form, once it is corrected; the secret is shown once', async () => {
    const carol = as('carol')
    const page = await carol.get('/oauth/admin/new-client')
    const redirect_uris = `${callback}\r\n\r\n com.example.app:/cb `
    const refused = await carol.submit(page, 'value="create"', {
      client_id: 'new',
      client_name: 'New <b>',
      redirect_uris,
      'scope:openid': 'on',
      'scope:email': 'on',
      'grant_types:client_credentials': 'on',
      first_party: 'on',
      other: '{',
    })
    expect(refused.status).toBe(400)
    const created = await carol.submit(refused, 'value="create"', { other: '{ "default_max_age": 60 }' })
    expect(created.url.href).toBe(`http://localhost:3000${pathTo('new')}#_`)
    expect(created.html).toContain('The client is registered.')
    const [, client_secret = ''] = /id="secret"[^>]*>([^<]+)</.exec(created.html) ?? []
    const fields = { grant_type: 'client_credentials', client_id: 'new', client_secret }
    expect((await post(host, fields)).status).toBe(200)
    expect(await metadataOf('new')).toMatchObject({
      client_name: 'New <b>',
      redirect_uris: [callback, 'com.example.app:/cb'],
      scope: 'openid email',
      grant_types: ['authorization_code', 'refresh_token', 'client_credentials'],
      first_party: true,
      require_pkce: false,
      default_max_age: 60,
    })
    const again = await carol.get(pathTo('new'))
    expect(again.html).not.toContain(client_secret)
    expect(again.html).not.toContain('The client is registered.')
    expect(again.html).toContain('New &lt;b&gt;')
    expect(acts()).toEqual([['client.created', { clientId: 'new', actor: 'carol' }]])
    expect(JSON.stringify(events)).not.toContain(client_secret)
    const isPublic = { client_id: 'p', redirect_uris: callback, token_endpoint_auth_method: 'none' }
    expect((await carol.submit(page, 'value="create"', isPublic)).html).not.toContain('id="secret"')
  })

  test.each<[wrong: Record<string, string>, error: string]>([
    [{ redirect_uris: 'https://a.example/#x' }, 'redirect_uri must not have a fragment'],
    [{ redirect_uris: '' }, 'is required with the grant types authorization_code and implicit'],
    [{ client_id: 'web' }, 'client_id: web is already registered'],
    [{ policy_uri: 'privacy' }, 'policy_uri must be an https URL'],
    [{ token_endpoint_auth_method: 'magic' }, 'token_endpoint_auth_method must be one of'],
    [{ other: '{' }, 'other must be JSON'],
    [{ other: '[]' }, 'other must be an object'],
    [{ other: '{"scope":"openid"}' }, 'other must not contain scope, which has a field above'],
    [
      { other: '{"client_secret":"s"}' },
      'other must not contain client_secret, which is not client metadata',
    ],
    [{ other: '{"self_described":"x"}' }, 'must not contain self_described, which is not client metadata'],
    [{ other: '{"default_max_age":"1"}' }, 'default_max_age must be a whole number of seconds'],
  ])('%j is refused beside its field, and the form keeps what was typed', async (wrong, error) => {
    const carol = as('carol')
    const page = await carol.get('/oauth/admin/new-client')
    const before = await stored()
    const fields = { client_id: 'typed', client_name: 'Typed', redirect_uris: callback, ...wrong }
    const refused = await carol.submit(page, 'value="create"', fields)
    expect(refused.status).toBe(400)
    const [field = ''] = Object.keys(wrong)
    const message = new RegExp(`id="field-${field}-error"><bdi lang="en">([^<]+)<`).exec(refused.html)?.[1]
    expect(message).toContain(error)
    expect(fieldsOf(refused, 'value="create"')).toMatchObject(fields)
    expect(await stored()).toEqual(before)
  })

  test('are changed to the values of the form, and members without a field to those of its JSON', async () => {
    const more = { default_max_age: 60, 'client_name#de': 'Netz', contacts: ['a@b.example'] }
    await host.oauth.clients.update('web', more)
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
      ...kept,
      client_name: 'Shop',
      tls_client_certificate_bound_access_tokens: false,
    })
    expect(acts()).toEqual(Array(2).fill(['client.updated', { clientId: 'web', actor: 'carol' }]))
  })

  test('a form opened before another change is refused with a notice, and overwrites nothing', async () => {
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

  test('get a new secret, which only the administrator sees, once; the old one works for a day', async () => {
    const clock = stopClock()
    const carol = as('carol')
    const form = formOf((await carol.get(pathTo('web'))).html, 'value="rotate"')
    const answer = await carol.post(form.action, form.fields)
    expect(answer.status).toBe(303)
    expect(answer.location?.href).toBe(`http://localhost:3000${pathTo('web')}#_`)
    const dave = new RawBrowser(host.app, undefined, { 'x-admin': 'dave' }, carol.cookies)
    expect((await dave.get(pathTo('web'))).html).not.toContain('id="secret"')
    expect((await carol.send('HEAD', pathTo('web'))).setCookies).toEqual([])
    const page = await carol.get(pathTo('web'))
    const [, secret = ''] = /id="secret"[^>]*>([^<]+)</.exec(page.html) ?? []
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

  test('the page of a client has its number of users, and its scopes to tick, in words', async () => {
    const carol = as('carol')
    const page = await carol.get(pathTo('web'))
    expect(textOf(page)).toMatch(/Users \d Client secret/)
    expect(textOf(page)).toContain('Read your notes notes:read')
    const { scope } = (await metadataOf('web'))!
    const ticked = ({ html }: Answer) =>
      Object.keys(fieldsOf({ html } as Answer, 'value="save"')).flatMap(
        (name) => /^scope:(.*)/.exec(name)?.[1] ?? [],
      )
    expect(ticked(page)).toEqual(scope?.split(' '))
    const fewer = await carol.submit(page, 'value="save"', { 'scope:notes:write': '', 'scope:phone': 'on' })
    expect(textOf(fewer)).toContain('Your changes are saved.')
    expect((await metadataOf('web'))?.scope).toBe('openid profile email phone offline_access notes:read')
    const none = Object.fromEntries(ticked(fewer).map((name) => [`scope:${name}`, '']))
    expect(textOf(fewer)).toContain('If none is ticked, all standard scopes are allowed.')
    expect(ticked(await carol.submit(fewer, 'value="save"', none))).toEqual([])
    expect((await metadataOf('web'))?.scope).toBeUndefined()
    await host.oauth.clients.update('web', { scope })
  })

  test('a scope that is no longer in the options stays ticked, and is named when it is refused', async () => {
    const row = await host.table('clients').where({ client_id: 'web' }).first()
    const metadata = JSON.stringify({ ...JSON.parse(row.metadata), scope: 'openid notes:old' })
    await host.table('clients').where({ client_id: 'web' }).update({ metadata })
    const carol = as('carol')
    const page = await carol.get(pathTo('web'))
    const refused = await carol.submit(page, 'value="save"')
    expect(refused.status).toBe(400)
    expect(refused.html).toMatch(
      /id="field-scope-error"><bdi lang="en">scope: notes:old is not in the option/,
    )
    const saved = await carol.submit(refused, 'value="save"', { 'scope:notes:old': '' })
    expect(textOf(saved)).not.toContain('notes:old')
    await host.table('clients').where({ client_id: 'web' }).update(row)
  })

  test('are disabled, enabled and deleted; a page asks first and says whom it concerns (pages 29)', async () => {
    await host.oauth.clients.update('web', { client_name: 'Deleted' })
    const { tokens } = await signedIn()
    const carol = as('carol')
    const asking = await carol.get(linkOf(await carol.get(pathTo('web')), 'disable'))
    expect(textOf(asking)).toMatch(/Users 1 Active authorizations 1 /)
    expect((await userinfo(host, tokens.access_token)).status).toBe(200)
    const disabled = await carol.submit(asking, 'value="disable"')
    expect(disabled.url.href).toBe(`http://localhost:3000${pathTo('web')}#_`)
    expect(textOf(disabled)).toContain('The client is disabled.')
    expect(disabled.html).not.toContain('id="disable"')
    expect((await userinfo(host, tokens.access_token)).status).toBe(401)
    await carol.submit(disabled, 'value="enable"')
    expect((await userinfo(host, tokens.access_token)).status).toBe(200)
    const asked = await carol.get('/oauth/admin/delete-client?client_id=web')
    expect(textOf(asked)).toMatch(/Users 1 Active authorizations 1 /)
    const list = await carol.submit(asked, 'value="delete"')
    expect(textOf(list)).toContain('The client Deleted is deleted.')
    expect(await metadataOf('web')).toBeUndefined()
    const named = { clientId: 'web', actor: 'carol' }
    expect(acts()).toEqual([
      ['client.disabled', named],
      ['client.enabled', named],
      ['client.deleted', named],
    ])
    const absent = await carol.get(pathTo('web'))
    expectErrorPage(absent, 404)
    expect(absent.html).toContain('There’s no such page')
    expectErrorPage(await carol.get('/oauth/admin/delete-client'), 404)
    expectErrorPage(await carol.submit(asked, 'value="delete"'), 404)
  })
})

describe('users', () => {
  withHost()

  test.each<[act: string, notice: string, event: string, details: object, status: number]>([
    ['remove', 'The client no longer has access', 'consent.removed', { clientId: 'web' }, 401],
    [
      ...(['revoke', 'The authorization is revoked', 'authorization.revoked'] as const),
      ...([{ clientId: 'web', reason: 'revoked_by_admin' }, 401] as const),
    ],
    // With offline_access the token outlives the login.
    ['sign-out', 'The login has ended', 'login.ended', {}, 200],
    ['end', 'have ended', 'user.revoked', { reason: 'by an administrator' }, 401],
  ])('%s takes effect once, is confirmed and announced', async (act, notice, type, details, status) => {
    const { tokens } = await signedIn()
    const carol = as('carol')
    const page = await carol.get('/oauth/admin/users?q=ADA%40example.com')
    expect(textOf(page)).toMatch(
      /Ada Lovelace Active ada@example\.com ID 1 Last sign-in .* UTC .*Web client Scopes openid offline_access notes:read .*Newest authorizations: \d/,
    )
    const asking = act === 'end' ? await carol.get(linkOf(page, 'end-all')) : page
    const done = await carol.submit(asking, `value="${act}"`)
    expect(done.url.search).toBe('?subject=1')
    expect(textOf(done)).toContain(notice)
    const named = { ...details, subject: '1', actor: 'carol' }
    expect(acts()).toContainEqual([type, expect.objectContaining(named)])
    expect((await guarded(host, tokens.access_token)).status).toBe(status)
    events.length = 0
    await carol.submit(asking, `value="${act}"`)
    expect(acts().filter(([name]) => name !== 'user.revoked')).toEqual([])
  })

  test('are found by id before login name; data under an unknown id is shown and can be ended', async () => {
    const { tokens } = await signedIn()
    await host.database.knex(host.usersTable).where({ id: 1 }).delete()
    const carol = as('carol')
    const gone = await carol.get('/oauth/admin/users?q=1')
    expect(textOf(gone)).toMatch(/No enabled user has this ID or login name.*Web client/)
    await host.database.knex(host.usersTable).where({ id: 2 }).update({ email: '1' })
    // Links name the id, which is not looked up as a login name.
    const done = await carol.submit(await carol.get(linkOf(gone, 'end-all')), 'value="end"')
    expect(textOf(done)).toContain('No enabled user has this ID')
    expect(textOf(await carol.get('/oauth/admin/users?q=1'))).toMatch(
      /Bob Byte Active 1 ID 2 Events of this user/,
    )
    await new RawBrowser(host.app).grant(
      authorizeUrl({ client_id: 'web', scope: 'openid' }),
      '1',
      bob.password,
    )
    await serverBehind(host.oauth)!.eventLog!.settled()
    const [, eventsUrl = ''] = / href="([^"]*)">Events of this user</.exec(done.html) ?? []
    const ofGone = await carol.get(eventsUrl.replaceAll('&amp;', '&'))
    const subjects = [...ofGone.html.matchAll(/<a href="([^"]*admin\/users[^"]*=)(\w+)"><bdi>/g)]
    expect(new Set(subjects.map(([, page, id]) => `${page}${id}`))).toEqual(
      new Set(['/oauth/admin/users?subject=1']),
    )
    await post(host, { grant_type: 'refresh_token', refresh_token: tokens.refresh_token, ...web }).expect(400)
  })
})

describe('keys, events and all pages', () => {
  withHost()

  test('the next keys are published after a page asked, in the name of the administrator', async () => {
    const carol = as('carol')
    const page = await carol.get('/oauth/admin/keys')
    expect(textOf(page)).not.toContain('Next')
    const asking = await carol.get(linkOf(page, 'publish'))
    expect(textOf(asking)).toMatch(/Algorithms RS256 .* New keys sign from /)
    expect(acts()).toEqual([])
    const done = await carol.submit(asking, 'value="publish"')
    expect(textOf(done)).toContain('The next keys are published.')
    const published = acts()
    expect(published.length).toBeGreaterThan(2)
    expect(done.html.match(/>Next</g)).toHaveLength(published.length)
    for (const act of published) expect(act).toMatchObject(['key.published', { actor: 'carol' }])
    await carol.submit(asking, 'value="publish"')
    expect(acts()).toEqual(published)
    const nothing = await carol.get('/oauth/admin/publish-keys')
    expect(textOf(nothing)).toContain('The next key of every algorithm is already published.')
    expect(nothing.html).not.toContain('value="publish"')
    expect(done.html).not.toMatch(/"d"|private/)
  })

  test('events are shown newest first, by user, client, type and error id, in pages', async () => {
    await signedIn()
    const carol = as('carol')
    const refused = await carol.get('/oauth/authorize?client_id=web&redirect_uri=https://evil.example')
    const [, errorId = ''] = /id="error-id">([^<]+)/.exec(refused.html) ?? []
    await serverBehind(host.oauth)!.eventLog!.settled()
    const typesAt = async (query: string) => {
      const { html } = await carol.get(`/oauth/admin/events?${query}`)
      return [...html.matchAll(/<dt>Event<\/dt><dd><bdi>([^<]+)</g)].map(([, type]) => type)
    }
    const some = ['login.succeeded', 'consent.allowed', 'tokens.issued', 'request.refused']
    expect(await typesAt('')).toEqual(expect.arrayContaining(some))
    expect(await typesAt('type=login')).toEqual(['login.succeeded'])
    expect(await typesAt('type=log')).toEqual([])
    expect(await typesAt(`error_id=%20${errorId.toLowerCase()}`)).toEqual(['request.refused'])
    expect(await typesAt('user=1&type=tokens.issued')).toEqual(['tokens.issued'])
    expect(await typesAt('user=2')).toEqual([])
    expect(await typesAt('client=native')).toEqual([])
    expect(await typesAt('client=web&type=request')).toEqual(['request.refused'])
    const explained = await carol.get(`/oauth/admin/events?error_id=${errorId}`)
    expect(textOf(explained)).toContain('Received https://evil.example')

    const { knex, tablePrefix } = host.database
    const rows = Array.from({ length: 1105 }, (_, index) => ({
      id: `x${index}`,
      type: 'login.failed',
      request_id: 'X',
      subject: null,
      time: 4_000_000_000 + (index >> 1),
      details: '{}',
      expires_at: 5_000_000_000,
    }))
    await knex.batchInsert(`${tablePrefix}events`, rows, 65)
    let next: string | undefined = '/oauth/admin/events?type=login'
    let found = 0
    while (next !== undefined) {
      const { html }: Answer = await carol.get(next)
      found += html.match(/<dt>Event<\/dt><dd><bdi>login/g)?.length ?? 0
      next = /href="([^"]+)">Older events/.exec(html)?.[1]?.replaceAll('&amp;', '&')
    }
    expect(found).toBe(1106)
    // What is rare is found behind thousands of others.
    expect(await typesAt('type=key')).toContain('key.published')
    expect((await carol.get('/oauth/admin/events?before=1;drop')).status).toBe(200)
  })

  test('without storedEvents the page names the missing option, and no page links to it', async () => {
    const other = await startHost({
      options: { features: [admin({ allow: () => true })] },
      database: host.database,
    })
    const someone = new RawBrowser(other.app)
    expect(textOf(await someone.get('/oauth/admin/events'))).toContain('storedEvents')
    expect(textOf(await someone.get(pathTo('self')))).not.toContain('Events of this client')
    const page = await someone.get('/oauth/admin/disable-client?client_id=self')
    // An administrator without an id is no actor.
    const heard: AuthEvent[] = []
    other.oauth.events.on('client.disabled', (event) => heard.push(event))
    await someone.submit(page, 'value="disable"')
    expect(heard).toEqual([expect.not.objectContaining({ actor: expect.anything() })])
  })

  test('every page says that it is for administrators, whose server it is and who uses it', async () => {
    await signedIn()
    const asks = ['/disable-client?client_id=web', '/delete-client?client_id=web', '/publish-keys']
    const paths = [
      '',
      '/clients',
      '/new-client',
      '/client?client_id=web',
      ...asks,
      '/users?q=1',
      '/keys',
      '/events',
    ]
    for (const path of paths) {
      const text = textOf(await as('carol').get(`/oauth/admin${path}`))
      expect({ path, text }).toEqual({
        path,
        text: expect.stringMatching(
          /Latchkey Admin Administrator carol Issuer http:\/\/localhost:3000\/oauth Development/,
        ),
      })
      expect({ path, hasHalfDays: /\d [AP]M\b/.test(text) }).toEqual({ path, hasHalfDays: false })
    }
  })

  test('pages are in English, never stored, and cannot be framed; what strangers wrote is text', async () => {
    const client_name = '<script>alert(1)</script>‮"\' onmouseover=x'
    const [{ metadata }] = await host.table('clients').where({ client_id: 'web' })
    const uris = { client_uri: 'javascript:alert(1)', logo_uri: 'https://evil.example/x.png' }
    const hostile = JSON.stringify({ ...JSON.parse(metadata), client_name, ...uris })
    await host.table('clients').where({ client_id: 'web' }).update({ metadata: hostile })
    await signedIn()
    const asks = ['/disable-client?client_id=web', '/delete-client?client_id=web']
    const paths = ['', '/clients', '/client?client_id=web', ...asks, '/users?q=1', '/events']
    for (const path of paths) {
      const { html, headers } = await as('carol').get(`/oauth/admin${path}`, { 'accept-language': 'de' })
      expect(html).toContain('<html lang="en" dir="ltr">')
      expect(withoutOwnScript(html)).not.toMatch(/<script|<img|‮|href="javascript|src="http/)
      expect(headers).toMatchObject({
        'cache-control': 'no-store',
        'content-language': 'en',
        'x-frame-options': 'DENY',
      })
      expect(headers['content-security-policy']).toContain("frame-ancestors 'none'")
    }
  })
})
