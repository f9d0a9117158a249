import { hashSecret, isSecretOf } from '../keys/secrets.ts'
import { assertRedeemable } from '../protocol/authorization.ts'
import { isPublic } from '../protocol/client.ts'
import { OAuthError } from '../protocol/errors.ts'
import { isRegisteredRedirectUri } from '../protocol/redirect-uri.ts'
import { findAuthorizationByCode } from '../repositories/index.ts'
import type { Grant } from './grant.ts'
import { redeem } from './redeem.ts'

/** RFC 6749 §4.1.3, with PKCE (RFC 7636 §4.6) and OpenID Connect (OIDC Core §3.1.3). */
export const authorizationCode: Grant = {
  grantType: 'authorization_code',
  readsDetails: true,
  async exchange(server, client, request) {
    const { parameters, binding } = request
    const code = parameters.required('code')
    const redirectUri = parameters.required('redirect_uri')
    const codeVerifier = parameters.optional('code_verifier')
    const found = isSecretOf('authorizationCode', code)
      ? await findAuthorizationByCode(server.database, { codeHash: hashSecret(code) })
      : undefined
    const presented = { clientId: client.clientId, redirectUri, codeVerifier, binding }
    const redemption = assertRedeemable(found, presented, server.now())
    const { redirect_uris: redirectUris } = client.metadata
    const isRegistered = isRegisteredRedirectUri(redirectUri, redirectUris, { isPublic: isPublic(client) })
    if (redemption.outcome === 'redeem' && !isRegistered) {
      throw new OAuthError('invalid_grant', 'redirect_uri is no longer registered for this client')
    }
    return redeem(server, client, request, { ...redemption, grantType: 'authorization_code' })
  },
}
