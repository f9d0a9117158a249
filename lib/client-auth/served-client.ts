import type { AuthorizationServer } from '../authorization-server.ts'
import type { Client } from '../protocol/client.ts'

/**
 * Lets the features store or renew a client that describes itself elsewhere. Call it before the client is looked up.
 *
 * @param from.address of a request that may introduce a new client; without one only a known client is renewed
 * @throws OAuthError `unauthorized_client` if the client cannot be used, status 429 after too many new ones
 */
export const refreshClient = async (
  server: AuthorizationServer,
  clientId: string,
  from: { readonly address?: string } = {},
): Promise<void> => {
  for (const feature of server.features) await feature.refreshClient?.(server, clientId, from)
}

/** Whether the client of a document is renewed here. */
const isRenewed = ({ features }: AuthorizationServer): boolean =>
  features.some((feature) => feature.refreshClient !== undefined)

/**
 * Whether a stored client may be used: with the profile that the server requires, and one that a document describes only
 * while a feature reads such documents. An API that only introspects gets no tokens, and is not a client in the sense of
 * the profile.
 */
export const isServed = (server: AuthorizationServer, { metadata }: Pick<Client, 'metadata'>): boolean => {
  const { securityProfile: required } = server.options
  const hasProfile =
    required === undefined || metadata.security_profile === required || metadata.grant_types.length === 0
  return hasProfile && (metadata.self_described !== 'document' || isRenewed(server))
}
