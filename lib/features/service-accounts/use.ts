import { hashSecret } from '../../keys/secrets.ts'
import type { AuthorizationServer } from '../../oauth/authorization-server.ts'
import type { OwnedClientObserver } from '../../oauth/grants/direct.ts'
import { parseBasicCredentials } from '../../protocol/clients/basic-credentials.ts'
import type { Client } from '../../protocol/clients/client.ts'
import type { TokenRequest } from '../../protocol/tokens/token-request.ts'
import { touchAccount, touchSecret } from './table.ts'

/** Seconds within which the same use is not stored again. */
const usedWithin = 60

/** The hash of the secret with which the client has authenticated; undefined for one that has a key. */
const presentedSecret = (
  { secretHashes }: Client,
  { authorization, parameters }: TokenRequest,
): string | undefined => {
  const inBody = parameters.optional('client_secret')
  const basic = authorization === undefined ? undefined : parseBasicCredentials(authorization)
  const secrets = inBody === undefined ? (basic?.clientSecrets ?? []) : [inBody]
  return secrets.map(hashSecret).find((hash) => secretHashes.includes(hash))
}

const store = async (server: AuthorizationServer, clientId: string, hash?: string): Promise<void> => {
  const now = server.now()
  const use = { now, before: now - usedWithin }
  await touchAccount(server.database, { clientId, ...use })
  if (hash !== undefined) await touchSecret(server.database, { hash, ...use })
}

/** Remembers that a service account got a token, and with which secret. */
export const noteUse: OwnedClientObserver = (server, client, request) =>
  server.runInBackground(store(server, client.clientId, presentedSecret(client, request)))
