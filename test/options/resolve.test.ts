import { rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import {
  clientMetadataDocuments,
  developers,
  device,
  passkeys,
  pushedRequests,
  registration,
  trustedIssuers,
} from '../../lib/features/index.ts'
import { OptionsError } from '../../lib/options/check.ts'
import type { Feature } from '../../lib/options/features.ts'
import type { AuthRouterOptions, Options } from '../../lib/options/options.ts'
import { resolveOptions } from '../../lib/options/resolve.ts'
import { knownScopes } from '../../lib/options/scopes.ts'
import { fc } from '../support/property.ts'

const secret = 's'.repeat(32)
const issuer = 'https://app.example.com/oauth'
const logo = join(__dirname, '../../example-app/notes/public/notes.svg')
const right: AuthRouterOptions = { issuer, database: { client: 'pg' }, secrets: [secret] }
const production = { NODE_ENV: 'production' }
/** Features as a host without TypeScript may write them. */
const untyped = { developers, passkeys, registration } as unknown as Record<
  'developers' | 'passkeys' | 'registration',
  (given?: unknown) => Feature
>
/** Options as a host without TypeScript may write them. */
const resolve = (
  options: Record<string, unknown> = {},
  environment: NodeJS.ProcessEnv = { NODE_ENV: 'test' },
): Options => resolveOptions({ ...right, ...options }, environment)

const folders: string[] = []
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true })
})

describe('defaults', () => {
  test('are those of docs/options.md', () => {
    expect(resolve()).toMatchObject({
      issuer,
      basePath: '/oauth',
      issuerIsGuess: false,
      production: false,
      secrets: [secret],
      database: { tablePrefix: 'latchkey_' },
      scopes: {},
      resources: {},
      lifetimes: {
        code: 60,
        accessToken: 3600,
        jwtAccessToken: 600,
        idToken: 3600,
        refreshTokenIdle: 30 * 24 * 3600,
        refreshTokenAbsolute: 365 * 24 * 3600,
        sessionIdle: 30 * 60,
        sessionAbsolute: 12 * 3600,
        refreshGracePeriod: 60,
      },
      limits: { authorizationsPerClient: 100 },
      codeChallengeMethods: ['S256'],
      protocol: { implicit: false },
      pages: {},
      logger: console,
    })
  })

  test('apply if an option is undefined, such as an unset environment variable', () => {
    const names = Object.keys(resolve()).filter(
      (name) => !['issuerIsGuess', 'production', 'basePath', ...Object.keys(right)].includes(name),
    )
    const nothing = Object.fromEntries(names.map((name) => [name, undefined]))
    expect(resolve(nothing)).toEqual(resolve())
    const { lifetimes } = resolve({ lifetimes: { code: undefined, idToken: 60 } })
    expect(lifetimes).toEqual({ ...resolve().lifetimes, idToken: 60 })
  })

  test.each([
    ['https://app.example.com', ''],
    ['https://app.example.com/oauth', '/oauth'],
    ['http://localhost:3000/oauth', '/oauth'],
  ])('the base path of %s is "%s"', (issuer, basePath) => {
    expect(resolve({ issuer }).basePath).toBe(basePath)
  })

  test.each([
    ['without PORT', {}, 'http://localhost:3000/oauth'],
    ['with PORT', { PORT: '4000' }, 'http://localhost:4000/oauth'],
    ['with the port that http has anyway', { PORT: '80' }, 'http://localhost/oauth'],
    ['with a PORT that names a pipe', { PORT: '\\\\.\\pipe\\x' }, 'http://localhost:3000/oauth'],
    ['with a PORT beyond 65535', { PORT: '99999' }, 'http://localhost:3000/oauth'],
    ['with a PORT that would be another host', { PORT: '80@evil.example' }, 'http://localhost:3000/oauth'],
  ])('the issuer of a development machine %s', (_case, environment, issuer) => {
    expect(resolve({ issuer: undefined }, environment)).toMatchObject({ issuer, issuerIsGuess: true })
  })

  test('the database of a development machine is an SQLite file beside the app', () => {
    expect(resolve({ database: undefined }).database.knex).toMatchObject({
      client: 'better-sqlite3',
      connection: { filename: './latchkey.sqlite' },
    })
  })
})

test.each([
  ['https', 'https://app.example.com/oauth'],
  ['https without a path', 'https://app.example.com'],
  ['http on localhost', 'http://localhost:3000/oauth'],
  ['http on a name below localhost', 'http://app.localhost:3000/oauth'],
  ['http on 127.0.0.1', 'http://127.0.0.1:3000/oauth'],
  ['http on [::1]', 'http://[::1]:3000/oauth'],
])('an issuer may be %s', (_case, issuer) => {
  expect(resolve({ issuer }, production).issuer).toBe(issuer)
})

test.each([
  ['no URL', 'app.example.com/oauth', 'absolute URL'],
  ['empty', '', 'absolute URL'],
  ['a URL object', new URL('https://app.example.com'), 'absolute URL'],
  ['http beyond loopback', 'http://app.example.com/oauth', 'must use https'],
  ['http on a name that begins like loopback', 'http://localhost.evil.example/oauth', 'must use https'],
  ['another scheme', 'ftp://app.example.com/oauth', 'must use https'],
  ['with a query', 'https://app.example.com/oauth?x=1', 'neither query nor fragment'],
  ['with a fragment', 'https://app.example.com/oauth#x', 'neither query nor fragment'],
  ['with an empty fragment', 'https://app.example.com/oauth#', 'neither query nor fragment'],
  ['with credentials', 'https://user:pass@app.example.com/oauth', 'credentials'],
  ['with a slash at the end', 'https://app.example.com/oauth/', 'write https://app.example.com/oauth'],
  ['a host and a slash', 'https://app.example.com/', 'write https://app.example.com'],
  ['with capitals in the host', 'https://App.example.com/oauth', 'written as https://app.example.com/oauth'],
  ['with the default port', 'https://app.example.com:443/oauth', 'written as https://app.example.com/oauth'],
  ['with dot segments', 'https://app.example.com/a/../oauth', 'written as https://app.example.com/oauth'],
])('an issuer must not be %s', (_case, issuer, message) => {
  expect(() => resolve({ issuer })).toThrow(`latchkey: issuer must`)
  expect(() => resolve({ issuer })).toThrow(message)
})

test('secrets keep their order, newest first; unset ones are left out, and bytes count', () => {
  const older = 'é'.repeat(16)
  expect(resolve({ secrets: [secret, undefined, older, ''] }).secrets).toEqual([secret, older])
})

test.each([
  ['31 bytes', ['x'.repeat(31)], 'at least 32 bytes'],
  ['a number', [1e40], 'at least 32 bytes'],
  ['a string instead of the list', secret, 'must be a list'],
])('secrets must not hold %s, and the message does not contain it', (_case, secrets, message) => {
  const attempt = (): Options => resolve({ secrets }, production)
  expect(attempt).toThrow(message)
  expect(attempt).not.toThrow(secret)
})

test.each([
  [{ bodyParser: true }, 'bodyParser'],
  [{ pages: { colour: 'red' } }, 'pages.colour'],
])('%j is refused without a name that was not meant (F17)', (options, unknown) => {
  expect(() => resolve(options as Record<string, unknown>)).toThrow(
    `latchkey: ${unknown} is not an option; see docs/options.md`,
  )
})

describe('an unknown name is refused with the nearest known one', () => {
  test.each([
    [{ isuer: 'x' }, 'isuer', 'issuer'],
    [{ secret: 'x' }, 'secret', 'secrets'],
    [{ lifetimes: { acessToken: 1 } }, 'lifetimes.acessToken', 'lifetimes.accessToken'],
    [{ login: { uri: '/login' } }, 'login.uri', 'login.url'],
    [{ pages: { links: { privacy_: '/' } } }, 'pages.links.privacy_', 'pages.links.privacy'],
    [{ pages: { logo: { ligth: '/a' } } }, 'pages.logo.ligth', 'pages.logo.light'],
    [{ login: { provider: [] } }, 'login.provider', 'login.providers'],
    [{ features: [untyped.passkeys({ rpID: 'x' })] }, 'passkeys({ rpID })', 'passkeys({ rpId })'],
    [{ scopes: { x: { desc: 'x' } } }, "scopes['x'].desc", "scopes['x'].description"],
    [{ scopes: { x: { descripton: 'x' } } }, "scopes['x'].descripton", "scopes['x'].description"],
    [
      { resources: { 'https://api.example.com': { scope: [] } } },
      "resources['https://api.example.com'].scope",
      "resources['https://api.example.com'].scopes",
    ],
    [{ protocol: { implict: true } }, 'protocol.implict', 'protocol.implicit'],
    [{ users: { table: 'users', colums: {} } }, 'users.colums', 'users.columns'],
    [{ users: { table: 'x', columns: { usernam: 'x' } } }, 'users.columns.usernam', 'users.columns.username'],
    [{ users: { find() {}, authentcate() {} } }, 'users.authentcate', 'users.authenticate'],
  ])('%j', (options, unknown, known) => {
    expect(() => resolve(options)).toThrow(`latchkey: ${unknown} is not an option; did you mean ${known}?`)
    expect(() => resolve(options)).toThrow(OptionsError)
  })
})

const mapping = { table: 'users', columns: { id: 'id', username: 'email', password: 'hash' } }
const functions = { find: () => undefined, authenticate: () => undefined }

test.each<[string, Record<string, unknown>]>([
  ['no table prefix', { database: { tablePrefix: '' } }],
  ['a mapping of users', { users: mapping }],
  [
    'a full mapping',
    {
      users: {
        ...mapping,
        claims: { name: 'n', email: () => 'x' },
        isActive: () => true,
        verify: () => true,
      },
    },
  ],
  ['functions with claims', { users: { ...functions, claims: () => ({}) } }],
  ['the host’s own login page', { login: { url: '/login', current: () => undefined } }],
  ['a hook after the login', { login: { remember: () => undefined } }],
  ['our own session', { session: 'own' }],
  ['the host’s session', { session: 'host' }],
  ['a session middleware', { session: () => undefined }],
  ['no replay window', { lifetimes: { refreshGracePeriod: 0 } }],
  ['one authorization per client', { limits: { authorizationsPerClient: 1 } }],
  ['any number of authorizations', { limits: { authorizationsPerClient: false } }],
  ['plain beside S256', { codeChallengeMethods: ['S256', 'plain'] }],
  ['a folder of views', { pages: { views: tmpdir() } }],
  [
    'a brand',
    { pages: { name: 'Acme', logo: '/logo.svg', home: '/', links: { terms: 'https://x.example' } } },
  ],
  [
    'a logo as a file',
    { pages: { logo: { dark: pathToFileURL(logo) }, links: { help: 'mailto:a@b.example' } } },
  ],
  ['a provider', { login: { current: () => undefined, providers: [{ name: 'Google', url: '/google' }] } }],
  ['an accent of three digits', { pages: { accent: '#2FB' } }],
  ['a logger', { logger: { info() {}, warn() {}, error() {} } }],
  ['an origin that outbound requests may reach', { outbound: { allow: ['http://127.0.0.1:4001'] } }],
])('accepted is %s, as it is', (_case, options) => {
  expect(resolve(options)).toMatchObject(options)
})

test('a feature has its options, and after .off() none', () => {
  const { features } = resolve({
    acrValues: ['strong'],
    features: [passkeys({ rpName: 'Notes', acr: 'strong' }), device.off()],
  })
  expect(features).toMatchObject([
    { name: 'passkeys', option: { rpName: 'Notes', acr: 'strong' } },
    { name: 'device', option: undefined },
  ])
})

test('limits of a feature are among all limits, and limits: false turns them off', () => {
  const own = device({ limits: { userCodeTotal: { max: 1, seconds: 2 }, deviceCode: false } })
  const { failures, quotas } = resolve({ features: [own] }).limits
  expect([failures.userCodeTotal, quotas.deviceCode]).toEqual([{ max: 1, seconds: 2 }, false])
  expect(failures.userCodeUser).toMatchObject({ max: 10 })
  expect(resolve({ features: [own], limits: false }).limits.failures.userCodeTotal).toBe(false)
  expect(resolve({ features: [device({ limits: false })] }).limits.failures.userCodeUser).toBe(false)
  expect(resolve().limits.failures).not.toHaveProperty('userCodeTotal')
})

test('the keys of a trusted issuer are read as those of clients are (M11)', () => {
  const good = { kty: 'RSA', n: Buffer.alloc(256, 0xff).toString('base64url'), e: 'AQAB', kid: 'good' }
  const keys = [good, { ...good, kid: 'long', e: 'AQABAQABAQAB' }]
  const issuers = { 'https://idp.example.com': { jwks: { keys: keys as never } } }
  expect(resolve({ features: [trustedIssuers({ issuers })] }).features).toMatchObject([
    { option: { issuers: { 'https://idp.example.com': { jwks: { keys: [good] } } } } },
  ])
})

const resource = { scopes: ['orders:read'] }
const withResources = (resources: unknown): Record<string, unknown> => ({
  scopes: { 'orders:read': 'See your orders' },
  resources,
})

test('a database is a Knex instance, a configuration, or an object that says how it is used', () => {
  const knex = Object.assign(() => undefined, { client: {} })
  const defaults = { tablePrefix: 'latchkey_', preparedStatements: true, prune: true }
  expect(resolve({ database: knex }).database).toEqual({ knex, ...defaults })
  expect(resolve({ database: { knex, prune: false } }).database).toEqual({ knex, ...defaults, prune: false })
  const { database } = resolve({ database: { tablePrefix: '' } })
  expect(database).toMatchObject({ tablePrefix: '', knex: { client: 'better-sqlite3' } })
})

test('settings inside a Knex configuration are refused with their place', () => {
  expect(() => resolve({ database: { client: 'pg', prune: false } })).toThrow(
    'database.prune must stand beside knex: database: { knex: {…}, prune }',
  )
  expect(() => resolve({ database: { client: 'pg', knex: {} } as object })).toThrow(
    'database has the settings of Knex beside knex; write them in database.knex',
  )
})

test('a folder of views is a path, also if it is given as a file URL', () => {
  for (const views of [tmpdir(), pathToFileURL(tmpdir()), pathToFileURL(tmpdir()).href])
    expect(resolve({ pages: { views } }).pages.views).toBe(tmpdir())
})

test('functions of users stay on their object, so that they may use this', () => {
  const users = Object.create({ find: () => undefined, authenticate: () => undefined })
  expect(resolve({ users }).users).toBe(users)
})

test('a resource has a canonical identifier, a name and opaque access tokens', () => {
  const defaults = { ...resource, accessToken: 'opaque', introspection: [] }
  const resources = { 'HTTPS://App.example.com/MCP': resource, 'http://localhost:3000': resource }
  expect(Object.values(resolve(withResources(resources)).resources)).toEqual([
    { ...defaults, identifier: 'https://app.example.com/MCP', name: 'app.example.com/MCP' },
    { ...defaults, identifier: 'http://localhost:3000', name: 'localhost:3000' },
  ])
})

test.each<[string, unknown, string]>([
  ['/mcp', resource, 'must be an absolute URL'],
  ['urn:example:api', resource, 'must be an absolute URL'],
  ['https://api.example.com/#', resource, 'must be an absolute URL without fragment'],
  ['https://user@api.example.com/', resource, 'must be an absolute URL without fragment and credentials'],
  ['http://api.example.com/', resource, 'must use https'],
  ['https://app.example.com/oauth', resource, 'must not be the issuer'],
  ['https://api.example.com', ['orders:read'], 'must be an object'],
  ['https://api.example.com', {}, 'scopes is required'],
  ['https://api.example.com', { scopes: ['ordrs:read'] }, 'did you mean orders:read?'],
  ['https://api.example.com', { scopes: ['email'] }, 'must not contain email'],
  ['https://api.example.com', { ...resource, name: '' }, 'name must be a string'],
  ['https://api.example.com', { ...resource, accessToken: 'JWT' }, "accessToken must be 'opaque' or 'jwt'"],
  [
    'https://api.example.com',
    { ...resource, introspection: 'api' },
    'introspection must be a list of client ids',
  ],
  ['https://api.example.com', { ...resource, claims: {} }, 'claims must be a function'],
])('refused is the resource %s as %j', (url, given, message) => {
  expect(() => resolve(withResources({ [url]: given }))).toThrow(message)
})

test('refused are two spellings of one resource', () => {
  const resources = { 'https://api.example.com': resource, 'https://API.example.com/': resource }
  expect(() => resolve(withResources(resources))).toThrow('resources names https://api.example.com/ twice')
})

test('a scope may be one sentence or described in full', () => {
  const kind = { optional: true, group: 'identity', risk: 'high' } as const
  const full = { description: 'Know your roles', claims: ['roles'], ...kind }
  const options = resolve({
    scopes: { 'orders:read': 'See your orders', roles: full, email: 'Your address' },
  })
  const plain = { locales: {}, optional: false, risk: 'normal' }
  expect(options.scopes).toEqual({
    'orders:read': { ...plain, description: 'See your orders' },
    roles: { ...plain, ...full },
    email: { ...plain, description: 'Your address' },
  })
  const known = 'openid profile email address phone offline_access orders:read roles'
  expect(knownScopes(options)).toEqual(known.split(' '))
})

type Refused = [Record<string, unknown>, string]
const brand = (appearance: Record<string, unknown>, message: string): Refused => [
  { pages: appearance },
  `pages.${message}`,
]

const allow = () => true

test.each<Refused>([
  [{ database: 'postgres://localhost/app' }, 'database must be a Knex instance or configuration'],
  [{ database: { tablePrefix: 'a"; drop table b; --' } }, 'tablePrefix must be'],
  [{ database: { tablePrefix: 'a'.repeat(21) } }, 'tablePrefix must be'],
  [{ users: 'users' }, 'users must be an object with a table and columns'],
  [{ users: {} }, 'users.find is required'],
  [{ users: { columns: mapping.columns } }, 'users.table is required'],
  [{ users: { ...mapping, table: undefined } }, 'users.table is required'],
  [{ users: { table: 'users' } }, 'users.columns is required'],
  [{ users: { table: 'users', columns: { id: 'id', username: 'email' } } }, 'columns.password is required'],
  [
    { users: { ...mapping, claims: { name: 5 } } },
    "users.claims['name'] must be the name of a column, a function",
  ],
  [{ users: { ...mapping, claims: () => ({}) } }, 'users.claims must be an object'],
  [{ users: { ...mapping, isActive: 'active' } }, 'users.isActive must be a function'],
  [{ users: { ...mapping, verify: 'bcrypt' } }, 'users.verify must be a function'],
  [{ users: { find: () => undefined } }, 'users.authenticate is required'],
  [{ users: { ...functions, isActive: () => false } }, 'users.isActive is not an option'],
  [{ users: { ...functions, claims: {} } }, 'users.claims must be a function'],
  [{ login: '/login' }, 'login must be an object'],
  [{ login: { url: '/login' } }, 'login.current is required with login.url'],
  [
    { login: { url: () => '/login', current: () => undefined } },
    'login.url must be a string that is not empty',
  ],
  [{ session: 'redis' }, "session must be 'own', 'host' or a session middleware"],
  [{ scopes: ['orders:read'] }, 'scopes must be an object'],
  [{ scopes: { 'a"b': 'x' } }, 'is not a valid scope name'],
  [{ scopes: { openid: 'x' } }, 'openid is reserved'],
  [{ scopes: { x: '' } }, "scopes['x'].description must be the sentence"],
  [{ scopes: { x: 5 } }, "scopes['x'] must be a sentence or an object"],
  [{ scopes: { x: { description: 'x', optional: 'yes' } } }, "scopes['x'].optional must be true or false"],
  [{ scopes: { x: { description: 'x', group: 'admin' } } }, "scopes['x'].group must be"],
  [{ scopes: { x: { description: 'x', risk: 'low' } } }, "scopes['x'].risk must be 'normal' or 'high'"],
  [
    { scopes: { x: { description: 'x', riskReason: 'It spends money' } } },
    "scopes['x'].riskReason requires scopes['x'].risk to be 'high'",
  ],
  [
    {
      scopes: {
        x: { description: 'x', risk: 'high', riskReason: 'x', locales: { de: { description: 'x' } } },
      },
    },
    "scopes['x'].locales['de'].riskReason must be set if and only if scopes['x'].riskReason is set",
  ],
  [{ scopes: { x: { description: 'x', implies: 'y' } } }, "scopes['x'].implies must be a list of scopes"],
  [
    { scopes: { x: { description: 'x', implies: ['opneid'] } } },
    'opneid is not in the option scopes; did you',
  ],
  [{ scopes: { x: { description: 'x', implies: ['x'] } } }, "scopes['x'].implies leads back to x"],
  [
    {
      scopes: {
        a: { description: 'a', implies: ['b'] },
        b: { description: 'b', implies: ['c'] },
        c: { description: 'c', implies: ['a'] },
      },
    },
    "scopes['a'].implies leads back to a",
  ],
  [{ acrValues: 'mfa' }, 'acrValues must be a list of strings without spaces'],
  [{ acrValues: ['a b'] }, 'acrValues[0] must be a string without spaces'],
  [{ scopes: { x: { description: 'x', claims: 'roles' } } }, "scopes['x'].claims must be a list"],
  [{ lifetimes: { code: 0 } }, 'lifetimes.code must be a whole number of seconds, at least 1'],
  [{ lifetimes: { accessToken: 0.5 } }, 'lifetimes.accessToken must be'],
  [{ lifetimes: { accessToken: '1h' } }, 'lifetimes.accessToken must be'],
  [{ lifetimes: { refreshTokenIdle: Number.POSITIVE_INFINITY } }, 'lifetimes.refreshTokenIdle must be'],
  [{ limits: { authorizationsPerClient: 0 } }, 'limits.authorizationsPerClient must be'],
  [{ limits: { authorizationsPerClient: 1.5 } }, 'limits.authorizationsPerClient must be'],
  [{ limits: { authorizationsPerClient: true } }, 'limits.authorizationsPerClient must be'],
  [{ lifetimes: { refreshGracePeriod: -1 } }, 'lifetimes.refreshGracePeriod must be'],
  [{ database: { prune: 'never' } }, 'prune must be true or false'],
  [{ codeChallengeMethods: [] }, "codeChallengeMethods must be a list with 'S256'"],
  [{ codeChallengeMethods: ['S256', 'S512'] }, "codeChallengeMethods[1] must be 'S256' or 'plain'"],
  [{ protocol: { implicit: 'yes' } }, 'protocol.implicit must be true or false'],
  [
    { features: [device({ lifetime: 59 })] },
    'device({ lifetime }) must be a whole number of seconds, from 60 to 3600',
  ],
  [
    { features: [device({ interval: 61 })] },
    'device({ interval }) must be a whole number of seconds, from 1 to 60',
  ],
  [
    { features: [device({ verificationUri: 'https://example.com/tv?a=b' })] },
    'device({ verificationUri }) must be a URL without a query',
  ],
  [{ features: [untyped.registration('yes')] }, 'registration({}) must be an object'],
  [
    { features: [registration({ initialAccessToken: undefined })] },
    'registration({ initialAccessToken }) must be a function',
  ],
  [{ features: [registration({ initialAccessToken: 'x'.repeat(40) })] }, 'a random string of at least 32'],
  [{ features: [untyped.registration({ allow: true })] }, 'registration({ allow }) must be a function'],
  [
    { features: [clientMetadataDocuments({ deniedOrigins: ['https://a.example/'] })] },
    'clientMetadataDocuments({ deniedOrigins })[0] must be an origin',
  ],
  ...['./no-such-folder', 'file:///no-such-folder', new URL('https://a.example/views/')].map((views) =>
    brand({ views }, 'views must be an existing folder'),
  ),
  [{ pages: 'Acme' }, 'pages must be an object'],
  [{ pages: { name: 5 } }, 'pages.name must be a string that is not empty'],
  [{ pages: { accent: 'green' } }, 'pages.accent must be a colour as #rgb or #rrggbb'],
  [{ pages: { accent: '#fff;} a { color: red' } }, 'pages.accent must'],
  ...['logo.svg', 'https://cdn.example/logo.svg', '//cdn.example/x.svg', null].map((logo) =>
    brand({ logo }, 'logo must be'),
  ),
  brand({ logo: { dark: 'dark.svg' } }, 'logo.dark must be a path on your own origin'),
  brand({ logo: 'file:///nowhere/logo.svg' }, 'logo: the file file:///nowhere/logo.svg does not exist'),
  brand({ logo: pathToFileURL(__filename) }, 'logo must be a file: URL that ends with .svg'),
  brand({ home: 'acme.example' }, "home must be a path such as '/'"),
  brand({ links: { help: 'help@acme.example' } }, 'links.help must be a path such as'),
  brand({ links: { signUp: 'mailto:join@acme.example' } }, 'links.signUp must be a path'),
  [{ login: { identifier: 'phone' } }, "login.identifier must be 'email', 'username' or 'either'"],
  [{ login: { providers: [{ name: 'X', url: '/x' }] } }, 'login.current is required'],
  [{ features: [passkeys] }, 'features[0] must be called, as in passkeys()'],
  [{ features: [passkeys(), passkeys()] }, 'features must have passkeys() once'],
  [{ features: { passkeys: {} } }, 'features must be a list of features, such as [passkeys()]'],
  [{ features: [true] }, "features[0] must be a feature of 'latchkey/features', such as passkeys()"],
  [
    { features: [untyped.passkeys({ rpName: 1 })] },
    'passkeys({ rpName }) must be a string that is not empty',
  ],
  [{ features: [passkeys({ acr: 'mfa' })] }, 'passkeys({ acr }) must be one of the option acrValues'],
  [
    { features: [passkeys()], login: { url: '/login', current: () => undefined } },
    'with login.url your page',
  ],
  [{ issuer: 'http://127.0.0.1:3000', features: [passkeys()] }, 'browsers have no passkeys for 127.0.0.1'],
  [{ issuer: 'http://[::1]:3000', features: [passkeys()] }, 'browsers have no passkeys for [::1]'],
  ...['com', 'other.com', 'evilexample.com', 'app.example.com.', 'x.app.example.com'].map(
    (rpId): Refused => [
      { issuer: 'https://app.example.com', features: [passkeys({ rpId })] },
      'passkeys({ rpId }) must be app.example.com',
    ],
  ),
  ...[{ url: '/x' }, { name: 'X' }, { name: 'X', url: 'x' }, { name: 'X', url: '/x', icon: 'x' }, 'X'].map(
    (provider): Refused => [
      { login: { current: () => undefined, providers: [provider] } },
      'login.providers[0]',
    ],
  ),
  [{ features: [untyped.developers()] }, 'developers({ allow }) is required'],
  [
    { features: [untyped.developers({ allow, maxClient: 3 })] },
    'developers({ maxClient }) is not an option; did you mean developers({ maxClients })?',
  ],
  [
    { features: [developers({ allow, maxClients: 0 })] },
    'developers({ maxClients }) must be a whole number, at least 1',
  ],
  [{ features: [developers({ allow, scopes: [] })] }, 'developers({ scopes }) must be a list of scopes'],
  [
    { features: [developers({ allow, scopes: ['opnid'] })] },
    'developers({ scopes }): opnid is not in the option scopes',
  ],
  [
    { features: [untyped.developers({ allow, redirectUris: ['https://x.example/'] })] },
    'developers({ redirectUris }) must be a function',
  ],
  [
    {
      protocol: { fapi2: true, dpop: true },
      features: [developers({ allow }), pushedRequests({ required: true })],
    },
    'developers() cannot be used with protocol.fapi2',
  ],
  [{ pages: { links: { help: 5 } } }, 'pages.links.help must be a path'],
  [{ outbound: { allow: ['http://127.0.0.1:4001/x'] } }, 'outbound.allow[0] must be an origin'],
  [{ logger: { info() {}, error() {} } }, 'logger must be an object with the functions'],
])('%j is refused: %s', (options, message) => {
  expect(() => resolve(options)).toThrow(OptionsError)
  expect(() => resolve(options)).toThrow(message)
})

test.each([[null], ['config'], [[]], [5]])('refuses %j instead of the options', (options) => {
  expect(() => resolveOptions(options as never, {})).toThrow('latchkey: options must be an object')
})

test('any options are resolved or refused with an OptionsError', () => {
  const given =
    'database users login session scopes lifetimes pages limits logger issuer secrets codeChallengeMethods protocol storedEvents features outbound'
  fc.assert(
    fc.property(fc.constantFrom(...given.split(' ')), fc.anything(), (name, value) => {
      try {
        resolve({ [name]: value }, production)
      } catch (error) {
        expect(error).toBeInstanceOf(OptionsError)
      }
    }),
    { numRuns: 500 },
  )
})
