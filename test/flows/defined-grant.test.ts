import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import supertest from 'supertest'
import {
  type AuthEvent,
  defineGrant,
  type GrantDecision,
  type GrantDefinition,
  type GrantRequest,
  OAuthError,
  seedClients,
} from '../../lib/index.ts'
import { clients, type Host, secret, startHost } from '../support/host.ts'
import { answerOf, expectError, type Fields, guarded, post, refresh } from '../support/tokens.ts'

const pin = 'urn:example:grant-type:pin'
const free = 'https://example.com/grants/free'
const api = 'https://till.example/api'

/** The first example of docs/grants.md, as it stands there. */
const documentedGrant = (pins: object): GrantDefinition => {
  const page = readFileSync(join(__dirname, '../../docs/grants.md'), 'utf8')
  const [, code = ''] = /^```js\n\/\/ pin-grant\.js\n([\s\S]*?)^```$/m.exec(page) ?? []
  const body = code.replace(/^import .*$/m, '').replace('export const pinGrant =', 'return')
  return new Function('defineGrant', 'OAuthError', body)(defineGrant, OAuthError)(pins)
}

const pins = new Map([
  ['1234', 1],
  ['3333', 3],
])
const asked: GrantRequest[] = []
const events: AuthEvent[] = []
let decide: (request: GrantRequest) => unknown = () => undefined
let host: Host

const confidential = { client_secret: secret, scope: 'openid notes:read' }
beforeAll(async () => {
  const redeem = async (typed: string) => {
    const userId = pins.get(typed)
    return pins.delete(typed) ? { userId } : undefined
  }
  const freeGrant = defineGrant({
    grantType: free,
    exchange: (request) => {
      asked.push(request)
      return decide(request) as GrantDecision
    },
  })
  host = await startHost({
    options: {
      scopes: { 'till:open': 'Open the till', 'notes:read': 'Read', 'notes:write': 'Write' },
      resources: { [api]: { scopes: ['notes:read'], accessToken: 'jwt' } },
      protocol: { grants: [documentedGrant({ redeem }), freeGrant] },
      organizations: ({ id }) => (id === 1 ? [{ id: 'acme', name: 'Acme' }] : []),
    },
    clients: [
      ...clients,
      { ...confidential, client_id: 'till-7', grant_types: [pin], scope: 'till:open' },
      { ...confidential, client_id: 'app', grant_types: [free, 'refresh_token'] },
      { client_id: 'kiosk', token_endpoint_auth_method: 'none', grant_types: [free] },
    ],
  })
  host.oauth.events.on('*', (event) => void events.push(event))
})
afterAll(() => host.close())

const exchange = (fields: Fields = {}): supertest.Test =>
  post(host, { grant_type: free, client_id: 'app', client_secret: secret, ...fields })
const withPin = (typed: string, client_id = 'till-7') =>
  post(host, { grant_type: pin, client_id, client_secret: secret, pin: typed })
const given = (decision: unknown) => {
  decide = () => decision
}
const claimsOf = (jwt: string) => JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString())

test('the example of the documentation exchanges a PIN once, for an active user', async () => {
  const answers = await Promise.all(Array.from({ length: 4 }, () => withPin('1234')))
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400])
  expect(answers.find(({ status }) => status === 200)?.body).toEqual({
    access_token: expect.any(String),
    token_type: 'Bearer',
    expires_in: expect.closeTo(3600, -1),
    scope: 'till:open',
  })
  expectError(await withPin('0000'), 400, 'invalid_grant')
  expectError(await withPin(''), 400, 'invalid_request')
  expectError(await withPin('3333'), 400, 'invalid_grant')
  expectError(await withPin('1234', 'web'), 400, 'unauthorized_client')
})

test('the metadata lists the grants', async () => {
  const { body } = await supertest(host.app).get('/oauth/.well-known/openid-configuration')
  expect(body.grant_types_supported).toEqual(expect.arrayContaining([pin, free]))
})

test('the function gets the request without the credentials of the client', async () => {
  given(undefined)
  await exchange({ ticket: 'x'.repeat(16_384), scope: 'notes:read', resource: api })
  expect(asked.at(-1)).toEqual({
    client: expect.objectContaining({ client_id: 'app', scope: 'openid notes:read' }),
    parameters: { client_id: 'app', ticket: 'x'.repeat(16_384) },
    scopes: ['notes:read'],
    resources: [api],
    address: expect.any(String),
  })
  expectError(await exchange({ ticket: 'x'.repeat(16_385) }), 400, 'invalid_request')
  expectError(await exchange({ client_secret: 'wrong' }), 401, 'invalid_client')
})

test('a user gets a refresh and an ID token if the host grants them, and revokeAll() ends both', async () => {
  given({
    subject: 1,
    scopes: ['openid', 'notes:read', 'notes:write'],
    refreshToken: true,
    organization: 'acme',
    authTime: 1_700_000_000,
    amr: ['otp'],
  })
  const tokens = await answerOf(exchange())
  expect(tokens).toMatchObject({ scope: 'openid notes:read', refresh_token: expect.any(String) })
  expect(claimsOf(tokens.id_token)).toMatchObject({
    sub: '1',
    aud: 'app',
    auth_time: 1_700_000_000,
    amr: ['otp'],
    org_id: 'acme',
  })
  expect(events.at(-1)).toMatchObject({ type: 'tokens.issued', grantType: free, subject: '1' })
  const app = { client_id: 'app', client_secret: secret }
  const next = await answerOf(refresh(host, tokens.refresh_token, app))
  expect((await guarded(host, next.access_token)).body).toEqual({ subject: '1' })
  await host.oauth.users.revokeAll('1')
  expect((await guarded(host, next.access_token)).status).toBe(401)
  expectError(await refresh(host, next.refresh_token, app), 400, 'invalid_grant')
})

test('without authTime the token counts as no recent login (L1)', async () => {
  given({ subject: 1, scopes: ['openid', 'notes:read'] })
  const tokens = await answerOf(exchange())
  expect(claimsOf(tokens.id_token).auth_time).toBe(0)
})

test.each([
  ['in milliseconds', Date.now()],
  ['in the future', Math.floor(Date.now() / 1000) + 3600],
  ['that is a Date', new Date()],
])('an authTime %s is an error of the host, and gives no token (L1)', async (_, authTime) => {
  given({ subject: 1, scopes: ['notes:read'], authTime })
  expectError(await exchange(), 500, 'server_error')
})

test('without refreshToken and subject the client gets one token for itself, without OIDC scopes', async () => {
  given({ scopes: ['openid', 'notes:read'] })
  const tokens = await answerOf(exchange())
  expect(tokens).toEqual({
    access_token: expect.any(String),
    token_type: 'Bearer',
    expires_in: expect.closeTo(3600, -1),
    scope: 'notes:read',
  })
  expect((await guarded(host, tokens.access_token)).body).toEqual({ subject: null })
})

test('the request may narrow what the host grants, and gets JWTs for a resource that wants them', async () => {
  given({ subject: 1, scopes: ['openid', 'notes:read'], resources: [api] })
  const { access_token, scope } = await answerOf(exchange({ scope: 'notes:read' }))
  expect(scope).toBe('notes:read')
  expect(claimsOf(access_token)).toMatchObject({ aud: api, sub: '1', client_id: 'app' })
})

test.each<[string, unknown, Fields, string]>([
  ['more scopes than the host grants', { scopes: ['openid'] }, { scope: 'notes:read' }, 'invalid_scope'],
  [
    'a scope that the client is not registered for',
    { scopes: ['notes:write'] },
    { scope: 'notes:write' },
    'invalid_scope',
  ],
  ['another resource', { scopes: [], resources: [] }, { resource: api }, 'invalid_target'],
  ['a user who is disabled', { subject: 3, scopes: [] }, {}, 'invalid_grant'],
  ['a user who does not exist', { subject: 99, scopes: [] }, {}, 'invalid_grant'],
  ['another organization', { subject: 1, scopes: [], organization: 'globex' }, {}, 'invalid_grant'],
])('%s is refused', async (_case, decision, fields, code) => {
  given(decision)
  expectError(await exchange(fields), 400, code)
})

test.each<[string, () => unknown, number, string]>([
  [
    'an OAuthError of the function',
    () => {
      throw new OAuthError('access_denied', 'ticket is locked')
    },
    400,
    'access_denied',
  ],
  [
    'an unavailable service',
    () => {
      throw Object.assign(new Error('no'), { code: 'ECONNREFUSED' })
    },
    503,
    'temporarily_unavailable',
  ],
  [
    'another error',
    () => {
      throw new Error('a bug')
    },
    500,
    'server_error',
  ],
  ['a decision without scopes', () => ({ subject: 1 }), 500, 'server_error'],
])('%s is answered without its cause', async (_case, decision, status, code) => {
  decide = decision
  const answer = await exchange()
  expect([answer.status, answer.body.error]).toEqual([status, code])
  expect(answer.text).not.toMatch(/a bug|ECONN/)
})

test.each([
  'pin',
  'authorization_code',
  'urn:ietf:params:oauth:grant-type:pin',
  'urn:x:y z',
  'https://a.example/#b',
])('a grant cannot be called %s', (grantType) => {
  expect(() => defineGrant({ grantType: grantType as never, exchange: () => undefined })).toThrow(
    'absolute URI',
  )
})

test('clients cannot be registered for a grant that the host has not defined', async () => {
  const seed = { client_id: 'x', grant_types: ['urn:example:grant-type:pim' as const] }
  await expect(host.oauth.clients.create(seed)).rejects.toThrow(
    'grant_types: urn:example:grant-type:pim is not in the option protocol.grants; did you mean urn:example:grant-type:pin?',
  )
  await expect(seedClients(host.database.knex, [seed], {})).rejects.toThrow(
    'pass the options of authRouter()',
  )
})
