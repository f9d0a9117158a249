import { stopClock } from '../support/clock.ts'
import { clients, type Host, secret, startHost } from '../support/host.ts'
import { answerOf, expectError, type Fields, guarded, post, web } from '../support/tokens.ts'

const machine = { client_secret: secret, grant_types: ['client_credentials' as const], redirect_uris: [] }

let host: Host
beforeAll(async () => {
  host = await startHost({
    clients: [
      ...clients,
      { ...machine, client_id: 'batch', scope: 'notes:read', access_token_lifetime: 300 },
      { ...machine, client_id: 'bare' },
    ],
  })
  host.app.get('/api/user', host.oauth.requireToken('notes:read'), (_req, res) => {
    res.json('reached')
  })
  host.app.get('/api/any', host.oauth.requireToken(undefined, { user: false }), (req, res) => {
    const { subject = null, clientId, scopes } = req.auth
    res.json({ subject, clientId, scopes })
  })
})
afterAll(() => host.close())
afterEach(() => jest.restoreAllMocks())

const own = (fields: Fields = {}) => post(host, { grant_type: 'client_credentials', ...web, ...fields })
const batch = { client_id: 'batch', client_secret: secret }
const api = (path: string, token: string) => guarded(host, token, path)

test('gives only an access token, which names no user and is refused where a user is required', async () => {
  const tokens = await answerOf(own())
  expect(Object.keys(tokens).sort()).toEqual(['access_token', 'expires_in', 'scope', 'token_type'])
  const { body } = await api('/api/any', tokens.access_token)
  expect(body).toEqual({ subject: null, clientId: 'web', scopes: ['notes:read', 'notes:write'] })
  const refused = await api('/api/user', tokens.access_token)
  expectError(refused, 403, 'insufficient_scope')
  expect(refused.headers['www-authenticate']).toMatch(/^Bearer realm="api", error="insufficient_scope", /)
})

test('without scope gives all that is registered, if anything is, except what speaks of a user', async () => {
  expect((await answerOf(own())).scope).toBe('notes:read notes:write')
  expect((await answerOf(own(batch))).scope).toBe('notes:read')
  expect((await answerOf(own({ scope: 'notes:write' }))).scope).toBe('notes:write')
  const bare = await answerOf(own({ client_id: 'bare' }))
  expect(Object.keys(bare).sort()).toEqual(['access_token', 'expires_in', 'token_type'])
})

test('lasts for the client’s access_token_lifetime', async () => {
  const clock = stopClock()
  const tokens = await answerOf(own(batch))
  expect(tokens.expires_in).toBe(300)
  clock.travel(299)
  expect((await api('/api/any', tokens.access_token)).status).toBe(200)
  clock.travel(1)
  expectError(await api('/api/any', tokens.access_token), 401, 'invalid_token')
})
