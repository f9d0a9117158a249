import supertest from 'supertest'
import { stopClock } from '../support/clock.ts'
import { clients, type Host, secret, startHost } from '../support/host.ts'
import { answerOf, expectError, type Fields, post, userinfo, web } from '../support/tokens.ts'

let host: Host
beforeAll(async () => {
  host = await startHost({
    clients: [
      ...clients,
      {
        client_id: 'batch',
        client_secret: secret,
        grant_types: ['client_credentials'],
        redirect_uris: [],
        scope: 'notes:read',
        access_token_lifetime: 300,
      },
      {
        client_id: 'bare',
        client_secret: secret,
        grant_types: ['client_credentials', 'refresh_token'],
        redirect_uris: [],
      },
    ],
  })
  host.app.get('/api/user', host.oauth.requireToken('notes:read', { user: true }), (_req, res) => {
    res.json('reached')
  })
  host.app.get('/api/any', host.oauth.requireToken(), (req, res) => {
    const { subject = null, clientId, scopes } = req.token
    res.json({ subject, clientId, scopes })
  })
})
afterAll(() => host.close())
afterEach(() => jest.restoreAllMocks())

const own = (fields: Fields = {}) => post(host, { grant_type: 'client_credentials', ...web, ...fields })
const batch = { client_id: 'batch', client_secret: secret }
const api = (path: string, token: string) =>
  supertest(host.app).get(path).set('Authorization', `Bearer ${token}`)

test('gives an access token alone: no ID token, no refresh token', async () => {
  const tokens = await answerOf(own())
  expect(Object.keys(tokens).sort()).toEqual(['access_token', 'expires_in', 'scope', 'token_type'])
})

test('without scope gives all that is registered, except what speaks of a user', async () => {
  expect((await answerOf(own())).scope).toBe('notes:read notes:write')
  expect((await answerOf(own(batch))).scope).toBe('notes:read')
})

test('gives the scopes that are asked for', async () => {
  expect((await answerOf(own({ scope: 'notes:write' }))).scope).toBe('notes:write')
})

test('a client registered without scopes gets a token without any', async () => {
  const tokens = await answerOf(own({ client_id: 'bare' }))
  expect(tokens.scope).toBe('')
  expect(tokens).not.toHaveProperty('refresh_token')
})

test.each([
  ['one that is not registered for the client', batch, 'notes:write'],
  ['one of several that is not registered', batch, 'notes:read notes:write'],
  ['one that nobody knows', web, 'unheard_of'],
  ['openid, which speaks of a user', web, 'openid'],
  ['offline_access, which speaks of a user', web, 'notes:read offline_access'],
  ['characters outside the grammar', web, 'notes:read "x"'],
  ['a backslash, which the grammar leaves out', web, 'notes:read\\notes:write'],
])('refuses a scope that is %s', async (_, client, scope) => {
  expectError(await own({ ...client, scope }), 400, 'invalid_scope')
})

test('lasts as long as the client says', async () => {
  const clock = stopClock()
  const tokens = await answerOf(own(batch))
  expect(tokens.expires_in).toBe(300)
  clock.travel(299)
  expect((await api('/api/any', tokens.access_token)).status).toBe(200)
  clock.travel(1)
  expectError(await api('/api/any', tokens.access_token), 401, 'invalid_token')
})

test('a client that is not registered for it is refused', async () => {
  const res = await post(host, { grant_type: 'client_credentials', client_id: 'native' })
  expectError(res, 400, 'unauthorized_client')
})

test.each([
  ['without a secret', undefined, 401],
  ['with an empty secret', '', 401],
  ['with a wrong secret', 'w'.repeat(40), 401],
])('is refused %s', async (_, client_secret, status) => {
  expectError(await own({ client_secret }), status, 'invalid_client')
})

test('its token opens an API, and names the client and no user', async () => {
  const { access_token } = await answerOf(own())
  const res = await api('/api/any', access_token)
  expect({ status: res.status, body: res.body }).toEqual({
    status: 200,
    body: { subject: null, clientId: 'web', scopes: ['notes:read', 'notes:write'] },
  })
})

test('its token is refused by UserInfo', async () => {
  const { access_token } = await answerOf(own())
  const res = await userinfo(host, access_token)
  expectError(res, 403, 'insufficient_scope')
  expect(res.headers['www-authenticate']).toMatch(/^Bearer realm="api", error="insufficient_scope", /)
})

test('its token is refused by a guard that asks for a user', async () => {
  const { access_token } = await answerOf(own())
  const res = await api('/api/user', access_token)
  expectError(res, 403, 'insufficient_scope')
  expect(res.headers['www-authenticate']).toMatch(/^Bearer realm="api", error="insufficient_scope", /)
})

test('its token dies with the client', async () => {
  const row = () => host.database.knex(`${host.database.tablePrefix}clients`).where({ client_id: 'batch' })
  const { access_token } = await answerOf(own(batch))
  await row().update({ disabled_at: 1 })
  const refused = await api('/api/any', access_token)
  await row().update({ disabled_at: null })
  expectError(refused, 401, 'invalid_token')
  await row().delete()
  expectError(await api('/api/any', access_token), 401, 'invalid_token')
})
