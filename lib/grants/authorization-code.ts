import { transaction } from '../database/statement.ts'
import { hashSecret, isSecretOf } from '../keys/secrets.ts'
import { checkAuthorizationCode } from '../protocol/authorization-code.ts'
import { OAuthError } from '../protocol/errors.ts'
import { consumeAuthorizationCode, findAuthorizationByCode } from '../repositories/index.ts'
import { activeUser, announceTokens, issueTokens, revokeFamily, storeTokens } from '../tokens/issue-tokens.ts'
import type { Grant } from './grant.ts'

/** RFC 6749 §4.1.3, with PKCE (RFC 7636 §4.6) and OpenID Connect (OIDC Core §3.1.3). */
export const authorizationCode: Grant = {
  grantType: 'authorization_code',
  async exchange(server, client, request) {
    const { parameters } = request
    const code = parameters.required('code')
    const redirectUri = parameters.required('redirect_uri')
    const codeVerifier = parameters.optional('code_verifier')
    const found = isSecretOf('authorizationCode', code)
      ? await findAuthorizationByCode(server.database, { codeHash: hashSecret(code) })
      : undefined
    const presented = { clientId: client.clientId, redirectUri, codeVerifier }
    const outcome = checkAuthorizationCode(found, presented, server.now())
    // The rules throw for an unknown code; this tells the compiler so.
    if (found === undefined) throw new OAuthError('invalid_grant', 'code is unknown')
    if (outcome === 'replay') throw await revokeFamily(server, found, request, 'code_replayed')

    const user = await activeUser(server, found)
    const issue = { client, user, authorization: found, scopes: found.scopes, nonce: found.details.nonce }
    const tokens = await issueTokens(server, issue)
    const isRedeemed = await transaction(
      server.database,
      (tx) => consumeAuthorizationCode(tx, { id: found.id, now: server.now() }),
      (isFirst) => (isFirst ? storeTokens(tokens) : []),
    )
    // Someone else redeemed it between reading and now: a valid replay all the same.
    if (!isRedeemed) throw await revokeFamily(server, found, request, 'code_replayed')
    announceTokens(server, request, 'authorization_code', issue)
    return tokens.response
  },
}
