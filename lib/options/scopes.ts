import { parseScope, standardScopes } from '../protocol/scope.ts'
import { assertNames, assertRecord, assertType, refuse } from './check.ts'
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
  assertNames(`scopes['${name}'].`, scope, ['description', 'claims', 'optional', 'group'])
  if (typeof scope.description !== 'string' || scope.description === '') {
    refuse(`scopes['${name}'].description is required: the sentence that the consent page shows`)
  }
  assertType(`scopes['${name}'].optional`, scope.optional, 'boolean')
  if (scope.group !== undefined && !['identity', 'read', 'change'].includes(scope.group)) {
    refuse(`scopes['${name}'].group must be 'identity', 'read' or 'change'`)
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
