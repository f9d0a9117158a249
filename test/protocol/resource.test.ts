import { canonicalResource } from '../../lib/protocol/protected-resource.ts'
import {
  formatFor,
  impliedResources,
  isSameResource,
  type KnownResource,
  parseResources,
  scopesByResource,
  tokenResources,
  tokenScopes,
} from '../../lib/protocol/requests/resource.ts'
import { standardScopes } from '../../lib/protocol/scope.ts'
import { fc } from '../support/property.ts'

const notes: KnownResource = {
  identifier: 'https://app.example.com/mcp',
  scopes: ['notes:read', 'notes:write'],
  accessToken: 'opaque',
}
const files: KnownResource = {
  identifier: 'https://files.example.com',
  scopes: ['files:read'],
  accessToken: 'jwt',
}
const known = [notes, files]
const refusal = expect.objectContaining({ code: 'invalid_target' })
const refused = (work: () => unknown): void => {
  let thrown: unknown
  try {
    work()
  } catch (error) {
    thrown = error
  }
  expect(thrown).toEqual(refusal)
}

test.each([
  ['https://app.example.com/mcp', 'https://app.example.com/mcp'],
  ['HTTPS://App.Example.com/MCP?Tenant=A', 'https://app.example.com/MCP?Tenant=A'],
  ['http://[::1]:3000', 'http://[::1]:3000'],
  ['https://app.example.com/mcp/', 'https://app.example.com/mcp/'],
  ['https://app.example.com:443/mcp', 'https://app.example.com:443/mcp'],
  ['https://app.example.com/a/../mcp', 'https://app.example.com/a/../mcp'],
  ['/mcp', undefined],
  ['app.example.com/mcp', undefined],
  ['urn:example:mcp', undefined],
  ['https://app.example.com/mcp#', undefined],
  ['https://app.example.com/mcp#top', undefined],
  ['https://user@app.example.com/mcp', undefined],
  ['https://app.example.com/m cp', undefined],
  ['https://app.example.com/"mcp', undefined],
  ['https://app"example.com/mcp', undefined],
  ['https:\\\\app.example.com\\mcp', undefined],
  [' https://app.example.com/mcp', undefined],
  ['https://app.example.com/mcp\n', undefined],
])('the canonical form of %j is %j', (value, canonical) => {
  expect(canonicalResource(value)).toBe(canonical)
})

test.each([
  ['https://files.example.com/', true],
  ['https://files.example.com', true],
  ['https://files.example.com//', false],
  ['https://files.example.com/?', false],
  ['https://files.example.com.evil.example', false],
])('%s names https://files.example.com: %s', (value, same) => {
  expect(isSameResource(value, files.identifier)).toBe(same)
})

test('a request names each resource once, in the order sent, in its canonical form', () => {
  const sent = ['https://files.example.com/', 'HTTPS://APP.example.com/mcp', 'https://files.example.com']
  expect(parseResources(sent, known)).toEqual([files.identifier, notes.identifier])
})

test.each([
  ['an unknown one', ['https://other.example.com']],
  ['an unknown one among known ones', [notes.identifier, 'https://other.example.com']],
  ['another path', ['https://app.example.com/MCP']],
  ['a slash at the end', ['https://app.example.com/mcp/']],
  ['a relative one', ['/mcp']],
  ['a fragment', ['https://app.example.com/mcp#x']],
  ['a very long one', [`https://app.example.com/mcp?${'x'.repeat(100_000)}`]],
  ['eleven', Array.from({ length: 11 }, () => notes.identifier)],
])('a request must not name %s', (_case, values) => {
  refused(() => parseResources(values, known))
})

test('a token request without resources is for all of the authorization that still exist', () => {
  const granted = { [files.identifier]: [], [notes.identifier]: [], 'https://gone.example.com': [] }
  expect(tokenResources([], granted, known)).toEqual([files.identifier, notes.identifier])
  expect(tokenResources([], undefined, known)).toEqual([])
  refused(() => tokenResources([], { 'https://gone.example.com': [] }, known))
  refused(() => tokenResources([notes.identifier], undefined, known))
})

test('a scope that a resource has come to know since the consent is not in its tokens', () => {
  const granted = { [notes.identifier]: ['notes:read'], [files.identifier]: [] }
  const later = [notes, { ...files, scopes: ['files:read', 'notes:read'] }]
  const scopes = ['openid', 'notes:read']
  expect(tokenScopes(scopes, [notes.identifier], granted, later)).toEqual(scopes)
  expect(tokenScopes(scopes, [files.identifier], granted, later)).toEqual(['openid'])
  expect(tokenScopes(scopes, [notes.identifier, files.identifier], granted, later)).toEqual(['openid'])
})

test('resources with different kinds of access tokens need a token each', () => {
  expect(formatFor([], known)).toBe('opaque')
  expect(formatFor([files.identifier], known)).toBe('jwt')
  refused(() => formatFor([notes.identifier, files.identifier], known))
})

test('no token exceeds its authorization in resource or scope, whatever is asked and configured', () => {
  const identifiers = ['a', 'b', 'c'].map((name) => `https://${name}.example.com`)
  const apiScopes = ['r', 'w', 'x']
  const some = (of: readonly string[]) => fc.subarray([...of])
  const host = fc
    .tuple(some(identifiers), fc.array(some(apiScopes), { minLength: 3, maxLength: 3 }))
    .map(([existing, scopes]): KnownResource[] =>
      existing.map((identifier, index) => ({
        identifier,
        scopes: scopes[index] ?? [],
        accessToken: 'opaque',
      })),
    )
  const all = [...standardScopes, ...apiScopes]
  fc.assert(
    fc.property(host, host, some(all), some(identifiers), (then, now, scopes, asked) => {
      const granted = scopesByResource(
        scopes,
        then.map(({ identifier }) => identifier),
        then,
      )
      let resources: string[]
      try {
        resources = tokenResources(
          asked.filter((one) => now.some(({ identifier }) => identifier === one)),
          granted,
          now,
        )
      } catch (error) {
        expect(error).toEqual(refusal)
        return
      }
      const left = tokenScopes(scopes, resources, granted, now)
      for (const identifier of resources) {
        expect(Object.keys(granted ?? {})).toContain(identifier)
        const knows = now.find((one) => one.identifier === identifier)?.scopes ?? []
        for (const scope of left.filter((one) => apiScopes.includes(one) && knows.includes(one)))
          expect(granted?.[identifier]).toContain(scope)
      }
      // A token for no resource comes from an authorization for no resource only.
      expect(resources.length > 0).toBe(granted !== undefined)
      expect(scopes).toEqual(expect.arrayContaining(left))
      const api = resources.length > 0 ? now.filter((one) => resources.includes(one.identifier)) : undefined
      for (const scope of left.filter((one) => api && apiScopes.includes(one)))
        expect(api?.some((one) => one.scopes.includes(scope))).toBe(true)
    }),
  )
})

describe('the resource that a client means which names none (mcp 2)', () => {
  const shared: KnownResource = { ...notes, identifier: 'https://other.example.com', scopes: ['notes:read'] }

  test.each([
    ['the only one that knows every scope', ['openid', 'files:read'], known, [files.identifier]],
    ['the only one of the server, without a scope', [], [notes], [notes.identifier]],
    ['the one that knows all of them', ['notes:read', 'notes:write'], [shared, notes], [notes.identifier]],
    ['none for the identity alone', ['openid', 'profile'], [notes], []],
    ['none for a scope of no resource', ['orders:read'], known, []],
    ['none without resources', [], [], []],
  ])('%s', (_what, scopes, resources, meant) => {
    expect(impliedResources(scopes, resources)).toEqual(meant)
  })

  test.each([
    ['a scope of two resources', ['notes:read'], [shared, notes]],
    ['scopes of one resource each', ['notes:read', 'files:read'], known],
    ['no scope at a server with two', [], known],
  ])('%s is refused', (_what, scopes, resources) => refused(() => impliedResources(scopes, resources)))
})
