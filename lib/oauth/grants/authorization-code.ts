import type { SingleUseParameters } from '../../events/event.ts'
import { hashSecret, isSecretOf } from '../../keys/secrets.ts'
import type { AccessStep } from '../../options/access.ts'
import { allowedScopes, type Client, isPublic } from '../../protocol/clients/client.ts'
import type { GrantType } from '../../protocol/clients/client-metadata.ts'
import { isRegisteredRedirectUri } from '../../protocol/clients/redirect-uri.ts'
import { refusal } from '../../protocol/refusal.ts'
import { assertRedeemable, grantedStill, type Redemption } from '../../protocol/requests/authorization.ts'
import { scopesStillAllowed } from '../../protocol/scope.ts'
import type { TokenRequest, TokenResponse } from '../../protocol/tokens/token-request.ts'
import { writeIf } from '../../storage/database/transaction.ts'
import {
  consumeAuthorizationCode,
  findAuthorization,
  findClientAndCode,
} from '../../storage/repositories/index.ts'
import type { AuthorizationServer } from '../authorization-server.ts'
import { announceTokens, issueTokens, storeTokens } from '../tokens/issue-tokens.ts'
import { activeUser, consumeProof, narrowedMeanwhile, revokeReplayed } from './exchange.ts'
import type { Grant } from './grant.ts'
import { targetOf } from './target.ts'

/** RFC 6749 §4.1.3, with PKCE (RFC 7636 §4.6) and OpenID Connect (OIDC Core §3.1.3). */
export const authorizationCode: Grant = {
  grantType: 'authorization_code',
  readsDetails: true,
  findPresented(database, parameters, lookup) {
    const code = parameters.first('code') ?? ''
    if (!isSecretOf('authorizationCode', code)) return undefined
    return findClientAndCode(database, { ...lookup, codeHash: hashSecret(code) })
  },

  async exchange(server, client, request, { authorization: stored }) {
    const { parameters, binding } = request
    parameters.required('code')
    const redirectUri = parameters.optional('redirect_uri')
    const codeVerifier = parameters.optional('code_verifier')
    const presented = { clientId: client.clientId, redirectUri, codeVerifier, binding }
    const authorization = stored && grantedStill(stored, client, server.options.lifetimes)
    const redemption = assertRedeemable(authorization, presented, server.now())
    const { redirectUri: requested = '' } = redemption.authorization.details
    const { redirect_uris: redirectUris } = client.metadata
    const isRegistered = isRegisteredRedirectUri(requested, redirectUris, { isPublic: isPublic(client) })
    if (redemption.outcome === 'redeem' && !isRegistered) {
      throw refusal('redirect_uri_removed')
    }
    return redeem(server, client, request, {
      ...redemption,
      grantType: 'authorization_code',
      parameter: 'code',
      step: 'code',
    })
  },
}

/**
 * Exchanges what a user granted for tokens, once. A second use revokes every token of the first.
 *
 * @param redemption.parameter the one that carried the code
 * @param redemption.step the moment, for `access.allow`
 * @throws OAuthError `invalid_grant` for a second use, or if the user may no longer have tokens · `access_denied` if the host
 *   does not allow them now, which uses nothing up
 */
export const redeem = async (
  server: AuthorizationServer,
  client: Client,
  request: TokenRequest,
  redemption: Redemption & {
    readonly grantType: GrantType
    readonly parameter: keyof SingleUseParameters
    readonly step: AccessStep
  },
): Promise<TokenResponse> => {
  const { outcome, authorization, grantType, parameter, step } = redemption
  if (outcome === 'replay') return revokeReplayed(server, authorization, request, parameter)
  const { binding } = request
  const { id, narrowed, details } = authorization
  const allowed = scopesStillAllowed(authorization.scopes, allowedScopes(client))
  const target = targetOf(server, request, authorization, allowed)
  const access = await activeUser(server, authorization, request, { client, scopes: target.scopes, step })
  const grant = { client, authorization, ...target, ...access, nonce: details.nonce, binding }
  await consumeProof(server, request)
  const tokens = await issueTokens(server, grant)
  const obstacle = await writeIf(
    server.database,
    [['used', consumeAuthorizationCode({ id, narrowed, now: server.now() })]],
    storeTokens(tokens),
  )
  if (obstacle) {
    const current = await findAuthorization(server.database, { id })
    if (current?.consumedAt === null && current.revokedAt === null) throw narrowedMeanwhile()
    if (current === undefined || current.consumedAt === null) throw refusal(`${parameter}_revoked`)
    // Another request redeemed it meanwhile, which is a replay too.
    return revokeReplayed(server, authorization, request, parameter)
  }
  announceTokens(server, request, grantType, grant)
  return tokens.response
}
