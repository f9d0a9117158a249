import { fork } from 'node:child_process'
import { once } from 'node:events'
import express, { type Express } from 'express'
import { decodeProtectedHeader } from 'jose'
import supertest from 'supertest'
import { type ResourceServerOptions, resourceServer } from '../../lib/guard/index.ts'
import { type AuthRouter, authRouter, type ClientSeed, migrate, seedClients } from '../../lib/index.ts'
import type { GrantType } from '../../lib/protocol/clients/client-metadata.ts'
import { tokenExchangeGrantType } from '../../lib/protocol/tokens/token-exchange.ts'
import { compiledProgram } from '../support/compiled.ts'
import { openSharedDatabase, type SharedDatabase } from '../support/database.ts'
import { connect, deviceGrant } from '../support/device.ts'
import { kept } from '../support/features.ts'
import { callback, createUsers, people, secret } from '../support/host.ts'
import { codeOf } from '../support/outcomes.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import { jwtApi, opaqueApi, type SharedHost, sharedOptions } from '../support/second-server.ts'

// A user, a client or a key is disabled in this process. The next call to each endpoint of another process sees it.

type Json = Record<string, string>
type Fields = Readonly<Record<string, string>>

let database: SharedDatabase
let usersTable: string
let here: AuthRouter
let there: string
let closeThere: () => Promise<void>
/** APIs that know the other process by its URL alone. */
const remote = {} as Record<'jwt' | 'opaque', Express>

const client = { client_id: 'web', client_secret: secret }
const api = { client_id: 'api', client_secret: secret }
const scope = 'openid offline_access notes:read'
const clients: ClientSeed[] = [
  {
    ...client,
    redirect_uris: [callback],
    scope,
    first_party: true,
    grant_types: [
      'authorization_code',
      'refresh_token',
      'client_credentials',
      deviceGrant,
      tokenExchangeGrantType,
    ] as GrantType[],
  },
  { ...api, redirect_uris: [], grant_types: [] },
]
const [ada, bob] = people as [(typeof people)[0], (typeof people)[0]]

const startThere = async (shared: SharedHost): Promise<void> => {
  const child = fork(compiledProgram('test/support/second-server.ts'), { execArgv: [] })
  child.send(shared)
  const [report] = (await once(child, 'message')) as [{ port?: number; fault?: string }]
  if (report.port === undefined) throw new Error(`no server: ${report.fault}`)
  there = `http://127.0.0.1:${report.port}`
  closeThere = async () => {
    const ended = once(child, 'exit')
    child.disconnect()
    await ended
  }
}

beforeAll(async () => {
  database = openSharedDatabase()
  const { knex, tablePrefix, config } = database
  usersTable = `${tablePrefix}people`
  await createUsers(database, usersTable)
  await migrate(knex, { features: kept, database: { tablePrefix } })
  await startThere({ config, tablePrefix, usersTable })
  const options = sharedOptions(`${there}/oauth`, knex, { config, tablePrefix, usersTable })
  await seedClients(knex, clients, options)
  here = authRouter(options)
  await here.ready()
  const issuer = `${there}/oauth`
  const quiet = { info: () => {}, warn: () => {}, error: () => {} }
  const apiOf = (options: ResourceServerOptions): Express =>
    express().get(
      '/notes',
      resourceServer({ ...options, logger: quiet }).requireToken('notes:read'),
      (_, res) => void res.json('notes'),
    )
  remote.jwt = apiOf({ issuer, audience: jwtApi })
  const introspection = { clientId: 'api', clientSecret: secret }
  remote.opaque = apiOf({ issuer, audience: opaqueApi, introspection })
})
afterAll(async () => {
  await closeThere()
  await here.close()
  if (process.env.DATABASE_URL !== undefined) await database.knex.schema.dropTableIfExists(usersTable)
  await database.close()
})

const post = async (path: string, form: Fields): Promise<{ status: number; body: Json }> => {
  const res = await fetch(`${there}/oauth${path}`, { method: 'POST', body: new URLSearchParams(form) })
  return { status: res.status, body: JSON.parse((await res.text()) || '{}') }
}
const get = (path: string, token: string) =>
  fetch(`${there}${path}`, { headers: { Authorization: `Bearer ${token}` } })
const token = (grant_type: string, fields: Fields = {}) =>
  post('/token', { ...client, grant_type, ...fields })
const redeem = (code: string, resource: string) =>
  token('authorization_code', { code, redirect_uri: callback, resource })
const authorizePath = (fields: Fields): string => {
  const usual = { response_type: 'code', client_id: 'web', redirect_uri: callback, scope }
  return `/oauth/authorize?${new URLSearchParams({ ...usual, ...fields })}`
}

/** What the user and the client have before anything is disabled. */
const credentials = async ({ email, password }: { email: string; password: string }) => {
  const agent = new RawBrowser(there, there)
  const codeFor = async (resource: string): Promise<string> =>
    codeOf(await agent.grant(authorizePath({ resource }), email, password), { iss: `${there}/oauth` })
  const opaque = await redeem(await codeFor(opaqueApi), opaqueApi)
  const jwt = await redeem(await codeFor(jwtApi), jwtApi)
  const ofUserinfo = await agent.get(authorizePath({}))
  const plain = await token('authorization_code', {
    code: codeOf(ofUserinfo, { iss: `${there}/oauth` }),
    redirect_uri: callback,
  })
  const device = await post('/device_authorization', { ...client, scope })
  await connect(agent, device.body.user_code ?? '')
  const registration = await fetch(`${there}/oauth/register`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ redirect_uris: [callback] }),
  })
  return {
    agent,
    code: await codeFor(opaqueApi),
    opaque: opaque.body as Json & { access_token: string; refresh_token: string },
    jwt: jwt.body as Json & { access_token: string; id_token: string },
    plain: plain.body as Json & { access_token: string },
    deviceCode: device.body.device_code ?? '',
    registered: (await registration.json()) as Json,
  }
}
type Credentials = Awaited<ReturnType<typeof credentials>>

const outcome = ({ status, body }: { status: number; body: Json }): string =>
  status < 300 ? 'ok' : String(body.error)
const guarded = async (answer: PromiseLike<{ status: number }>): Promise<number> => (await answer).status
const guardedBy = (app: Express, token: string): Promise<number> =>
  guarded(supertest(app).get('/notes').set('Authorization', `Bearer ${token}`))
const active = async (value = '') => (await post('/introspect', { ...api, token: value })).body.active
const exchanged = async (subject_token: string, fields: Fields = {}): Promise<string> => {
  const subject_token_type = 'urn:ietf:params:oauth:token-type:access_token'
  return outcome(await token(tokenExchangeGrantType, { subject_token, subject_token_type, ...fields }))
}
const authorized = async ({ agent }: Credentials, fields: Fields): Promise<string> => {
  const { location, status } = await agent.get(
    authorizePath({ prompt: 'none', resource: opaqueApi, ...fields }),
  )
  return location ? (location.searchParams.get('error') ?? 'ok') : String(status)
}

let withdrawn = ''
/** The algorithm, and whether the withdrawn key was the one that signs. */
const signedBy = ({ status, body }: { status: number; body: Json }): string => {
  if (status !== 200) return String(body.error)
  return decodeProtectedHeader(body.id_token ?? '').kid === withdrawn ? 'signed by a withdrawn key' : 'ok'
}

type Row = readonly [name: string, expected: readonly unknown[], ask: (has: Credentials) => Promise<unknown>]

// The answers before anything is disabled; after the user is disabled in the host's table; after `revokeAll()` alone; after the
// client is disabled; and after the key that signed is revoked.
const ofGrant = ['ok', 'invalid_grant', 'invalid_grant', 'invalid_client', 'ok']
const ofClient = ['ok', 'ok', 'ok', 'invalid_client', 'ok']
const ofToken = [200, 401, 401, 401, 200]

/** Each endpoint and guard. */
const rows: readonly Row[] = [
  ['authorize', ['ok', 'login_required', 'login_required', '400', 'ok'], (has) => authorized(has, {})],
  [
    'authorize with an ID token as a hint',
    ['ok', 'login_required', 'login_required', '400', 'login_required'],
    (has) => authorized(has, { id_token_hint: has.jwt.id_token }),
  ],
  ['token: code', ofGrant, async (has) => signedBy(await redeem(has.code, opaqueApi))],
  [
    'token: refresh',
    ofGrant,
    async (has) => signedBy(await token('refresh_token', { refresh_token: has.opaque.refresh_token })),
  ],
  [
    'token: device',
    ofGrant,
    async (has) => signedBy(await token(deviceGrant, { device_code: has.deviceCode })),
  ],
  [
    'token: client credentials',
    ofClient,
    async () => outcome(await token('client_credentials', { scope: 'notes:read' })),
  ],
  [
    'token: exchange',
    ['ok', 'invalid_request', 'invalid_request', 'invalid_client', 'ok'],
    (has) => exchanged(has.plain.access_token),
  ],
  [
    'token: exchange, JWT',
    ['ok', 'invalid_request', 'invalid_request', 'invalid_client', 'invalid_request'],
    (has) => exchanged(has.jwt.access_token, { resource: jwtApi }),
  ],
  ['userinfo', ofToken, (has) => guarded(get('/oauth/userinfo', has.plain.access_token))],
  [
    'userinfo, JWT',
    [200, 401, 401, 401, 401],
    (has) => guarded(get('/oauth/userinfo', has.jwt.access_token)),
  ],
  ['introspect, opaque', [true, false, false, false, true], (has) => active(has.opaque.access_token)],
  ['introspect, JWT', [true, false, false, false, false], (has) => active(has.jwt.access_token)],
  ['revoke', ofClient, async () => outcome(await post('/revoke', { ...client, token: 'lk_at_unknown' }))],
  [
    'par',
    ofClient,
    async () =>
      outcome(await post('/par', { ...client, response_type: 'code', redirect_uri: callback, scope })),
  ],
  [
    'device authorization',
    ofClient,
    async () => outcome(await post('/device_authorization', { ...client, scope })),
  ],
  [
    'registration management',
    [200, 200, 200, 401, 200],
    ({ registered: { client_id, registration_access_token = '' } }) =>
      guarded(get(`/oauth/register/${client_id}`, registration_access_token)),
  ],
  [
    'account',
    ['ok', 'login', 'login', 'ok', 'ok'],
    async ({ agent }) =>
      (await agent.get('/oauth/account')).html.includes('id="sign-out"') ? 'ok' : 'login',
  ],
  [
    'jwks',
    [true, true, true, true, false],
    async (has) => {
      const { keys } = (await (await fetch(`${there}/oauth/jwks`)).json()) as { keys: Json[] }
      return keys.some(({ kid }) => kid === decodeProtectedHeader(has.jwt.access_token).kid)
    },
  ],
  ['guard, opaque', ofToken, (has) => guarded(get('/opaque', has.opaque.access_token))],
  // A JWT is verified by its signature alone: it works until it expires, or its key is revoked.
  ['guard, JWT', [200, 200, 200, 200, 401], (has) => guarded(get('/jwt', has.jwt.access_token))],
  ['guard elsewhere, introspection', ofToken, (has) => guardedBy(remote.opaque, has.opaque.access_token)],
  // This one keeps the key set of the issuer.
  ['guard elsewhere, JWT', Array(5).fill(200), (has) => guardedBy(remote.jwt, has.jwt.access_token)],
]

const answers = async (has: Credentials): Promise<Record<string, unknown>> => {
  const found: Record<string, unknown> = {}
  for (const [name, , ask] of rows) found[name] = await ask(has)
  return found
}
const expected = (column: number): Record<string, unknown> =>
  Object.fromEntries(rows.map(([name, columns]) => [name, columns[column]]))

test('before anything is disabled', async () => {
  expect(await answers(await credentials(ada))).toEqual(expected(0))
})

test('a user is disabled in the host’s table', async () => {
  const has = await credentials(ada)
  await database.knex(usersTable).where({ id: ada.id }).update({ disabled_at: 1 })
  expect(await answers(has)).toEqual(expected(1))
})

test('revokeAll() ends all that a user has', async () => {
  const has = await credentials(bob)
  await here.users.revokeAll(bob.id)
  expect(await answers(has)).toEqual(expected(2))
})

test('a client is disabled', async () => {
  const has = await credentials(bob)
  await here.clients.disable('web')
  await here.clients.disable(has.registered.client_id ?? '')
  expect(await answers(has)).toEqual(expected(3))
  await here.clients.enable('web')
})

test('a key is revoked', async () => {
  const has = await credentials(bob)
  withdrawn = decodeProtectedHeader(has.jwt.access_token).kid ?? ''
  expect(await here.keys.revoke('unknown')).toBe(false)
  expect(await here.keys.revoke(withdrawn, 'the backup was stolen')).toBe(true)
  expect(await answers(has)).toEqual(expected(4))
})
