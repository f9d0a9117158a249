import { webhooks } from '../../lib/features/index.ts'
import { authRouter, OptionsError } from '../../lib/index.ts'
import { webhookSecret } from '../support/webhook-receiver.ts'

const checked = (given: unknown, storedEvents = true) => {
  const features = [webhooks(given as Parameters<typeof webhooks>[0])]
  const quiet = { info: () => {}, warn: () => {}, error: () => {} }
  const database = {
    client: 'better-sqlite3',
    connection: { filename: ':memory:' },
    useNullAsDefault: true,
  }
  return () => authRouter({ storedEvents, features, logger: quiet, database })
}
const endpoint = { url: 'https://hooks.example.com', secrets: [webhookSecret], events: ['login.*'] }
const short = `whsec_${Buffer.alloc(16).toString('base64')}`

test.each([
  ['no receiver', { endpoints: {} }, 'webhooks({ endpoints }) must name an endpoint'],
  ['true', true, 'webhooks({}) must be an object'],
  ['http', { endpoints: { a: { ...endpoint, url: 'http://hooks.example.com' } } }, 'must use https'],
  [
    'a misspelt type',
    { endpoints: { a: { ...endpoint, events: ['logins.*'] } } },
    'logins.*, which is no event',
  ],
  [
    'a short secret',
    { endpoints: { a: { ...endpoint, secrets: [short] } } },
    'must be whsec_ and 24 to 64 bytes',
  ],
  ['no secret', { endpoints: { a: { ...endpoint, secrets: [undefined] } } }, 'secrets[0] is required'],
  ['a bad name', { endpoints: { 'A b': endpoint } }, "has the name 'A b'"],
])('refuses %s', (_what, given, message) => {
  expect(checked(given)).toThrow(OptionsError)
  expect(checked(given)).toThrow(message)
})

test('refuses webhooks without stored events', () => {
  expect(checked({ endpoints: { a: endpoint } }, false)).toThrow('webhooks() needs storedEvents: true')
})
