import type { RequestHandler } from 'express'
import type { AuthorizationServer } from '../authorization-server.ts'
import { authenticateClient } from '../client-auth/index.ts'
import { sendJson } from '../http/send.ts'
import { tokenRequest } from '../http/token-request.ts'
import { hashSecret, isSecretOf } from '../keys/secrets.ts'
import type { Client } from '../protocol/client.ts'
import type { TokenRequest } from '../protocol/token-request.ts'
import { findRefreshToken, revokeAccessToken, revokeAuthorization } from '../repositories/index.ts'

/**
 * RFC 7009: a client ends a token of its own. An access token ends alone; a refresh token takes its whole family
 * with it (§2.1). What is unknown, dead or another client's is left as it is, and the answer is the same (§2.2).
 * The form of a token tells its kind, so a wrong `token_type_hint` does no harm.
 */
export const revokeEndpoint =
  (server: AuthorizationServer): RequestHandler =>
  async (req, res) => {
    const request = tokenRequest(req)
    const client = await authenticateClient(server, request, 'revoke')
    const token = request.parameters.required('token')
    if (isSecretOf('accessToken', token)) {
      const revoked = await revokeAccessToken(server.database, {
        hash: hashSecret(token),
        clientId: client.clientId,
        now: server.now(),
      })
      if (revoked) server.events.announce('token.revoked', request.info, { clientId: client.clientId })
    }
    if (isSecretOf('refreshToken', token)) await revokeRefreshToken(server, client, request, token)
    sendJson(res, {})
  }

const revokeRefreshToken = async (
  server: AuthorizationServer,
  client: Client,
  { info }: TokenRequest,
  value: string,
): Promise<void> => {
  const found = await findRefreshToken(server.database, { hash: hashSecret(value) })
  if (found === undefined || found.authorization.clientId !== client.clientId) return
  const { id, clientId, subject } = found.authorization
  await revokeAuthorization(server.database, { id, now: server.now() })
  const family = { authorizationId: id, clientId, subject }
  server.events.announce('authorization.revoked', info, { ...family, reason: 'revoked_by_client' })
}
