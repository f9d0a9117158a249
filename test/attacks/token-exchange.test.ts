import { OAuthError } from '../../lib/index.ts'
import { tokenTypes } from '../../lib/protocol/token-exchange.ts'
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

const tokens = (): Promise<unknown> =>
  host.database.knex(`${host.database.tablePrefix}access_tokens`).count({ count: '*' }).first()

/** An exchange that must fail, and store nothing. */
const refused = async (subject: string, fields: Fields, code: string): Promise<void> => {
  const before = await tokens()
  expectError(await exchange(host, subject, fields), 400, code)
  expect(await tokens()).toEqual(before)
}

const asActor = (actor_token: string) => ({ actor_token, actor_token_type: tokenTypes.accessToken })
const people = () => host.database.knex(host.usersTable).where({ id: 1 })
const subject = async (): Promise<string> => (await userToken(host)).access_token

/** A client does something with its own valid token that it may not do. */
test.each<[string, Fields, string]>([
  ['more scopes than the subject token has', { scope: 'stock:write' }, 'invalid_scope'],
  ['a scope that the target does not know', { scope: 'orders:read' }, 'invalid_scope'],
  ['an unknown resource', { resource: 'https://evil.example/api' }, 'invalid_target'],
  ['an unknown audience', { audience: 'https://evil.example/api' }, 'invalid_target'],
  ['targets with tokens of two kinds', { audience: mail }, 'invalid_target'],
  [
    'a refresh token',
    { requested_token_type: 'urn:ietf:params:oauth:token-type:refresh_token' },
    'invalid_request',
  ],
  [
    'a JWT where tokens are opaque',
    { resource: mail, requested_token_type: tokenTypes.jwt },
    'invalid_request',
  ],
  ['no type of the subject token', { subject_token_type: undefined }, 'invalid_request'],
  [
    'an ID token as the subject',
    { subject_token_type: 'urn:ietf:params:oauth:token-type:id_token' },
    'invalid_request',
  ],
  ['an actor token without a type', { actor_token: 'x' }, 'invalid_request'],
  ['a type without an actor token', { actor_token_type: tokenTypes.accessToken }, 'invalid_request'],
  ['an actor token that is none', asActor('forged'), 'invalid_request'],
  ['as a client that is not registered for it', { client_id: 'plain-api' }, 'unauthorized_client'],
  ['as an API that the token is not for', { client_id: 'stock-api' }, 'invalid_request'],
])('refuses %s', async (_case, fields, code) => refused(await subject(), fields, code))

test('refuses a token that another client got for another API', async () =>
  refused((await userToken(host, { resource: mail })).access_token, {}, 'invalid_request'))

test('refuses a token of another client for no resource', async () =>
  refused((await userToken(host, { resource: undefined })).access_token, {}, 'invalid_request'))

test('refuses an actor token of another client', async () =>
  refused(await subject(), asActor(await ownToken(host, 'plain-api')), 'invalid_request'))

test('refuses a token that no user has', async () =>
  refused(await ownToken(host, 'orders-api'), {}, 'invalid_request'))

test('refuses an ID token and a refresh token that are called access tokens', async () => {
  const all = await userToken(host, { scope: 'openid orders:read' })
  await refused(all.id_token, { subject_token_type: tokenTypes.jwt }, 'invalid_request')
  await refused(all.refresh_token, {}, 'invalid_request')
})

test('refuses a JWT that another key signed', async () => {
  const key = await createClientKey('RS256', 'one')
  const claims = { sub: '1', client_id: 'orders-api', aud: stock }
  const forged = await assertion('orders-api', key, claims, { typ: 'at+jwt' })
  await refused(forged, { subject_token_type: tokenTypes.jwt }, 'invalid_request')
})

test('refuses the token of a user who is disabled', async () => {
  const token = await subject()
  await people().update({ disabled_at: 1 })
  await refused(token, {}, 'invalid_request')
  await people().update({ disabled_at: null })
})

test('refuses a token that was revoked, and one of an ended authorization', async () => {
  const one = await subject()
  await revoke(host, one)
  await refused(one, {}, 'invalid_request')
  const other = await userToken(host)
  await revoke(host, other.refresh_token)
  await refused(other.access_token, {}, 'invalid_request')
})

test('refuses an expired token', async () => {
  const clock = stopClock()
  const token = await subject()
  clock.travel(3600)
  await refused(token, {}, 'invalid_request')
})

test('refuses an actor whom may_act does not name', async () => {
  const { access_token } = await userToken(host, {
    client_id: 'limited',
    scope: 'stock:read',
    resource: stock,
  })
  const asked = policy.asked.length
  await refused(access_token, { client_id: 'stock-api', resource: mail }, 'invalid_request')
  expect(policy.asked).toHaveLength(asked)
})

test.each<[string, () => boolean | undefined, string]>([
  ['refuses', () => false, 'invalid_request'],
  ['decides nothing', () => undefined, 'invalid_request'],
  [
    'throws an OAuthError',
    () => {
      throw new OAuthError('access_denied', 'subject_token is of a child')
    },
    'access_denied',
  ],
])('a policy that %s stops the exchange', async (_case, decide, code) => {
  policy.decide = decide
  await refused(await subject(), {}, code)
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
  await refused(token, { resource: mail }, 'invalid_request')
})

test('the new token does not open the API of the first one', async () => {
  const { access_token } = await exchanged(host, await subject(), { resource: mail })
  expect((await guarded(host, access_token, '/orders')).status).toBe(401)
})
