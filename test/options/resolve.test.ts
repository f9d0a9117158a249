import { rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { featureOptions } from '../../lib/features/index.ts'
import { OptionsError } from '../../lib/options/check.ts'
import type { AuthRouterOptions, Options } from '../../lib/options/options.ts'
import { resolveOptions } from '../../lib/options/resolve.ts'
import { knownScopes } from '../../lib/options/scopes.ts'
import { fc } from '../support/property.ts'

const secret = 's'.repeat(32)
const issuer = 'https://app.example.com/oauth'
const logo = join(__dirname, '../../example-app/notes/public/notes.svg')
const right: AuthRouterOptions = { issuer, database: { client: 'pg' }, secrets: [secret] }
const production = { NODE_ENV: 'production' }
/** Options as a host without TypeScript may write them. */
const resolve = (
  options: Record<string, unknown> = {},
  environment: NodeJS.ProcessEnv = { NODE_ENV: 'test' },
): Options => resolveOptions({ ...right, ...options }, featureOptions, environment)

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
      tablePrefix: 'oauth_',
      users: undefined,
      login: {},
      session: undefined,
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
      },
      refreshTokenGracePeriod: 10,
      maxAuthorizationsPerClient: 100,
      codeChallengeMethods: ['S256', 'plain'],
      features: { implicit: false },
      branding: {},
      logger: console,
    })
  })

  test('apply if an option is undefined, such as an unset environment variable', () => {
    const names = Object.keys(resolve()).filter(
      (name) =>
        ![
          'issuerIsGuess',
          'production',
          'checksAtStart',
          'basePath',
          'passkeys',
          ...Object.keys(right),
        ].includes(name),
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
    expect(resolve({ database: undefined }).database).toMatchObject({
      client: 'better-sqlite3',
      connection: { filename: './latchkey.sqlite' },
    })
  })
})

test.each([
  ['https', 'https://app.example.com/oauth'],
  ['https without a path', 'https://app.example.com'],
  ['http on localhost', 'http://localhost:3000/oauth'],
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

describe('an unknown name is refused with the nearest known one', () => {
  test.each([
    [{ isuer: 'x' }, 'isuer', 'issuer'],
    [{ secret: 'x' }, 'secret', 'secrets'],
    [{ lifetimes: { acessToken: 1 } }, 'lifetimes.acessToken', 'lifetimes.accessToken'],
    [{ login: { uri: '/login' } }, 'login.uri', 'login.url'],
    [{ branding: { color: 'red' } }, 'branding.color', 'branding.logo'],
    [{ branding: { links: { privacy_: '/' } } }, 'branding.links.privacy_', 'branding.links.privacy'],
    [{ branding: { logo: { ligth: '/a' } } }, 'branding.logo.ligth', 'branding.logo.light'],
    [{ login: { provider: [] } }, 'login.provider', 'login.providers'],
    [{ login: { passkeys: { rpID: 'x' } } }, 'login.passkeys.rpID', 'login.passkeys.rpId'],
    [{ scopes: { x: { descripton: 'x' } } }, "scopes['x'].descripton", "scopes['x'].description"],
    [
      { resources: { 'https://api.example.com': { scope: [] } } },
      "resources['https://api.example.com'].scope",
      "resources['https://api.example.com'].scopes",
    ],
    [{ features: { implict: true } }, 'features.implict', 'features.implicit'],
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
  ['the host’s own Knex instance', { database: Object.assign(() => undefined, { client: {} }) }],
  ['no table prefix', { tablePrefix: '' }],
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
  ['passkeys', { acrValues: ['strong'], login: { passkeys: { rpName: 'Notes', acr: 'strong' } } }],
  ['a hook after the login', { login: { remember: () => undefined } }],
  ['our own session', { session: 'own' }],
  ['the host’s session', { session: 'host' }],
  ['a session middleware', { session: () => undefined }],
  ['no replay window', { refreshTokenGracePeriod: 0 }],
  ['one authorization per client', { maxAuthorizationsPerClient: 1 }],
  ['any number of authorizations', { maxAuthorizationsPerClient: false }],
  ['S256 alone', { codeChallengeMethods: ['S256'] }],
  ['a folder of views', { views: tmpdir() }],
  [
    'a brand',
    { branding: { name: 'Acme', logo: '/logo.svg', home: '/', links: { terms: 'https://x.example' } } },
  ],
  [
    'a logo as a file',
    { branding: { logo: { dark: pathToFileURL(logo) }, links: { help: 'mailto:a@b.example' } } },
  ],
  ['a provider', { login: { current: () => undefined, providers: [{ name: 'Google', url: '/google' }] } }],
  ['an accent of three digits', { branding: { accent: '#2FB' } }],
  ['a logger', { logger: { info() {}, warn() {}, error() {} } }],
  ['an origin that outbound requests may reach', { outbound: { allow: ['http://127.0.0.1:4001'] } }],
])('accepted is %s, as it is', (_case, options) => {
  expect(resolve(options)).toMatchObject(options)
})

const resource = { scopes: ['orders:read'] }
const withResources = (resources: unknown): Record<string, unknown> => ({
  scopes: { 'orders:read': 'See your orders' },
  resources,
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
  expect(options.scopes).toEqual({
    'orders:read': { description: 'See your orders' },
    roles: full,
    email: { description: 'Your address' },
  })
  const known = 'openid profile email address phone offline_access orders:read roles'
  expect(knownScopes(options)).toEqual(known.split(' '))
})

type Refused = [Record<string, unknown>, string]
const brand = (branding: Record<string, unknown>, message: string): Refused => [
  { branding },
  `branding.${message}`,
]

const allow = () => true

test.each<Refused>([
  [{ database: 'postgres://localhost/app' }, 'database must be a Knex instance or configuration'],
  [{ tablePrefix: 'a"; drop table b; --' }, 'tablePrefix must be'],
  [{ tablePrefix: 'a'.repeat(21) }, 'tablePrefix must be'],
  [{ users: 'users' }, 'users must be an object'],
  [{ users: {} }, 'users must have a table and columns, or the functions'],
  [{ users: { columns: mapping.columns } }, 'users must have a table and columns, or'],
  [{ users: { ...mapping, table: undefined } }, 'users.table is required'],
  [{ users: { table: 'users' } }, 'users.columns must be an object'],
  [{ users: { table: 'users', columns: { id: 'id', username: 'email' } } }, 'columns.password is required'],
  [{ users: { ...mapping, claims: { name: 5 } } }, 'users.claims.name must be the name of a column or'],
  [{ users: { ...mapping, claims: () => ({}) } }, 'users.claims must be an object'],
  [{ users: { ...mapping, isActive: 'active' } }, 'users.isActive must be a function'],
  [{ users: { ...mapping, verify: 'bcrypt' } }, 'users.verify must be a function'],
  [{ users: { find: () => undefined } }, 'the functions find and authenticate'],
  [{ users: { ...functions, isActive: () => false } }, 'users.isActive is not an option'],
  [{ users: { ...functions, claims: {} } }, 'users.claims must be a function'],
  [{ login: '/login' }, 'login must be an object'],
  [{ login: { url: '/login' } }, 'login.current is required with login.url'],
  [{ login: { url: () => '/login', current: () => undefined } }, 'login.url must be a string'],
  [{ session: 'redis' }, "session must be 'own', 'host' or a session middleware"],
  [{ scopes: ['orders:read'] }, 'scopes must be an object'],
  [{ scopes: { 'a"b': 'x' } }, 'is not a valid scope name'],
  [{ scopes: { openid: 'x' } }, 'openid is reserved'],
  [{ scopes: { x: '' } }, "scopes['x'].description is required"],
  [{ scopes: { x: 5 } }, "scopes['x'] must be an object"],
  [{ scopes: { x: { description: 'x', optional: 'yes' } } }, "scopes['x'].optional must be a boolean"],
  [{ scopes: { x: { description: 'x', group: 'admin' } } }, "scopes['x'].group must be"],
  [{ scopes: { x: { description: 'x', risk: 'low' } } }, "scopes['x'].risk must be 'normal' or 'high'"],
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
  [{ acrValues: ['a b'] }, 'acrValues must be a list of strings without spaces'],
  [{ scopes: { x: { description: 'x', claims: 'roles' } } }, "scopes['x'].claims must be a list"],
  [{ lifetimes: { code: 0 } }, 'lifetimes.code must be a whole number of seconds, at least 1'],
  [{ lifetimes: { accessToken: 0.5 } }, 'lifetimes.accessToken must be'],
  [{ lifetimes: { accessToken: '1h' } }, 'lifetimes.accessToken must be'],
  [{ lifetimes: { refreshTokenIdle: Number.POSITIVE_INFINITY } }, 'lifetimes.refreshTokenIdle must be'],
  [{ maxAuthorizationsPerClient: 0 }, 'maxAuthorizationsPerClient must be'],
  [{ maxAuthorizationsPerClient: 1.5 }, 'maxAuthorizationsPerClient must be'],
  [{ maxAuthorizationsPerClient: true }, 'maxAuthorizationsPerClient must be'],
  [{ refreshTokenGracePeriod: -1 }, 'refreshTokenGracePeriod must be'],
  [{ prune: 'never' }, 'prune must be true or false'],
  [{ codeChallengeMethods: [] }, 'codeChallengeMethods must contain'],
  [{ codeChallengeMethods: ['S256', 'S512'] }, 'codeChallengeMethods must contain'],
  [{ features: { implicit: 'yes' } }, 'features.implicit must be a boolean'],
  [
    { features: { deviceAuthorization: { lifetime: 59 } } },
    'lifetime must be a whole number of seconds, from 60 to 3600',
  ],
  [
    { features: { deviceAuthorization: { interval: 61 } } },
    'interval must be a whole number of seconds, from 1 to 60',
  ],
  [
    { features: { deviceAuthorization: { verificationUri: 'https://example.com/tv?a=b' } } },
    'verificationUri must be a URL without a query',
  ],
  [{ features: { registration: 'yes' } }, 'features.registration must be an object'],
  [
    { features: { registration: { initialAccessToken: undefined } } },
    'initialAccessToken must be a function',
  ],
  [{ features: { registration: { initialAccessToken: 'x'.repeat(40) } } }, 'a random string of at least 32'],
  [{ features: { registration: { policy: true } } }, 'features.registration.policy must be a function'],
  [
    { features: { clientMetadataDocuments: { deny: ['https://a.example/'] } } },
    'deny must be a list of origins',
  ],
  [{ views: './no-such-folder' }, 'views must be an existing folder'],
  [{ branding: 'Acme' }, 'branding must be an object'],
  [{ branding: { name: 5 } }, 'branding.name must be a string'],
  [{ branding: { accent: 'green' } }, 'branding.accent must be a colour as #rgb or #rrggbb'],
  [{ branding: { accent: '#fff;} a { color: red' } }, 'branding.accent must'],
  ...['logo.svg', 'https://cdn.example/logo.svg', '//cdn.example/x.svg', null].map((logo) =>
    brand({ logo }, 'logo must be'),
  ),
  brand({ logo: {} }, 'logo must have light, dark or both'),
  brand({ logo: { dark: 'dark.svg' } }, 'logo.dark must be a path on your own origin'),
  brand({ logo: 'file:///nowhere/logo.svg' }, 'logo: the file file:///nowhere/logo.svg does not exist'),
  brand({ logo: pathToFileURL(__filename) }, 'logo must be a file: URL that ends with .svg'),
  brand({ home: 'acme.example' }, "home must be a path such as '/'"),
  brand({ links: { help: 'help@acme.example' } }, 'links.help must be a path such as'),
  brand({ links: { signUp: 'mailto:join@acme.example' } }, 'links.signUp must be a path'),
  [{ login: { identifier: 'phone' } }, "login.identifier must be 'email', 'username' or 'either'"],
  [{ login: { providers: [{ name: 'X', url: '/x' }] } }, 'login.current is required'],
  [{ login: { passkeys: 'yes' } }, 'login.passkeys must be an object'],
  [{ login: { passkeys: { rpName: 1 } } }, 'login.passkeys.rpName must be a string'],
  [{ login: { passkeys: { acr: 'mfa' } } }, 'login.passkeys.acr must be one of the option acrValues'],
  [{ login: { passkeys: true, url: '/login', current: () => undefined } }, 'with login.url your page'],
  [{ issuer: 'http://127.0.0.1:3000', login: { passkeys: true } }, 'browsers have no passkeys for 127.0.0.1'],
  [{ issuer: 'http://[::1]:3000', login: { passkeys: true } }, 'browsers have no passkeys for [::1]'],
  ...['com', 'other.com', 'evilexample.com', 'app.example.com.', 'x.app.example.com', ''].map(
    (rpId): Refused => [
      { issuer: 'https://app.example.com', login: { passkeys: { rpId } } },
      'login.passkeys.rpId must be app.example.com',
    ],
  ),
  ...[{ url: '/x' }, { name: 'X' }, { name: 'X', url: 'x' }, { name: 'X', url: '/x', icon: 'x' }, 'X'].map(
    (provider): Refused => [
      { login: { current: () => undefined, providers: [provider] } },
      'login.providers[0]',
    ],
  ),
  [{ developers: true }, 'developers must be an object'],
  [{ developers: {} }, 'developers.allow is required'],
  [
    { developers: { allow, maxClient: 3 } },
    'developers.maxClient is not an option; did you mean developers.maxClients?',
  ],
  [{ developers: { allow, maxClients: 0 } }, 'developers.maxClients must be a whole number of at least 1'],
  [{ developers: { allow, scopes: [] } }, 'developers.scopes must be a list of scopes'],
  [{ developers: { allow, scopes: ['opnid'] } }, 'developers.scopes: opnid is not in the option scopes'],
  [
    { developers: { allow, redirectUris: ['https://x.example/'] } },
    'developers.redirectUris must be a function',
  ],
  [
    { developers: allow, securityProfile: 'fapi2_security' },
    'developers cannot be used with securityProfile',
  ],
  [{ branding: { links: { help: 5 } } }, 'branding.links.help must be a string'],
  [{ outbound: { allow: ['http://127.0.0.1:4001/x'] } }, 'outbound.allow must be a list of origins'],
  [{ logger: { info() {}, error() {} } }, 'logger must have the functions'],
])('%j is refused: %s', (options, message) => {
  expect(() => resolve(options)).toThrow(OptionsError)
  expect(() => resolve(options)).toThrow(message)
})

test.each([[null], ['config'], [[]], [5]])('refuses %j instead of the options', (options) => {
  expect(() => resolveOptions(options as never, featureOptions, {})).toThrow(
    'latchkey: options must be an object',
  )
})

test('any options are resolved or refused with an OptionsError', () => {
  const given =
    'tablePrefix users login session scopes lifetimes branding logger issuer secrets codeChallengeMethods features outbound'
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
