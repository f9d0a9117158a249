import { refusal } from '../refusal.ts'
import { narrowedScopes } from '../scope.ts'

/** The name of a grant that a host defines: an absolute URI (RFC 6749 §4.5). */
export type DefinedGrantType = `${string}:${string}`

/** Names of this registry are for grants of the IETF. */
const registered = 'urn:ietf:params:oauth:'

// RFC 3986 §4.3: a scheme and characters of URIs, without a fragment.
const absoluteUri = /^[a-z][a-z0-9+.-]*:[\x21\x24-\x3b\x3d\x3f-\x5b\x5d\x5f\x61-\x7a\x7e]+$/i

/**
 * Whether a name is one that a host may give its own grant: an absolute URI outside the IETF's registry.
 *
 * @example isDefinedGrantType('urn:example:grant-type:pin') // true
 */
export const isDefinedGrantType = (name: string): name is DefinedGrantType =>
  name.length <= 255 && absoluteUri.test(name) && !name.toLowerCase().startsWith(registered)

/**
 * The resources of a token: those that the request names, or else all that the host granted.
 *
 * @throws OAuthError `invalid_target` for one that the host did not grant
 */
export const definedResources = (
  requested: readonly string[],
  granted: readonly string[] | undefined,
): readonly string[] => {
  if (granted === undefined) return requested
  if (!requested.every((resource) => granted.includes(resource))) {
    throw refusal('resource_not_of_grant')
  }
  return requested.length > 0 ? requested : granted
}

/**
 * The scopes of a token: those that the request names, or else all that the host granted and the client may have.
 *
 * @param requested of the request
 * @param granted by the host
 * @param allowed to the client, and known to the resources
 * @throws OAuthError `invalid_scope` for one that was not granted, or that the client may not have
 */
export const definedScopes = (
  requested: readonly string[],
  granted: readonly string[],
  allowed: readonly string[],
): readonly string[] =>
  narrowedScopes(
    requested,
    granted.filter((scope) => allowed.includes(scope)),
  )
