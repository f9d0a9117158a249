import { parseClientMetadata } from '../../lib/protocol/clients/client-metadata.ts'

const jwks = { keys: [{ kty: 'EC', crv: 'P-256', x: 'x'.repeat(43), y: 'y'.repeat(43) }] }
const client = {
  security_profile: 'fapi2',
  token_endpoint_auth_method: 'private_key_jwt',
  jwks,
  dpop_bound_access_tokens: true,
  redirect_uris: ['https://bank.example.com/callback'],
}

test('a client of the profile has what the profile requires', () => {
  expect(parseClientMetadata(client)).toMatchObject({
    require_issuer_audience: true,
    require_pushed_authorization_requests: true,
    require_pkce: true,
    refresh_token_rotation: false,
    id_token_signed_response_alg: 'PS256',
  })
})

const subject = { token_endpoint_auth_method: 'tls_client_auth', tls_client_auth_san_dns: 'bank.example.com' }
test.each<[string, object]>([
  [
    'certificates for both',
    { ...subject, dpop_bound_access_tokens: false, tls_client_certificate_bound_access_tokens: true },
  ],
  ['a certificate and DPoP', subject],
  [
    'a redirect URI on a native loopback address',
    { application_type: 'native', redirect_uris: ['http://127.0.0.1/callback'] },
  ],
  ['nothing but introspection', { grant_types: [], redirect_uris: [], dpop_bound_access_tokens: false }],
  [
    'other algorithms of the profile',
    { id_token_signed_response_alg: 'EdDSA', userinfo_signed_response_alg: 'ES256' },
  ],
])('it may have %s', (_what, metadata) => {
  expect(parseClientMetadata({ ...client, ...metadata })).toMatchObject(metadata)
})

test.each<[section: string, says: string, metadata: object]>([
  ['5.3.2.1', 'token_endpoint_auth_method must be', { token_endpoint_auth_method: 'client_secret_basic' }],
  ['5.3.2.1', 'token_endpoint_auth_method must be', { token_endpoint_auth_method: undefined }],
  ['5.3.2.1', 'must be true', { dpop_bound_access_tokens: false }],
  ['5.3.2.1', 'require_issuer_audience', { require_issuer_audience: false }],
  ['5.3.2.1', 'refresh_token_rotation must be false', { refresh_token_rotation: true }],
  [
    '5.3.2.2',
    'response_types',
    { response_types: ['code', 'code id_token'], grant_types: ['authorization_code', 'implicit'] },
  ],
  ['5.3.2.2', 'grant_types', { grant_types: ['authorization_code', 'implicit'] }],
  ['5.3.2.2', 'require_pushed', { require_pushed_authorization_requests: false }],
  ['5.3.2.2', 'require_pkce', { require_pkce: false }],
  ['5.3.2.2', 'redirect_uris', { redirect_uris: ['http://127.0.0.1/callback'] }],
  ['5.4.1', 'token_endpoint_auth_signing_alg', { token_endpoint_auth_signing_alg: 'RS256' }],
  ['5.4.1', 'request_object_signing_alg', { request_object_signing_alg: 'none' }],
  ['5.4.1', 'id_token_signed_response_alg', { id_token_signed_response_alg: 'RS256' }],
  ['5.4.1', 'userinfo_signed_response_alg', { userinfo_signed_response_alg: 'RS256' }],
  ['5.4.1', 'authorization_signed_response_alg', { authorization_signed_response_alg: 'RS256' }],
])('§%s refuses: %s %j', (section, says, metadata) => {
  const parse = () => parseClientMetadata({ ...client, ...metadata })
  expect(parse).toThrow(says)
  expect(parse).toThrow(`(FAPI 2.0 Security Profile §${section})`)
})
