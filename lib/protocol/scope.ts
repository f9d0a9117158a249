import { OAuthError } from './errors.ts'

/** Scopes that OpenID Connect defines (OIDC Core §5.4, §11). */
export const standardScopes = ['openid', 'profile', 'email', 'address', 'phone', 'offline_access'] as const

// RFC 6749 §3.3: scope-token = 1*( %x21 / %x23-5B / %x5D-7E )
const scopeToken = /^[\x21\x23-\x5b\x5d-\x7e]+$/

/**
 * A scope parameter as a list without repeats, in the order given (RFC 6749 §3.3).
 *
 * @throws OAuthError `invalid_scope` on characters outside the grammar
 * @example parseScope('openid email') // ['openid', 'email']
 */
export const parseScope = (scope: string | undefined): string[] => {
  if (scope === undefined) return []
  const scopes = scope.split(' ').filter((value) => value !== '')
  if (!scopes.every((value) => scopeToken.test(value))) {
    throw new OAuthError('invalid_scope', 'scope holds characters that RFC 6749 does not allow')
  }
  return [...new Set(scopes)]
}

/** A list of scopes as the wire has it. */
export const formatScope = (scopes: readonly string[]): string => scopes.join(' ')

/** The scopes of the first list that the second has too, in the first one's order. */
export const intersectScopes = (scopes: readonly string[], allowed: readonly string[]): string[] =>
  scopes.filter((scope) => allowed.includes(scope))

/** Whether the first list asks for nothing beyond the second. */
export const isWithinScopes = (scopes: readonly string[], allowed: readonly string[]): boolean =>
  scopes.every((scope) => allowed.includes(scope))

/**
 * What a client gets of the scopes it asks for: unknown or not allowed ones are dropped.
 *
 * @throws OAuthError `invalid_scope` when something was asked for and nothing is left
 */
export const grantableScopes = (requested: readonly string[], allowed: readonly string[]): string[] => {
  const scopes = intersectScopes(requested, allowed)
  if (requested.length > 0 && scopes.length === 0) {
    throw new OAuthError('invalid_scope', 'scope holds nothing that this client may ask for')
  }
  return scopes
}

/**
 * Client credentials ask for what is registered, or for nothing to get all of it (RFC 6749 §4.4.2).
 * OpenID Connect's scopes speak of a user and are left out.
 *
 * @throws OAuthError `invalid_scope` when one of them is not registered
 */
export const clientCredentialsScopes = (
  requested: readonly string[],
  allowed: readonly string[],
): string[] => {
  const withoutUser = allowed.filter((scope) => !standardScopes.some((standard) => standard === scope))
  if (!isWithinScopes(requested, withoutUser)) {
    throw new OAuthError('invalid_scope', 'scope holds what this client may not have for itself')
  }
  return requested.length > 0 ? [...requested] : withoutUser
}

/**
 * Refreshing may narrow the scopes, never widen them (RFC 6749 §6).
 *
 * @throws OAuthError `invalid_scope` on anything beyond the original grant
 */
export const narrowedScopes = (requested: readonly string[], granted: readonly string[]): string[] => {
  if (!isWithinScopes(requested, granted)) {
    throw new OAuthError('invalid_scope', 'scope goes beyond what was granted')
  }
  return requested.length > 0 ? intersectScopes(granted, requested) : [...granted]
}

/**
 * What of a grant the client may still have: its registration may have lost scopes since.
 *
 * @throws OAuthError `invalid_scope` when nothing is left of it
 */
export const scopesStillAllowed = (granted: readonly string[], allowed: readonly string[]): string[] => {
  const left = intersectScopes(granted, allowed)
  if (left.length === 0 && granted.length > 0) {
    throw new OAuthError('invalid_scope', 'scope holds nothing that the client is still registered for')
  }
  return left
}
