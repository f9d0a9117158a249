import type { AuthorizationServer } from '../authorization-server.ts'
import type { AuthorizationDetails } from '../protocol/authorization.ts'
import type { AuthorizationDetail } from '../protocol/authorization-details.ts'
import type { ClientMetadata } from '../protocol/client-metadata.ts'
import type { TokenContext } from '../protocol/token-context.ts'

/** What decides which objects of `authorization_details` a token has. */
export interface DetailedToken {
  readonly client: Pick<ClientMetadata, 'authorization_details_types'>
  readonly resources: readonly string[]
  /** Of the authorization; undefined if the client acts for itself. */
  readonly details: Pick<AuthorizationDetails, 'authorizationDetails'> | undefined
  readonly context?: TokenContext
}

/**
 * The objects of a token (RFC 9396 §7): those that its request named, or all of the authorization. A type that the host or
 * the client no longer has is left out, and one of another resource too.
 */
export const tokenDetails = (
  { options }: Pick<AuthorizationServer, 'options'>,
  { client, resources, details, context }: DetailedToken,
): readonly AuthorizationDetail[] => {
  const granted = context?.authorization_details ?? details?.authorizationDetails
  if (granted === undefined || granted.length === 0) return []
  const registered = client.authorization_details_types ?? []
  return granted.filter(({ type }) => {
    const known = Object.hasOwn(options.authorizationDetails, type)
      ? options.authorizationDetails[type]
      : undefined
    if (known === undefined || !registered.includes(type)) return false
    return known.resource === undefined || resources.includes(known.resource)
  })
}
