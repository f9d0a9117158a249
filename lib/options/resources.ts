import { isLoopbackHost } from '../protocol/clients/redirect-uri.ts'
import { canonicalResource } from '../protocol/protected-resource.ts'
import { isSameResource } from '../protocol/requests/resource.ts'
import { standardScopes } from '../protocol/scope.ts'
import { closestOf, refuse } from './check.ts'
import {
  type Checked,
  callback,
  list,
  type ObjectSchema,
  object,
  oneOf,
  record,
  required,
  text,
  withDefault,
} from './schema.ts'
import { assertKnownScopes, type Scope } from './scopes.ts'
import type { ClaimsAsked, HostUser } from './users.ts'

/** An access token, as a resource's `claims` function sees it. */
export interface ResourceTokenRequest extends ClaimsAsked {
  /** The resources of the access token: usually this one alone. */
  readonly resources: readonly string[]
}

const members = {
  /** The name on the consent page and in the metadata (RFC 9728 §2). @default the URL's host and path */
  name: text(),
  /** The scopes that the API knows. Each is in the option `scopes`. */
  scopes: required(list(text(), { what: 'a list of scopes' })),
  /**
   * The format of its access tokens. `'opaque'` tokens stop working at once when a user is disabled or removes a client.
   * `'jwt'` tokens (RFC 9068) are checked without a request to this server, and work until they expire:
   * docs/resources.md#jwt-access-tokens.
   */
  accessToken: withDefault('opaque', oneOf('opaque', 'jwt')),
  /** The ids of confidential clients that may introspect its access tokens (RFC 7662). */
  introspection: withDefault([], list(text(), { what: 'a list of client ids' })),
  /**
   * Returns more claims for JWT access tokens and for introspection. `user` is undefined when a client acts for itself.
   * Claims that Latchkey sets itself, such as `sub`, cannot be changed. @default no more claims
   */
  claims:
    callback<
      (
        user: HostUser | undefined,
        request: ResourceTokenRequest,
      ) => Record<string, unknown> | Promise<Record<string, unknown>>
    >(),
}

type ResourceSchemasMembers = typeof members

/** The members of a resource. */
export interface ResourceSchemas extends ResourceSchemasMembers {}

const resource: ObjectSchema<ResourceSchemas> = object(members)

export const resources = record(resource)

/** A checked resource with every default filled in. */
export interface Resource extends Checked<typeof resource> {
  /** The canonical identifier: the audience of its access tokens. */
  readonly identifier: string
  readonly name: string
}

/** @throws OptionsError unless the URL can name a resource */
const identifierOf = (url: string, issuer: string): string => {
  const identifier = canonicalResource(url)
  if (identifier === undefined) {
    return refuse(`resources['${url}'] must be an absolute URL without fragment and credentials`)
  }
  const { protocol, hostname } = new URL(identifier)
  if (protocol !== 'https:' && !isLoopbackHost(hostname)) {
    refuse(`resources['${url}'] must use https, except on localhost, *.localhost, 127.0.0.1 and [::1]`)
  }
  if (isSameResource(identifier, issuer)) {
    refuse(`resources['${url}'] must not be the issuer: tokens without a resource are for UserInfo`)
  }
  return identifier
}

/** The host and path, such as `app.example.com/mcp`. */
const nameOf = (identifier: string): string => {
  const { host, pathname } = new URL(identifier)
  return pathname === '/' ? host : `${host}${pathname}`
}

/**
 * Completes the resources.
 *
 * @returns the resources by identifier
 * @throws OptionsError
 */
export const completeResources = (
  given: Checked<typeof resources>,
  options: { readonly issuer: string; readonly scopes: Readonly<Record<string, Scope>> },
): Readonly<Record<string, Resource>> => {
  const complete = Object.entries(given).map(([url, resource]): Resource => {
    const identifier = identifierOf(url, options.issuer)
    const where = `resources['${url}'].scopes`
    assertKnownScopes(where, resource.scopes, options)
    const standard = resource.scopes.find((scope) => standardScopes.some((known) => known === scope))
    if (standard !== undefined)
      refuse(`${where} must not contain ${standard}, which is about UserInfo and not about an API`)
    return { ...resource, identifier, name: resource.name ?? nameOf(identifier) }
  })
  for (const [index, { identifier }] of complete.entries()) {
    const same = complete.findIndex((other) => isSameResource(other.identifier, identifier))
    if (same !== index) refuse(`resources names ${identifier} twice`)
  }
  return Object.fromEntries(complete.map((resource) => [resource.identifier, resource]))
}

/**
 * The identifier of a resource, as the option `resources` has it.
 *
 * @throws OptionsError that suggests the nearest one
 */
export const knownResource = (
  where: string,
  url: string,
  { resources }: { readonly resources: Readonly<Record<string, unknown>> },
): string => {
  const identifier = canonicalResource(url) ?? url
  if (Object.hasOwn(resources, identifier)) return identifier
  return refuse(`${where}: ${url} is not in the option resources`, closestOf(url, Object.keys(resources)))
}
