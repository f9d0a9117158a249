import { hashSecret, importedMark, isEqual, isImportedMark } from '../../keys/secrets.ts'
import { parseBasicCredentials, publicClientOf } from '../../protocol/clients/basic-credentials.ts'
import { type Client, hasExpiredSecret } from '../../protocol/clients/client.ts'
import type { Parameters } from '../../protocol/parameters.ts'
import { refusal } from '../../protocol/refusal.ts'
import { transaction } from '../../storage/database/transaction.ts'
import { findClient, findImportedSecret, upgradeImportedSecret } from '../../storage/repositories/index.ts'
import type { AuthorizationServer } from '../authorization-server.ts'
import type { ClientAuthMethod } from './client-auth-method.ts'

/** Whether the body has credentials too. */
const hasBodyCredentials = (parameters: Parameters): boolean =>
  ['client_secret', 'client_assertion', 'client_assertion_type'].some((name) => parameters.has(name))

/** @throws OAuthError `invalid_request` if the body names another client than the Authorization header */
const assertSameClient = (parameters: Parameters, clientId: string | undefined): void => {
  const bodyId = parameters.optional('client_id')
  if (clientId !== undefined && bodyId !== undefined && bodyId !== clientId) {
    throw refusal('parameter_invalid', {
      values: { parameter: 'client_id', problem: 'differs from the one in the Authorization header' },
    })
  }
}

/** RFC 6749 §2.3.1: the secret in the Authorization header; the body may repeat the client_id. */
export const clientSecretBasic: ClientAuthMethod = {
  name: 'client_secret_basic',
  isUsed: ({ authorization, parameters }) =>
    authorization !== undefined &&
    (publicClientOf(authorization) === undefined || hasBodyCredentials(parameters)),
  credentials: ({ authorization = '', parameters }) => {
    const basic = parseBasicCredentials(authorization)
    assertSameClient(parameters, basic?.clientId)
    return {
      clientId: basic?.clientId,
      verify: (client, server) => verifySecrets(client, basic?.clientSecrets ?? [], server),
    }
  },
}

/** RFC 6749 §2.3.1: the secret in the request body. */
export const clientSecretPost: ClientAuthMethod = {
  name: 'client_secret_post',
  isUsed: ({ parameters }) => parameters.has('client_secret'),
  credentials: ({ parameters }) => {
    const secret = parameters.required('client_secret')
    return {
      clientId: parameters.optional('client_id'),
      verify: (client, server) => verifySecrets(client, [secret], server),
    }
  },
}

/**
 * A public client only names itself (RFC 6749 §3.2.1), in the body or by a Basic header with an empty secret; PKCE and
 * rotation protect its codes and tokens.
 */
export const none: ClientAuthMethod = {
  name: 'none',
  isUsed: ({ authorization, parameters }) =>
    !hasBodyCredentials(parameters) &&
    (authorization === undefined || publicClientOf(authorization) !== undefined),
  credentials: ({ authorization, parameters }) => {
    const named = publicClientOf(authorization)
    assertSameClient(parameters, named)
    return { clientId: named ?? parameters.required('client_id'), verify: () => true }
  },
}

/**
 * Compares a secret with each valid one of the client, by hash and in constant time.
 *
 * @param now epoch seconds
 * @throws OAuthError `invalid_client` for a secret that has expired, which only its holder learns
 */
const matchesSecret = ({ secretHashes, metadata }: Client, secret: string, now: number): boolean => {
  const presented = hashSecret(secret)
  if (secret === '') return false
  const matched = secretHashes.findIndex((hash) => isEqual(hash, presented))
  // The first is the current one. The other has an expiry of its own, after which it is not in the list.
  if (matched === 0 && hasExpiredSecret(metadata, now)) throw refusal('client_secret_expired')
  return matched !== -1
}

type SecretContext = Pick<AuthorizationServer, 'database' | 'passwords' | 'now'>

/**
 * Whether one of these is a secret of the client. The first use of an imported secret checks the hash that the other server
 * made, and puts ours in its place.
 *
 * @throws OAuthError `invalid_client` as {@link matchesSecret}
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
  { clientId }: Client,
  secrets: readonly string[],
): Promise<boolean> => {
  const imported = await findImportedSecret(server.database, { clientId })
  const matchesNow = async (presented: readonly string[]): Promise<boolean> => {
    const current = await findClient(server.database, { clientId, now: server.now() })
    return presented.some((secret) => current !== undefined && matchesSecret(current, secret, server.now()))
  }
  // Another request has just put our hash in its place.
  if (imported === undefined) return matchesNow(secrets)
  const mark = importedMark(imported)
  for (const secret of secrets) {
    if (!(await server.passwords.verifySecret(secret, imported))) continue
    await transaction(server.database, (tx) =>
      upgradeImportedSecret(tx, { clientId, mark, hash: hashSecret(secret) }),
    )
    // The check takes time. The secret may have been replaced meanwhile.
    return matchesNow([secret])
  }
  return false
}
