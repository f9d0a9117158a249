import { closest, distance } from 'fastest-levenshtein'
import { type ImpliedScopes, parseScope, standardScopes, withImpliedScopes } from '../protocol/scope.ts'
import { assertNames, assertRecord, assertType, refuse } from './check.ts'
import { assertScopeWords } from './locales.ts'
import type { AuthRouterOptions, ScopeOptions } from './options.ts'

export const checkedScopes = (
  scopes: NonNullable<AuthRouterOptions['scopes']>,
): Record<string, ScopeOptions> => {
  assertRecord('scopes', scopes)
  const checked = Object.fromEntries(
    Object.entries(scopes).map(([name, scope]) => [name, checkedScope(name, scope)]),
  )
  assertImplied(checked)
  return checked
}

/** What each scope includes, by the option `scopes`. */
export const impliedScopes = ({
  scopes,
}: {
  readonly scopes: Readonly<Record<string, ScopeOptions>>
}): ImpliedScopes =>
  Object.fromEntries(
    Object.entries(scopes).flatMap(([name, { implies }]) => (implies === undefined ? [] : [[name, implies]])),
  )

/** @throws OptionsError for a scope that implies an unknown scope, or itself through others */
const assertImplied = (scopes: Readonly<Record<string, ScopeOptions>>): void => {
  const implied = impliedScopes({ scopes })
  for (const [name, others] of Object.entries(implied)) {
    if (!Array.isArray(others) || !others.every((other) => typeof other === 'string')) {
      refuse(`scopes['${name}'].implies must be a list of scopes`)
    }
    assertKnownScopes(`scopes['${name}'].implies`, others, { scopes })
    if (withImpliedScopes(others, implied).includes(name)) {
      refuse(`scopes['${name}'].implies leads back to ${name}`)
    }
  }
}

export const checkedScope = (name: string, scope: string | ScopeOptions): ScopeOptions => {
  if (name.includes(' ') || !isScopeName(name))
    refuse(`scopes: '${name}' is not a valid scope name (RFC 6749 §3.3)`)
  if (name === 'openid' || name === 'offline_access') refuse(`scopes: ${name} is reserved`)
  if (typeof scope === 'string') return checkedScope(name, { description: scope })
  assertRecord(`scopes['${name}']`, scope)
  assertNames(`scopes['${name}'].`, scope, [
    'description',
    'details',
    'locales',
    'claims',
    'optional',
    'group',
    'risk',
    'implies',
  ])
  if (typeof scope.description !== 'string' || scope.description === '') {
    refuse(`scopes['${name}'].description is required: the sentence that the consent page shows`)
  }
  assertScopeWords(`scopes['${name}']`, scope)
  assertType(`scopes['${name}'].optional`, scope.optional, 'boolean')
  if (scope.group !== undefined && !['identity', 'read', 'change', 'other'].includes(scope.group)) {
    refuse(`scopes['${name}'].group must be 'identity', 'read', 'change' or 'other'`)
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

/** All scopes: the standard ones and those of the option `scopes`. */
export const knownScopes = ({
  scopes = {},
}: {
  readonly scopes?: Readonly<Record<string, unknown>>
}): string[] => [
  ...standardScopes,
  ...Object.keys(scopes).filter((name) => !standardScopes.some((scope) => scope === name)),
]

/**
 * The first of these scopes that is not known, in words that suggest a similar known one; undefined when all are known.
 */
export const unknownScope = (scopes: readonly string[], known: readonly string[]): string | undefined => {
  const name = scopes.find((scope) => !known.includes(scope))
  if (name === undefined) return undefined
  const nearest = closest(name, known)
  const isNear = distance(name, nearest) * 3 <= name.length
  return `${name} is not in the option scopes; ${isNear ? `did you mean ${nearest}?` : 'add it there'}`
}

/**
 * Refuses scopes that no client can have.
 *
 * @param where the code that names them, such as `requireToken('ordrs:read')`
 * @throws OptionsError that suggests the nearest known scope
 */
export const assertKnownScopes = (
  where: string,
  scopes: readonly string[],
  options: Parameters<typeof knownScopes>[0],
): void => {
  const unknown = unknownScope(scopes, knownScopes(options))
  if (unknown !== undefined) refuse(`${where}: ${unknown}`)
}
