import {
  assertDeveloperClient,
  developerFields,
  onlyRemoves,
} from '../../../lib/features/developers/rules.ts'
import { parseClientMetadata } from '../../../lib/protocol/clients/client-metadata.ts'

const rules = { scopes: ['openid', 'notes:read'] }
const client = (more: object = {}) =>
  parseClientMetadata({
    client_name: 'Desk',
    redirect_uris: ['https://desk.example.com/'],
    scope: 'openid',
    ...more,
  })

test.each([
  [{ scope: 'openid notes:write' }, 'scope has one that developers may not choose'],
  [{ scope: undefined }, 'scope must name at least one scope'],
  [{ redirect_uris: ['com.example.desk:/'] }, 'redirect_uris must use https'],
  [{ redirect_uris: [], grant_types: [] }, 'redirect_uris is required'],
  [{ client_name: undefined }, 'client_name is required'],
])('%j is refused', (more, message) => {
  expect(() => assertDeveloperClient(client(more), rules)).toThrow(message)
})

test('what the host gave the client before is kept', () => {
  const before = client({ scope: 'openid notes:write', redirect_uris: ['com.example.desk:/'] })
  expect(() => assertDeveloperClient(before, rules, before)).not.toThrow()
  const more = client({ scope: 'openid notes:write admin' })
  expect(() => assertDeveloperClient(more, rules, before)).toThrow('scope has one')
})

test.each([
  [{}, true],
  [{ redirect_uris: [] }, true],
  [{ scope: 'openid' }, true],
  [{ scope: 'openid notes:read email' }, false],
  [{ redirect_uris: ['https://desk.example.com/', 'https://evil.example/'] }, false],
  [{ client_name: 'Bank' }, false],
  [{ policy_uri: null }, false],
])('%j only removes redirect URIs and scopes: %s', (change, only) => {
  const before = developerFields(
    client({ scope: 'openid notes:read', policy_uri: 'https://desk.example.com/p' }),
    'desk',
  )
  expect(onlyRemoves(before, { ...before, ...change })).toBe(only)
})
