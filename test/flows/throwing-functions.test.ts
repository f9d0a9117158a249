import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { hash } from '@node-rs/bcrypt'
import session from 'express-session'
import supertest from 'supertest'
import {
  admin,
  clientMetadataDocuments,
  developers,
  registration,
  secondFactor,
  trustedIssuers,
} from '../../lib/features/index.ts'
import { type AuthRouterOptions, type ClientSeed, defineGrant } from '../../lib/index.ts'
import { tokenExchangeGrantType, tokenTypes } from '../../lib/protocol/tokens/token-exchange.ts'
import { openServer, type TestServer } from '../support/client-server.ts'
import { openTestDatabase } from '../support/database.ts'
import { kept } from '../support/features.ts'
import { authorizeUrl, callback, createUsers, type Host, pkce, secret, startHost } from '../support/host.ts'
import { codeOf } from '../support/outcomes.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import { assertion, type ClientKey, createClientKey } from '../support/signing-client.ts'
import { ada, answerOf, post, redeem, refresh, userinfo, web } from '../support/tokens.ts'

// The column “what a throw does” of docs/plug-in.md: each function throws once. Then the answer is that of the page, nothing
// is stored or used up, and the same request works when the function does again.

const idp = 'https://idp.example.com'
const assertionGrant = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const pinGrant = 'urn:example:grant-type:pin'
const api = 'https://api.example.com/notes'
const scope = 'openid email offline_access notes:read'

/** The path of the option that throws now. */
let broken: string | undefined
const thrown: string[] = []
const logged: string[] = []

/** The function of this option. */
const as =
  <Given extends unknown[], T>(path: string, works: (...given: Given) => T) =>
  (...given: Given): T => {
    if (path !== broken) return works(...given)
    thrown.push(path)
    throw new TypeError(`${path} is broken`)
  }

const row = { id: 1, username: ada.email, email: ada.email }
const logger = {
  info: () => {},
  warn: (message: string) => void logged.push(message),
  error: (message: string) => void logged.push(message),
}
const limits = { failures: { loginAccountAddress: { max: 1, seconds: 900 } } }

const plain: ClientSeed = { client_id: 'web', client_secret: secret, redirect_uris: [callback], scope }
const client = {
  client_id: 'web',
  client_secret: secret,
  redirect_uris: [callback],
  grant_types: [
    'authorization_code',
    'refresh_token',
    tokenExchangeGrantType,
    assertionGrant,
    pinGrant,
  ] as never,
  scope,
  authorization_details_types: ['payment'],
}

let key: ClientKey
/** With users as functions, and every other function. */
let own: Host
/** With users in a table, and a login of the app. */
let inTable: Host
/** Whom that app has signed in. */
let signedIn: number | undefined

const ownOptions = (): Partial<AuthRouterOptions> => ({
  logger,
  limits,
  outbound: { allowSelfDescribed: [documents.origin] },
  users: {
    find: as('users.find', (id) => (id === '1' ? row : undefined)),
    authenticate: as('users.authenticate', ({ password }) => (password === ada.password ? row : undefined)),
    claims: as('users.claims', () => ({ email: ada.email })),
  },
  organizations: as('organizations', () => [{ id: 'acme', name: 'Acme' }]),
  access: { allow: as('access.allow', () => true) },
  scopes: {
    'notes:read': {
      description: 'Read your notes',
      preview: as('scopes.*.preview', () => ['My first note']),
    },
  },
  resources: {
    [api]: { scopes: ['notes:read'], accessToken: 'jwt', claims: as('resources.*.claims', () => ({})) },
  },
  protocol: {
    authorizationDetails: {
      payment: {
        description: 'Make a payment',
        parse: as('protocol.authorizationDetails.*.parse', (detail) => detail),
        describe: as('protocol.authorizationDetails.*.describe', () => []),
      },
    },
    grants: [
      defineGrant({
        grantType: pinGrant,
        exchange: as('protocol.grants[].exchange', () => ({ subject: '1', scopes: ['notes:read'] })),
      }),
    ],
    tokenExchange: { allow: as('protocol.tokenExchange.allow', () => true) },
  },
  features: [
    trustedIssuers({
      issuers: {
        [idp]: {
          jwks: { keys: [key.publicJwk as never] },
          user: as('trustedIssuers({ issuers }).*.user', () => 1),
          organization: as('trustedIssuers({ issuers }).*.organization', () => 'acme'),
        },
        'https://cloud.example.com': {
          jwks: { keys: [key.publicJwk as never] },
          client: as('trustedIssuers({ issuers }).*.client', () => 'deployer'),
        },
      },
    }),
    clientMetadataDocuments({ allow: as('clientMetadataDocuments({ allow })', () => true) }),
    registration({
      initialAccessToken: as('registration({ initialAccessToken })', () => true),
      allow: as('registration({ allow })', () => true),
    }),
    secondFactor({ find: as('secondFactor({ find })', () => undefined) }),
    admin({ allow: as('admin({ allow })', () => true) }),
    developers({
      allow: as('developers({ allow })', () => true),
      scopes: ['notes:read'],
      redirectUris: as('developers({ redirectUris })', () => true),
    }),
  ],
})

/** With users in a table, whose passwords are of another kind and then weak, and a login in the session of the app. */
const tableOptions = (name: string): Partial<AuthRouterOptions> => ({
  logger,
  limits,
  features: kept,
  users: {
    table: name,
    columns: { id: 'id', username: 'email', password: 'password_hash' },
    isActive: as('users.isActive', () => true),
    rehash: as('users.rehash', () => {}),
    verify: as('users.verify', (_row, { password }) => password === ada.password),
    claims: { email: as('users.claims', () => ada.email) },
  },
  login: {
    current: as('login.current', () => (signedIn === undefined ? undefined : { subject: signedIn })),
    remember: as('login.remember', (user) => {
      signedIn = user.id as number
    }),
    forget: as('login.forget', () => {
      signedIn = undefined
    }),
  },
  session: as('session', session({ secret: 'of the app', resave: false, saveUninitialized: false })) as never,
})

let documents: TestServer
beforeAll(async () => {
  key = await createClientKey('ES256', 'one')
  documents = await openServer()
  documents.serve((req, res) => {
    const document = {
      client_id: `${documents.origin}${req.url}`,
      client_name: 'Described',
      token_endpoint_auth_method: 'none',
      redirect_uris: [callback],
    }
    res.setHeader('content-type', 'application/json').end(JSON.stringify(document))
  })
  const deployer: ClientSeed = {
    client_id: 'deployer',
    token_endpoint_auth_method: 'none',
    grant_types: [assertionGrant] as never,
    scope: 'notes:read',
  }
  own = await startHost({ options: ownOptions(), clients: [client, deployer] })
  const database = openTestDatabase()
  const name = `${database.tablePrefix}people`
  await createUsers(database, name)
  await database.knex(name).update({ password_hash: 'of another kind' })
  inTable = await startHost({ database, options: tableOptions(name), clients: [plain] })
})
afterAll(async () => {
  await own.close()
  await inTable.close()
  await documents.close()
})
beforeEach(() => {
  broken = undefined
  signedIn = undefined
  thrown.length = 0
  logged.length = 0
})

const tables = [
  'access_tokens',
  'authorizations',
  'client_owners',
  'clients',
  'consents',
  'logins',
  'refresh_tokens',
  'replays',
  'users',
]
/** The rows of all tables but those that change with each visit. */
const stored = async ({ table }: Host): Promise<unknown> =>
  Promise.all(tables.map((name) => table(name).select()))
/** What counts against anyone: all but the right passwords. */
const failures = async ({ table }: Host): Promise<number> =>
  (await table('throttles').select().whereNot('key', 'like', 'loginAt:%')).reduce(
    (sum, { points }) => sum + Number(points),
    0,
  )

/** One request, which can be sent again; its status is that of the last page. */
type Attempt = () => Promise<{ readonly status: number }>

const request = (more: Record<string, string> = {}): string =>
  authorizeUrl({ client_id: 'web', scope, prompt: 'consent', ...more })
const details = JSON.stringify([{ type: 'payment' }])
const atLogin = async (host: Host, url = request()) => {
  const agent = new RawBrowser(host.app)
  return { agent, page: await agent.open(url) }
}
const atConsent = async (host: Host, url = request()) => {
  const { agent, page } = await atLogin(host, url)
  return { agent, page: await agent.signIn(page) }
}
const code = async (host: Host, more: Record<string, string> = {}): Promise<string> => {
  const { agent, page } = await atConsent(host, request(more))
  return codeOf(await agent.decide(page, 'allow'))
}

const login = async (host: Host): Promise<Attempt> => {
  const { agent, page } = await atLogin(host)
  return () => agent.signIn(page)
}
const allowed = async (host: Host): Promise<Attempt> => {
  const { agent, page } = await atConsent(host)
  return () => agent.decide(page, 'allow')
}
const opened = async (host: Host, url: string): Promise<Attempt> => {
  const { agent } = await atConsent(host)
  return () => agent.open(url)
}
const redeemed = async (host: Host, more: Record<string, string> = {}): Promise<Attempt> => {
  const ready = await code(host, more)
  return () => redeem(host, ready, more)
}
const refreshed = async (host: Host): Promise<Attempt> => {
  const { refresh_token } = await answerOf(redeem(host, await code(host)))
  return () => refresh(host, refresh_token)
}
const info = async (host: Host): Promise<Attempt> => {
  const { access_token } = await answerOf(redeem(host, await code(host)))
  return () => userinfo(host, access_token)
}
const registered = async (host: Host): Promise<Attempt> => {
  return () =>
    supertest(host.app)
      .post('/oauth/register')
      .set('Authorization', 'Bearer initial')
      .send({ redirect_uris: [callback] })
}
const exchanged = async (host: Host): Promise<Attempt> => {
  const { access_token } = await answerOf(redeem(host, await code(host)))
  return () =>
    post(host, {
      ...web,
      grant_type: tokenExchangeGrantType,
      subject_token: access_token,
      subject_token_type: tokenTypes.accessToken,
      resource: api,
      scope: 'notes:read',
    })
}
const asserted = async (host: Host): Promise<Attempt> => {
  const jwt = await assertion(
    'web',
    key,
    { iss: idp, sub: 'ada', client_id: 'web' },
    { typ: 'oauth-id-jag+jwt' },
  )
  return () => post(host, { ...web, grant_type: assertionGrant, assertion: jwt, scope: 'notes:read' })
}
const deployed = async (host: Host): Promise<Attempt> => {
  const claims = { iss: 'https://cloud.example.com', sub: 'repo', jti: undefined }
  const jwt = await assertion('deployer', key, claims)
  return () => post(host, { client_id: 'deployer', grant_type: assertionGrant, assertion: jwt })
}
const newClient = async (host: Host): Promise<Attempt> => {
  const agent = new RawBrowser(host.app)
  await agent.signIn(await agent.open('/oauth/developer'))
  const page = await agent.open('/oauth/developer/new')
  const fields = { client_name: 'Desk', redirect_uris: callback, 'scopes:notes:read': 'on' }
  return () => agent.submit(page, 'name="decision"', fields)
}

/** The status while the function throws, and when it works again. */
const cases: [path: string, host: () => Host, begin: (host: Host) => Promise<Attempt>, number, number][] = [
  ['registration({ initialAccessToken })', () => own, registered, 500, 201],
  ['registration({ allow })', () => own, registered, 500, 201],
  [
    'clientMetadataDocuments({ allow })',
    () => own,
    async (host) => {
      const agent = new RawBrowser(host.app)
      const described = { client_id: `${documents.origin}/client`, scope: 'openid' }
      const proof = { code_challenge: pkce().challenge, code_challenge_method: 'S256' }
      return () => agent.open(request({ ...described, ...proof }))
    },
    500,
    200,
  ],
  [
    'protocol.authorizationDetails.*.parse',
    () => own,
    (host) => opened(host, request({ authorization_details: details })),
    500,
    200,
  ],
  ['session', () => inTable, async (host) => () => new RawBrowser(host.app).open(request()), 503, 200],
  ['login.current', () => inTable, async (host) => () => new RawBrowser(host.app).open(request()), 500, 200],
  ['users.authenticate', () => own, login, 500, 200],
  ['users.verify', () => inTable, login, 500, 200],
  ['users.find', () => own, info, 500, 200],
  ['users.find', () => own, refreshed, 500, 200],
  ['users.isActive', () => inTable, info, 500, 200],
  ['secondFactor({ find })', () => own, login, 500, 200],
  ['organizations', () => own, refreshed, 500, 200],
  ['organizations', () => own, allowed, 500, 303],
  ['access.allow', () => own, (host) => opened(host, request()), 503, 200],
  ['access.allow', () => own, allowed, 503, 303],
  ['access.allow', () => own, redeemed, 503, 200],
  ['access.allow', () => own, refreshed, 503, 200],
  [
    'protocol.authorizationDetails.*.describe',
    () => own,
    (host) => opened(host, request({ authorization_details: details })),
    500,
    200,
  ],
  [
    'protocol.grants[].exchange',
    () => own,
    async (host) => () => post(host, { ...web, grant_type: pinGrant }),
    500,
    200,
  ],
  ['protocol.tokenExchange.allow', () => own, exchanged, 500, 200],
  ['trustedIssuers({ issuers }).*.user', () => own, asserted, 500, 200],
  ['trustedIssuers({ issuers }).*.organization', () => own, asserted, 500, 200],
  ['trustedIssuers({ issuers }).*.client', () => own, deployed, 500, 200],
  ['users.claims', () => own, redeemed, 500, 200],
  ['users.claims', () => own, info, 500, 200],
  ['users.claims', () => inTable, redeemed, 500, 200],
  ['resources.*.claims', () => own, (host) => redeemed(host, { resource: api }), 500, 200],
  ['admin({ allow })', () => own, (host) => opened(host, '/oauth/admin'), 500, 200],
  ['developers({ allow })', () => own, (host) => opened(host, '/oauth/developer'), 500, 200],
  ['developers({ redirectUris })', () => own, newClient, 500, 200],
]

test.each(cases)(
  '%s that throws stores nothing and uses up nothing',
  async (path, at, begin, status, works) => {
    const attempt = await begin(at())
    const before = await stored(at())
    broken = path
    const refused = await attempt()
    expect(thrown).toContain(path)
    expect(refused.status).toBe(status)
    expect(await stored(at())).toEqual(before)
    expect(logged).toContainEqual(expect.stringContaining(`${path} is broken`))
    broken = undefined
    expect((await attempt()).status).toBe(works)
  },
)

test.each<[string, () => Host]>([
  ['users.authenticate', () => own],
  ['users.verify', () => inTable],
  ['secondFactor({ find })', () => own],
])('%s that throws counts as no wrong password', async (path, at) => {
  const attempt = await login(at())
  const before = await failures(at())
  broken = path
  expect([(await attempt()).status, thrown]).toEqual([500, [path]])
  expect(await failures(at())).toBe(before)
})

test('scopes.*.preview that throws leaves the examples out', async () => {
  broken = 'scopes.*.preview'
  const { page } = await atConsent(own)
  expect([page.status, thrown]).toEqual([200, [broken]])
  expect(page.html).not.toContain('My first note')
  expect(logged).toContainEqual(expect.stringContaining(`${broken} is broken`))
})

test('users.rehash that throws lets the user sign in', async () => {
  const { knex } = inTable.database
  await knex(inTable.usersTable)
    .where({ id: 1 })
    .update({ password_hash: await hash(ada.password, { cost: 4 }) })
  broken = 'users.rehash'
  const { page } = await atConsent(inTable)
  expect([page.url.pathname, thrown]).toEqual(['/oauth/consent', [broken]])
  expect(logged).toContainEqual(expect.stringContaining(`${broken} is broken`))
  await knex(inTable.usersTable).where({ id: 1 }).update({ password_hash: 'of another kind' })
})

test('when login.remember throws, nobody is signed in and the user can send the form again', async () => {
  const { agent, page } = await atLogin(inTable)
  broken = 'login.remember'
  const refused = await agent.signIn(page)
  expect([refused.status, thrown]).toEqual([500, [broken]])
  expect(
    new URL(
      (await agent.get(authorizeUrl({ client_id: 'web', scope: 'openid', prompt: 'none' }))).location ?? '',
    ).searchParams.get('error'),
  ).toBe('login_required')
  broken = undefined
  expect((await agent.signIn(page)).url.pathname).toBe('/oauth/consent')
})

test('if login.forget throws, the user stays signed in, and the form can be sent again', async () => {
  const { agent } = await atConsent(inTable)
  const page = await agent.open('/oauth/logout')
  const before = await stored(inTable)
  broken = 'login.forget'
  const refused = await agent.submit(page, 'csrf_token')
  expect([refused.status, thrown]).toEqual([500, [broken]])
  expect(await stored(inTable)).toEqual(before)
  expect(logged).toContainEqual(expect.stringContaining(`${broken} is broken`))
  broken = undefined
  expect((await agent.submit(page, 'csrf_token')).status).toBe(200)
  expect((await agent.open(request())).url.pathname).toBe('/oauth/login')
})

test('the table has each function whose throw docs/plug-in.md describes', () => {
  const page = readFileSync(join(__dirname, '../../docs/plug-in.md'), 'utf8')
  const rows = [...page.matchAll(/^\| `([^`]+)`/gm)].map(([, path = '']) => path)
  const others = ['scopes.*.preview', 'users.rehash', 'login.remember', 'login.forget']
  // test/faults/broken-host.test.ts has a logger that throws, test/events.test.ts a listener, and test/flows/choices.test.ts
  // the functions of a kind.
  const elsewhere = ['logger', 'oauth.events.on(type, listener)', 'choices.*.list', 'choices.*.find']
  const tested = [...cases.map(([path]) => path), ...others, ...elsewhere]
  expect(rows.filter((path) => !tested.includes(path))).toEqual([])
})
