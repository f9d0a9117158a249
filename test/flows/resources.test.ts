import supertest from 'supertest'
import type { AuthRouterOptions } from '../../lib/index.ts'
import { callback, clients, type Host, startHost } from '../support/host.ts'
import { locationOf, RawBrowser } from '../support/raw-browser.ts'
import {
  authorizeFor,
  authorizePath,
  files,
  introspectAs,
  mail,
  notes,
  photos,
  startResourceHost,
  tokenRequest,
  tokensOf,
} from '../support/resource-host.ts'
import { ada, answerOf, expectError, type Fields, tokensFor, userinfo } from '../support/tokens.ts'

type Resources = NonNullable<AuthRouterOptions['resources']>

// RFC 8707. What identifiers and scopes are allowed is proved in test/protocol/resource.test.ts.

let host: Host
beforeAll(async () => {
  host = await startResourceHost({ clients: [{ ...clients[0], client_id: 'fresh', scope }] })
})
afterAll(() => host.close())

const about = async (token: string): Promise<Record<string, unknown>> => introspectAs(host, 'web', token)
const scope = 'openid offline_access notes:read notes:write mail:read'

describe('the audience of an access token', () => {
  test.each<[string, string[], string[], unknown, string]>([
    ['that of the request', [notes], [], notes, 'openid offline_access notes:read notes:write'],
    ['all of the request', [notes, mail], [], [notes, mail], scope],
    ['those of the token request', [notes, mail], [mail], mail, 'openid offline_access notes:read mail:read'],
    ['the same again', [notes], [notes, notes], notes, 'openid offline_access notes:read notes:write'],
    ['none without resources', [], [], undefined, scope],
  ])('is %s', async (_case, asked, narrowed, aud, left) => {
    const { access_token, scope: granted } = await tokensOf(host, asked, { scope }, narrowed)
    expect(granted).toBe(left)
    const { aud: told, scope: toldScope } = await about(access_token)
    expect({ told, toldScope }).toEqual({ told: aud, toldScope: left })
  })

  test('is narrowed by a refresh for its access token only', async () => {
    const { refresh_token } = await tokensOf(host, [notes, mail], { scope })
    const narrowed = await answerOf(
      tokenRequest(host, { grant_type: 'refresh_token', refresh_token }, [mail]),
    )
    expect(await about(narrowed.access_token)).toMatchObject({ aud: mail })
    const next = { grant_type: 'refresh_token', refresh_token: narrowed.refresh_token }
    const full = await answerOf(tokenRequest(host, next))
    expect(await about(full.access_token)).toMatchObject({ aud: [notes, mail], scope })
    const last = { grant_type: 'refresh_token', refresh_token: full.refresh_token, scope: 'openid mail:read' }
    expectError(await tokenRequest(host, { ...last, scope: 'mail:read' }, [notes]), 400, 'invalid_scope')
    expect((await answerOf(tokenRequest(host, last))).scope).toBe('openid mail:read')
  })

  test('of a client of its own is what it asks for, with the scopes of the resource', async () => {
    const own = { grant_type: 'client_credentials' }
    const { access_token, scope: granted } = await answerOf(tokenRequest(host, own, [mail]))
    expect({ granted, ...(await about(access_token)) }).toMatchObject({
      granted: 'notes:read mail:read',
      aud: mail,
    })
    expectError(await tokenRequest(host, { ...own, scope: 'notes:write' }, [mail]), 400, 'invalid_scope')
    expect(await about((await answerOf(tokenRequest(host, own))).access_token)).not.toHaveProperty('aud')
  })

  test('lets no token for a resource pass a guard without one, and UserInfo only with openid', async () => {
    const { access_token } = await tokensOf(host, [notes], { scope: 'openid notes:read' })
    const call = (token: string) =>
      supertest(host.app).get('/api/notes').set('Authorization', `Bearer ${token}`)
    expect((await call(access_token)).status).toBe(401)
    expect((await call((await tokensFor(host, { scope: 'notes:read' })).access_token)).status).toBe(200)
    expect((await userinfo(host, access_token)).body).toEqual({ sub: '1' })
    expect((await userinfo(host, (await tokensOf(host, [notes])).access_token)).status).toBe(403)
  })
})

describe('a request without scope', () => {
  test('is for all scopes that its resources know and the client may have', async () => {
    expect((await tokensOf(host, [notes, mail])).scope).toBe('notes:read notes:write mail:read')
  })

  test('and without resources is for no scope, as ever', async () => {
    expect(await tokensOf(host, [])).not.toHaveProperty('scope')
  })
})

describe('invalid_target', () => {
  test.each<[string, string[], Fields]>([
    ['an unknown resource', ['https://other.example.com'], {}],
    ['a relative one', ['/mcp'], {}],
    ['one with a fragment', [`${notes}#tools`], {}],
    ['a very long one', [`${notes}?${'x'.repeat(3000)}`], {}],
    ['too many', Array.from({ length: 11 }, () => notes), {}],
  ])('answers %s at /authorize and at /token', async (_case, resources, fields) => {
    const location = await authorizeFor(host, resources, { state: 's', ...fields })
    expect(Object.fromEntries(location.searchParams)).toMatchObject({ error: 'invalid_target', state: 's' })
    const own = { grant_type: 'client_credentials' }
    expectError(await tokenRequest(host, own, resources), 400, 'invalid_target')
  })

  test.each<[string, string[], string[]]>([
    ['a resource that was not authorized', [notes], [mail]],
    ['one more than was authorized', [notes], [notes, mail]],
    ['a resource after a request without one', [], [notes]],
    ['resources with different kinds of tokens', [notes, files], [notes, files]],
    ['all of such resources', [notes, files], []],
  ])('answers a code with %s, which stays redeemable', async (_case, asked, narrowed) => {
    const code = (await authorizeFor(host, asked, { scope })).searchParams.get('code') ?? ''
    const redemption = {
      grant_type: 'authorization_code',
      redirect_uri: callback,
      code,
    }
    expectError(await tokenRequest(host, redemption, narrowed), 400, 'invalid_target')
    await answerOf(tokenRequest(host, redemption, asked.slice(0, 1)))
  })
})

describe('the consent page', () => {
  const opened = async (browser: RawBrowser, resource: string, fields: Fields = {}) => {
    const path = authorizePath([resource], {
      scope: 'notes:read',
      client_id: 'fresh',
      prompt: 'consent',
      ...fields,
    })
    return browser.signIn(await browser.open(path), ada.email, ada.password)
  }
  const silent = async (browser: RawBrowser, resources: string[], asked = 'notes:read') => {
    const fields = { scope: asked, client_id: 'fresh', prompt: 'none' }
    return (await authorizeFor(host, resources, fields, browser)).searchParams.get('error')
  }

  test.each<[string, string, Fields]>([
    ['Read your notes on Notes MCP server', notes, {}],
    ['Read your notes on mail.example.com/api', mail, {}],
    ['Use Notes MCP server', notes, { scope: 'openid' }],
    ['in Notes MCP server', notes, { ui_locales: 'de' }],
  ])('says: %s', async (words, resource, fields) => {
    const { html } = await opened(new RawBrowser(host.app), resource, fields)
    expect(html.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ')).toContain(words)
  })

  test('does not ask for a scope that no requested resource knows', async () => {
    const { html } = await opened(new RawBrowser(host.app), notes, { scope: 'notes:read mail:read' })
    expect(html).not.toContain('Read your mail')
    const { searchParams } = await authorizeFor(host, [notes], { scope: 'mail:read' })
    expect(searchParams.get('error')).toBe('invalid_scope')
  })

  test('appears for a scope at another resource, and for none, although the scope was allowed', async () => {
    const browser = new RawBrowser(host.app)
    await browser.decide(await opened(browser, notes), 'allow')
    expect(await silent(browser, [notes])).toBeNull()
    expect(await silent(browser, [mail])).toBe('consent_required')
    expect(await silent(browser, [notes, mail])).toBe('consent_required')
    expect(await silent(browser, [])).toBe('consent_required')
    await authorizeFor(host, [notes, mail], { client_id: 'fresh', scope: 'notes:read' }, browser)
    expect(await silent(browser, [mail])).toBeNull()
  })

  test('leaves out an optional scope that the user unticks', async () => {
    const browser = new RawBrowser(host.app)
    const page = await opened(browser, notes, { scope: 'notes:read notes:write' })
    const { searchParams } = locationOf(await browser.decide(page, 'allow', { 'scope:notes:write': '' }))
    const code = searchParams.get('code') ?? ''
    const redemption = { grant_type: 'authorization_code', redirect_uri: callback, code, client_id: 'fresh' }
    expect((await answerOf(tokenRequest(host, redemption))).scope).toBe('notes:read')
    expect(await silent(browser, [notes], 'notes:write')).toBe('consent_required')
  })

  test('is what the list of connected apps says, and what the export of the user says', async () => {
    const browser = new RawBrowser(host.app)
    await browser.decide(await opened(browser, notes), 'allow')
    const { html } = await browser.open('/oauth/account')
    expect(html.replaceAll(/<[^>]*>/g, '')).toContain('Read your notes on Notes MCP server')
    expect(html).not.toContain('Use Notes')
    const { authorizations } = await host.oauth.users.export(1)
    expect(authorizations.map(({ resources }) => resources)).toContainEqual([notes])
  })
})

test('events name the resources', async () => {
  const told: unknown[] = []
  host.oauth.events.on('tokens.issued', (event) => told.push(event.resources))
  await tokensOf(host, [notes, mail], { scope }, [mail])
  await tokensOf(host, [], { scope })
  expect(told).toEqual([[mail], undefined])
})

test('the metadata names the resources (RFC 9728 §4)', async () => {
  const { body } = await supertest(host.app).get('/oauth/.well-known/oauth-authorization-server')
  expect(body.protected_resources).toEqual([notes, mail, files, photos])
})

describe('introspection', () => {
  test('by an API that its resource names sees only what concerns it', async () => {
    const { access_token } = await tokensOf(host, [notes, mail], { scope })
    expect(await introspectAs(host, 'notes-api', access_token)).toMatchObject({
      ...{ active: true, client_id: 'web', sub: '1', aud: notes },
      scope: 'openid offline_access notes:read notes:write',
    })
    const other = await tokensOf(host, [mail], { scope })
    expect(await introspectAs(host, 'notes-api', other.access_token)).toEqual({ active: false })
  })

  test('by an API sees neither refresh tokens nor, unless it may, tokens for no resource', async () => {
    const { access_token, refresh_token } = await tokensOf(host, [], { scope })
    expect(await introspectAs(host, 'notes-api', access_token)).toEqual({ active: false })
    expect(await introspectAs(host, 'any-api', access_token)).toMatchObject({ active: true, sub: '1' })
    expect(await introspectAs(host, 'any-api', refresh_token)).toEqual({ active: false })
    const { access_token: ofNotes } = await tokensOf(host, [notes], { scope })
    expect(await introspectAs(host, 'any-api', ofNotes)).toEqual({ active: false })
  })

  test('gives an API the subject that the client knows', async () => {
    const { access_token } = await tokensOf(host, [notes], { client_id: 'pairwise', scope })
    const { sub } = await introspectAs(host, 'pairwise', access_token)
    expect(sub).not.toBe('1')
    expect(await introspectAs(host, 'notes-api', access_token)).toMatchObject({ sub })
  })
})

describe('a resource that is also the id of a client', () => {
  test('is refused at start, and gets no ID token whose audience would be that of access tokens', async () => {
    const known = host.database
    await host.oauth.clients.create({ ...clients[0], client_id: files, scope })
    const answer = await new RawBrowser(host.app).open(authorizePath([], { client_id: files, scope }))
    expect({ status: answer.status, html: answer.html }).toMatchObject({
      status: 400,
      html: expect.stringContaining('unauthorized_client'),
    })
    await expect(startResourceHost({ database: known })).rejects.toThrow(`${files} is both a resource`)
    await host.oauth.clients.delete(files)
  })
})

test('a host without resources ignores the parameter', async () => {
  const plain = await startHost()
  const { access_token } = await tokensOf(plain, ['no URL', notes], { scope: 'notes:read' }, [mail])
  expect(await introspectAs(plain, 'web', access_token)).not.toHaveProperty('aud')
  expect(access_token).toMatch(/^lk_at_/)
})

describe('when the host has dropped a resource', () => {
  test('a request that waits for the user ends as invalid_target', async () => {
    const first = await startResourceHost()
    const browser = new RawBrowser(first.app)
    const page = await browser.open(authorizePath([notes], { scope }))
    const later = await startResourceHost({ database: first.database, options: { resources: {} } })
    const elsewhere = new RawBrowser(later.app, undefined, {}, browser.cookies)
    const answer = await elsewhere.signIn(page, ada.email, ada.password)
    expect(locationOf(answer).searchParams.get('error')).toBe('invalid_target')
    await first.close()
  })

  test('its tokens open nothing, and its grants end as invalid_target', async () => {
    const first = await startResourceHost()
    const { access_token, refresh_token } = await tokensOf(first, [notes], { scope })
    for (const resources of [{}, { [mail]: { scopes: ['mail:read'] } }] as Resources[]) {
      const later = await startResourceHost({ database: first.database, options: { resources } })
      const call = supertest(later.app).get('/api/notes').set('Authorization', `Bearer ${access_token}`)
      expect((await call).status).toBe(401)
      const refreshing = { grant_type: 'refresh_token', refresh_token }
      expectError(await tokenRequest(later, refreshing), 400, 'invalid_target')
    }
    await first.close()
  })
})
