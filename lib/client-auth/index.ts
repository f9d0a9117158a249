import type { AuthorizationServer } from '../authorization-server.ts'
import type { Client } from '../protocol/client.ts'
import { OAuthError } from '../protocol/errors.ts'
import type { TokenRequest } from '../protocol/token-request.ts'
import { findClient } from '../repositories/index.ts'
import type { ClientAuthMethod } from './client-auth-method.ts'
import { clientSecretBasic } from './client-secret-basic.ts'
import { clientSecretPost } from './client-secret-post.ts'
import { none } from './none.ts'
import { privateKeyJwt } from './private-key-jwt.ts'

/** Every way to authenticate; discovery publishes the names of this very list. */
export const clientAuthMethods: readonly ClientAuthMethod[] = [
  clientSecretBasic,
  clientSecretPost,
  privateKeyJwt,
  none,
]

/** RFC 6749 §5.2: a challenge when the client tried the Authorization header. */
const invalidClient = (request: TokenRequest): OAuthError =>
  new OAuthError('invalid_client', 'client authentication failed', {
    headers:
      request.authorization === undefined
        ? {}
        : { 'WWW-Authenticate': 'Basic realm="token", charset="UTF-8"' },
  })

/** The registered method, or for a confidential client that registered none, Basic or the form body. */
const mayUse = (client: Client, method: ClientAuthMethod): boolean => {
  const registered = client.metadata.token_endpoint_auth_method
  if (registered !== undefined) return registered === method.name
  return method === clientSecretBasic || method === clientSecretPost
}

/**
 * The client that sends this request, proven by exactly one method, its registered one.
 *
 * @throws OAuthError `invalid_client`, alike for unknown, disabled and wrongly proven clients;
 *   `invalid_request` for two methods at once
 */
export const authenticateClient = async (
  server: AuthorizationServer,
  request: TokenRequest,
): Promise<Client> => {
  const [method, second] = clientAuthMethods.filter((candidate) => candidate.isUsed(request))
  if (method === undefined || second !== undefined) {
    throw new OAuthError('invalid_request', 'the client must authenticate by one method only')
  }
  const { clientId, verify } = method.present(request)
  if (clientId === undefined || !isClientId(clientId)) throw invalidClient(request)
  const client = await findClient(server.database, { clientId, now: server.now() })
  const eligible = client?.disabledAt === null && mayUse(client, method) ? client : undefined
  const proven = await verify(eligible, server)
  if (!proven || eligible === undefined) throw invalidClient(request)
  return eligible
}

/** What could be a client_id at all: nothing else reaches a query. */
const isClientId = (clientId: string): boolean => clientId.length <= 255 && /^[\x20-\x7e]+$/.test(clientId)
