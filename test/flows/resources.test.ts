import type { RequestHandler } from 'express'
import supertest from 'supertest'
import type { AuthRouterOptions } from '../../lib/index.ts'
import { type SigningKey, signJwt } from '../../lib/keys/jwt.ts'
import { replaceKeys, rotateKeys } from '../../lib/keys/key-rotation.ts'
import { serverBehind } from '../../lib/router.ts'
import { stopClock } from '../support/clock.ts'
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
  resourceOptions,
  startResourceHost,
  tokenRequest,
  tokensOf,
} from '../support/resource-host.ts'
import { countStatements } from '../support/statement-count.ts'
import { ada, answerOf, expectError, type Fields, guarded, userinfo } from '../support/tokens.ts'
import { told } from '../support/told.ts'

type Resources = NonNullable<AuthRouterOptions['resources']>

// RFC 8707. What identifiers and scopes are allowed is proved in test/protocol/resource.test.ts.

const scope = 'openid offline_access notes:read notes:write mail:read files:read'
const guards = ['/none', '/notes', '/files']

const answer: RequestHandler = (req, res) => void res.json(req.auth)

let host: Host
beforeAll(async () => {
  const write = { description: 'Write notes for you', optional: true, implies: ['notes:read'] }
  host = await startResourceHost({
    options: { scopes: { ...resourceOptions.scopes, 'notes:write': write } },
    clients: [{ ...clients[0], client_id: 'fresh', scope }],
  })
  const { requireToken } = host.oauth
  host.app.get('/none', requireToken(), answer)
  host.app.get('/notes', requireToken('notes:read', { resource: notes }), answer)
  host.app.get('/files', requireToken('files:read', { resource: 'HTTPS://files.EXAMPLE.com' }), answer)
})
afterAll(() => host.close())
afterEach(() => jest.restoreAllMocks())

const about = async (token: string): Promise<Record<string, unknown>> => introspectAs(host, 'web', token)

describe('an access token', () => {
  const forNotes = 'openid offline_access notes:read notes:write'
  const forFiles = 'openid offline_access files:read'
  test.each<[string, string[], string[], string[], unknown, string]>([
    ['no resource', [], [], ['/none'], undefined, scope],
    ['a resource', [notes], [], ['/notes'], notes, forNotes],
    ['two resources', [mail, notes], [], ['/notes'], [mail, notes], `${forNotes} mail:read`],
    ['one of them', [notes, mail], [mail], [], mail, 'openid offline_access notes:read mail:read'],
    ['the same one again', [notes], [notes, notes], ['/notes'], notes, forNotes],
    ['a resource with JWTs', [files], [], ['/files'], files, forFiles],
    ['two resources with JWTs', [photos, files], [], ['/files'], [photos, files], forFiles],
    ['another resource with JWTs', [photos], [], [], photos, forFiles],
  ])(
    'for %s has its audience and scopes, and passes its guards only',
    async (_, asked, narrowed, passed, aud, left) => {
      const { access_token, scope: granted } = await tokensOf(host, asked, { scope }, narrowed)
      expect(granted).toBe(left)
      const { aud: said, scope: saidScope } = await about(access_token)
      expect({ said, saidScope }).toEqual({ said: aud, saidScope: left })
      const answers = await Promise.all(guards.map((path) => guarded(host, access_token, path)))
      expect(answers.map(({ status }) => status)).toEqual(
        guards.map((path) => (passed.includes(path) ? 200 : 401)),
      )
    },
  )

  test.each([
    ['/notes', notes, 1],
    ['/files', files, 0],
  ])(
    'gives %s what MCP handlers read, in a fixed number of statements',
    async (path, resource, statements) => {
      const { access_token: token } = await tokensOf(host, [resource], { scope })
      const { body } = await guarded(host, token, path)
      expect(body).toMatchObject({
        token,
        clientId: 'web',
        subject: '1',
        scopes: expect.arrayContaining(['openid']),
        expiresAt: expect.any(Number),
        resource: new URL(resource).href,
        resourceMetadataUrl: expect.stringContaining('/.well-known/oauth-protected-resource'),
        claims: { aud: resource, sub: '1', client_id: 'web', auth_time: expect.any(Number) },
      })
      const count = await countStatements(host.database.knex, [host.usersTable])
      await guarded(host, token, path).expect(200)
      expect(count.ours).toHaveLength(statements)
    },
  )

  test('is narrowed by a refresh for itself only', async () => {
    const { refresh_token } = await tokensOf(host, [notes, mail], { scope })
    const refreshed = (token: string, fields: Fields, resources: string[]) =>
      tokenRequest(host, { grant_type: 'refresh_token', refresh_token: token, ...fields }, resources)
    const narrowed = await answerOf(refreshed(refresh_token, {}, [mail]))
    expect(await about(narrowed.access_token)).toMatchObject({ aud: mail })
    const full = await answerOf(refreshed(narrowed.refresh_token, {}, []))
    const all = `${forNotes} mail:read`
    expect(await about(full.access_token)).toMatchObject({ aud: [notes, mail], scope: all })
    const wrong = refreshed(full.refresh_token, { scope: 'mail:read' }, [notes])
    expectError(await wrong, 400, 'invalid_scope')
    const last = await answerOf(refreshed(full.refresh_token, { scope: 'openid mail:read' }, []))
    expect(last.scope).toBe('openid mail:read')
  })

  test('of a client without a user is for what the client asks for, with the resource’s scopes', async () => {
    const own = { grant_type: 'client_credentials' }
    const { access_token, scope: granted } = await answerOf(tokenRequest(host, own, [mail]))
    const said = { granted, ...(await about(access_token)) }
    expect(said).toMatchObject({ granted: 'notes:read mail:read', aud: mail })
    expectError(await tokenRequest(host, { ...own, scope: 'notes:write' }, [mail]), 400, 'invalid_scope')
    expect(await about((await answerOf(tokenRequest(host, own))).access_token)).not.toHaveProperty('aud')
  })

  test('for a resource opens UserInfo only with openid', async () => {
    const { access_token } = await tokensOf(host, [notes], { scope: 'openid notes:read' })
    expect((await userinfo(host, access_token)).body).toEqual({ sub: '1' })
    expect((await userinfo(host, (await tokensOf(host, [notes])).access_token)).status).toBe(403)
  })
})

describe('a request without scope', () => {
  test('is for all scopes that its resources know and the client may have', async () => {
    expect((await tokensOf(host, [notes, mail])).scope).toBe('notes:read notes:write mail:read')
    expect(await tokensOf(host, [])).not.toHaveProperty('scope')
  })
})

describe('invalid_target', () => {
  test.each<[string, string[]]>([
    ['an unknown resource', ['https://other.example.com']],
    ['too many', Array.from({ length: 11 }, () => notes)],
  ])('answers %s at /authorize and at /token', async (_case, resources) => {
    const location = await authorizeFor(host, resources, { state: 's' })
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
    const redemption = { grant_type: 'authorization_code', redirect_uri: callback, code }
    expectError(await tokenRequest(host, redemption, narrowed), 400, 'invalid_target')
    await answerOf(tokenRequest(host, redemption, asked.slice(0, 1)))
  })
})

describe('the consent page', () => {
  const opened = async (browser: RawBrowser, resource: string, fields: Fields = {}) => {
    const asked = { scope: 'notes:read', client_id: 'fresh', prompt: 'consent', ...fields }
    const page = await browser.open(authorizePath([resource], asked))
    return page.url.pathname === '/oauth/login' ? browser.signIn(page, ada.email, ada.password) : page
  }
  const silent = async (browser: RawBrowser, resources: string[], asked = 'notes:read') => {
    const fields = { scope: asked, client_id: 'fresh', prompt: 'none' }
    return (await authorizeFor(host, resources, fields, browser)).searchParams.get('error')
  }

  test('names the resources, and asks for no scope that none of them knows', async () => {
    const browser = new RawBrowser(host.app)
    const says: [string, string, Fields][] = [
      ['Read your notes in Notes MCP server', notes, { scope: 'notes:read mail:read' }],
      ['Read your notes in mail.example.com/api', mail, {}],
      ['Use Notes MCP server', notes, { scope: 'openid' }],
      ['in Notes MCP server', notes, { ui_locales: 'de' }],
    ]
    for (const [words, resource, fields] of says) {
      const { html } = await opened(browser, resource, fields)
      expect(html.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ')).toContain(words)
      expect(html).not.toContain('Read your mail')
    }
    const { searchParams } = await authorizeFor(host, [notes], { scope: 'mail:read' })
    expect(searchParams.get('error')).toBe('invalid_scope')
  })

  test('appears for a scope at another resource, and for none, although the scope was allowed', async () => {
    const browser = new RawBrowser(host.app)
    await browser.decide(await opened(browser, notes), 'allow')
    expect(await silent(browser, [notes])).toBeNull()
    for (const resources of [[mail], [notes, mail], []])
      expect(await silent(browser, resources)).toBe('consent_required')
    const { html } = await browser.open('/oauth/account')
    expect(html.replaceAll(/<[^>]*>/g, '')).toContain('Read your notes in Notes MCP server')
    expect(html).not.toContain('Use Notes')
    const { authorizations } = await host.oauth.users.export(1)
    expect(authorizations.map(({ resources }) => resources)).toContainEqual([notes])
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
})

test('events and the metadata name the resources (RFC 9728 §4)', async () => {
  const named: unknown[] = []
  host.oauth.events.on('tokens.issued', (event) => named.push(event.resources))
  await tokensOf(host, [notes, mail], { scope }, [mail])
  await tokensOf(host, [], { scope })
  expect(named).toEqual([[mail], undefined])
  const { body } = await supertest(host.app).get('/oauth/.well-known/oauth-authorization-server')
  expect(body.protected_resources).toEqual([notes, mail, files, photos])
})

describe('introspection', () => {
  test('by an API that its resource names sees only what concerns it', async () => {
    const { access_token } = await tokensOf(host, [notes, mail], { scope })
    expect(await introspectAs(host, 'notes-api', access_token)).toMatchObject({
      active: true,
      client_id: 'web',
      sub: '1',
      aud: notes,
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

test('a resource that is also a client’s id is refused at the start, and the client gets no code', async () => {
  await host.oauth.clients.create({ ...clients[0], client_id: files, scope })
  const answer = await new RawBrowser(host.app).open(authorizePath([], { client_id: files, scope }))
  expect({ status: answer.status, html: answer.html }).toMatchObject({
    status: 400,
    html: expect.stringContaining('unauthorized_client'),
  })
  const again = startResourceHost({ database: host.database })
  await expect(again).rejects.toThrow(`${files} is both a resource`)
  await host.oauth.clients.delete(files)
})

test('a host without resources ignores the parameter', async () => {
  const plain = await startHost()
  const { access_token } = await tokensOf(plain, ['no URL', notes], { scope: 'notes:read' }, [mail])
  expect(await introspectAs(plain, 'web', access_token)).not.toHaveProperty('aud')
  expect(access_token).toMatch(/^lk_at_/)
})

test('a dropped resource makes requests and grants invalid_target, and its tokens are refused', async () => {
  const first = await startResourceHost()
  const browser = new RawBrowser(first.app)
  const page = await browser.open(authorizePath([notes], { scope }))
  const { access_token, refresh_token } = await tokensOf(first, [notes], { scope })
  const startAgain = (resources: Resources) =>
    startResourceHost({ database: first.database, options: { resources } })
  for (const resources of [{ [mail]: { scopes: ['mail:read'] } }, {}] as Resources[]) {
    const later = await startAgain(resources)
    expect((await guarded(later, access_token)).status).toBe(401)
    const refreshing = { grant_type: 'refresh_token', refresh_token }
    expectError(await tokenRequest(later, refreshing), 400, 'invalid_target')
  }
  const { app } = await startAgain({})
  const answer = await new RawBrowser(app, undefined, {}, browser.cookies).signIn(page)
  expect(locationOf(answer).searchParams.get('error')).toBe('invalid_target')
  await first.close()
})

describe('a JWT is refused if its key is', () => {
  const ready = () => serverBehind(host.oauth)!.ready()
  const jwtBy = (key: SigningKey, now: number): Promise<string> => {
    const claims = { iss: 'http://localhost:3000/oauth', aud: files, sub: '1', client_id: 'web' }
    return signJwt(key, { ...claims, scope: 'files:read', iat: now, exp: now + 600 }, 'at+jwt')
  }
  const statusOf = async (jwt: string): Promise<number> => (await guarded(host, jwt, '/files')).status
  const request = { algorithms: ['RS256'] as const }

  test('withdrawn', async () => {
    const clock = stopClock()
    const { database, options, keys } = await ready()
    const key = keys.signingKey('RS256')
    expect(await statusOf(await jwtBy(key, clock.now()))).toBe(200)
    await replaceKeys(database, { ...options, keyPublished: () => {} }, { ...request, now: clock.now() })
    clock.travel(61)
    expect(await statusOf(await jwtBy(key, clock.now()))).toBe(401)
    expect(await statusOf(await jwtBy(keys.signingKey('RS256'), clock.now()))).toBe(200)
  })

  test('no longer published, although hints with it are still read', async () => {
    const clock = stopClock()
    const { database, options, keys } = await ready()
    const key = keys.signingKey('RS256')
    await rotateKeys(database, { ...options, keyPublished: () => {} }, { ...request, now: clock.now() })
    for (let days = 0; days < 4; days += 1) {
      clock.travel(86_400)
      await supertest(host.app).get('/oauth/jwks')
    }
    const jwt = await jwtBy(key, clock.now())
    expect(await keys.open(jwt, 'at+jwt')).toBeDefined()
    expect(await statusOf(jwt)).toBe(401)
  })
})

test('a guard for an unknown resource is refused when it is made', () => {
  const near = 'https://files.example.org'
  expect(() => host.oauth.requireToken('files:read', { resource: near })).toThrow(
    `latchkey: requireToken('files:read'): ${near} is not in the option resources; did you mean ${files}?`,
  )
  expect(() => host.oauth.tokenVerifier(near)).toThrow('is not in the option resources')
})

describe.each([
  ['@modelcontextprotocol/express', '@modelcontextprotocol/express', false],
  ['@modelcontextprotocol/sdk 1', '@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js', true],
])('requireBearerAuth() of %s', (_name, module, needsClass) => {
  type RequireBearerAuth = (options: Readonly<Record<string, unknown>>) => RequestHandler
  const { requireBearerAuth } = jest.requireActual<{ requireBearerAuth: RequireBearerAuth }>(module)
  const { InvalidTokenError } = jest.requireActual<{ InvalidTokenError: new (message: string) => Error }>(
    '@modelcontextprotocol/sdk/server/auth/errors.js',
  )

  test('accepts what oauth.tokenVerifier() verifies, and answers what it refuses', async () => {
    const { oauth, app } = host
    const { knex: database, tablePrefix } = host.database
    const table = `${tablePrefix}access_tokens`
    const options = needsClass ? { InvalidTokenError } : {}
    const guard = (scopes: string[], more = {}): RequestHandler =>
      requireBearerAuth({
        verifier: oauth.tokenVerifier(notes, { ...options, ...more }),
        requiredScopes: scopes,
        expectedResource: notes,
        resourceMetadataUrl: 'https://app.example.com/.well-known/oauth-protected-resource/mcp',
      })
    const path = `/mcp-${needsClass}`
    app.get(path, guard(['notes:read'], { user: false }), answer)
    app.get(`${path}/user`, guard([]), answer)
    const write = { grant_type: 'client_credentials', scope: 'notes:write' }
    const tokens = {
      user: (await tokensOf(host, [notes], { scope: 'openid notes:read' })).access_token,
      other: (await tokensOf(host, [mail], { scope })).access_token,
      poor: (await tokensOf(host, [notes], { scope: 'openid' })).access_token,
      implying: (await answerOf(tokenRequest(host, write, [notes]))).access_token,
    }
    const auth = { token: tokens.user, clientId: 'web', subject: '1', scopes: ['openid', 'notes:read'] }
    expect((await guarded(host, tokens.user, path)).body).toMatchObject({ ...auth, resource: notes })
    expect((await guarded(host, tokens.implying, path)).status).toBe(200)
    for (const [token, status, error] of [
      [tokens.other, 401, 'invalid_token'],
      ['x', 401, 'invalid_token'],
      [tokens.poor, 403, 'insufficient_scope'],
    ] as const) {
      const refused = await guarded(host, token, path)
      expect({ status: refused.status, error: refused.body.error }).toEqual({ status, error })
      expect(refused.headers['www-authenticate']).toContain(`error="${error}"`)
    }
    expect((await guarded(host, tokens.implying, `${path}/user`)).status).toBe(needsClass ? 401 : 403)
    await database.schema.renameTable(table, `${table}_away`)
    const away = await guarded(host, tokens.user, path)
    await database.schema.renameTable(`${table}_away`, table)
    expect(away.status).toBe(500)
    expect(told.at(-1)).toContain('latchkey: an access token could not be verified')
  })
})
