import { transaction } from '../database/transaction.ts'
import { hashSecret, isSecretOf } from '../keys/secrets.ts'
import { assertRedeemable } from '../protocol/authorization-code.ts'
import { allowedScopes, isPublic } from '../protocol/client.ts'
import { OAuthError } from '../protocol/errors.ts'
import { isRegisteredRedirectUri } from '../protocol/redirect-uri.ts'
import { refreshTokenBinding } from '../protocol/refresh-token.ts'
import { scopesStillAllowed } from '../protocol/scope.ts'
import { consumeAuthorizationCode, findAuthorizationByCode } from '../repositories/index.ts'
import { announceTokens, issueTokens, storeTokens } from '../tokens/issue-tokens.ts'
import { activeUser, revokeReplayed } from './authorization.ts'
import type { Grant } from './grant.ts'
import { targetOf } from './target.ts'

/** RFC 6749 §4.1.3, with PKCE (RFC 7636 §4.6) and OpenID Connect (OIDC Core §3.1.3). */
export const authorizationCode: Grant = {
  grantType: 'authorization_code',
  async exchange(server, client, request) {
    const { parameters, binding } = request
    const code = parameters.required('code')
    const redirectUri = parameters.required('redirect_uri')
    const codeVerifier = parameters.optional('code_verifier')
    const found = isSecretOf('authorizationCode', code)
      ? await findAuthorizationByCode(server.database, { codeHash: hashSecret(code) })
      : undefined
    const presented = { clientId: client.clientId, redirectUri, codeVerifier, binding }
    const { outcome, authorization } = assertRedeemable(found, presented, server.now())
    if (outcome === 'replay') return revokeReplayed(server, authorization, request, 'code_replayed')

    const { redirect_uris: redirectUris } = client.metadata
    if (!isRegisteredRedirectUri(redirectUri, redirectUris, { isPublic: isPublic(client) })) {
      throw new OAuthError('invalid_grant', 'redirect_uri is no longer registered for this client')
    }
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
    // Another request redeemed the code meanwhile, which is a replay too.
    if (!isRedeemed) return revokeReplayed(server, authorization, request, 'code_replayed')
    announceTokens(server, request, 'authorization_code', grant)
    return tokens.response
  },
}
