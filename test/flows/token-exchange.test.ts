import supertest from 'supertest'
import type { AuthEvent, ClientSeed, TokenExchangeRequest } from '../../lib/index.ts'
import { tokenExchangeGrantType, tokenTypes } from '../../lib/protocol/tokens/token-exchange.ts'
import { stopClock } from '../support/clock.ts'
import {
  exchange,
  exchanged,
  mail,
  orders,
  policy,
  startExchangeHost,
  stock,
  userToken,
} from '../support/exchange-host.ts'
import { clients, type Host, secret, startHost } from '../support/host.ts'
import { claimsOf } from '../support/outcomes.ts'
import { introspectAs } from '../support/resource-host.ts'
import { answerOf, bob, expectError, guarded, tokensFor, userinfo } from '../support/tokens.ts'

let host: Host
const events: AuthEvent[] = []

beforeAll(async () => {
  host = await startExchangeHost()
  host.oauth.events.on('tokens.issued', (event) => void events.push(event))
  for (const [path, resource] of [
    ['/orders', orders],
    ['/stock', stock],
    ['/mail', mail],
  ] as const) {
    host.app.get(path, host.oauth.requireToken(undefined, { resource }), (req, res) => {
      const { subject, clientId, scopes, actor } = req.auth
      res.json({ subject, clientId, scopes, actor })
    })
  }
})
afterAll(() => host.close())
beforeEach(() => {
  policy.decide = () => true
})
afterEach(() => jest.restoreAllMocks())

const ordersApi = { sub: 'orders-api', client_id: 'orders-api' }

test('an API calls another one for the user, with a JWT that says who acts', async () => {
  const { access_token: subject } = await userToken(host)
  const answer = await exchanged(host, subject)
  expect(answer).toEqual({
    access_token: expect.any(String),
    token_type: 'Bearer',
    scope: 'stock:read',
    expires_in: 600,
    issued_token_type: tokenTypes.accessToken,
  })
  expect(claimsOf(answer.access_token)).toMatchObject({
    sub: '1',
    client_id: 'orders-api',
    aud: stock,
    scope: 'stock:read',
    act: ordersApi,
  })
  expect((await guarded(host, answer.access_token, '/stock')).body).toEqual({
    subject: '1',
    clientId: 'orders-api',
    scopes: ['stock:read'],
    actor: { clientId: 'orders-api' },
  })
  expect(policy.asked.at(-1)).toMatchObject({
    client: { client_id: 'orders-api' },
    subject: { subject: '1', clientId: 'web', scopes: ['orders:read', 'stock:read'], resources: [orders] },
    actor: ordersApi,
    scopes: [],
    resources: [stock],
  })
  expect(events.at(-1)).toMatchObject({ clientId: 'orders-api', subject: '1', actor: 'orders-api' })
})

test.each([
  ['is revoked', (id: string) => host.oauth.authorizations.end(id)],
  ['loses its session', (_: string, sid: string) => host.oauth.sessions.end(sid)],
])('no token comes from one that %s while the policy is asked', async (_, end) => {
  const { access_token: subject } = await userToken(host)
  policy.decide = async () => {
    const grants = (await host.oauth.authorizations.list({ user: 1, client: 'web' })).items
    for (const { id, sessionId } of grants) await end(id, sessionId)
    return true
  }
  const before = await host.table('access_tokens')
  const answer = await exchange(host, subject)
  expectError(answer, 400, 'invalid_request')
  expect(answer.body.error_description).toContain('subject_token')
  expect(await host.table('access_tokens')).toEqual(before)
})

test('a chain of APIs nests the actors, in opaque tokens and introspection too', async () => {
  const first = await exchanged(host, (await userToken(host)).access_token)
  const next = { client_id: 'stock-api', resource: undefined, audience: mail }
  const { access_token } = await exchanged(host, first.access_token, next)
  const actors = { sub: 'stock-api', client_id: 'stock-api', act: ordersApi }
  expect(await introspectAs(host, 'mail-api', access_token)).toMatchObject({
    active: true,
    sub: '1',
    client_id: 'stock-api',
    aud: mail,
    scope: 'stock:read',
    act: actors,
  })
  expect((await guarded(host, access_token, '/mail')).body.actor).toEqual({
    clientId: 'stock-api',
    actor: { clientId: 'orders-api' },
  })
})

test('the actor may be another user whose token the client presents; an API gets no OIDC scope', async () => {
  const { access_token: subject } = await userToken(host, { scope: 'openid orders:read' })
  const { access_token: actor } = await userToken(host, {}, { as: bob })
  const { access_token } = await exchanged(host, subject, {
    client_id: 'web',
    resource: orders,
    actor_token: actor,
    actor_token_type: tokenTypes.accessToken,
  })
  const { body } = await guarded(host, access_token, '/orders')
  expect(body).toMatchObject({ subject: '1', scopes: ['orders:read'], actor: { subject: '2' } })
  // The policy sees of the client's own token what it sees of any other.
  const { subject: seen } = policy.asked.at(-1) as TokenExchangeRequest
  expect(Object.keys(seen).sort()).toEqual(['clientId', 'expiresAt', 'resources', 'scopes', 'subject'])
})

test('a policy may grant scopes beyond the subject token, and impersonation without act', async () => {
  policy.decide = () => ({ scopes: ['stock:write', 'orders:read'], impersonation: true })
  const { access_token, scope } = await exchanged(host, (await userToken(host)).access_token, {
    requested_token_type: tokenTypes.jwt,
  })
  expect(scope).toBe('stock:write')
  expect(claimsOf(access_token)).not.toHaveProperty('act')
  expect(await introspectAs(host, 'stock-api', access_token)).toMatchObject({ active: true })
})

test('without a target the token is for the same resource, with fewer scopes', async () => {
  const { access_token } = await exchanged(host, (await userToken(host)).access_token, {
    resource: undefined,
    scope: 'orders:read',
  })
  expect((await guarded(host, access_token, '/orders')).body.scopes).toEqual(['orders:read'])
})

test('the new token lives no longer than the first one', async () => {
  const clock = stopClock()
  const { access_token: subject } = await userToken(host)
  clock.travel(3500)
  const { access_token, expires_in } = await exchanged(host, subject, { resource: mail })
  expect(expires_in).toBe(100)
  clock.travel(100)
  expect((await guarded(host, access_token, '/mail')).status).toBe(401)
})

const disableUser = (disabled_at: number | null) =>
  host.database.knex(host.usersTable).where({ id: 1 }).update({ disabled_at })

test.each<[string, () => Promise<unknown>, () => Promise<unknown>]>([
  ['revokeAll() was called', () => host.oauth.users.revokeAll('1'), async () => {}],
  ['its user is disabled', () => disableUser(1), () => disableUser(null)],
  [
    'the first client is disabled',
    () => host.oauth.clients.disable('web'),
    () => host.oauth.clients.enable('web'),
  ],
  [
    'the client that exchanged is disabled',
    () => host.oauth.clients.disable('orders-api'),
    () => host.oauth.clients.enable('orders-api'),
  ],
])('JWTs and opaque tokens of an exchange are inactive when %s', async (_case, end, restore) => {
  const { access_token: subject } = await userToken(host)
  const jwt = await exchanged(host, subject, { resource: stock })
  const opaque = await exchanged(host, subject, { resource: mail })
  const active = async () => [
    (await introspectAs(host, 'stock-api', jwt.access_token)).active,
    (await introspectAs(host, 'mail-api', opaque.access_token)).active,
  ]
  expect(await active()).toEqual([true, true])
  await end()
  const ended = await active()
  await restore()
  expect(ended).toEqual([false, false])
})

test('the metadata lists the grant only when it is on', async () => {
  const { body } = await supertest(host.app).get('/oauth/.well-known/openid-configuration')
  expect(body.grant_types_supported).toContain('urn:ietf:params:oauth:grant-type:token-exchange')
  const off = await startExchangeHost({ options: { protocol: {} } })
  const without = await supertest(off.app).get('/oauth/.well-known/openid-configuration')
  expect(without.body.grant_types_supported).not.toContain('urn:ietf:params:oauth:grant-type:token-exchange')
  expectError(await exchange(off, 'x'), 400, 'unsupported_grant_type')
  await off.close()
})

test('a public client cannot be registered for it', async () => {
  const seed = {
    client_id: 'public',
    token_endpoint_auth_method: 'none' as const,
    grant_types: ['urn:ietf:params:oauth:grant-type:token-exchange' as const],
  }
  await expect(host.oauth.clients.create(seed)).rejects.toThrow('token exchange for a public client')
})

test('an exchanged token does not reveal claims that the user allowed only the first client', async () => {
  const reader: ClientSeed = {
    client_id: 'reader',
    client_secret: secret,
    grant_types: [tokenExchangeGrantType],
    scope: 'openid email',
    may_introspect: true,
  }
  const claimed: Host = await startHost({
    clients: [...clients, reader],
    options: { protocol: { tokenExchange: { allow: () => ({ scopes: ['openid'] }) } } },
  })
  const claims = JSON.stringify({ userinfo: { email: null } })
  const first = await tokensFor(claimed, { scope: 'openid', claims })
  expect((await userinfo(claimed, first.access_token)).body).toEqual({ sub: '1', email: 'ada@example.com' })
  const own = { client_id: 'reader', resource: undefined }
  const second = await answerOf(exchange(claimed, first.access_token, own))
  expect((await userinfo(claimed, second.access_token)).body).toEqual({ sub: '1' })
  await claimed.close()
})
