import type { AuthorizationServer } from '../authorization-server.ts'
import type { Client } from '../protocol/client.ts'
import { parseClientMetadata } from '../protocol/client-metadata.ts'
import { createClient, findClient } from '../repositories/index.ts'

/** @throws Error when there is none, or it is switched off */
export const registeredClient = async (server: AuthorizationServer, clientId: string): Promise<Client> => {
  const client = await findClient(server.database, { clientId, now: server.now() })
  if (client?.disabledAt === null) return client
  throw new Error(`latchkey/testing: there is no client ${clientId}, or it is switched off`)
}

const clientId = 'latchkey-testing'

/** Without redirect URI and secret, nobody can ever authorize or authenticate as it. */
const metadata = parseClientMetadata({
  client_name: 'latchkey/testing',
  grant_types: ['client_credentials'],
  token_endpoint_auth_method: 'client_secret_basic',
})

/** The client that holds the tokens of tests; made when it is first needed. */
export const clientForTests = async (server: AuthorizationServer): Promise<Client> => {
  const now = server.now()
  const known = await findClient(server.database, { clientId, now })
  if (known === undefined) {
    // Another test file may have made it meanwhile; then it is found below.
    await createClient(server.database, { clientId, secretHash: null, metadata, now }).catch(() => undefined)
  }
  return registeredClient(server, clientId)
}
