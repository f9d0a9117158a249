import type { AuthorizationServer } from '../authorization-server.ts'
import { transaction } from '../database/transaction.ts'
import { hashSecret, importedMark, isImportedMark } from '../keys/secrets.ts'
import { type Client, hasExpiredSecret } from '../protocol/client.ts'
import { findImportedSecret, upgradeImportedSecret } from '../repositories/index.ts'
import { ExpiredSecretError, matchesSecret } from './client-auth-method.ts'

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
  server: AuthorizationServer,
): boolean | Promise<boolean> => {
  const matches = secrets.some((secret) => matchesSecret(client, secret, server.now()))
  const mark = matches ? undefined : client.secretHashes.find(isImportedMark)
  return mark === undefined ? matches : verifyImported(server, client, secrets, mark)
}

const verifyImported = async (
  server: AuthorizationServer,
  { clientId, secretHashes, metadata }: Client,
  secrets: readonly string[],
  mark: string,
): Promise<boolean> => {
  const imported = await findImportedSecret(server.database, { clientId })
  if (imported === undefined || importedMark(imported) !== mark) return false
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
