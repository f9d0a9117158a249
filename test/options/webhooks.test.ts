import { type AuthRouterOptions, authRouter, OptionsError } from '../../lib/index.ts'
import { webhookSecret } from '../support/webhook-receiver.ts'

const checked = (webhooks: unknown, more: object = {}) => {
  const features = { storedEvents: true, webhooks, ...more } as AuthRouterOptions['features']
  const quiet = { info: () => {}, warn: () => {}, error: () => {} }
  const database = {
    client: 'better-sqlite3',
    connection: { filename: ':memory:' },
    useNullAsDefault: true,
  }
  return () => authRouter({ features, logger: quiet, database })
}
const endpoint = { url: 'https://hooks.example.com', secrets: [webhookSecret], events: ['login.*'] }
const short = `whsec_${Buffer.alloc(16).toString('base64')}`

test.each([
  ['no receiver', { endpoints: {} }, 'features.webhooks.endpoints must name an endpoint'],
  ['true', true, 'features.webhooks must be false or an object with endpoints'],
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
])('refuses %s', (_what, webhooks, message) => {
  expect(checked(webhooks)).toThrow(OptionsError)
  expect(checked(webhooks)).toThrow(message)
})

test('refuses webhooks without stored events', () => {
  expect(checked({ endpoints: { a: endpoint } }, { storedEvents: false })).toThrow(
    'features.webhooks needs features.storedEvents: true',
  )
})
