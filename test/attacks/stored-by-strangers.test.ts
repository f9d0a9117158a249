import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import supertest from 'supertest'
import {
  admin,
  authenticatorApps,
  clientMetadataDocuments,
  connections,
  developers,
  device,
  passkeys,
  personalAccessTokens,
  pushedRequests,
  registration,
} from '../../lib/features/index.ts'
import { serverBehind } from '../../lib/router.ts'
import { openServer, type TestServer } from '../support/client-server.ts'
import { authorizeUrl, callback, clients, type Host, pkce, startHost } from '../support/host.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import { sampleOf } from '../support/sample.ts'

// What people without an account and without a client of their own can make the server store. SECURITY.md has the same
// table for hosts. On SQLite, whose tables are easily counted.
delete process.env.DATABASE_URL

const read = (file: string): string => readFileSync(join(__dirname, '../..', file), 'utf8')

/** Every quota is this small, so that a test can reach it. */
const quota = 3
/** An IPv6 /48 has so many times the quota of an address. */
const networks = 10
/** More than either. */
const requests = 40

const few = { max: quota, seconds: 3600 }
/** The quotas of features that strangers spend. */
const ofFeatures = ['registration', 'registrationDaily', 'document', 'pushedRequest', 'deviceCode']

let host: Host
let server: TestServer

/** Sends a request from an address; each request differs from all others by its number. */
type Send = (number: number, address: string) => PromiseLike<unknown>

interface Endpoint {
  readonly send: Send
  /** The tables that get some rows, at most as many as the quota allows. Besides, there are counters and events. */
  readonly rows: readonly string[]
}

const from = (address: string) => ({ 'X-Forwarded-For': address })
const proof = { code_challenge: pkce().challenge, code_challenge_method: 'S256' }
const asked = (number: number, client_id = 'native') =>
  authorizeUrl({ client_id, ...proof, state: `state-${number}` })
const get =
  (path: (number: number) => string): Send =>
  (number, address) =>
    supertest(host.app).get(path(number)).set(from(address))
const post =
  (path: string, form: (number: number) => object): Send =>
  (number, address) =>
    supertest(host.app).post(path).set(from(address)).type('form').send(form(number))

/** A request that an endpoint of this method and path refuses, or answers without storing anything. */
const plain = (method: string, path: string): Endpoint => {
  const pathOf = (number: number) => `/oauth${path.replace(/:\w+/, `nothing-${number}`)}`
  const other: Send = (number, address) =>
    supertest(host.app)
      [method === 'PUT' ? 'put' : 'delete'](pathOf(number))
      .set({ ...from(address), Authorization: `Bearer lk_rt_${'x'.repeat(42)}${number % 10}` })
      .send({})
  const form = (number: number) => ({ client_id: 'native', token: `token-${number}`, n: `${number}` })
  const send = { GET: get(pathOf), POST: post(pathOf(0), form) }[method] ?? other
  return { send, rows: [] }
}

/** What is stored for strangers; all other endpoints store nothing for them. */
const storing: Readonly<Record<string, Endpoint>> = {
  'GET /authorize': { send: get(asked), rows: ['pending_requests'] },
  'GET /authorize of a metadata document': {
    send: get((number) => asked(number, `${server.origin}/${number}.json`)),
    rows: ['clients', 'client_registrations', 'pending_requests'],
  },
  'POST /register': {
    send: (number, address) =>
      supertest(host.app)
        .post('/oauth/register')
        .set(from(address))
        .send({ client_name: `Client ${number}`, redirect_uris: [callback] }),
    rows: ['clients', 'client_registrations'],
  },
  'POST /par': {
    send: post('/oauth/par', (number) => ({
      response_type: 'code',
      client_id: 'native',
      redirect_uri: callback,
      scope: 'openid',
      state: `${number}`,
      ...proof,
    })),
    rows: ['pending_requests'],
  },
  'POST /device_authorization': {
    send: post('/oauth/device_authorization', () => ({ client_id: 'device', scope: 'openid' })),
    rows: ['device_codes'],
  },
  'POST /login': {
    send: async (number, address) => {
      const browser = new RawBrowser(host.app, undefined, from(address))
      const page = await browser.open(asked(number))
      const typed = { username: `nobody-${number}`, password: 'nothing' }
      if (page.status !== 429) await browser.submit(page, 'name="password"', typed)
    },
    rows: ['pending_requests'],
  },
}

/** What only a signed-in user, an operator or a registered client with a secret can cause is no subject here. */
const mounted = (): string[] =>
  (serverBehind(host.oauth)?.endpoints ?? []).flatMap((endpoint) => {
    const { path, methods } = endpoint as { readonly path: string; readonly methods: object }
    return Object.keys(methods).map((method) => `${method} ${path}`)
  })

/** Every endpoint that stores nothing for strangers. A new endpoint has to be here or above. `npm test` tries some of them. */
const silent: readonly string[] = [
  // The browser comes again by GET.
  'POST /authorize',
  'POST /token',
  'GET /userinfo',
  'POST /userinfo',
  'POST /introspect',
  'POST /revoke',
  'GET /jwks',
  'GET /register/:client_id',
  'PUT /register/:client_id',
  'DELETE /register/:client_id',
  'GET /login',
  'GET /select-account',
  'POST /select-account',
  'GET /organization',
  'POST /organization',
  'GET /access-denied',
  'POST /access-denied',
  'GET /consent',
  'POST /consent',
  'GET /account',
  'POST /account',
  'GET /logout',
  'POST /logout',
  'GET /account/devices',
  'POST /account/devices',
  'GET /account/passkeys',
  'POST /account/passkeys',
  'GET /second-factor',
  'POST /second-factor',
  'GET /account/second-factor',
  'POST /account/second-factor',
  'GET /account/tokens',
  'POST /account/tokens',
  'GET /account/tokens/new',
  'POST /account/tokens/new',
  'GET /developer',
  'POST /developer',
  'GET /developer/new',
  'POST /developer/new',
  'GET /developer/client',
  'POST /developer/client',
  'GET /developer/code',
  'POST /developer/code',
  'GET /developer/edit',
  'POST /developer/edit',
  'GET /developer/rotate',
  'POST /developer/rotate',
  'GET /developer/delete',
  'POST /developer/delete',
  'GET /device',
  'POST /device',
  'GET /admin',
  'POST /admin',
  'GET /admin/clients',
  'POST /admin/clients',
  'GET /admin/new-client',
  'POST /admin/new-client',
  'GET /admin/client',
  'POST /admin/client',
  'GET /admin/disable-client',
  'POST /admin/disable-client',
  'GET /admin/delete-client',
  'POST /admin/delete-client',
  'GET /admin/requests',
  'POST /admin/requests',
  'GET /admin/request',
  'POST /admin/request',
  'GET /admin/users',
  'POST /admin/users',
  'GET /admin/user-act',
  'POST /admin/user-act',
  'GET /admin/keys',
  'POST /admin/keys',
  'GET /admin/publish-keys',
  'POST /admin/publish-keys',
  'GET /admin/connections',
  'POST /admin/connections',
  'GET /admin/events',
  'POST /admin/events',
  'GET /admin/report',
  'POST /admin/report',
  'GET /.well-known/openid-configuration',
  'GET /.well-known/oauth-authorization-server',
  'GET /assets/:name',
  'GET /logos/:hash',
  'GET /doctor',
  'POST /doctor',
]

beforeAll(async () => {
  server = await openServer()
  server.serve((req, res) => {
    const client_id = `${server.origin}${req.url}`
    const document = { client_id, client_name: 'Any', redirect_uris: [callback] }
    res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document))
  })
  const tv = { client_id: 'device', token_endpoint_auth_method: 'none' as const }
  const grant_types = ['urn:ietf:params:oauth:grant-type:device_code' as const]
  host = await startHost({
    clients: [...clients, { ...tv, grant_types, scope: 'openid' }],
    options: {
      database: { prune: false },
      outbound: { allowSelfDescribed: [server.origin] },
      limits: { quotas: { newBrowser: few, refresh: few } },
      protocol: { dpop: true },
      storedEvents: true,
      features: [
        admin({ allow: () => false }),
        connections(),
        authenticatorApps(),
        clientMetadataDocuments({ limits: { document: few } }),
        developers({ allow: () => true }),
        device({ limits: { deviceCode: few } }),
        passkeys(),
        personalAccessTokens({ scopes: ['notes:read'] }),
        pushedRequests({ limits: { pushedRequest: few } }),
        registration({ limits: { registration: few, registrationDaily: few } }),
      ],
    },
  })
  host.app.set('trust proxy', 1)
})
afterAll(async () => {
  await host.close()
  await server.close()
})

/** How many rows each table has; those of the user's table and of counters aside. */
const rowsOf = async (): Promise<Map<string, number>> => {
  const { knex, tablePrefix } = host.database
  const names: { name: string }[] = await knex('sqlite_master').select('name').where({ type: 'table' })
  const counted = new Map<string, number>()
  for (const { name } of names) {
    const [row] = await knex(name).count({ count: '*' })
    if (name.startsWith(tablePrefix)) counted.set(name.slice(tablePrefix.length), Number(row?.count))
  }
  return counted
}

/** The rows that so many requests add to each table. */
const added = async (send: Send, address: (number: number) => string): Promise<Record<string, number>> => {
  const before = await rowsOf()
  for (let number = 0; number < requests; number += 1) await send(next++, address(number))
  const after = await rowsOf()
  const grown = [...after].map(([name, count]): [string, number] => [name, count - (before.get(name) ?? 0)])
  return Object.fromEntries(grown.filter(([, count]) => count > 0))
}
let next = 0
let places = 0

const expectBounded = (rows: Record<string, number>, expected: Endpoint['rows'], most: number): void => {
  const { throttles = 0, events = 0, ...others } = rows
  // An address, its /48, and the name that it used.
  expect(throttles).toBeLessThanOrEqual(4 * requests)
  // A request is noted once, as what happened or as refused; one that is noted late counts with the next.
  expect(events).toBeLessThanOrEqual(2 * requests)
  expect(Object.keys(others).sort()).toEqual([...expected].sort())
  for (const [table, count] of Object.entries(others)) expect([table, count <= most]).toEqual([table, true])
}

test('every endpoint is listed, with what it stores for strangers', () => {
  const listed = new Set([...silent, ...Object.keys(storing).map((name) => name.replace(/ of .*/, ''))])
  expect(mounted().filter((name) => !listed.has(name))).toEqual([])
  expect([...listed].filter((name) => !mounted().includes(name))).toEqual([])
})

test('the documentation lists each table that strangers can fill, and each quota of theirs', () => {
  const [, section = ''] = /## What strangers can store\n(.*?)\n## /s.exec(read('SECURITY.md')) ?? []
  for (const { rows } of Object.values(storing))
    for (const table of rows) expect(section).toContain(`\`${table}\``)
  for (const name of ['quotas.clientHost', 'quotas.newBrowser', ...ofFeatures])
    expect(section).toContain(`\`${name}\``)
})

describe.each([
  ...sampleOf(silent, 12).map((name): [string, () => Endpoint] => {
    const [method = '', path = ''] = name.split(' ')
    return [name, () => plain(method, path)]
  }),
  ...Object.entries(storing).map(([name, endpoint]): [string, () => Endpoint] => [name, () => endpoint]),
])('%s stores no more than its bound', (_, endpoint) => {
  // Nobody else has used up its quotas.
  const place = ++places
  test('for one address', async () => {
    const { send, rows } = endpoint()
    expectBounded(await added(send, () => `192.0.2.${place}`), rows, quota)
  })

  test('for all networks of one IPv6 /48', async () => {
    const { send, rows } = endpoint()
    const address = (number: number) => `2001:db8:${place}:${number}::1`
    expectBounded(await added(send, address), rows, quota * networks)
  })
})
