import {
  type ClientMetadata,
  clientMetadataNames,
  parseClientMetadata,
} from '../../lib/protocol/clients/client-metadata.ts'
import { OAuthError } from '../../lib/protocol/errors.ts'
import { fc } from '../support/property.ts'

const refused = (description: string, code = 'invalid_client_metadata'): Error =>
  expect.objectContaining({ code, message: expect.stringContaining(description) })
const redirect_uris = ['https://app.example.com/cb']
const parse = (metadata: Record<string, unknown>): ClientMetadata =>
  parseClientMetadata({ redirect_uris, ...metadata })

test('the plainest seed gets the defaults of a seeded client', () => {
  expect(parseClientMetadata({ redirect_uris })).toMatchObject({
    redirect_uris,
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    id_token_signed_response_alg: 'RS256',
    first_party: false,
    require_pkce: false,
    id_token_scope_claims: true,
    refresh_token_rotation: true,
  })
})

test('a confidential client that names no method has none, so Basic and the form body both work', () => {
  expect(parse({})).not.toHaveProperty('token_endpoint_auth_method')
})

test.each(clientMetadataNames)('%s keeps no character that a database cannot store or find (M19)', (name) => {
  const key = { kty: 'EC', crv: 'P-256', x: 'x', y: 'y', kid: 'a\u0000' }
  for (const text of ['a\u0000', 'urn:a:\u0000', 'https://a.example/\u0000', 'a\ud800', '\u009f'])
    for (const value of [text, [text], { keys: [{ ...key, kid: text }] }, { [text]: [[text]] }])
      expect(() => parse({ [name]: value })).toThrow(OAuthError)
})

test('absent, undefined and null are the same', () => {
  const nothing = Object.fromEntries(
    clientMetadataNames
      .filter((name) => name !== 'redirect_uris')
      .map((name, index) => [name, index % 2 ? null : undefined]),
  )
  expect(parse(nothing)).toEqual(parse({}))
})

test.each([
  ['token_endpoint_auth_method', 'client_secret_basic'],
  ['token_endpoint_auth_method', 'none'],
  ['application_type', 'native'],
  ['grant_types', ['client_credentials']],
  ['client_name', 'Ada’s Journal — 日記'],
  ['client_name', 'x'.repeat(255)],
  ['client_name', 'می\u200cخواهم 👩\u200d💻 ❤\ufe0f'],
  ['client_uri', 'http://localhost:3000/about'],
  ['logo_uri', 'https://app.example.com/logo.svg?v=2'],
  ['policy_uri', 'https://app.example.com/pol%C3%ADtica#part'],
  ['tos_uri', `https://app.example.com/${'x'.repeat(2048 - 24)}`],
  ['scope', 'openid orders:read'],
  ['contacts', ['ada@example.com']],
  ['id_token_signed_response_alg', 'ES256'],
  ['default_max_age', 0],
  ['first_party', true],
  ['require_pkce', true],
  ['id_token_scope_claims', false],
  ['refresh_token_rotation', false],
  ['access_token_lifetime', 1],
  ['refresh_token_absolute_lifetime', 86_400],
])('%s may be %j', (name, value) => {
  expect(parse({ [name]: value })).toEqual({ ...parse({}), [name]: value })
})

test('lists lose repeats, scope its spare spaces', () => {
  expect(parse({ redirect_uris: [...redirect_uris, ...redirect_uris] }).redirect_uris).toEqual(redirect_uris)
  expect(parse({ grant_types: ['refresh_token', 'refresh_token'] }).grant_types).toEqual(['refresh_token'])
  expect(parse({ scope: ' openid  email openid' }).scope).toBe('openid email')
})

describe('refused is', () => {
  test.each([
    ['an unknown method', 'token_endpoint_auth_method', 'client_secret_jwt', 'one of client_secret_basic'],
    ['a method in a list', 'token_endpoint_auth_method', ['none'], 'one of'],
    ['a method that is a property name', 'token_endpoint_auth_method', 'constructor', 'one of'],
    ['a grant that does not exist', 'grant_types', ['magic'], 'grant_types must be one of'],
    ['the password grant', 'grant_types', ['authorization_code', 'password'], 'grant_types must be one of'],
    ['a list within the list', 'grant_types', [['authorization_code']], 'array of strings'],
    ['a response type that does not exist', 'response_types', ['secret'], 'response_types must be one of'],
    ['an empty name', 'client_name', '', 'client_name must be a string'],
    ['a name of spaces', 'client_name', ' \u2003 ', 'client_name must be a string'],
    ['a name of 256 characters', 'client_name', 'x'.repeat(256), '255 characters'],
    ['a name that is an object', 'client_name', { toString: 'x' }, 'client_name must be a string'],
    ['a name with NUL', 'client_name', 'a\0b', 'control'],
    ['a name with a right-to-left override', 'client_name', 'moc.\u202eknab', 'direction'],
    ['a name with a pop of isolation', 'client_name', 'a\u2069b', 'direction'],
    ['a name with a left-to-right mark', 'client_name', 'a\u200eb', 'direction'],
    ['a name of Hangul fillers', 'client_name', '\u3164\u3164', 'invisible'],
    ['a name of combining marks', 'client_name', '\u0301', 'invisible'],
    ['a name with a zero-width space', 'client_name', 'Latch\u200bkey', 'invisible'],
    ['a name with a line separator', 'client_name', 'a\u2028b', 'invisible'],
    ['a name with half a character', 'client_name', 'a\ud800', 'invisible'],
    ['a name that is invisible in one language', 'client_name#de', '\u2060', 'invisible'],
    ['a type of application that does not exist', 'application_type', 'browser', 'one of web, native'],
    ['a link that is no URL', 'policy_uri', 'privacy', 'policy_uri must be an https URL'],
    ['a link over http', 'tos_uri', 'http://app.example.com', 'tos_uri must be an https URL'],
    ['a javascript link', 'client_uri', 'javascript:alert(1)', 'client_uri must be an https URL'],
    [
      'a link that reads as another host',
      'policy_uri',
      'https://bank.example@evil.example/',
      'user information',
    ],
    ['a link with an empty user', 'policy_uri', 'https://:x@evil.example/', 'user information'],
    ['a link with backslashes', 'policy_uri', 'https:\\\\app.example.com', 'https URL'],
    ['a link on a host that is not ASCII', 'policy_uri', 'https://аpp.example.com', 'https URL'],
    [
      'a link of 2,049 characters',
      'tos_uri',
      `https://app.example.com/${'x'.repeat(2049 - 24)}`,
      'https URL',
    ],
    ['a link in a list', 'tos_uri', ['https://app.example.com'], 'https URL'],
    ['a scope outside the grammar', 'scope', 'open"id', 'scope has characters'],
    ['a scope in a list', 'scope', ['openid'], 'space-separated'],
    ['contacts that are no list', 'contacts', 'ada@example.com', 'array of strings'],
    ['a contact that is not a string', 'contacts', ['ada@example.com', 5], 'array of strings'],
    ['an unsigned ID token', 'id_token_signed_response_alg', 'none', 'one of RS256'],
    ['UserInfo that is not signed', 'userinfo_signed_response_alg', 'none', 'one of RS256'],
    ['an assertion signed with the secret', 'token_endpoint_auth_signing_alg', 'HS256', 'one of RS256'],
    ['a subject type that does not exist', 'subject_type', 'ephemeral', 'one of public'],
    ['a negative age', 'default_max_age', -1, 'whole number'],
    ['an age with a fraction', 'default_max_age', 1.5, 'whole number'],
    ['an age beyond counting', 'default_max_age', 2 ** 53, 'whole number'],
    ['a response mode that does not exist', 'response_modes', ['web_message'], 'one of query'],
    ['no response mode', 'response_modes', [], 'must not be empty'],
    ['a lifetime of 0', 'access_token_lifetime', 0, 'above 0'],
    ['a lifetime that is no number', 'id_token_lifetime', Number.NaN, 'above 0'],
    ['first_party in words', 'first_party', 'true', 'true or false'],
    ['a rotation in words', 'refresh_token_rotation', 'no', 'true or false'],
    ['id_token_scope_claims as a list', 'id_token_scope_claims', [], 'true or false'],
    [
      'an unknown name',
      'redirect_uri',
      'https://app.example.com/cb',
      'redirect_uri is not client metadata; did you mean redirect_uris?',
    ],
    [
      'a name in camel case',
      'clientName',
      'x',
      'clientName is not client metadata; did you mean client_name?',
    ],
    ['a name that every object has', 'constructor', {}, 'constructor is not client metadata'],
  ])('%s', (_case, name, value, description) => {
    expect(() => parse({ [name]: value })).toThrow(refused(description))
  })

  test('__proto__ in JSON, and no prototype is changed', () => {
    const hostile = JSON.parse(
      '{"redirect_uris":["https://app.example.com/cb"],"__proto__":{"first_party":true}}',
    )
    expect(() => parseClientMetadata(hostile)).toThrow(refused('__proto__ is not client metadata'))
    expect({}).not.toHaveProperty('first_party')
  })

  test('what an object inherits is not read', () => {
    const heir = Object.assign(Object.create({ first_party: true }), { redirect_uris })
    expect(parseClientMetadata(heir).first_party).toBe(false)
  })

  test.each([[null], [undefined], ['redirect_uris'], [7], [true], [[redirect_uris]]])(
    '%j instead of an object',
    (input) => {
      expect(() => parseClientMetadata(input as never)).toThrow(refused(''))
    },
  )
})

describe('redirect_uris', () => {
  test.each([[[]], [undefined]])('are required with the code grant: %j', (uris) => {
    expect(() => parseClientMetadata({ redirect_uris: uris })).toThrow(refused('redirect_uris is required'))
  })

  test('are not required without the code grant', () => {
    expect(parseClientMetadata({ grant_types: ['client_credentials'] }).redirect_uris).toEqual([])
  })

  test.each([
    ['a string', 'https://app.example.com/cb'],
    ['a list with a number', ['https://app.example.com/cb', 5]],
    ['an object that looks like a list', { 0: 'https://app.example.com/cb', length: 1 }],
  ])('must be an array of strings, not %s', (_case, uris) => {
    expect(() => parse({ redirect_uris: uris })).toThrow(refused('redirect_uris must be an array of strings'))
  })

  test('are each checked by the registration rules (RFC 7591 §3.2.2)', () => {
    expect(() => parse({ redirect_uris: [...redirect_uris, 'http://app.example.com/cb'] })).toThrow(
      refused('https', 'invalid_redirect_uri'),
    )
  })

  test('may be 50 and no more', () => {
    const uris = (count: number): string[] =>
      Array.from({ length: count }, (_, index) => `https://app.example.com/${index}`)
    expect(parse({ redirect_uris: uris(50) }).redirect_uris).toHaveLength(50)
    expect(() => parse({ redirect_uris: uris(51) })).toThrow(refused('50'))
  })
})

test('a public client cannot have client credentials (RFC 6749 §4.4)', () => {
  const client = { token_endpoint_auth_method: 'none', grant_types: ['client_credentials'] }
  expect(() => parse(client)).toThrow(refused('public client'))
})

test.each<[string, string, unknown, string]>([
  ['without a subject', 'tls_client_auth_subject_dn', undefined, 'exactly one of tls_client_auth_subject_dn'],
  ['with a name of no type', 'tls_client_auth_subject_dn', 'shop', 'distinguished name'],
  ['with an empty name', 'tls_client_auth_subject_dn', '', 'distinguished name'],
  ['with a name that ends early', 'tls_client_auth_subject_dn', 'CN=shop,', 'distinguished name'],
  ['with a quoted name', 'tls_client_auth_subject_dn', 'CN="shop"', 'distinguished name'],
  ['with a wildcard', 'tls_client_auth_san_dns', '*.example.com', 'without a wildcard'],
  ['with all hosts of a domain', 'tls_client_auth_san_dns', '.example.com', 'without a wildcard'],
  ['with a relative URI', 'tls_client_auth_san_uri', '/shop', 'absolute URI'],
  ['with a network', 'tls_client_auth_san_ip', '10.0.0.0/8', 'IP address'],
  ['with a domain', 'tls_client_auth_san_email', 'example.com', 'e-mail address'],
])('a client with tls_client_auth is refused %s', (_what, name, value, description) => {
  const method = { token_endpoint_auth_method: 'tls_client_auth' }
  expect(() => parse({ ...method, [name]: value })).toThrow(refused(description))
})

test('a client has one subject for its certificates, and only with tls_client_auth', () => {
  const subject = { tls_client_auth_san_dns: 'shop.example.com' }
  const method = { token_endpoint_auth_method: 'tls_client_auth' }
  expect(parse({ ...subject, ...method })).toMatchObject(subject)
  const two = { ...subject, tls_client_auth_san_ip: '10.0.0.1' }
  for (const metadata of [{ ...two, ...method }, subject])
    expect(() => parse(metadata)).toThrow(refused('exactly one of'))
  expect(() => parse({ token_endpoint_auth_method: 'self_signed_tls_client_auth' })).toThrow(
    refused('jwks or jwks_uri is required with self_signed_tls_client_auth'),
  )
})

test('refresh tokens of a public client rotate (RFC 9700 §4.14.2)', () => {
  const client = { token_endpoint_auth_method: 'none', refresh_token_rotation: false }
  expect(() => parse(client)).toThrow(refused('refresh_token_rotation must not be false'))
})

test('front-channel response types need the implicit grant', () => {
  expect(() => parse({ response_types: ['token'] })).toThrow(refused('implicit'))
  const types = { response_types: ['token id_token'], grant_types: ['implicit'] }
  expect(parse(types).response_types).toEqual(['id_token token'])
  expect(() => parse({ ...types, redirect_uris: [] })).toThrow(refused('redirect_uris is required'))
})

test('response modes must be enough for the response types', () => {
  const token = { response_types: ['token'], grant_types: ['implicit'] }
  expect(parse({ response_modes: ['query', 'query'] }).response_modes).toEqual(['query'])
  expect(() => parse({ ...token, response_modes: ['query'] })).toThrow(refused('fragment or form_post'))
  expect(parse({ ...token, response_modes: ['query', 'fragment'] })).toHaveProperty('response_modes')
})

test('any JSON gives metadata that parses to itself, or an OAuthError of registration', () => {
  const value = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom<unknown>('none', 'code', 'openid', ['authorization_code'], redirect_uris, true, 60),
  )
  const input = fc.oneof(
    fc.jsonValue(),
    fc.dictionary(
      fc.oneof(fc.constantFrom(...clientMetadataNames, '__proto__', 'constructor'), fc.string()),
      value,
    ),
    fc.record(Object.fromEntries(clientMetadataNames.map((name) => [name, value])), { requiredKeys: [] }),
    fc
      .tuple(fc.constantFrom(...clientMetadataNames), value)
      .map(([name, one]) => ({ redirect_uris, [name]: one })),
  )
  fc.assert(
    fc.property(input, (metadata) => {
      try {
        const parsed = parseClientMetadata(JSON.parse(JSON.stringify(metadata)))
        expect(parseClientMetadata(JSON.parse(JSON.stringify(parsed)))).toEqual(parsed)
      } catch (error) {
        if (!(error instanceof OAuthError)) throw error
        expect(error.code).toMatch(/^invalid_(client_metadata|redirect_uri)$/)
      }
    }),
    { numRuns: 2000 },
  )
})

test.each(['dpop_bound_access_tokens', 'tls_client_certificate_bound_access_tokens'])(
  'with %s, no access token is returned in the front channel, and none is bound twice',
  (name) => {
    const front = {
      grant_types: ['authorization_code', 'implicit'],
      response_types: ['code', 'id_token token'],
    }
    expect(() => parse({ ...front, [name]: true })).toThrow(refused('front channel'))
    const both = { dpop_bound_access_tokens: true, tls_client_certificate_bound_access_tokens: true }
    expect(() => parse(both)).toThrow(refused('dpop_bound_access_tokens must not be true with'))
  },
)
