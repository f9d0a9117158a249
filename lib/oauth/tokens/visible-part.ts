import type { Client } from '../../protocol/clients/client.ts'
import { scopesWithin } from '../../protocol/requests/resource.ts'
import type { AuthorizationServer } from '../authorization-server.ts'
import type { VerifiedToken } from './verified-token.ts'

/**
 * The part of a token that a client may see: all of its own tokens. An API sees only what concerns its own resources
 * (RFC 7662 §4).
 *
 * @returns undefined if the token is neither the client's own nor for its API
 */
export const visiblePart = (
  server: AuthorizationServer,
  { clientId, metadata }: Client,
  token: VerifiedToken,
): Pick<VerifiedToken, 'scopes' | 'resources'> | undefined => {
  const all = { scopes: token.scopes, resources: token.resources }
  if (token.clientId === clientId) return all
  if (token.resources.length === 0) return metadata.may_introspect ? all : undefined
  const hostResources = server.resources
  const resources = hostResources
    .filter(({ identifier, introspection }) => {
      return token.resources.includes(identifier) && introspection.includes(clientId)
    })
    .map(({ identifier }) => identifier)
  return resources.length > 0
    ? { resources, scopes: scopesWithin(token.scopes, resources, hostResources) }
    : undefined
}
