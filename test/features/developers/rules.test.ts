import { mistakesOf } from '../../../lib/features/developers/mistakes.ts'
import { progressOf } from '../../../lib/features/developers/progress.ts'
import {
  assertDeveloperClient,
  type DeveloperFields,
  developerFields,
  onlyRemoves,
} from '../../../lib/features/developers/rules.ts'
import { parseClientMetadata } from '../../../lib/protocol/clients/client-metadata.ts'
import { OAuthError } from '../../../lib/protocol/errors.ts'

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

test.each(['tokens.issued', 'client.approved', 'client.enabled'])('a refusal is over after %s', (type) => {
  const refusedAt = (time: number, code = 'unauthorized_client') => [
    { type: 'request.refused', time, requestId: 'id', details: { code } },
  ]
  const over = [{ type, time: 5, requestId: 'id', subject: '1', details: {} }]
  expect(progressOf(1, [...over, ...refusedAt(4)]).refused).toBeUndefined()
  expect(progressOf(1, [...refusedAt(6), ...over]).refused).toMatchObject({ time: 6 })
  // What is wrong with the request itself is as wrong after an approval.
  const wrongUri = progressOf(1, [...over, ...refusedAt(4, 'invalid_request')]).refused
  expect(wrongUri?.time).toBe(type === 'tokens.issued' ? undefined : 4)
})

test('a mistake of another field is told where the host accepts only its own addresses', () => {
  const own = 'https://desk.example.com/'
  const fields = { ...developerFields(client(), 'desk'), scope: 'notes:write' }
  const check = ({ redirect_uris, scope }: DeveloperFields): void =>
    assertDeveloperClient(client({ redirect_uris, scope }), {
      ...rules,
      redirectUris: (uri) => uri === own,
    })
  const error = new OAuthError('invalid_client_metadata', 'scope has one that developers may not choose')
  const names = ['redirect_uris', 'scopes', 'logo_uri'] as const
  const wrong = { ...fields, redirect_uris: [own, 'https://app.example.com/'] }
  const typed = { redirect_uris: wrong.redirect_uris.join('\n') }
  const found = mistakesOf({ names, typed, fields: wrong, scopes: rules.scopes, check }, error)
  expect(found.map(({ field, line }) => [field, line])).toEqual([
    ['redirect_uris', 2],
    ['scopes', undefined],
  ])
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
