import type { AuthorizationServer } from '../authorization-server.ts'
import type { Client } from '../protocol/client.ts'
import { parseClientMetadata } from '../protocol/client-metadata.ts'
import { createClient, findClient } from '../repositories/index.ts'

/** @throws Error if it does not exist or is disabled */
export const registeredClient = async (server: AuthorizationServer, clientId: string): Promise<Client> => {
  const client = await findClient(server.database, { clientId, now: server.now() })
  if (client?.disabledAt === null) return client
  throw new Error(`latchkey/testing: the client ${clientId} does not exist or is disabled`)
}

const clientId = 'latchkey-testing'

/** It has neither redirect URI nor secret, so it cannot be used outside tests. */
const metadata = parseClientMetadata({
  client_name: 'latchkey/testing',
  grant_types: ['client_credentials'],
  token_endpoint_auth_method: 'client_secret_basic',
})

/** The client of test tokens, created when needed. */
export const clientForTests = async (server: AuthorizationServer): Promise<Client> => {
  const now = server.now()
  const known = await findClient(server.database, { clientId, now })
  if (known === undefined) {
    // Another test file may have created it meanwhile; it is then found below.
    await createClient(server.database, { clientId, secretHash: null, metadata, now }).catch(() => undefined)
  }
  return registeredClient(server, clientId)
}
