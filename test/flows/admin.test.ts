import type { AuthEvent } from '../../lib/index.ts'
import { serverBehind } from '../../lib/router.ts'
import {
  acts,
  as,
  eachWithHost,
  events,
  host,
  metadataOf,
  pathTo,
  signedIn,
  start,
  stored,
  textOf,
  withAdministrators,
} from '../support/administrators.ts'
import { callback, startHost } from '../support/host.ts'
import { expectErrorPage } from '../support/outcomes.ts'
import { type Answer, fieldsOf, formOf, RawBrowser } from '../support/raw-browser.ts'
import { guarded, post, web } from '../support/tokens.ts'

withAdministrators()

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
