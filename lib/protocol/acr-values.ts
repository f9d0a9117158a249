import type { RequestedAcr } from './claims-request.ts'
import { OAuthError } from './errors.ts'

/**
 * The authentication levels of which the login must have one. RFC 9470 §5 makes a requested level required. Without
 * declared levels only an essential claim is (OIDC Core §5.5.1.1), and `acr_values` has no effect.
 *
 * @param parameter `acr_values`, separated by spaces
 * @param claim what the parameter `claims` says about `acr`, which comes first
 * @param supported the option `acrValues`
 * @returns undefined if the request names no level
 * @throws OAuthError `unmet_authentication_requirements` if no requested level is supported
 */
export const requestedLevels = (
  parameter: string | undefined,
  claim: RequestedAcr | undefined,
  supported: readonly string[],
): readonly string[] | undefined => {
  const requested = claim?.values ?? parameter?.split(' ').filter((value) => value !== '') ?? []
  const levels = supported.filter((level) => requested.includes(level))
  if (levels.length > 0) return levels
  if (requested.length > 0 && (supported.length > 0 || claim?.essential)) {
    throw new OAuthError('unmet_authentication_requirements', 'acr_values has no level that is supported')
  }
  return undefined
}
