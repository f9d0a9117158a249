import { type Client, describedAt } from '../../protocol/clients/client.ts'
import type { AuthorizationServer } from '../authorization-server.ts'
import { clientSources } from './client-source.ts'

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
  for (const source of server.added(clientSources)) await source.refresh(server, clientId, from)
}

/**
 * Whether a stored client may be used: with the profile that the server requires, and one that describes itself elsewhere
 * only while a feature renews it. An API that only introspects gets no tokens, and is not a client in the sense of the
 * profile.
 */
export const isServed = ({ options, added }: AuthorizationServer, client: Client): boolean => {
  const required = options.protocol.fapi2 ? 'fapi2' : undefined
  const { metadata } = client
  const hasProfile =
    required === undefined || metadata.security_profile === required || metadata.grant_types.length === 0
  return hasProfile && (added(clientSources).length > 0 || describedAt(client) === undefined)
}
