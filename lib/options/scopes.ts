import { closest } from 'fastest-levenshtein'
import { parseScope, standardScopes } from '../protocol/scope.ts'
import { assertNames, assertRecord, assertType, refuse } from './check.ts'
import { assertScopeWords } from './locales.ts'
import type { AuthRouterOptions, ScopeOptions } from './options.ts'

export const checkedScopes = (
  scopes: NonNullable<AuthRouterOptions['scopes']>,
): Record<string, ScopeOptions> => {
  assertRecord('scopes', scopes)
  return Object.fromEntries(Object.entries(scopes).map(([name, scope]) => [name, checkedScope(name, scope)]))
}

export const checkedScope = (name: string, scope: string | ScopeOptions): ScopeOptions => {
  if (name.includes(' ') || !isScopeName(name))
    refuse(`scopes: '${name}' is not a scope that RFC 6749 §3.3 allows`)
  if (name === 'openid' || name === 'offline_access') refuse(`scopes: ${name} has a meaning of its own`)
  if (typeof scope === 'string') return checkedScope(name, { description: scope })
  assertRecord(`scopes['${name}']`, scope)
  assertNames(`scopes['${name}'].`, scope, [
    ...['description', 'details', 'locales', 'claims', 'optional', 'group', 'risk'],
  ])
  if (typeof scope.description !== 'string' || scope.description === '') {
    refuse(`scopes['${name}'].description is required: the sentence that the consent page shows`)
  }
  assertScopeWords(`scopes['${name}']`, scope)
  assertType(`scopes['${name}'].optional`, scope.optional, 'boolean')
  if (scope.group !== undefined && !['identity', 'read', 'change'].includes(scope.group)) {
    refuse(`scopes['${name}'].group must be 'identity', 'read' or 'change'`)
  }
  if (scope.risk !== undefined && !['normal', 'high'].includes(scope.risk)) {
    refuse(`scopes['${name}'].risk must be 'normal' or 'high'`)
  }
  const { claims = [] } = scope
  if (!Array.isArray(claims) || !claims.every((claim) => typeof claim === 'string')) {
    refuse(`scopes['${name}'].claims must be a list of claim names`)
  }
  return scope
}

const isScopeName = (name: string): boolean => {
  try {
    return parseScope(name).length === 1
  } catch {
    return false
  }
}

/** Every scope that a client may be registered for. */
export const knownScopes = (options: {
  readonly scopes: Readonly<Record<string, ScopeOptions>>
}): string[] => [
  ...standardScopes,
  ...Object.keys(options.scopes).filter((name) => !standardScopes.some((scope) => scope === name)),
]

/**
 * Refuses scopes that no client can ever have, and says which one was probably meant.
 *
 * @param where who asks for them: `requireToken('ordrs:read')`
 * @throws OptionsError
 */
export const assertKnownScopes = (
  where: string,
  scopes: readonly string[],
  options: Parameters<typeof knownScopes>[0],
): void => {
  const known = knownScopes(options)
  for (const name of scopes) {
    if (!known.includes(name))
      refuse(`${where}: the option scopes does not name ${name}; did you mean ${closest(name, known)}?`)
  }
}
