import { supportedResponseTypes } from '../../oauth/authorization/incoming-request.ts'
import type { ServerSetup } from '../../oauth/authorization-server.ts'
import { clientAuthMethodsOf } from '../../oauth/client-authentication/index.ts'
import { metadataFields } from '../../oauth/extension-point.ts'
import { grantsOf } from '../../oauth/grants/index.ts'
import { knownScopes } from '../../options/scopes.ts'
import { claimNames, withSuppliedClaims } from '../../protocol/claims.ts'
import { clientAssertionAlgorithms } from '../../protocol/clients/client-assertion.ts'
import { signingAlgorithms } from '../../protocol/clients/client-metadata.ts'
import { profileAlgorithms, profileAuthMethods } from '../../protocol/clients/security-profile.ts'
import { responseModes } from '../../protocol/errors.ts'
import { promptValues } from '../../protocol/requests/authorization-request.ts'
import { requestObjectAlgorithms } from '../../protocol/requests/request-object.ts'
import { proofAlgorithms } from '../../protocol/tokens/dpop-proof.ts'
import type { Incoming } from '../http/context.ts'
import type { Endpoint } from '../http/endpoint.ts'
import { pathOf } from '../http/route.ts'
import { type JsonDocument, jsonDocument, sendJsonDocument } from '../http/send.ts'

/** The URLs of the published endpoints, by metadata field. */
const endpointUrls = ({
  issuer,
  endpoints,
}: Pick<ServerSetup, 'issuer' | 'endpoints'>): Record<string, string> =>
  Object.fromEntries(
    endpoints.flatMap(({ path, metadataName }) => (metadataName ? [[metadataName, `${issuer}${path}`]] : [])),
  )

/** The metadata for clients with certificates (RFC 8705 §3.3, §5). */
const mutualTlsMetadata = ({ options, endpoints }: ServerSetup): Record<string, unknown> => {
  const { mutualTls } = options.protocol
  if (mutualTls === undefined) return {}
  const { url } = mutualTls
  const called = endpoints.filter(
    ({ authenticatesClient, path }) => authenticatesClient || path === '/userinfo',
  )
  return {
    tls_client_certificate_bound_access_tokens: true,
    ...(url !== undefined && { mtls_endpoint_aliases: endpointUrls({ issuer: url, endpoints: called }) }),
  }
}

/** The abilities of this server, from the lists that do the work (RFC 8414 §2, OIDC Discovery §3, RFC 9207 §3). */
const metadataOf = (server: ServerSetup): Record<string, unknown> => {
  const { issuer, options } = server
  const scopes = withSuppliedClaims(knownScopes(options), server.scopeClaims, server.users.claimNames)
  const resources = Object.keys(options.resources)
  const detailTypes = Object.keys(options.protocol.authorizationDetails)
  const { requestObjects } = options.protocol
  const profile = options.protocol.fapi2 ? { security_profile: 'fapi2' as const } : {}
  const assertionAlgorithms = profileAlgorithms(profile, clientAssertionAlgorithms)
  const ownAlgorithms = profileAlgorithms(profile, signingAlgorithms)
  const authMethods = profileAuthMethods(
    profile,
    clientAuthMethodsOf(server).map((method) => method.name),
  )
  return {
    issuer,
    ...endpointUrls(server),
    scopes_supported: scopes,
    response_types_supported: supportedResponseTypes(server),
    response_modes_supported: responseModes,
    grant_types_supported: [
      ...grantsOf(server).map((grant) => grant.grantType),
      ...(options.protocol.implicit ? ['implicit'] : []),
    ],
    token_endpoint_auth_methods_supported: authMethods,
    token_endpoint_auth_signing_alg_values_supported: assertionAlgorithms,
    revocation_endpoint_auth_methods_supported: authMethods,
    revocation_endpoint_auth_signing_alg_values_supported: assertionAlgorithms,
    // A public client cannot prove its identity.
    introspection_endpoint_auth_methods_supported: authMethods.filter((name) => name !== 'none'),
    introspection_endpoint_auth_signing_alg_values_supported: assertionAlgorithms,
    // Every client may use S256. Only clients that the host registered may use plain, and who wrote them knows that.
    code_challenge_methods_supported: options.codeChallengeMethods.filter(
      (name) => name === 'S256' || options.codeChallengeMethods.length === 1,
    ),
    ...(options.acrValues.length > 0 && { acr_values_supported: options.acrValues }),
    subject_types_supported: ['public', 'pairwise'],
    id_token_signing_alg_values_supported: ownAlgorithms,
    userinfo_signing_alg_values_supported: ownAlgorithms,
    authorization_signing_alg_values_supported: ownAlgorithms,
    claim_types_supported: ['normal'],
    claims_supported: [
      'iss',
      'sub',
      'aud',
      'exp',
      'iat',
      'auth_time',
      'nonce',
      'amr',
      'sid',
      'at_hash',
      ...(options.protocol.implicit ? ['c_hash'] : []),
      ...(options.acrValues.length > 0 ? ['acr'] : []),
      ...new Set([...claimNames(scopes, server.scopeClaims), ...(options.organizations ? ['org_id'] : [])]),
    ],
    prompt_values_supported: promptValues,
    ui_locales_supported: server.languages.tags,
    authorization_response_iss_parameter_supported: true,
    backchannel_logout_supported: true,
    backchannel_logout_session_supported: true,
    ...(options.protocol.frontChannelLogout && {
      frontchannel_logout_supported: true,
      frontchannel_logout_session_supported: true,
    }),
    claims_parameter_supported: true,
    // RFC 9396 §10.
    ...(detailTypes.length > 0 && { authorization_details_types_supported: detailTypes }),
    // RFC 9728 §4.
    ...(resources.length > 0 && { protected_resources: resources }),
    request_parameter_supported: requestObjects,
    request_uri_parameter_supported: requestObjects,
    require_request_uri_registration: requestObjects,
    ...(requestObjects && {
      request_object_signing_alg_values_supported: profileAlgorithms(profile, requestObjectAlgorithms),
    }),
    ...mutualTlsMetadata(server),
    ...(options.protocol.dpop && {
      dpop_signing_alg_values_supported: profileAlgorithms(profile, proofAlgorithms),
    }),
    ...Object.assign({}, ...server.added(metadataFields)),
  }
}

/** Where clients look for the metadata: RFC 8414 §3, OIDC Discovery §4. */
export const wellKnownNames = ['openid-configuration', 'oauth-authorization-server']

/** Both discovery documents, which are the same, serialised once. */
export const createDiscoveryEndpoints = (): Endpoint<Incoming>[] => {
  let document: JsonDocument | undefined
  const discovery = ({ server, req, res, info }: Incoming): void => {
    server.observe?.({ kind: 'document', info, path: pathOf(req), isServed: true })
    document ??= jsonDocument(metadataOf(server))
    sendJsonDocument(res, document, 300)
  }
  return wellKnownNames.map((name) => ({
    path: `/.well-known/${name}`,
    cors: true,
    methods: { GET: discovery },
  }))
}
