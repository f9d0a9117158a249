import type { AuthorizationServer } from '../authorization-server.ts'
import { transaction } from '../database/transaction.ts'
import { hashSecret, importedMark, isImportedMark } from '../keys/secrets.ts'
import { type Client, hasExpiredSecret } from '../protocol/client.ts'
import { findClient, findImportedSecret, upgradeImportedSecret } from '../repositories/index.ts'
import { ExpiredSecretError, matchesSecret } from './client-auth-method.ts'

type SecretContext = Pick<AuthorizationServer, 'database' | 'passwords' | 'now'>

/**
 * Whether one of these is a secret of the client. The first use of an imported secret checks the hash that the other server
 * made, and puts ours in its place.
 *
 * @throws ExpiredSecretError as {@link matchesSecret}
 * @throws OAuthError `temporarily_unavailable` if too many slow hashes wait to be checked
 */
export const verifySecrets = (
  client: Client,
  secrets: readonly string[],
  server: SecretContext,
): boolean | Promise<boolean> => {
  const matches = secrets.some((secret) => matchesSecret(client, secret, server.now()))
  const isImported = client.secretHashes.some(isImportedMark)
  return isImported && !matches ? verifyImported(server, client, secrets) : matches
}

const verifyImported = async (
  server: SecretContext,
  { clientId, secretHashes, metadata }: Client,
  secrets: readonly string[],
): Promise<boolean> => {
  const imported = await findImportedSecret(server.database, { clientId })
  if (imported === undefined) {
    // Another request has just put our hash in its place.
    const current = await findClient(server.database, { clientId, now: server.now() })
    return secrets.some((secret) => current !== undefined && matchesSecret(current, secret, server.now()))
  }
  const mark = importedMark(imported)
  for (const secret of secrets) {
    if (!(await server.passwords.verifySecret(secret, imported))) continue
    if (secretHashes[0] === mark && hasExpiredSecret(metadata, server.now())) throw new ExpiredSecretError()
    await transaction(server.database, (tx) =>
      upgradeImportedSecret(tx, { clientId, mark, hash: hashSecret(secret) }),
    )
    return true
  }
  return false
}
