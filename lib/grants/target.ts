import type { AuthorizationServer } from '../authorization-server.ts'
import type { Authorization } from '../protocol/authorization.ts'
import { narrowedDetails, parseAuthorizationDetails } from '../protocol/authorization-details.ts'
import { OAuthError } from '../protocol/errors.ts'
import { parseResources, tokenResources, tokenScopes } from '../protocol/resource.ts'
import type { TokenContext } from '../protocol/token-context.ts'
import type { TokenRequest } from '../protocol/token-request.ts'

/** What an access token is for. */
export interface TokenTarget {
  readonly scopes: readonly string[]
  /** Identifiers; empty for no resource. */
  readonly resources: readonly string[]
  /** What the token says beyond its authorization, if the request names a part of the details. */
  readonly context?: TokenContext
}

/** The resources that a token request names (RFC 8707 §2.2). A host without resources ignores the parameter. */
export const requestedResources = (
  server: AuthorizationServer,
  { parameters }: Pick<TokenRequest, 'parameters'>,
): string[] => {
  const known = server.resources
  return known.length > 0 ? parseResources(parameters.all('resource'), known) : []
}

/**
 * The authorization details that a token request names (RFC 9396 §6). A host without types ignores the parameter.
 *
 * @throws OAuthError `invalid_authorization_details` for an object that was not granted
 */
const requestedPart = (
  { options }: AuthorizationServer,
  { parameters }: Pick<TokenRequest, 'parameters'>,
  { authorizationDetails: granted = [] }: Pick<Authorization['details'], 'authorizationDetails'>,
): { context?: TokenContext } => {
  const isOn = Object.keys(options.authorizationDetails).length > 0
  const json = isOn ? parameters.optional('authorization_details') : undefined
  if (json === undefined) return {}
  return { context: { authorization_details: narrowedDetails(parseAuthorizationDetails(json), granted) } }
}

/**
 * The target of an access token for an authorization: the resources that the request names, or all of the authorization,
 * and the scopes that these know.
 *
 * @param scopes of the authorization, or those among them that the request names
 * @throws OAuthError `invalid_target` for a resource that was not granted, `invalid_scope` if no scope is left,
 *   `invalid_authorization_details` for details that were not granted
 */
export const targetOf = (
  server: AuthorizationServer,
  request: Pick<TokenRequest, 'parameters'>,
  { details }: Pick<Authorization, 'details'>,
  scopes: readonly string[],
): TokenTarget => {
  const known = server.resources
  const resources = tokenResources(requestedResources(server, request), details.resources, known)
  const part = requestedPart(server, request, details)
  if (resources.length === 0) return { scopes, resources, ...part }
  const left = tokenScopes(scopes, resources, details.resources, known)
  if (left.length === 0 && request.parameters.has('scope')) {
    throw new OAuthError('invalid_scope', 'scope includes no scope of the requested resource')
  }
  return { scopes: left, resources, ...part }
}
