import type { OAuthError } from '../errors.ts'
import { listed, readable } from '../explanation.ts'
import { canonicalResource } from '../protected-resource.ts'
import { refusal } from '../refusal.ts'
import { isStandardScope } from '../scope.ts'

/** A resource as the rules need it: its identifier, the scopes it knows, and the format of its access tokens. */
export interface KnownResource {
  readonly identifier: string
  readonly scopes: readonly string[]
  readonly accessToken: 'opaque' | 'jwt'
}

/** The resources of a request or an authorization by identifier, each with those of its scopes that belong to it. */
export type ResourceScopes = Readonly<Record<string, readonly string[]>>

/** The most resources of one request. */
const maxResources = 10

const invalidResource = (problem: string): OAuthError => refusal('resource_invalid', { values: { problem } })

/** The form that identifiers are compared in. An empty path is the path `/` (RFC 3986 §6.2.3); URL parsers add it. */
const comparable = (identifier: string): string =>
  /^https?:\/\/[^/?]+$/.test(identifier) ? `${identifier}/` : identifier

/** Whether two canonical identifiers name the same resource. */
export const isSameResource = (one: string, other: string): boolean => comparable(one) === comparable(other)

/**
 * The resources that a request names (RFC 8707 §2), each once and in the order sent.
 *
 * @param values of the parameter `resource`
 * @returns canonical identifiers
 * @throws OAuthError `invalid_target` for any other value, and for more than ten
 */
export const parseResources = (values: readonly string[], known: readonly KnownResource[]): string[] => {
  if (values.length > maxResources) {
    throw invalidResource(`must not appear more than ${maxResources} times`)
  }
  const identifiers = values.map((value) => {
    const named = canonicalResource(value)
    if (named === undefined) throw invalidResource('must be an absolute URL without a fragment')
    const found = known.find(({ identifier }) => isSameResource(identifier, named))
    if (found === undefined) {
      const expected = `one of: ${listed(known.map(({ identifier }) => identifier))}`
      throw refusal('resource_unknown', { explanation: { expected, received: readable(named) } })
    }
    return found.identifier
  })
  return [...new Set(identifiers)]
}

/**
 * The resource that a client means which names none. Older MCP clients do not know the parameter; a server may choose for
 * them (RFC 8707 §2). Only the one resource that knows every scope can be meant.
 *
 * @param requested the scopes of the request; none stand for all of the resource
 * @returns no resource if a request is for the user's identity alone, or for scopes of no resource
 * @throws OAuthError `invalid_target` if several resources could be meant, or only several together know the scopes
 * @example impliedResources(['notes:read'], known) // ['https://app.example.com/mcp']
 */
export const impliedResources = (
  requested: readonly string[],
  known: readonly KnownResource[],
): readonly string[] => {
  const own = requested.filter((scope) => !isStandardScope(scope))
  if (requested.length > 0 && own.length === 0) return []
  const meant = known.filter(({ scopes }) => own.every((scope) => scopes.includes(scope)))
  const areOfResources = own.every((scope) => known.some(({ scopes }) => scopes.includes(scope)))
  if (meant.length === 1 || !areOfResources || known.length === 0)
    return meant.map(({ identifier }) => identifier)
  const choice = meant.length > 0 ? meant : known
  const expected = `one of: ${listed(choice.map(({ identifier }) => identifier))}`
  throw refusal('resource_missing', { explanation: { expected, received: 'no resource' } })
}

const named = (resources: readonly string[], known: readonly KnownResource[]): KnownResource[] =>
  known.filter(({ identifier }) => resources.includes(identifier))

/**
 * The scopes that a request for these resources may have: those of OpenID Connect, and those that a resource knows.
 *
 * @param resources if there are none, a request may have all scopes
 */
export const scopesWithin = (
  scopes: readonly string[],
  resources: readonly string[],
  known: readonly KnownResource[],
): string[] => {
  if (resources.length === 0) return [...scopes]
  const theirs = named(resources, known).flatMap((resource) => resource.scopes)
  return scopes.filter((scope) => isStandardScope(scope) || theirs.includes(scope))
}

/**
 * The scopes of a request for resources that names none: all that the resources know and that the client may have.
 *
 * @param resources if there are none, the request has no scopes
 */
export const defaultScopes = (
  resources: readonly string[],
  allowed: readonly string[],
  known: readonly KnownResource[],
): string[] => {
  const theirs = named(resources, known).flatMap((resource) => resource.scopes)
  return [...new Set(theirs)].filter((scope) => allowed.includes(scope))
}

/** For each resource the scopes that belong to it; undefined if there are no resources. */
export const scopesByResource = (
  scopes: readonly string[],
  resources: readonly string[],
  known: readonly KnownResource[],
): ResourceScopes | undefined => {
  if (resources.length === 0) return undefined
  return Object.fromEntries(
    resources.map((identifier) => {
      const theirs = named([identifier], known).flatMap((resource) => resource.scopes)
      return [identifier, scopes.filter((scope) => theirs.includes(scope))]
    }),
  )
}

/**
 * The resources of an access token: those that the token request names, or else all of the authorization. A token
 * request may narrow, but never widen (RFC 8707 §2.2).
 *
 * @param requested canonical identifiers
 * @param granted of the authorization; undefined if it is for no resource
 * @throws OAuthError `invalid_target` beyond the authorization, and if its resources no longer exist
 */
export const tokenResources = (
  requested: readonly string[],
  granted: ResourceScopes | undefined,
  known: readonly KnownResource[],
): string[] => {
  const all = Object.keys(granted ?? {})
  if (!requested.every((identifier) => all.includes(identifier))) {
    throw refusal('resource_not_granted')
  }
  const left = all.filter((one) => known.some(({ identifier }) => identifier === one))
  if (all.length > 0 && left.length === 0) {
    throw refusal('resources_removed')
  }
  return requested.length > 0 ? [...requested] : left
}

/**
 * The scopes of an access token for these resources: those of OpenID Connect, and those that a resource knows. A scope
 * that a resource has come to know since the user's consent is left out, because the user did not allow it there.
 *
 * @param scopes of the authorization, or fewer
 * @param granted of the authorization
 */
export const tokenScopes = (
  scopes: readonly string[],
  resources: readonly string[],
  granted: ResourceScopes | undefined,
  known: readonly KnownResource[],
): string[] => {
  const targets = named(resources, known)
  return scopesWithin(scopes, resources, known).filter(
    (scope) =>
      isStandardScope(scope) ||
      targets.every(
        (target) => !target.scopes.includes(scope) || granted?.[target.identifier]?.includes(scope),
      ),
  )
}

/**
 * The format of an access token for these resources.
 *
 * @throws OAuthError `invalid_target` if they have different formats
 */
export const formatFor = (
  resources: readonly string[],
  known: readonly KnownResource[],
): KnownResource['accessToken'] => {
  const [format = 'opaque', another] = new Set(named(resources, known).map(({ accessToken }) => accessToken))
  if (another !== undefined) {
    throw invalidResource('must name one resource, because these have different kinds of access tokens')
  }
  return format
}
