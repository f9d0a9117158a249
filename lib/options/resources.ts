import { isLoopbackHost } from '../protocol/clients/redirect-uri.ts'
import { canonicalResource, isSameResource } from '../protocol/requests/resource.ts'
import { standardScopes } from '../protocol/scope.ts'
import { assertNames, assertRecord, assertType, refuse } from './check.ts'
import type { AuthRouterOptions, ResourceOptions } from './options.ts'
import { assertKnownScopes } from './scopes.ts'

/** A checked resource with every default filled in. */
export interface Resource extends Required<Omit<ResourceOptions, 'claims'>>, Pick<ResourceOptions, 'claims'> {
  /** The canonical identifier: the audience of its access tokens. */
  readonly identifier: string
}

/**
 * Checks the option `resources`.
 *
 * @returns the resources by identifier
 * @throws OptionsError
 */
export const checkedResources = (
  resources: NonNullable<AuthRouterOptions['resources']>,
  issuer: string,
  { scopes = {} }: Pick<AuthRouterOptions, 'scopes'>,
): Readonly<Record<string, Resource>> => {
  assertRecord('resources', resources)
  const checked = Object.entries(resources).map(([url, resource]) =>
    checkedResource(url, resource, issuer, { scopes }),
  )
  for (const [index, { identifier }] of checked.entries()) {
    const same = checked.findIndex((other) => isSameResource(other.identifier, identifier))
    if (same !== index) refuse(`resources names ${identifier} twice`)
  }
  return Object.fromEntries(checked.map((resource) => [resource.identifier, resource]))
}

/** @throws OptionsError unless the URL can name a resource */
const checkedIdentifier = (url: string, issuer: string): string => {
  const identifier = canonicalResource(url)
  if (identifier === undefined) {
    return refuse(`resources['${url}'] must be an absolute URL without fragment and credentials`)
  }
  const { protocol, hostname } = new URL(identifier)
  if (protocol !== 'https:' && !isLoopbackHost(hostname)) {
    refuse(`resources['${url}'] must use https, except on localhost, 127.0.0.1 and [::1]`)
  }
  if (isSameResource(identifier, issuer)) {
    refuse(`resources['${url}'] must not be the issuer: tokens without a resource are for UserInfo`)
  }
  return identifier
}

const checkedResource = (
  url: string,
  resource: ResourceOptions,
  issuer: string,
  options: Pick<AuthRouterOptions, 'scopes'>,
): Resource => {
  const identifier = checkedIdentifier(url, issuer)
  const where = `resources['${url}']`
  assertRecord(where, resource)
  assertNames(`${where}.`, resource, ['name', 'scopes', 'accessToken', 'introspection', 'claims'])
  const { name = nameOf(identifier), scopes, accessToken = 'opaque', introspection = [], claims } = resource
  if (typeof name !== 'string' || name === '') refuse(`${where}.name must be a string that is not empty`)
  if (!isListOfStrings(scopes)) refuse(`${where}.scopes is required: a list of scopes`)
  assertKnownScopes(`${where}.scopes`, scopes, options)
  const standard = scopes.find((scope) => standardScopes.some((known) => known === scope))
  if (standard !== undefined) {
    refuse(`${where}.scopes must not contain ${standard}, which is about UserInfo and not about an API`)
  }
  if (accessToken !== 'opaque' && accessToken !== 'jwt') {
    refuse(`${where}.accessToken must be 'opaque' or 'jwt'`)
  }
  if (!isListOfStrings(introspection)) refuse(`${where}.introspection must be a list of client ids`)
  assertType(`${where}.claims`, claims, 'function')
  return { identifier, name, scopes, accessToken, introspection, ...(claims && { claims }) }
}

const isListOfStrings = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string')

/** The host and path, such as `app.example.com/mcp`. */
const nameOf = (identifier: string): string => {
  const { host, pathname } = new URL(identifier)
  return pathname === '/' ? host : `${host}${pathname}`
}
