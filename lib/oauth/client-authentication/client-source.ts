import type { Client } from '../../protocol/clients/client.ts'
import type { AuthorizationServer } from '../authorization-server.ts'
import { extensionPoint } from '../extension-point.ts'

/** Clients that describe themselves elsewhere. */
export interface ClientSource {
  /**
   * Stores or renews a client before it is looked up. An id that is not of this source costs no statement.
   *
   * @param from.address of a request that may introduce a new client; without one only a known client is renewed
   * @throws OAuthError `unauthorized_client` if the client cannot be used
   */
  refresh(server: AuthorizationServer, clientId: string, from: { readonly address?: string }): Promise<void>
  /** Whether the host vouches for a client, by where it describes itself: then pages do not call it unverified. */
  vouchesFor(client: Pick<Client, 'clientId' | 'metadata'>): boolean
}

export const clientSources = extensionPoint<ClientSource>('oauth.clients')
