import type { AuthorizationServer } from '../authorization-server.ts'
import { knownResources } from '../options/resources.ts'
import type { Authorization } from '../protocol/authorization.ts'
import { OAuthError } from '../protocol/errors.ts'
import { parseResources, tokenResources, tokenScopes } from '../protocol/resource.ts'
import type { TokenRequest } from '../protocol/token-request.ts'

/** What an access token is for. */
export interface TokenTarget {
  readonly scopes: readonly string[]
  /** Identifiers; empty for no resource. */
  readonly resources: readonly string[]
}

/** The resources that a token request names (RFC 8707 §2.2). A host without resources ignores the parameter. */
export const requestedResources = (
  server: AuthorizationServer,
  { parameters }: Pick<TokenRequest, 'parameters'>,
): string[] => {
  const known = knownResources(server)
  return known.length > 0 ? parseResources(parameters.all('resource'), known) : []
}

/**
 * The target of an access token for an authorization: the resources that the request names, or all of the authorization,
 * and the scopes that these know.
 *
 * @param scopes of the authorization, or those among them that the request names
 * @throws OAuthError `invalid_target` for a resource that was not granted, `invalid_scope` if no scope is left
 */
export const targetOf = (
  server: AuthorizationServer,
  request: Pick<TokenRequest, 'parameters'>,
  { details }: Pick<Authorization, 'details'>,
  scopes: readonly string[],
): TokenTarget => {
  const known = knownResources(server)
  const resources = tokenResources(requestedResources(server, request), details.resources, known)
  if (resources.length === 0) return { scopes, resources }
  const left = tokenScopes(scopes, resources, details.resources, known)
  if (left.length === 0 && request.parameters.has('scope')) {
    throw new OAuthError('invalid_scope', 'scope includes no scope of the requested resource')
  }
  return { scopes: left, resources }
}
