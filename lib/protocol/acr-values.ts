import type { AuthorizationRequest } from './authorization-request.ts'
import type { RequestedAcr } from './claims-request.ts'
import { OAuthError } from './errors.ts'

type Levels = Pick<AuthorizationRequest, 'acrValues' | 'acrIsVoluntary'>

/**
 * The authentication levels that the login should have. RFC 9470 §5 makes those of `acr_values` required, and OIDC Core
 * §5.5.1.1 those of an essential claim; those of a voluntary claim are asked for, but the user may not reach them. Without
 * declared levels only an essential claim has an effect.
 *
 * @param parameter `acr_values`, separated by spaces; without it and the claim, the client's `default_acr_values`
 * @param claim what the parameter `claims` says about `acr`, which comes first
 * @param supported the option `acrValues`
 * @returns nothing if the request names no level
 * @throws OAuthError `unmet_authentication_requirements` if no requested level is supported
 */
export const requestedLevels = (
  parameter: string | undefined,
  claim: RequestedAcr | undefined,
  supported: readonly string[],
): Levels => {
  const requested = claim?.values ?? parameter?.split(' ').filter((value) => value !== '') ?? []
  const levels = supported.filter((level) => requested.includes(level))
  // With both, OIDC Core leaves open what counts; RFC 9470 does not.
  const isVoluntary = claim?.essential === false && parameter === undefined
  if (levels.length > 0) return { acrValues: levels, ...(isVoluntary && { acrIsVoluntary: true }) }
  if (requested.length > 0 && !isVoluntary && (supported.length > 0 || claim?.essential)) {
    throw new OAuthError('unmet_authentication_requirements', 'acr_values has no level that is supported')
  }
  return {}
}

/**
 * The request as it is to be decided: a voluntary level is no longer asked for once the user has come back from signing in,
 * or if nothing may be shown.
 */
export const withSettledLevel = (request: AuthorizationRequest, returned: boolean): AuthorizationRequest => {
  const { acrIsVoluntary, acrValues: _, ...withoutLevel } = request
  return acrIsVoluntary && (returned || request.prompt.includes('none')) ? withoutLevel : request
}
