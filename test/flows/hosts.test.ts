import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import express, { type Express, type RequestHandler } from 'express'
import session from 'express-session'
import helmet from 'helmet'
import supertest from 'supertest'
import { authRouter, type ClientSeed, migrate, seedClients } from '../../lib/index.ts'
import { minifyCss } from '../../lib/web/pages/minify.ts'
import { openTestDatabase } from '../support/database.ts'
import { authorizeUrl, callback, clients, type Host, type HostSettings, startHost } from '../support/host.ts'
import {
  claimsOf,
  codeOf,
  expectErrorPage,
  expectErrorRedirect,
  expectExpiredPage,
} from '../support/outcomes.ts'
import { fieldsOf, formOf, RawBrowser } from '../support/raw-browser.ts'
import { expectError, post, redeem, web as webClient } from '../support/tokens.ts'

const open: { close(): Promise<void> }[] = []
const start = async (settings?: HostSettings): Promise<Host> => {
  const host = await startHost(settings)
  open.push(host)
  return host
}
afterAll(async () => {
  for (const each of open.reverse()) await each.close()
})

const web = { client_id: 'web', scope: 'openid', state: 's' }
const ada = ['ada@example.com', 'ada’s password'] as const

describe.each([
  ['/', 'http://localhost:3000'],
  ['/a/b-c/oauth', 'http://localhost:3000/a/b-c/oauth'],
])('mounted at %s', (mount, issuer) => {
  const base = mount === '/' ? '' : mount
  let host: Host
  beforeAll(async () => {
    host = await start({ mount })
  })

  test('every page, form, asset and answer stays under the mount', async () => {
    const agent = new RawBrowser(host.app)
    const login = await agent.open(authorizeUrl(web, base))
    expect(login.url.pathname).toBe(`${base}/login`)
    const consent = await agent.signIn(login)
    expect(consent.url.pathname).toBe(`${base}/consent`)
    for (const { html } of [login, consent]) {
      const links = [...html.matchAll(/ (?:action|href)="([^"]+)"/g)].map(([, link = '']) => link)
      expect(links.length).toBeGreaterThan(2)
      for (const link of links) expect(link.startsWith(`${base}/`)).toBe(true)
      for (const link of links.filter((each) => each.includes('/assets/')))
        expect((await agent.get(link.replaceAll('&amp;', '&'))).status).toBe(200)
    }
    codeOf(await agent.decide(consent, 'allow'), { iss: issuer })
    const asked = { ...web, response_type: 'code', redirect_uri: callback }
    const posted = await agent.post(`${base}/authorize`, asked)
    expect(formOf(posted.html, 'form-post').action).toBe(`${base}/authorize`)
    codeOf(await agent.follow(posted), { iss: issuer })
  })
})

test('in nested routers, below a pattern', async () => {
  const inner = express.Router()
  const outer = express.Router()
  const host = await start({ mount: '/never-used', options: { issuer: 'http://localhost:3000/v1/id/oauth' } })
  inner.use('/oauth', host.oauth)
  outer.use('/id', inner)
  const app = express().use('/v1', outer)
  const agent = new RawBrowser(app)
  const done = await agent.grant(authorizeUrl(web, '/v1/id/oauth'))
  codeOf(done, { iss: 'http://localhost:3000/v1/id/oauth' })
})

describe('with the middleware and settings of a host', () => {
  const crowd: RequestHandler[] = [
    helmet(),
    express.json(),
    express.urlencoded({ extended: true }),
    session({ secret: 'of the host', resave: false, saveUninitialized: true, name: 'host.sid' }),
  ]
  let host: Host
  beforeAll(async () => {
    host = await start({
      before: crowd,
      clients: [
        ...clients,
        ...[
          ['six', 'http://[::1]/callback'],
          ['desk', 'http://127.0.0.1/callback'],
        ].map(([client_id = '', uri = '']) => ({ client_id, redirect_uris: [uri], scope: 'openid' })),
      ],
      // Wrong passwords of several tests come from one address.
      options: { limits: false, session: 'host' },
    })
    host.app.set('json spaces', 2)
    const replacer = (name: string, value: unknown) => (name === 'access_token' ? undefined : value)
    host.app.set('json replacer', replacer)
    host.app.set('query parser', 'extended')
    host.app.set('etag', 'strong')
  })
  const browser = () => new RawBrowser(host.app)

  test('the whole flow works, and bodies that were parsed before are read', async () => {
    const agent = browser()
    const done = await agent.grant(authorizeUrl(web))
    const { body, status } = await redeem(host, codeOf(done))
    expect({ status, type: body.token_type, token: body.access_token }).toEqual({
      status: 200,
      type: 'Bearer',
      token: expect.stringMatching(/^lk_at_/),
    })
    expect(claimsOf(body.id_token).sub).toBe('1')
  })

  test('a query is read as it was sent, with every query parser', async () => {
    const agent = browser()
    const silent = authorizeUrl({ ...web, prompt: 'none' })
    const odd = await agent.get(`${silent}&state[x]=1&scope[]=email`)
    expectErrorRedirect(odd, 'login_required', { state: 's' })
    expectErrorRedirect(await agent.get(`${silent}&nonce=1&nonce=2`), 'invalid_request', { state: 's' })
  })

  test.each([
    ['desk', 'http://127.0.0.1:5000/callback', "'self' https: http://127.0.0.1:* http://localhost:*"],
    ['six', 'http://[::1]:5000/callback', "'self' https: http:"],
  ])(
    'the forms for the client %s may end at its loopback address',
    async (client_id, redirect_uri, places) => {
      const agent = browser()
      const login = await agent.open(authorizeUrl({ ...web, client_id, redirect_uri, prompt: 'consent' }))
      const consent = await agent.signIn(login)
      for (const { headers } of [login, consent])
        expect(headers['content-security-policy']?.split('form-action ')[1]).toBe(places)
      codeOf(await agent.decide(consent, 'allow'), { redirectUri: redirect_uri })
    },
  )

  test('JSON answers are not changed by the host either', async () => {
    const { headers, html } = await browser().get('/oauth/jwks')
    expect(headers['content-security-policy']).toBe("default-src 'none'")
    expect(html).not.toContain('\n')
  })
})

describe('assets', () => {
  let host: Host
  beforeAll(async () => {
    host = await start()
  })
  const browser = () => new RawBrowser(host.app)
  const linked = async () =>
    / href="([^"]+style\.css[^"]*)"/.exec((await browser().get('/oauth/authorize')).html)?.[1] ?? ''

  test('under the address that pages use they never change, and are asked for once', async () => {
    const address = await linked()
    expect(address).toMatch(/^\/oauth\/assets\/style\.css\?v=[\w-]{16}$/)
    const { status, headers, html } = await browser().get(address)
    expect(status).toBe(200)
    expect(html).toBe(minifyCss(readFileSync(join(__dirname, '../../views/assets/style.css'), 'utf8')))
    expect(headers).toMatchObject({
      'content-type': 'text/css; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
      etag: `"${address.slice(-16)}"`,
      'x-content-type-options': 'nosniff',
    })
    expect(headers).not.toHaveProperty('set-cookie')
  })

  test('under another they are kept for a short while, and the answer to a known tag is 304', async () => {
    for (const address of ['/oauth/assets/style.css', '/oauth/assets/style.css?v=AAAAAAAAAAAAAAAA']) {
      const { status, headers } = await browser().get(address)
      expect([status, headers['cache-control']]).toEqual([200, 'public, max-age=300'])
      for (const tag of [`${headers.etag}`, `W/${headers.etag}`, `"other", W/${headers.etag}`, '*']) {
        const again = await browser().get(address, { 'If-None-Match': tag })
        expect([tag, again.status, again.html, again.headers.etag]).toEqual([tag, 304, '', headers.etag])
        expect(again.headers['cache-control']).toBe('public, max-age=300')
      }
      expect((await browser().get(address, { 'If-None-Match': 'W/"other"' })).status).toBe(200)
    }
  })

  test('are compressed as the browser wishes, and are the same', async () => {
    const address = await linked()
    const get = (accepted: string) => supertest(host.app).get(address).set('Accept-Encoding', accepted)
    const plain = await get('identity')
    expect(plain.headers).not.toHaveProperty('content-encoding')
    const codings = { 'gzip, deflate, br': 'br', gzip: 'gzip', 'br;q=0, gzip': 'gzip', zstd: undefined }
    for (const [accepted, encoding] of Object.entries(codings)) {
      const { headers, text } = await get(accepted)
      expect([headers.vary, headers['content-encoding']]).toEqual(['Accept-Encoding', encoding])
      expect(headers.etag).toBe(encoding ? `W/${plain.headers.etag}` : plain.headers.etag)
      // supertest decodes it.
      expect(text).toBe(plain.text)
    }
  })

  test.each([
    '/oauth/assets/..%2flogin.eta',
    '/oauth/assets/../login.eta',
    '/oauth/assets/style.css%00.svg',
    '/oauth/assets/__proto__',
  ])('%s is not found', async (path) => {
    const { status, html } = await browser().get(path)
    expect(status).toBe(404)
    expect(html).not.toMatch(/root:|layout\(|"dependencies"/)
  })
})

describe('an issuer that is guessed', () => {
  let app: Express
  const lines: string[] = []
  beforeAll(async () => {
    const logger = { info: () => {}, warn: () => {}, error: (line: string) => void lines.push(line) }
    const { oauth } = await start({ options: { issuer: undefined, logger } })
    app = express().use('/oauth', oauth).use('/elsewhere', oauth)
  })

  test('is served at the guessed address', async () => {
    const page = await new RawBrowser(app).open(authorizeUrl(web))
    expect({ status: page.status, path: page.url.pathname }).toEqual({ status: 200, path: '/oauth/login' })
  })

  test.each([
    ['another host', 'http://127.0.0.1:3000', '/oauth', 'http://127.0.0.1:3000/oauth'],
    ['another port', 'http://localhost:4000', '/oauth', 'http://localhost:4000/oauth'],
    ['another mount', 'http://localhost:3000', '/elsewhere', 'http://localhost:3000/elsewhere'],
  ])('at %s the answer is the line to set', async (_, origin, mount, actual) => {
    const agent = new RawBrowser(app, origin)
    const page = await agent.get(authorizeUrl(web, mount))
    expectErrorPage(page, 503)
    expect(page.html.replaceAll('&#39;', "'")).toContain(`set issuer: '${actual}'`)
    const { status, html, headers } = await agent.get(`${mount}/.well-known/openid-configuration`)
    expect(status).toBe(503)
    expect(headers['content-type']).toBe('application/json')
    expect(JSON.parse(html).error_description).toContain(`set issuer: '${actual}'`)
    expect(lines.join('\n')).toContain(`if you open the app at that URL, set issuer: '${actual}'`)
  })

  test('a hostile Host header is text on the page', async () => {
    const headers = { Host: '<script>alert(1)</script>' }
    const page = await new RawBrowser(app).send('GET', authorizeUrl(web), { headers })
    expect(page.status).toBe(503)
    expect(page.html).not.toContain('<script>alert')
  })
})

test('two routers in one process have separate logins and forms in one browser', async () => {
  const one = await start()
  const two = await start({ mount: '/id' })
  const app = express().use(one.app).use(two.app)
  const agent = new RawBrowser(app)
  codeOf(await agent.grant(authorizeUrl(web)))
  expect((await agent.open(authorizeUrl(web, '/id'))).url.pathname).toBe('/id/login')
  const twoIssuer = { iss: 'http://localhost:3000/id' }
  const pending = await agent.open(authorizeUrl({ ...web, prompt: 'login' }))
  codeOf(await agent.grant(authorizeUrl(web, '/id'), 'bob@example.com', 'bob’s password'), twoIssuer)
  expect(agent.cookies.size).toBe(6)
  // A form of one is not taken by the other.
  const fields = { ...fieldsOf(pending, 'name="password"'), username: ada[0], password: ada[1] }
  expectExpiredPage(await agent.post('/id/login', fields))
  const first = codeOf(await agent.signIn(pending))
  expect(claimsOf((await redeem(one, first)).body.id_token).sub).toBe('1')
  codeOf(await agent.open(authorizeUrl({ ...web, prompt: 'none' }, '/id')), twoIssuer)
})

test.each([
  [true, 1],
  [1, 0],
  ['loopback', 0],
])('trust proxy %j is warned of %i times, however many requests come', async (setting, times) => {
  const warnings: string[] = []
  const logger = { info: () => {}, warn: (line: string) => void warnings.push(line), error: () => {} }
  const host = await startHost({ options: { logger } })
  open.push(host)
  host.app.set('trust proxy', setting)
  await new RawBrowser(host.app).open(authorizeUrl(web))
  await redeem(host, 'no code')
  expect(warnings.filter((line) => line.includes("app.set('trust proxy', 1)"))).toHaveLength(times)
})

describe('in production', () => {
  const environment = process.env.NODE_ENV
  afterEach(() => {
    process.env.NODE_ENV = environment
  })

  test('error pages show no reason; without tables the answer is 503 and the log has the command', async () => {
    process.env.NODE_ENV = 'production'
    const database = openTestDatabase()
    open.push(database)
    const { knex, tablePrefix } = database
    const lines: string[] = []
    const error = (...parts: unknown[]) => void lines.push(parts.map(String).join(' '))
    const logger = { info: () => {}, warn: () => {}, error }
    const secrets = ['a secret of the tests that is long enough']
    const issuer = 'https://app.example.com/oauth'
    const options = { issuer, database: { knex, tablePrefix }, secrets, logger }
    const oauth = authRouter(options)
    const app = express().set('trust proxy', 1).use('/oauth', oauth)
    const agent = new RawBrowser(app, 'https://app.example.com', { 'X-Forwarded-Proto': 'https' })
    const early = await agent.get(authorizeUrl(web))
    expectErrorPage(early, 503)
    expect(early.html).not.toMatch(/latchkey migrate|lacks/)
    expect(lines.join('\n')).toContain('npx latchkey migrate')
    await migrate(knex, options)
    const seeds: ClientSeed[] = [{ client_id: 'web', redirect_uris: [callback], scope: 'openid' }]
    await seedClients(knex, seeds, options)
    // The next request finds it mended, without a restart.
    const page = await agent.open(authorizeUrl(web))
    expect({ status: page.status, path: page.url.pathname }).toEqual({ status: 200, path: '/oauth/login' })
    const refused = await agent.get(authorizeUrl({ ...web, client_id: 'unknown-client' }))
    expectErrorPage(refused, 400)
    expect(refused.html).not.toContain('client_id')
    expect(refused.html).toContain('unauthorized_client')
  })
})

test('an Express 4 host has the whole flow, errors and 405 too', async () => {
  jest.doMock('express', () => jest.requireActual('express-4'))
  const failed: unknown[] = []
  const listen = (reason: unknown) => void failed.push(reason)
  process.on('unhandledRejection', listen)
  let host: Host | undefined
  try {
    await jest.isolateModulesAsync(async () => {
      const four = require('express')
      expect(four.application).toHaveProperty('lazyrouter')
      host = await require('../support/host.ts').startHost({ before: [four.urlencoded({ extended: true })] })
    })
    const { app } = host as Host
    const agent = new RawBrowser(app)
    const login = await agent.open(authorizeUrl(web))
    expect(login.url.pathname).toBe('/oauth/login')
    const failedLogin = await agent.signIn(login, ada[0], 'wrong')
    expect(failedLogin.status).toBe(400)
    const done = await agent.decide(await agent.signIn(failedLogin), 'allow')
    const { body } = await redeem(host as Host, codeOf(done))
    expect(claimsOf(body.id_token).sub).toBe('1')
    expectExpiredPage(await agent.get(login.url.href))
    expectErrorPage(await agent.get(authorizeUrl({ ...web, client_id: 'unknown-client' })), 400)
    const refused = await agent.get(authorizeUrl({ ...web, scope: '"' }))
    expectErrorRedirect(refused, 'invalid_scope', { state: 's' })
    expect((await agent.send('PUT', '/oauth/authorize')).status).toBe(405)
    const lacking = { grant_type: 'authorization_code', redirect_uri: callback, ...webClient }
    expectError(await post(host as Host, lacking), 400, 'invalid_request')
    expect(failed).toEqual([])
  } finally {
    process.off('unhandledRejection', listen)
    jest.dontMock('express')
    await host?.close()
  }
})

describe('the documents of resources', () => {
  const resources = {
    'https://app.example.com/mcp': { name: 'Notes', scopes: ['notes:read', 'notes:write'] },
    'https://app.example.com': { scopes: ['notes:read'] },
    'https://app.example.com/odd(path)*:x{y}?tenant=1': { scopes: [] },
    'https://one.example.com/shared': { scopes: ['notes:read'] },
    'https://two.example.com/shared': { scopes: ['notes:write'] },
  }
  const prefix = '/.well-known/oauth-protected-resource'
  let host: Host
  beforeAll(async () => {
    host = await start({ options: { resources } })
  })

  test('have the URLs of RFC 9728 §3.1', async () => {
    const get = (path: string, from = 'app.example.com') => supertest(host.app).get(path).set('Host', from)
    const notes = await get(`${prefix}/mcp`)
    expect(notes.body).toEqual({
      resource: 'https://app.example.com/mcp',
      authorization_servers: ['http://localhost:3000/oauth'],
      scopes_supported: ['notes:read', 'notes:write'],
      bearer_methods_supported: ['header'],
      resource_name: 'Notes',
    })
    expect(notes.headers).toMatchObject({
      'content-type': 'application/json',
      'access-control-allow-origin': '*',
      'cache-control': 'public, max-age=300',
    })
    const named = async (path: string, from?: string) => (await get(path, from)).body.resource
    expect(await named(prefix)).toBe('https://app.example.com')
    expect(await named(`${prefix}/odd(path)*:x{y}?tenant=1`)).toBe(Object.keys(resources)[2])
    // Behind a proxy the host may be another one; only a path that two hosts share depends on it.
    expect(await named(`${prefix}/mcp`, 'backend:8080')).toBe('https://app.example.com/mcp')
    for (const from of ['one', 'two']) {
      expect(await named(`${prefix}/shared`, `${from}.example.com`)).toBe(
        `https://${from}.example.com/shared`,
      )
    }
    expect((await get(`${prefix}/shared`, 'three.example.com')).status).toBe(404)
    expect((await supertest(host.app).post(`${prefix}/mcp`)).status).toBe(405)
  })

  test.each([
    ['Express 5', express],
    ['Express 4', jest.requireActual<typeof express>('express-4')],
  ])('do not answer for other paths of the host: %s', async (_version, create) => {
    const app = create().use(host.oauth.wellKnown)
    app.get(`${prefix}/other`, (_req, res) => void res.json({ resource: 'mine' }))
    expect((await supertest(app).get(`${prefix}/other`)).body).toEqual({ resource: 'mine' })
    expect((await supertest(app).get(`${prefix}/mcp`)).body.resource).toBe('https://app.example.com/mcp')
    for (const path of ['oauth-authorization-server', 'openid-configuration'])
      expect((await supertest(app).get(`/.well-known/${path}/oauth`)).body.issuer).toBe(
        'http://localhost:3000/oauth',
      )
  })
})
