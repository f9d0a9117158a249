import { createHash, randomBytes } from 'node:crypto'
import type { RequestHandler } from 'express'

// The documents of the ceiling have the headers and the content of Latchkey's: a load generator needs as long to read them.

const signingAlgorithms = ['RS256', 'PS256', 'ES256', 'EdDSA']
const assertionAlgorithms = [...signingAlgorithms, 'Ed25519']
const confidentialMethods = ['client_secret_basic', 'client_secret_post', 'private_key_jwt']
const authMethods = [...confidentialMethods, 'none']
const loginClaims = ['iss', 'sub', 'aud', 'exp', 'iat', 'auth_time', 'nonce', 'amr', 'sid', 'at_hash']
const profileClaims = [
  'name',
  'family_name',
  'given_name',
  'middle_name',
  'nickname',
  'preferred_username',
  'profile',
  'picture',
  'website',
  'gender',
  'birthdate',
  'zoneinfo',
  'locale',
  'updated_at',
  'email',
  'email_verified',
  'address',
  'phone_number',
  'phone_number_verified',
]

/** The metadata that Latchkey publishes with the options of the benchmark. */
export const metadataOf = (base: string): object => ({
  issuer: `${base}/oauth`,
  token_endpoint: `${base}/oauth/token`,
  userinfo_endpoint: `${base}/oauth/userinfo`,
  introspection_endpoint: `${base}/oauth/introspect`,
  revocation_endpoint: `${base}/oauth/revoke`,
  jwks_uri: `${base}/oauth/jwks`,
  // The load generator compares it with the address that it calls.
  authorization_endpoint: `${base}/authorize`,
  end_session_endpoint: `${base}/oauth/logout`,
  scopes_supported: ['openid', 'profile', 'email', 'address', 'phone', 'offline_access', 'notes:read'],
  response_types_supported: ['code'],
  response_modes_supported: [
    'query',
    'fragment',
    'form_post',
    'jwt',
    'query.jwt',
    'fragment.jwt',
    'form_post.jwt',
  ],
  grant_types_supported: ['authorization_code', 'refresh_token', 'client_credentials'],
  token_endpoint_auth_methods_supported: authMethods,
  token_endpoint_auth_signing_alg_values_supported: assertionAlgorithms,
  revocation_endpoint_auth_methods_supported: authMethods,
  revocation_endpoint_auth_signing_alg_values_supported: assertionAlgorithms,
  introspection_endpoint_auth_methods_supported: confidentialMethods,
  introspection_endpoint_auth_signing_alg_values_supported: assertionAlgorithms,
  code_challenge_methods_supported: ['S256', 'plain'],
  subject_types_supported: ['public', 'pairwise'],
  id_token_signing_alg_values_supported: signingAlgorithms,
  userinfo_signing_alg_values_supported: signingAlgorithms,
  authorization_signing_alg_values_supported: signingAlgorithms,
  claim_types_supported: ['normal'],
  claims_supported: [...loginClaims, ...profileClaims],
  prompt_values_supported: ['none', 'login', 'consent', 'select_account'],
  ui_locales_supported: ['en'],
  authorization_response_iss_parameter_supported: true,
  backchannel_logout_supported: true,
  backchannel_logout_session_supported: true,
  claims_parameter_supported: true,
  request_parameter_supported: false,
  request_uri_parameter_supported: false,
  require_request_uri_registration: false,
})

const random = (bytes: number): string => randomBytes(bytes).toString('base64url')

/** Two RSA keys, one for ES256 and one for EdDSA, as long as real ones. */
export const keySet = (): object => ({
  keys: [
    { kty: 'RSA', n: random(256), e: 'AQAB', kid: random(32), alg: 'RS256', use: 'sig' },
    { kty: 'RSA', n: random(256), e: 'AQAB', kid: random(32), alg: 'PS256', use: 'sig' },
    { kty: 'EC', x: random(32), y: random(32), crv: 'P-256', kid: random(32), alg: 'ES256', use: 'sig' },
    { kty: 'OKP', crv: 'Ed25519', x: random(32), kid: random(32), alg: 'EdDSA', use: 'sig' },
  ],
})

/** Sends a document that is serialised once. */
export const document = (content: object): RequestHandler => {
  const text = JSON.stringify(content)
  const headers = {
    'Access-Control-Allow-Origin': '*',
    'Access-Control-Expose-Headers': 'WWW-Authenticate',
    'Content-Type': 'application/json',
    'Cache-Control': 'public, max-age=300',
    'X-Content-Type-Options': 'nosniff',
    'Content-Security-Policy': "default-src 'none'",
    ETag: `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`,
  }
  return (_req, res) => void res.set(headers).send(text)
}
