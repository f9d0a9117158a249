import type { OAuthError } from './errors.ts'
import { listed } from './explanation.ts'
import { refusal } from './refusal.ts'

/** Scopes that OpenID Connect defines (OIDC Core §5.4, §11). */
export const standardScopes = ['openid', 'profile', 'email', 'address', 'phone', 'offline_access'] as const

/** Those of them that tell a client who the user is. */
export const identityScopes: readonly string[] = standardScopes.filter((scope) => scope !== 'offline_access')

/** Whether OpenID Connect defines a scope: then it is about the user and the client, not about an API. */
export const isStandardScope = (scope: string): boolean =>
  standardScopes.some((standard) => standard === scope)

// RFC 6749 §3.3: scope-token = 1*( %x21 / %x23-5B / %x5D-7E )
const scopeToken = /^[\x21\x23-\x5b\x5d-\x7e]+$/

/**
 * Parses a scope parameter into a list without duplicates, in the order sent (RFC 6749 §3.3).
 *
 * @throws OAuthError `invalid_scope` on characters outside the grammar
 * @example parseScope('openid email') // ['openid', 'email']
 */
export const parseScope = (scope: string | undefined): string[] => {
  if (scope === undefined) return []
  const scopes = scope.split(' ').filter((value) => value !== '')
  if (!scopes.every((value) => scopeToken.test(value))) {
    throw refusal('scope_malformed')
  }
  return [...new Set(scopes)]
}

const invalidScope = (
  reason:
    | 'scope_not_allowed'
    | 'scope_needs_user'
    | 'scope_not_granted'
    | 'scope_removed'
    | 'scope_none_granted',
  allowed: readonly string[],
  requested: readonly string[],
): OAuthError =>
  refusal(reason, {
    explanation: { expected: `scopes among: ${listed(allowed)}`, received: listed(requested) },
  })

/** Joins scopes into a scope parameter. */
export const formatScope = (scopes: readonly string[]): string => scopes.join(' ')

/** The scopes that both lists have, in the order of the first. */
export const intersectScopes = (scopes: readonly string[], allowed: readonly string[]): string[] =>
  scopes.filter((scope) => allowed.includes(scope))

/** Whether every scope of the first list is in the second. */
export const isWithinScopes = (scopes: readonly string[], allowed: readonly string[]): boolean =>
  scopes.every((scope) => allowed.includes(scope))

/**
 * The requested scopes that a client may have; unknown and not allowed ones are dropped.
 *
 * @throws OAuthError `invalid_scope` if scopes were requested and none is left
 */
export const grantableScopes = (requested: readonly string[], allowed: readonly string[]): string[] => {
  const scopes = intersectScopes(requested, allowed)
  if (requested.length > 0 && scopes.length === 0) {
    throw invalidScope('scope_not_allowed', allowed, requested)
  }
  return scopes
}

/**
 * The scopes of a client credentials grant (RFC 6749 §4.4.2): those requested, or by default all that are registered.
 * The scopes of OpenID Connect are about a user and are left out.
 *
 * @throws OAuthError `invalid_scope` if one of them is not registered
 */
export const clientCredentialsScopes = (
  requested: readonly string[],
  allowed: readonly string[],
): string[] => {
  const withoutUser = allowed.filter((scope) => !isStandardScope(scope))
  if (!isWithinScopes(requested, withoutUser)) {
    throw invalidScope('scope_needs_user', withoutUser, requested)
  }
  return requested.length > 0 ? [...requested] : withoutUser
}

/**
 * The scopes of a grant that the request narrows: fewer than granted, but never more.
 *
 * @throws OAuthError `invalid_scope` for any scope beyond the grant
 */
export const narrowedScopes = (requested: readonly string[], granted: readonly string[]): string[] => {
  if (!isWithinScopes(requested, granted)) {
    throw invalidScope('scope_not_granted', granted, requested)
  }
  return requested.length > 0 ? intersectScopes(granted, requested) : [...granted]
}

/**
 * The granted scopes that the client is still registered for.
 *
 * @throws OAuthError `invalid_scope` if none is left
 */
export const scopesStillAllowed = (granted: readonly string[], allowed: readonly string[]): string[] => {
  const left = intersectScopes(granted, allowed)
  if (left.length === 0 && granted.length > 0) {
    throw invalidScope('scope_removed', allowed, granted)
  }
  return left
}

/**
 * The scopes of a refresh: those requested, or all, as far as they were granted (RFC 6749 §6). Others are dropped, as at the
 * authorization endpoint, because many clients send the same scopes to both.
 *
 * @param granted what is left of the grant
 * @throws OAuthError `invalid_scope` if scopes were requested and none was granted
 */
export const refreshedScopes = (requested: readonly string[], granted: readonly string[]): string[] => {
  if (requested.length === 0) return [...granted]
  const left = intersectScopes(granted, requested)
  if (left.length === 0) throw invalidScope('scope_none_granted', granted, requested)
  return left
}

/** The scopes that a scope includes, by name: the option `scopes` says it with `implies`. */
export type ImpliedScopes = Readonly<Record<string, readonly string[]>>

/**
 * These scopes and every scope that one of them implies, directly or through others.
 *
 * @example withImpliedScopes(['notes:write'], { 'notes:write': ['notes:read'] }) // ['notes:write', 'notes:read']
 */
export const withImpliedScopes = (scopes: readonly string[], implied: ImpliedScopes): string[] => {
  const all = new Set(scopes)
  // A set also visits what is added during the loop, and nothing twice.
  for (const scope of all) {
    for (const other of Object.hasOwn(implied, scope) ? (implied[scope] ?? []) : []) all.add(other)
  }
  return [...all]
}
