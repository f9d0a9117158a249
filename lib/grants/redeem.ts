import type { AuthorizationServer } from '../authorization-server.ts'
import { transaction } from '../database/transaction.ts'
import type { Redemption } from '../protocol/authorization.ts'
import { allowedScopes, type Client } from '../protocol/client.ts'
import type { GrantType } from '../protocol/client-metadata.ts'
import { scopesStillAllowed } from '../protocol/scope.ts'
import { refreshTokenBinding } from '../protocol/token-binding.ts'
import type { TokenRequest, TokenResponse } from '../protocol/token-request.ts'
import { consumeAuthorizationCode } from '../repositories/index.ts'
import { announceTokens, issueTokens, storeTokens } from '../tokens/issue-tokens.ts'
import { activeUser, revokeReplayed } from './authorization.ts'
import { targetOf } from './target.ts'

/**
 * Exchanges what a user granted for tokens, once: an authorization code, or the code of a device. A second use revokes
 * every token of the first.
 *
 * @throws OAuthError `invalid_grant` for a second use, or if the user may no longer have tokens
 */
export const redeem = async (
  server: AuthorizationServer,
  client: Client,
  request: TokenRequest,
  { outcome, authorization, grantType }: Redemption & { readonly grantType: GrantType },
): Promise<TokenResponse> => {
  const reason = grantType === 'authorization_code' ? 'code_replayed' : 'device_code_replayed'
  if (outcome === 'replay') return revokeReplayed(server, authorization, request, reason)
  const { binding } = request
  const { id, details } = authorization
  const allowed = scopesStillAllowed(authorization.scopes, allowedScopes(client))
  const target = targetOf(server, request, authorization, allowed)
  const user = await activeUser(server, authorization)
  const grant = { client, user, authorization, ...target, nonce: details.nonce, binding }
  const bound = refreshTokenBinding(client, binding)
  const keeps = bound.binding && { details: { ...details, ...bound } }
  const tokens = await issueTokens(server, grant)
  const isRedeemed = await transaction(server.database, async (tx) => {
    const isFirst = await consumeAuthorizationCode(tx, { id, now: server.now(), ...keeps })
    if (isFirst) await storeTokens(tx, tokens)
    return isFirst
  })
  // Another request redeemed it meanwhile, which is a replay too.
  if (!isRedeemed) return revokeReplayed(server, authorization, request, reason)
  announceTokens(server, request, grantType, grant)
  return tokens.response
}
