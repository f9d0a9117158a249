import { randomInt } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
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
 *   `invalid_request` for two methods at once; status 429 when too many have failed for this client at this address
 */
export const authenticateClient = async (
  server: AuthorizationServer,
  request: TokenRequest,
  endpoint: 'token' | 'introspect' | 'revoke',
): Promise<Client> => {
  const [method, second] = clientAuthMethods.filter((candidate) => candidate.isUsed(request))
  if (method === undefined || second !== undefined) {
    throw new OAuthError('invalid_request', 'the client must authenticate by one method only')
  }
  const presented = method.present(request)
  const clientId =
    presented.clientId !== undefined && isClientId(presented.clientId) ? presented.clientId : undefined
  const { info } = request
  const failing = { address: info.address, name: clientId ?? '' }
  await server.throttle[endpoint].assertOpen(failing)
  const client =
    clientId === undefined ? undefined : await findClient(server.database, { clientId, now: server.now() })
  try {
    if (clientId === undefined) throw invalidClient(request)
    const eligible = client?.disabledAt === null && mayUse(client, method) ? client : undefined
    const proven = await presented.verify(eligible, server)
    if (!proven || eligible === undefined) throw invalidClient(request)
    return eligible
  } catch (error) {
    if (!(error instanceof OAuthError && error.code === 'invalid_client')) throw error
    // Not as presented: a client that mixes up its fields sends a token or its secret there.
    server.events.announce('client.refused', info, { clientId: client?.clientId, endpoint })
    await wait(randomInt(1, maxPause + 1))
    throw (await server.throttle[endpoint].failed(failing)) ?? error
  }
}

/** Milliseconds of chance, in which the few microseconds are lost that a client which is there takes longer. */
const maxPause = 5

/** What could be a client_id at all: nothing else reaches a query. */
const isClientId = (clientId: string): boolean => clientId.length <= 255 && /^[\x20-\x7e]+$/.test(clientId)
