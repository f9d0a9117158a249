import { hashSecret, isSecretOf, mayBeRefreshToken } from '../../keys/secrets.ts'
import type { AuthorizationServer } from '../../oauth/authorization-server.ts'
import { readJwtAccessToken } from '../../oauth/tokens/jwt-access-token.ts'
import type { Client } from '../../protocol/clients/client.ts'
import { refusal } from '../../protocol/refusal.ts'
import type { TokenRequest } from '../../protocol/tokens/token-request.ts'
import { findRefreshToken, revokeAccessToken, revokeAuthorization } from '../../storage/repositories/index.ts'
import { sendJson } from '../http/send.ts'
import { clientEndpoint } from './client-endpoint.ts'

const revokeRefreshToken = async (
  server: AuthorizationServer,
  client: Client,
  { info }: TokenRequest,
  value: string,
): Promise<void> => {
  const found = await findRefreshToken(server.database, { hash: hashSecret(value) })
  if (found === undefined || found.authorization.clientId !== client.clientId) return
  const { id, clientId, subject } = found.authorization
  const family = { authorizationId: id, clientId, subject }
  await server.events.change(server.database, async (tx, tell) => {
    await revokeAuthorization(tx, { id, now: server.now() })
    await tell('authorization.revoked', info, { ...family, reason: 'revoked_by_client' })
  })
}

/**
 * RFC 7009: a client revokes one of its own tokens. Only that access token is revoked, or the whole family of a refresh
 * token (§2.1). An unknown, expired or foreign token changes nothing, and the answer is the same (§2.2). The prefix of
 * a token shows its type, so a wrong `token_type_hint` does no harm.
 */
export const revokeEndpoint = clientEndpoint({
  path: '/revoke',
  metadataName: 'revocation_endpoint',
  cors: true,
  limit: 'revoke',
  async answer({ server, res, info }, client, request) {
    const token = request.parameters.required('token')
    if (isSecretOf('accessToken', token)) {
      const { clientId } = client
      const values = { hash: hashSecret(token), clientId, now: server.now() }
      const revoked = await revokeAccessToken(server.database, values)
      if (revoked) server.events.announce('token.revoked', info, { clientId })
    }
    // RFC 7009 §2.2.1.
    if (await readJwtAccessToken(server, token)) throw refusal('token_not_revocable')
    if (mayBeRefreshToken(token)) await revokeRefreshToken(server, client, request, token)
    sendJson(res, {})
  },
})
