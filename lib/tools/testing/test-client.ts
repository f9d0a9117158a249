import type { AuthorizationServer } from '../../oauth/authorization-server.ts'
import { knownScopes } from '../../options/scopes.ts'
import type { Client } from '../../protocol/clients/client.ts'
import { type ClientMetadata, parseClientMetadata } from '../../protocol/clients/client-metadata.ts'
import { createClient, findClient, updateClient } from '../../storage/repositories/index.ts'

/** @throws Error if it does not exist or is disabled */
export const existingClient = async (server: AuthorizationServer, clientId: string): Promise<Client> => {
  const client = await findClient(server.database, { clientId, now: server.now() })
  if (client?.disabledAt === null) return client
  throw new Error(`latchkey/testing: the client ${clientId} does not exist or is disabled`)
}

const clientId = 'latchkey-testing'

/** It has neither redirect URI nor secret, so it cannot be used outside tests. */
const metadataWith = (scope: string, detailTypes: string[]): ClientMetadata =>
  parseClientMetadata({
    client_name: 'latchkey/testing',
    grant_types: ['client_credentials'],
    token_endpoint_auth_method: 'client_secret_basic',
    scope,
    authorization_details_types: detailTypes,
  })

const isSame = (one: ClientMetadata, other: ClientMetadata): boolean =>
  one.scope === other.scope &&
  String(one.authorization_details_types ?? []) === String(other.authorization_details_types)

/** The client of test tokens, created when needed. It may have every scope and every type of details. */
export const clientForTests = async (server: AuthorizationServer): Promise<Client> => {
  const now = server.now()
  const known = await findClient(server.database, { clientId, now })
  const scope = knownScopes(server.options).join(' ')
  const types = Object.keys(server.options.protocol.authorizationDetails)
  const stored = { clientId, secretHash: null, metadata: metadataWith(scope, types), now }
  // Another test file may have created it meanwhile; it is then found below.
  if (known === undefined) await createClient(server.database, stored).catch(() => undefined)
  else if (!isSame(known.metadata, stored.metadata)) await updateClient(server.database, stored)
  return existingClient(server, clientId)
}
