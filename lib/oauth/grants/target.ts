import { refusal } from '../../protocol/refusal.ts'
import type { AuthorizationState } from '../../protocol/requests/authorization.ts'
import {
  type AuthorizationDetail,
  narrowedDetails,
  parseAuthorizationDetails,
} from '../../protocol/requests/authorization-details.ts'
import { maxValuesOf, narrowedChoices, parseChoiceDetails } from '../../protocol/requests/choice-details.ts'
import { parseResources, tokenResources, tokenScopes } from '../../protocol/requests/resource.ts'
import type { TokenContext } from '../../protocol/tokens/token-context.ts'
import type { TokenRequest } from '../../protocol/tokens/token-request.ts'
import type { AuthorizationServer } from '../authorization-server.ts'

/** The scopes and resources of an access token. */
export interface TokenTarget {
  readonly scopes: readonly string[]
  /** Identifiers; empty for no resource. */
  readonly resources: readonly string[]
  /** Contents of the token beyond its authorization, if the request names a part of the details. */
  readonly context?: TokenContext
}

/** The resources that a token request names (RFC 8707 §2.2). A host without resources ignores the parameter. */
export const requestedResources = (
  server: AuthorizationServer,
  { parameters }: Pick<TokenRequest, 'parameters'>,
): string[] => {
  const hostResources = server.resources
  return hostResources.length > 0 ? parseResources(parameters.all('resource'), hostResources) : []
}

/**
 * The authorization details that a token request names among those that were granted (RFC 9396 §6); undefined if it names
 * none. A host without types ignores the parameter.
 *
 * @throws OAuthError `invalid_authorization_details` for an object that was not granted
 */
export const partOf = (
  server: AuthorizationServer,
  request: Pick<TokenRequest, 'parameters'>,
  granted: readonly AuthorizationDetail[],
): readonly AuthorizationDetail[] | undefined => {
  const requested = detailsOf(server, request)
  return requested && narrowedDetails(requested, granted)
}

/** The parameter `authorization_details`; undefined if it is absent, or if the host knows no types. */
const detailsOf = (
  { options: { protocol, choices } }: AuthorizationServer,
  { parameters }: Pick<TokenRequest, 'parameters'>,
): readonly AuthorizationDetail[] | undefined => {
  const isOn = Object.keys(protocol.authorizationDetails).length > 0 || choices.length > 0
  const json = isOn ? parameters.optional('authorization_details') : undefined
  return json === undefined ? undefined : parseAuthorizationDetails(json, maxValuesOf(choices))
}

/**
 * The part of an authorization that a token request names: objects, and things that the user chose.
 *
 * @throws OAuthError `invalid_authorization_details` for what was not granted
 */
const contextOf = (
  server: AuthorizationServer,
  request: Pick<TokenRequest, 'parameters'>,
  { details, choices: chosen }: Pick<AuthorizationState, 'details' | 'choices'>,
  scopes: readonly string[],
): TokenContext | undefined => {
  const requested = detailsOf(server, request)
  if (requested === undefined) return undefined
  const { choices, others } = parseChoiceDetails(server.options.choices, requested, scopes)
  return {
    authorization_details: narrowedDetails(others, details.authorizationDetails ?? []),
    ...(chosen && { choices: narrowedChoices(choices, chosen) }),
  }
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
  authorization: Pick<AuthorizationState, 'details' | 'choices'>,
  scopes: readonly string[],
): TokenTarget => {
  const { details } = authorization
  const hostResources = server.resources
  const resources = tokenResources(requestedResources(server, request), details.resources, hostResources)
  const context = contextOf(server, request, authorization, scopes)
  if (resources.length === 0) return { scopes, resources, context }
  const left = tokenScopes(scopes, resources, details.resources, hostResources)
  if (left.length === 0 && request.parameters.has('scope')) {
    throw refusal('scope_of_other_resource')
  }
  return { scopes: left, resources, context }
}
