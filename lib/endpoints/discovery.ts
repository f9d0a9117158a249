import type { RequestHandler } from 'express'
import type { AuthorizationServer } from '../authorization-server.ts'
import { clientAuthMethods } from '../client-auth/index.ts'
import { grants } from '../grants/index.ts'
import { jsonDocument, sendJsonDocument } from '../http/send.ts'
import { knownScopes } from '../options/scopes.ts'
import { languagesOf } from '../pages/i18n/languages.ts'
import { promptValues } from '../protocol/authorization-request.ts'
import { claimNames } from '../protocol/claims.ts'
import { clientAssertionAlgorithms } from '../protocol/client-assertion.ts'
import { signingAlgorithms } from '../protocol/client-metadata.ts'
import { responseModes } from '../protocol/errors.ts'
import { supportedResponseTypes } from './authorize.ts'

/** What this server can do, read from the same lists that do it (RFC 8414 §2, OIDC Discovery §3, RFC 9207 §3). */
export const metadataOf = (server: AuthorizationServer): Record<string, unknown> => {
  const { issuer, options } = server
  const scopes = knownScopes(options)
  const authMethods = clientAuthMethods.map((method) => method.name)
  return {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    userinfo_endpoint: `${issuer}/userinfo`,
    jwks_uri: `${issuer}/jwks`,
    end_session_endpoint: `${issuer}/logout`,
    revocation_endpoint: `${issuer}/revoke`,
    introspection_endpoint: `${issuer}/introspect`,
    scopes_supported: scopes,
    response_types_supported: supportedResponseTypes(server),
    response_modes_supported: responseModes,
    grant_types_supported: [
      ...grants.map((grant) => grant.grantType),
      ...(options.features.implicit ? ['implicit'] : []),
    ],
    token_endpoint_auth_methods_supported: authMethods,
    token_endpoint_auth_signing_alg_values_supported: clientAssertionAlgorithms,
    revocation_endpoint_auth_methods_supported: authMethods,
    revocation_endpoint_auth_signing_alg_values_supported: clientAssertionAlgorithms,
    // A public client has nothing to prove who asks.
    introspection_endpoint_auth_methods_supported: authMethods.filter((name) => name !== 'none'),
    introspection_endpoint_auth_signing_alg_values_supported: clientAssertionAlgorithms,
    code_challenge_methods_supported: options.codeChallengeMethods,
    subject_types_supported: ['public', 'pairwise'],
    id_token_signing_alg_values_supported: signingAlgorithms,
    userinfo_signing_alg_values_supported: signingAlgorithms,
    claim_types_supported: ['normal'],
    claims_supported: [
      ...['iss', 'sub', 'aud', 'exp', 'iat', 'auth_time', 'nonce', 'amr', 'sid', 'at_hash'],
      ...(options.features.implicit ? ['c_hash'] : []),
      ...new Set([...claimNames(scopes, server.scopeClaims), ...(options.organizations ? ['org_id'] : [])]),
    ],
    prompt_values_supported: promptValues,
    ui_locales_supported: languagesOf(server).tags,
    authorization_response_iss_parameter_supported: true,
    backchannel_logout_supported: true,
    backchannel_logout_session_supported: true,
    claims_parameter_supported: true,
    request_parameter_supported: false,
    request_uri_parameter_supported: false,
    require_request_uri_registration: false,
  }
}

/** Both discovery documents are this one. */
export const discoveryEndpoint = (server: AuthorizationServer): RequestHandler => {
  const document = jsonDocument(metadataOf(server))
  return (_req, res) => sendJsonDocument(res, document, 300)
}
