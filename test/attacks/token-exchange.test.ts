import { OAuthError } from '../../lib/index.ts'
import { tokenTypes } from '../../lib/protocol/tokens/token-exchange.ts'
import { stopClock } from '../support/clock.ts'
import {
  exchange,
  exchanged,
  mail,
  orders,
  ownToken,
  policy,
  startExchangeHost,
  stock,
  userToken,
} from '../support/exchange-host.ts'
import type { Host } from '../support/host.ts'
import { assertion, createClientKey } from '../support/signing-client.ts'
import { expectError, type Fields, guarded, revoke } from '../support/tokens.ts'

let host: Host
beforeAll(async () => {
  host = await startExchangeHost()
  host.app.get('/orders', host.oauth.requireToken(undefined, { resource: orders }), (_req, res) => {
    res.json('reached')
  })
})
afterAll(() => host.close())
beforeEach(() => {
  policy.decide = () => true
})
afterEach(() => jest.restoreAllMocks())

const tokens = (): Promise<unknown> => host.table('access_tokens').count({ count: '*' }).first()

/** An exchange that must fail, and store nothing. */
const refused = async (subject: string, fields: Fields = {}, code = 'invalid_request'): Promise<void> => {
  const before = await tokens()
  expectError(await exchange(host, subject, fields), 400, code)
  expect(await tokens()).toEqual(before)
}

const asActor = (actor_token: string) => ({ actor_token, actor_token_type: tokenTypes.accessToken })
const people = () => host.database.knex(host.usersTable).where({ id: 1 })
const subject = async (): Promise<string> => (await userToken(host)).access_token

const ofKind = (kind: string): string => `urn:ietf:params:oauth:token-type:${kind}`

/** A client does something with its own valid token that it may not do. */
test.each<[string, Fields, string?]>([
  ['more scopes than the subject token has', { scope: 'stock:write' }, 'invalid_scope'],
  ['a scope that the target does not know', { scope: 'orders:read' }, 'invalid_scope'],
  ['an unknown resource', { resource: 'https://evil.example/api' }, 'invalid_target'],
  ['an unknown audience', { audience: 'https://evil.example/api' }, 'invalid_target'],
  ['targets with tokens of two kinds', { audience: mail }, 'invalid_target'],
  ['a refresh token', { requested_token_type: ofKind('refresh_token') }],
  ['a JWT where tokens are opaque', { resource: mail, requested_token_type: tokenTypes.jwt }],
  ['no type of the subject token', { subject_token_type: undefined }],
  ['an ID token as the subject', { subject_token_type: ofKind('id_token') }],
  ['an actor token without a type', { actor_token: 'x' }],
  ['a type without an actor token', { actor_token_type: tokenTypes.accessToken }],
  ['an actor token that is none', asActor('forged')],
  ['as a client that is not registered for it', { client_id: 'plain-api' }, 'unauthorized_client'],
  ['as an API that the token is not for', { client_id: 'stock-api' }],
])('refuses %s', async (_case, fields, code = 'invalid_request') => refused(await subject(), fields, code))

test('refuses tokens of other clients and APIs, and other tokens that are called access tokens', async () => {
  await refused((await userToken(host, { resource: mail })).access_token)
  await refused((await userToken(host, { resource: undefined })).access_token)
  await refused(await subject(), asActor(await ownToken(host, 'plain-api')))
  await refused(await ownToken(host, 'orders-api'))
  const all = await userToken(host, { scope: 'openid orders:read' })
  await refused(all.id_token, { subject_token_type: tokenTypes.jwt })
  await refused(all.refresh_token)
})

test('refuses a JWT that another key signed', async () => {
  const key = await createClientKey('RS256', 'one')
  const claims = { sub: '1', client_id: 'orders-api', aud: stock }
  const forged = await assertion('orders-api', key, claims, { typ: 'at+jwt' })
  await refused(forged, { subject_token_type: tokenTypes.jwt })
})

test('refuses tokens that are revoked or expired, of a disabled user or an ended authorization', async () => {
  const clock = stopClock()
  const one = await subject()
  await people().update({ disabled_at: 1 })
  await refused(one)
  await people().update({ disabled_at: null })
  await revoke(host, one)
  await refused(one)
  const other = await userToken(host)
  await revoke(host, other.refresh_token)
  await refused(other.access_token)
  const last = await subject()
  clock.travel(3600)
  await refused(last)
})

test('refuses an actor whom may_act does not name', async () => {
  const limited = { client_id: 'limited', scope: 'stock:read', resource: stock }
  const { access_token } = await userToken(host, limited)
  const asked = policy.asked.length
  await refused(access_token, { client_id: 'stock-api', resource: mail })
  expect(policy.asked).toHaveLength(asked)
})

test('a policy that refuses, decides nothing or throws an OAuthError stops the exchange', async () => {
  const token = await subject()
  for (const decided of [false, undefined]) {
    policy.decide = () => decided
    await refused(token)
  }
  policy.decide = () => {
    throw new OAuthError('access_denied', 'subject_token is of a child')
  }
  await refused(token, {}, 'access_denied')
})

test('a policy cannot grant a scope that the client is not registered for', async () => {
  policy.decide = () => ({ scopes: ['stock:read', 'stock:write', 'orders:read', 'openid', 'admin'] })
  const { scope } = await exchanged(host, await subject(), { resource: mail })
  expect(scope).toBe('stock:read orders:read')
})

test('two APIs cannot exchange a token for ever', async () => {
  let token = await subject()
  for (const resource of [mail, orders, mail, orders]) {
    const client_id = resource === mail ? 'orders-api' : 'mail-api'
    token = (await exchanged(host, token, { client_id, resource })).access_token
  }
  await refused(token, { resource: mail })
})

test('the new token does not open the API of the first one', async () => {
  const { access_token } = await exchanged(host, await subject(), { resource: mail })
  expect((await guarded(host, access_token, '/orders')).status).toBe(401)
})
