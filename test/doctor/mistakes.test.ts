import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import express, { type RequestHandler } from 'express'
import session, { MemoryStore } from 'express-session'
import knex from 'knex'
import { Passport } from 'passport'
import { definitionsOf } from '../../lib/features/feature.ts'
import { admin, authenticatorApps, registration, secondFactor } from '../../lib/features/index.ts'
import { type AuthRouterOptions, authRouter, type ClientSeed, migrate } from '../../lib/index.ts'
import type { Options } from '../../lib/options/options.ts'
import { isUserMapping, type UserMapping } from '../../lib/options/users.ts'
import { serverBehind } from '../../lib/router.ts'
import { openDatabase } from '../../lib/storage/database/open.ts'
import type { StoredSubject } from '../../lib/tools/check.ts'
import { loadTools } from '../../lib/tools/cli/tools.ts'
import { databaseChecks } from '../../lib/tools/doctor/database.ts'
import { diagnoseStart } from '../../lib/tools/doctor/diagnosis.ts'
import {
  type Diagnosis,
  diagnoseConfiguration,
  diagnoseDatabase,
  diagnoseMount,
  diagnoseProxy,
  openMount,
  untilStopped,
  withoutConsequences,
} from '../../lib/tools/doctor/index.ts'
import { nameChecks } from '../../lib/tools/doctor/users.ts'
import { openTestDatabase, type TestDatabase } from '../support/database.ts'
import { kept } from '../support/features.ts'
import { clients, createUsers, type Host, startHost } from '../support/host.ts'
import { openProxy } from '../support/proxy.ts'

const issuer = 'https://app.example.com/oauth'
const serverSecret = 'a secret of the tests that is long enough'

/** An app that is set up as the documentation says, with one difference. */
interface Plan {
  readonly trustProxy?: unknown
  readonly before?: RequestHandler
  readonly mount?: string
  readonly wellKnown?: boolean
  readonly store?: session.Store
  readonly cookie?: session.CookieOptions
  readonly environment?: string
  /** The app has a session, and no option says what becomes of it. */
  readonly ignoresSession?: boolean
  readonly clients?: ClientSeed[]
  readonly guards?: readonly string[]
  readonly hsts?: boolean
  readonly sqlite?: string
  readonly pages?: AuthRouterOptions['pages']
  readonly admin?: Parameters<typeof admin>[0]
  /** What the command reads instead of an option of the server. */
  readonly command?: (options: Options) => Partial<Options>
  readonly after?: RequestHandler
  readonly login?: AuthRouterOptions['login']
  readonly issuer?: string
  readonly breakDatabase?: (host: Host) => Promise<unknown>
  /** Of the environment in which the command runs. */
  readonly variables?: NodeJS.ProcessEnv
}

class PersistentStore extends MemoryStore {}

const env = { ...process.env }
// The prepared database of the tests is made with the rules of development.
beforeAll(() => startHost())

const open: Server[] = []
afterAll(() => {
  for (const server of open) server.close()
  Object.assign(process.env, env)
})

const serve = async (plan: Plan, host: Host): Promise<string> => {
  const { store = new PersistentStore(), cookie = {}, mount = '/oauth', hsts = true } = plan
  const app = express()
  app.set('trust proxy', plan.trustProxy ?? 1)
  if (hsts)
    app.use((_req, res, next) => {
      res.set('Strict-Transport-Security', 'max-age=31536000')
      next()
    })
  if (plan.before) app.use(plan.before)
  const attributes = { httpOnly: true, secure: true, sameSite: 'lax', ...cookie } as const
  app.use(
    session({ secret: 'of the app', store, cookie: attributes, resave: false, saveUninitialized: false }),
  )
  app.use(mount, host.oauth)
  if (plan.wellKnown !== false) app.use(host.oauth.wellKnown)
  if (plan.after) app.use(plan.after)
  const server = createServer(app).listen(0)
  open.push(server)
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/oauth`
}

/** A database of a server does not migrate itself with the rules of production. */
const migratedServer = async (): Promise<TestDatabase | undefined> => {
  if (process.env.DATABASE_URL === undefined) return undefined
  const database = openTestDatabase()
  const { knex, tablePrefix } = database
  await createUsers(database, `${tablePrefix}people`)
  await migrate(knex, { database: { tablePrefix } })
  return database
}

const diagnose = async (plan: Plan): Promise<Diagnosis[]> => {
  const opened = await migratedServer()
  const { HTTPS_PROXY: _, https_proxy: __, ...withoutProxy } = env
  process.env = { ...withoutProxy, ...plan.variables }
  process.env.NODE_ENV = plan.environment ?? 'production'
  const host = await startHost({
    options: {
      issuer: plan.issuer ?? issuer,
      pages: plan.pages ?? { name: 'Acme' },
      session: plan.ignoresSession ? undefined : 'host',
      features: plan.admin ? [admin(plan.admin)] : [],
      ...(plan.login && { login: plan.login }),
    },
    clients: plan.clients ?? [...clients],
    ...(opened && { database: opened }),
  })
  process.env.NODE_ENV = env.NODE_ENV
  for (const scope of plan.guards ?? ['notes:read', 'notes:write']) host.oauth.requireToken(scope)
  const { options: ofServer, database, now } = serverBehind(host.oauth)!
  const options = { ...ofServer, ...plan.command?.(ofServer) }
  const subject = { options, now, versions: { node: '24.11.0', sqlite: plan.sqlite ?? '13.2.0' } }
  const url = await serve(plan, host)
  const ofMount = (): Promise<Diagnosis[]> =>
    untilStopped(async () =>
      diagnoseMount(
        { ...subject, mount: await openMount(url, options, now) },
        await loadTools(definitionsOf(options)),
      ),
    )
  // What breaks the database would keep the server from answering.
  const ofRunning = await ofMount()
  await plan.breakDatabase?.(host)
  return withoutConsequences([
    ...(await diagnoseConfiguration(subject)),
    ...(await diagnoseProxy(subject)),
    ...(await diagnoseDatabase({ ...subject, database, hostKnex: host.database.knex })),
    ...ofRunning,
  ])
}

/** A session without functions, as cookie-session makes it. */
const cookieSession: RequestHandler = (req, _res, next) => {
  Object.assign(req, { session: { isNew: true } })
  next()
}

/** Removes what the command sends in the place of the proxy, and sends what this one does. */
const proxySends =
  (headers: Readonly<Record<string, string>>): RequestHandler =>
  (req, _res, next) => {
    delete req.headers['x-forwarded-proto']
    Object.assign(req.headers, headers)
    next()
  }

const catchAll: RequestHandler = (req, res, next) =>
  req.method === 'GET' ? void res.send('<!doctype html><title>Shop</title>') : next()

const httpsFirst: RequestHandler = (req, res) =>
  void res.redirect(301, `https://${req.headers.host}${req.url}`)

const loginFirst: RequestHandler = (_req, res) => void res.redirect('/login')

/** As a rate limiter that has seen so many requests. */
const limitedAfter = (requests: number): RequestHandler => {
  let seen = 0
  return (_req, res, next) => {
    seen += 1
    if (seen > requests) res.status(429).send('Too many requests, please try again later.')
    else next()
  }
}

/** As nginx with its own location for /.well-known. */
const keepsWellKnown: RequestHandler = (req, res, next) =>
  req.path.startsWith('/.well-known/')
    ? void res.status(404).send('<html><center><h1>404 Not Found</h1></center><hr>nginx</html>')
    : next()

const eatsBodies: RequestHandler = (req, _res, next) => {
  req.resume()
  if (req.method === 'POST') req.once('end', () => next())
  else next()
}

const express4: typeof express = jest.requireActual('express-4')

/** The parser of Express 4 finds nothing left to read, and fails. */
const eatsBeforeParser = express.Router().use(eatsBodies, express4.urlencoded({ extended: false }))

/** As an app whose pages have a nonce, and whose short links have one segment. */
const pagesOfTheApp: RequestHandler = (req, res) => {
  const isShortLink = req.path.split('/').length === 2
  res.status(isShortLink ? 404 : 200).send(`<script nonce="${randomUUID()}"></script>`)
}

const reflectsOrigin: RequestHandler = (req, res, next) => {
  if (req.headers.origin !== undefined)
    res.set({
      'Access-Control-Allow-Origin': req.headers.origin,
      'Access-Control-Allow-Credentials': 'true',
    })
  next()
}

/** The command reads another mapping of the users than the server. */
const withUsers =
  (change: (users: UserMapping) => UserMapping) =>
  ({ users }: Options): Partial<Options> =>
    users !== undefined && isUserMapping(users) ? { users: change(users) } : {}

const dropsAuthorization: RequestHandler = (req, _res, next) => {
  delete req.headers.authorization
  next()
}

/** As middleware that verifies JWTs of the app wherever a request has one. */
const ownTokens: RequestHandler = ({ headers }, res, next) =>
  headers.authorization?.startsWith('Bearer ')
    ? void res.status(401).json({ message: 'jwt malformed' })
    : next()

/** As express-rate-limit, long before its limit. */
const namesLimit =
  (header: string, value: string): RequestHandler =>
  (_req, res, next) => {
    res.set(header, value)
    next()
  }

const csrf: RequestHandler = (req, res, next) =>
  req.method === 'POST' ? void res.status(403).json({ error: 'invalid csrf token' }) : next()

/** As a proxy does, or middleware that waits for the headers. */
const otherPolicy: RequestHandler = (_req, res, next) => {
  const { writeHead } = res
  res.writeHead = ((...given: never[]) => {
    res.setHeader('Content-Security-Policy', "default-src 'self'")
    return Reflect.apply(writeHead, res, given)
  }) as typeof writeHead
  next()
}

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')

/** Middleware that parses forms and changes each value. */
const changesBodies = (change: (text: string) => string): RequestHandler =>
  express.Router().use(express.urlencoded({ extended: false, limit: '64kb' }), (req, _res, next) => {
    for (const [name, value] of Object.entries(Object(req.body)))
      if (typeof value === 'string') req.body[name] = change(value)
    next()
  })

/** As a proxy that changes the cookies of what is behind it. */
const rewritesCookies =
  (from: RegExp, to: string): RequestHandler =>
  (_req, res, next) => {
    const { writeHead } = res
    res.writeHead = ((...given: never[]) => {
      const lines = [res.getHeader('Set-Cookie') ?? []].flat().map((line) => String(line).replace(from, to))
      if (lines.length > 0) res.setHeader('Set-Cookie', lines)
      return Reflect.apply(writeHead, res, given)
    }) as typeof writeHead
    next()
  }

/** As a cache in front of the app that ignores `Cache-Control`. */
const cachesPages = (): RequestHandler => {
  const kept = new Map<
    string,
    { readonly headers: object; readonly body: unknown; readonly status: number }
  >()
  return (req, res, next) => {
    const hit = req.path.endsWith('/authorize') ? kept.get(req.originalUrl) : undefined
    if (hit) return void res.status(hit.status).set(hit.headers).end(hit.body)
    const { end } = res
    res.end = ((...given: never[]) => {
      kept.set(req.originalUrl, { headers: res.getHeaders(), body: given[0], status: res.statusCode })
      return Reflect.apply(end, res, given)
    }) as typeof end
    next()
  }
}

const servesFile =
  (path: string, body: string): RequestHandler =>
  (req, res, next) =>
    req.path === path ? void res.type(path.replace(/^.*\./, '')).send(body) : next()

/** As Workbox writes it: what is in the cache first, then this for every navigation. */
const workbox = (route: string): string =>
  `self.addEventListener('fetch', (event) => respond(event)); workbox.registerRoute(${route})`

const wrongClock: RequestHandler = (_req, res, next) => {
  res.set('Date', new Date(Date.now() + 600_000).toUTCString())
  next()
}

const registered = ({ table }: Host, change: object): Promise<unknown> =>
  table('clients')
    .where({ client_id: 'web' })
    .then((rows) => ({ ...JSON.parse(rows[0].metadata), ...change }))
    .then((metadata) =>
      table('clients')
        .where({ client_id: 'web' })
        .update({ metadata: JSON.stringify(metadata) }),
    )

const redirectsTo = (uri: string) => (host: Host) => registered(host, { redirect_uris: [uri] })

const isOld = (host: Host): Promise<unknown> => host.table('signing_keys').update({ active_at: 1 })

const lacksMigration = ({ table }: Host): Promise<unknown> =>
  table('migrations')
    // One of the core.
    .where('name', 'like', '0%')
    .orderBy('id', 'desc')
    .limit(1)
    .then(([{ id }]) => table('migrations').where({ id }).delete())

/** A newer version has removed what this one needs. */
const isNewer = ({ table }: Host): Promise<unknown> =>
  table('migrations').insert({ name: '999_secrets_gone_needs_998', batch: 9, migration_time: new Date() })

const changeUsers =
  (change: (table: import('knex').Knex.AlterTableBuilder) => void) =>
  ({ database, usersTable }: Host): Promise<unknown> =>
    database.knex.schema.alterTable(usersTable, change)

/** The command reads a proxy that the server does not use. */
const throughProxy = (proxy: string) => (): Partial<Options> => ({
  outbound: { allow: [], allowSelfDescribed: [], proxy },
})

/** MariaDB finds a name in any case, unless the column says otherwise. */
const ignoresCase = process.env.DATABASE_URL?.startsWith('mysql') ?? false

const mistakes: readonly (readonly [check: string, level: string, fix: RegExp, plan: Plan])[] = [
  ['mount', 'error', /app.use\('\/oauth', oauth\)/, { mount: '/auth' }],
  ['mount', 'error', /above routes that match every path/, { before: catchAll }],
  ['mount', 'error', /above routes that match every path/, { mount: '/auth', after: catchAll }],
  ['mount', 'error', /above middleware that asks for a login/, { before: loginFirst }],
  ['mount', 'error', /the https URL, or .*'trust proxy', 1/, { before: httpsFirst }],
  ['mount', 'error', /mounted elsewhere, set issuer/, { mount: '/v1/oauth' }],
  ['https', 'error', /app.set\('trust proxy', 1\)/, { trustProxy: false }],
  [
    'https',
    'error',
    /proxy_set_header X-Forwarded-Proto/,
    { before: proxySends({ 'x-forwarded-for': '192.0.2.1' }) },
  ],
  ['https', 'error', /proxy_set_header X-Forwarded-Proto/, { before: proxySends({}) }],
  ['https', 'error', /redirect http to https/, { before: proxySends({ 'x-forwarded-proto': 'http' }) }],
  [
    'https',
    'error',
    /http:\/\/localhost in development/,
    { issuer: 'https://localhost:3000/oauth', environment: 'development', before: proxySends({}) },
  ],
  ...[0, 1, 2, 3, 5, 6].map(
    (requests) => ['rate-limiter', 'error', /oauth\) before it/, { before: limitedAfter(requests) }] as const,
  ),
  ['rate-limiter', 'warning', /oauth\) before it/, { before: namesLimit('X-RateLimit-Limit', '10') }],
  [
    'rate-limiter',
    'warning',
    /oauth\) before it/,
    { before: namesLimit('RateLimit-Policy', '"10-in-1min"; q=10; w=60') },
  ],
  ['well-known', 'error', /app.use\(oauth.wellKnown\) on the outermost app/, { wellKnown: false }],
  ['well-known', 'error', /app.use\(oauth.wellKnown\)/, { wellKnown: false, after: catchAll }],
  // One page for one segment and another for more, each with a nonce.
  ['well-known', 'error', /app.use\(oauth.wellKnown\)/, { wellKnown: false, after: pagesOfTheApp }],
  ['well-known', 'error', /let the proxy forward \/.well-known\//, { before: keepsWellKnown }],
  ['clock', 'error', /NTP/, { before: wrongClock }],
  ['forms', 'error', /before it/, { before: csrf }],
  ['forms', 'error', /express.json/, { before: express.json({ type: () => true }) }],
  ['forms', 'error', /limit: '64kb'/, { before: express.urlencoded({ limit: '10kb', extended: false }) }],
  ['forms', 'error', /before that middleware/, { before: eatsBodies }],
  ['forms', 'error', /before all middleware that reads bodies/, { before: eatsBeforeParser }],
  // In the style of xss-clean: a password with `&` or `<` would be another one.
  ['forms', 'warning', /where your own sign-in form arrives/, { before: changesBodies(escaped) }],
  [
    'forms',
    'warning',
    /where your own sign-in form arrives/,
    { before: changesBodies((text) => text.trim()) },
  ],
  ['cookies', 'error', /proxy_cookie_path/, { before: rewritesCookies(/Path=\//, 'Path=/app/') }],
  ['cookies', 'error', /proxy_cookie_domain/, { before: rewritesCookies(/$/, '; Domain=example.com') }],
  ['cookies', 'error', /proxy_cookie_flags/, { before: rewritesCookies(/; Secure|; SameSite=Lax/g, '') }],
  ['cookies', 'error', /Set-Cookie/, { before: rewritesCookies(/^.*latchkey.*$/, 'other=1') }],
  [
    'service-worker',
    'warning',
    /navigateFallbackDenylist: \[\/\^\\\/oauth\\\/\/\]/,
    { before: servesFile('/sw.js', workbox("new NavigationRoute(createHandlerBoundToURL('/index.html'))")) },
  ],
  [
    'service-worker',
    'warning',
    /'!\/oauth\/\*\*'/,
    {
      before: servesFile(
        '/ngsw.json',
        JSON.stringify({
          navigationUrls: [
            { positive: true, regex: '^\\/.*$' },
            { positive: false, regex: '^\\/api$' },
          ],
        }),
      ),
    },
  ],
  ['authorization', 'error', /CGIPassAuth/, { before: dropsAuthorization }],
  ['authorization', 'error', /before that middleware/, { before: ownTokens }],
  ['cors', 'error', /before app.use\(cors/, { before: reflectsOrigin }],
  ['headers', 'error', /Content|policy|remove/, { before: otherPolicy }],
  ['headers', 'note', /helmet/, { hsts: false }],
  ['cache', 'error', /no-store/, { before: cachesPages() }],
  ['admin', 'error', /role === 'admin'/, { admin: { allow: () => true } }],
  [
    'report',
    'note',
    /same secrets/,
    { command: () => ({ secrets: ['another secret that is long enough too', serverSecret] }) },
  ],
  [
    'secrets',
    'error',
    /end of the list/,
    { command: () => ({ secrets: ['another secret that is long enough too'] }) },
  ],
  [
    'guessable-secrets',
    'error',
    /openssl rand/,
    { command: () => ({ secrets: [serverSecret, 'a'.repeat(32)] }) },
  ],
  ['environment', 'error', /the same NODE_ENV/, { command: () => ({ production: false }) }],
  ['environment', 'error', /NODE_ENV=production/, { environment: 'test' }],
  ['trust-proxy', 'error', /app.set\('trust proxy', 1\)/, { trustProxy: true }],
  ['session-option', 'warning', /session: 'host'/, { ignoresSession: true }],
  // F3 of adoption: express-session gives no session to a path outside that of its cookie.
  ['session-missing', 'error', /above the router, with a cookie for path '\/'/, { cookie: { path: '/app' } }],
  ['session-missing', 'error', /session: 'own'/, { before: cookieSession }],
  [
    'passport',
    'warning',
    /passport.session\(\)\) above the router/,
    { after: new Passport().session(), login: { remember: () => {} } },
  ],
  ['session-store', 'error', /store/, { store: new MemoryStore() }],
  ['session-cookie', 'error', /httpOnly: true/, { cookie: { httpOnly: false } }],
  ['session-cookie', 'error', /secure: true/, { cookie: { secure: false } }],
  ['session-cookie', 'error', /sameSite: 'lax'/, { cookie: { sameSite: 'strict' } }],
  ['session-cookie', 'warning', /sameSite: 'lax'/, { cookie: { sameSite: 'none' } }],
  ['guards', 'note', /requireToken\('notes:write'\)/, { guards: ['notes:read'] }],
  ['migrations', 'error', /npx latchkey migrate/, { breakDatabase: lacksMigration }],
  [
    'users',
    'error',
    /users.columns.password to one of: id, email, hash/,
    { breakDatabase: changeUsers((table) => void table.renameColumn('password_hash', 'hash')) },
  ],
  [
    'inactive-users',
    'error',
    /users.isActive to a function/,
    { command: withUsers(({ isActive: _, ...users }) => users) },
  ],
  [
    'claims',
    'error',
    /users.claims.email to one of: id, email/,
    { command: withUsers((users) => ({ ...users, claims: { ...users.claims, email: 'emial' } })) },
  ],
  [
    'revealed-claims',
    'warning',
    /rename it to email, or add it to a scope/,
    { command: withUsers((users) => ({ ...users, claims: { ...users.claims, emial: 'email' } })) },
  ],
  // With claims, whose columns no other check finds in a table that does not exist.
  [
    'users',
    'error',
    /users.table to the name/,
    { command: withUsers((users) => ({ ...users, table: 'userz' })) },
  ],
  ['migrations', 'error', /deploy a newer one/, { breakDatabase: isNewer }],
  [
    'usernames',
    'warning',
    /create unique index/,
    { breakDatabase: changeUsers((table) => void table.dropUnique(['email'])) },
  ],
  ...(ignoresCase
    ? []
    : [
        [
          'capitals',
          'warning',
          /update \w+ set email = lower\(email\)/,
          {
            breakDatabase: ({ database, usersTable }: Host) =>
              database.knex(usersTable).where({ id: 1 }).update({ email: 'Ada@Example.com' }),
          },
        ] as const,
      ]),
  [
    'second-factor',
    'warning',
    /login: \{ url/,
    { breakDatabase: changeUsers((table) => void table.string('totpSecret')) },
  ],
  ['keys', 'warning', /npx latchkey keys rotate/, { breakDatabase: isOld }],
  [
    'redirect-uris',
    'error',
    /client update web/,
    { breakDatabase: redirectsTo('http://shop.example.com/cb') },
  ],
  ['redirect-uris', 'error', /client update web/, { breakDatabase: redirectsTo('https://*.example.com/cb') }],
  [
    'redirect-uris',
    'warning',
    /client update/,
    { breakDatabase: redirectsTo('https://a1.ngrok-free.app/cb') },
  ],
  ['redirect-uris', 'warning', /--public/, { breakDatabase: redirectsTo('com.example.app:/cb') }],
  [
    'client-scopes',
    'warning',
    /option scopes/,
    { breakDatabase: (host) => registered(host, { scope: 'openid orders:read' }) },
  ],
  ['name', 'warning', /pages: \{ name: 'Acme' \}/, { pages: {} }],
  ['driver', 'error', /npm install better-sqlite3@13/, { sqlite: '12.9.0' }],
  // Nothing listens at port 1.
  ['outbound-proxy', 'error', /outbound.proxy/, { command: throughProxy('http://ada:secret@127.0.0.1:1') }],
  [
    'outbound-proxy',
    'note',
    /proxy: process.env.HTTPS_PROXY/,
    { variables: { HTTPS_PROXY: 'http://ada:secret@127.0.0.1:1' } },
  ],
]

/** Every client but one describes itself, in words that a shell or a reader could take for ours. */
const describedByStrangers = async (host: Host): Promise<void> => {
  const [{ client_id: _, ...row }] = await host.table('clients').where({ client_id: 'web' })
  const uris = Array.from({ length: 50 }, (__, number) => `http://evil${number}.example/$(id)`)
  const metadata = { redirect_uris: uris, scope: 'evil:all', self_described: 'registration' }
  for (let number = 0; number < 25; number += 1)
    await host.table('clients').insert({
      ...row,
      client_id: `stranger-${number}`,
      self_described: 1,
      metadata: JSON.stringify(metadata),
    })
}

test('of clients that described themselves it says how many, in a note without their words (M17)', async () => {
  const found = await diagnose({ breakDatabase: describedByStrangers })
  expect(found).toMatchObject([
    {
      check: 'redirect-uris',
      level: 'note',
      message: expect.stringContaining(': 1250 of clients that described'),
    },
    {
      check: 'client-scopes',
      level: 'note',
      message: expect.stringContaining(': 25 of clients that described'),
    },
  ])
  expect(JSON.stringify(found)).not.toMatch(/evil|stranger/)
})

test('an app that is set up as the documentation says has no mistake', async () => {
  expect(await diagnose({ admin: { allow: () => false } })).toEqual([])
})

test.each(mistakes)('%s finds one planted mistake: %s, %s', async (check, level, fix, plan) => {
  expect(await diagnose(plan)).toEqual([
    { check, level, message: expect.any(String), fix: expect.stringMatching(fix) },
  ])
})

test('a check that fails is a finding, and hides no other', async () => {
  const found = await diagnose({
    breakDatabase: async (host) => {
      const { knex: server, tablePrefix } = host.database
      await isOld(host)
      await server.schema.renameTable(`${tablePrefix}clients`, `${tablePrefix}clients_away`)
    },
  })
  expect(found).toEqual([
    expect.objectContaining({ check: 'keys' }),
    {
      check: 'redirect-uris',
      level: 'error',
      message: expect.stringMatching(/^could not be checked: .*clients/),
      fix: expect.any(String),
    },
  ])
})

test('a proxy that wants other credentials is named without them, and one that refuses is fine', async () => {
  const proxy = await openProxy(() => 0)
  const command = throughProxy(proxy.url.replace('://', '://ada:secret@'))
  proxy.answer((socket) => socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n'))
  const [finding, ...more] = await diagnose({ command })
  proxy.answer((socket) => socket.end('HTTP/1.1 503 Service Unavailable\r\n\r\n'))
  const later = await diagnose({ command })
  await proxy.close()
  expect(finding?.message).toBe(
    `requests to other servers fail, because the proxy wants other credentials: ${proxy.url}`,
  )
  expect([...more, ...later]).toEqual([])
  expect(proxy.asked).toEqual(['latchkey-doctor.invalid:443', 'latchkey-doctor.invalid:443'])
})

test.each([
  ['another database', 200],
  ['another secret, so that it is not ready', 503],
])('two processes of which one has %s are found', async (_, status) => {
  let requests = 0
  const otherProcess: RequestHandler = (req, res, next) => {
    requests += 1
    if (!req.path.endsWith('/jwks') || requests % 2 === 0) return next()
    return void res.status(status).json(status === 200 ? { keys: [{ kid: 'of another database' }] } : {})
  }
  expect(await diagnose({ before: otherProcess })).toEqual([
    {
      check: 'processes',
      level: 'error',
      message: expect.any(String),
      fix: expect.stringContaining('the same options database and secrets'),
    },
  ])
})

test('processes that have a key in common, and each another one for a moment, are no mistake', async () => {
  let requests = 0
  const hasAnotherKey: RequestHandler = async (req, res, next) => {
    if (!req.path.endsWith('/jwks') || req.query.of === 'both') return next()
    const url = `http://127.0.0.1:${req.socket.localPort}${req.originalUrl}&of=both`
    const headers = { 'x-forwarded-proto': String(req.headers['x-forwarded-proto']) }
    requests += 1
    const kid = `new-${requests % 2}`
    const { keys } = await (await fetch(url, { headers })).json()
    return void res.json({ keys: [{ kid }, ...keys] })
  }
  expect(await diagnose({ before: hasAnotherKey })).toEqual([])
  expect(requests).toBeGreaterThan(1)
})

test('a service worker that leaves the mount alone is no mistake, and neither is a page at its path', async () => {
  const leaves = "new NavigationRoute(createHandlerBoundToURL('/index.html'), { denylist: [/^\\/oauth\\//] })"
  const navigationUrls = [
    { positive: true, regex: '^\\/.*$' },
    { positive: false, regex: '^\\/oauth\\/.*$' },
  ]
  for (const before of [
    servesFile('/sw.js', workbox(leaves)),
    servesFile('/sw.js', "self.addEventListener('push', () => {})"),
    servesFile('/ngsw.json', JSON.stringify({ navigationUrls })),
  ])
    expect(await diagnose({ before })).toEqual([])
})

test('capital letters are no mistake where the column ignores them', async () => {
  const hostKnex = knex({ client: 'better-sqlite3', connection: ':memory:', useNullAsDefault: true })
  await hostKnex.raw('create table people (id integer primary key, email text collate nocase, hash text)')
  await hostKnex('people').insert({ email: 'Ada@Example.com' })
  const users = { table: 'people', columns: { id: 'id', username: 'email', password: 'hash' } }
  const { database } = openDatabase(hostKnex, 'latchkey_')
  const subject = { database, hostKnex, options: { users } } as unknown as StoredSubject
  expect(await nameChecks[0]?.run(subject)).toBeFalsy()
  await hostKnex.destroy()
})

test('an unknown scope is named with its client', async () => {
  const found = await diagnose({
    breakDatabase: (host) => registered(host, { scope: 'openid orders:read' }),
  })
  expect(found.map(({ message }) => message)).toEqual([
    'scope orders:read of client web is one that no token can have',
  ])
})

test('an unknown scope of a client that is disabled is no mistake', async () => {
  const found = await diagnose({
    breakDatabase: async (host) => {
      await registered(host, { scope: 'openid orders:read' })
      await host.table('clients').where({ client_id: 'web' }).update({ disabled_at: 1 })
    },
  })
  expect(found).toEqual([])
})

test('a scope that is gone is one line, however many clients have it', async () => {
  const found = await diagnose({
    breakDatabase: async (host) => {
      await registered(host, { scope: 'openid orders:read' })
      const [row] = await host.table('clients').where({ client_id: 'web' })
      const more = [1, 2, 3, 4].map((number) => ({ ...row, client_id: `web-${number}` }))
      await host.table('clients').insert(more)
    },
  })
  expect(found.map(({ message }) => message)).toEqual([
    'scope orders:read of clients web, web-1, web-2 and 2 more is one that no token can have',
  ])
})

test('a server logs once at its start what needs no request, in every environment (M17)', async () => {
  const first = await startHost({ options: { features: [authenticatorApps(), registration()] } })
  await redirectsTo('http://shop.example.com/cb')(first)
  // They take no place in the log.
  await describedByStrangers(first)
  await changeUsers((table) => void table.string('mfa_secret'))(first)
  const lines: string[] = []
  const warn = (line: string): void => void lines.push(line)
  const logger = { info: () => {}, warn, error: warn }
  const start = async (options: AuthRouterOptions = {}): Promise<void> => {
    const { database } = first
    const users = {
      table: first.usersTable,
      columns: { id: 'id', username: 'email', password: 'password_hash' },
    }
    const scopes = { 'notes:read': 'Read your notes', 'notes:write': 'Write notes' }
    const again = authRouter({
      scopes,
      issuer,
      database: database.knex,
      users,
      logger,
      secrets: [serverSecret],
      ...options,
    })
    await again.ready()
    // It waits for the checks.
    await again.close()
  }
  await start()
  const inTests = lines.splice(0)
  process.env.NODE_ENV = 'production'
  await start()
  const said = lines.splice(0)
  await start({ features: [secondFactor({ find: () => undefined })] })
  await start({ features: [authenticatorApps()] })
  process.env.NODE_ENV = env.NODE_ENV
  expect(inTests).toEqual(said.slice(1))
  expect(lines.join()).not.toContain('mfa_secret')
  expect(said).toEqual([
    expect.stringMatching(/^latchkey: the pages call the product Latchkey; set pages: /),
    expect.stringMatching(/^latchkey: \w+ has disabled_at, but users\.isActive is not set/),
    expect.stringMatching(
      /^latchkey: \w+ has mfa_secret, but .*; add secondFactor\(\) to the option features, or let your/,
    ),
    expect.stringMatching(/^latchkey: redirect URI http:\/\/shop.example.com\/cb of client web sends codes/),
  ])
})

test('a start reads nothing of clients that described themselves, and the command reads all of the others', async () => {
  const host = await startHost()
  await redirectsTo('http://shop.example.com/cb')(host)
  const [{ client_id: _, ...row }] = await host.table('clients').where({ client_id: 'web' })
  for (let number = 0; number < 1001; number += 1)
    await host.table('clients').insert({
      ...row,
      client_id: `a-stranger-${number}`,
      self_described: 1,
      metadata: 'it would not be understood',
    })
  const { options, database, now } = serverBehind(host.oauth)!
  const versions = { node: '24.11.0', sqlite: '13.2.0' }
  const found = await diagnoseStart({ options, now, versions, database, hostKnex: host.database.knex })
  expect(found.map(({ message }) => message)).toEqual([
    expect.stringContaining('redirect URI http://shop.example.com/cb of client web'),
  ])
  await host.close()
})

test('an app that closes its database right after the start hears nothing of the checks', async () => {
  const { database, usersTable } = await startHost()
  const error = jest.fn()
  const oauth = authRouter({
    issuer,
    database: { knex: database.knex, tablePrefix: database.tablePrefix },
    users: { table: usersTable, columns: { id: 'id', username: 'email', password: 'password_hash' } },
    logger: { info: error, warn: error, error },
    secrets: [serverSecret],
    features: kept,
  })
  // The router itself would wait for the checks.
  await serverBehind(oauth)?.ready()
  const { client } = database.knex
  // Knex itself says that a statement lost its connection, and that another one got none from a pool that closes.
  client.logger.warn = () => {}
  client.pool.acquireTimeoutMillis = 100
  await database.knex.destroy()
  await oauth.close()
  expect(error.mock.calls).toEqual([])
})

test('an SQLite file without WAL is noted in production, but not to a reader of the README', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-journal-'))
  const hostKnex = knex({
    client: 'better-sqlite3',
    connection: { filename: join(folder, 'app.sqlite') },
    useNullAsDefault: true,
  })
  const noted = async (production: boolean): Promise<unknown> => {
    const subject = { database: { driver: { dialect: 'sqlite' } }, hostKnex, options: { production } }
    return databaseChecks.find(({ id }) => id === 'journal')?.run(subject as unknown as StoredSubject)
  }
  try {
    expect(await noted(true)).toMatchObject({
      level: 'note',
      message: expect.stringContaining('journal_mode'),
    })
    expect(await noted(false)).toBeFalsy()
    await hostKnex.raw('pragma journal_mode = WAL')
    expect(await noted(true)).toBeFalsy()
  } finally {
    await hostKnex.destroy()
    rmSync(folder, { recursive: true })
  }
})
