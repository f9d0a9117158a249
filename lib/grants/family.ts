import type { AuthorizationServer } from '../authorization-server.ts'
import type { Authorization } from '../protocol/authorization.ts'
import type { Client } from '../protocol/client.ts'
import { OAuthError } from '../protocol/errors.ts'
import type { TokenResponse } from '../protocol/token-request.ts'
import { revokeAuthorization } from '../repositories/index.ts'
import { type IssuableAccessToken, newAccessToken } from '../tokens/access-token.ts'
import { issueIdToken } from '../tokens/id-token.ts'
import { type IssuableRefreshToken, newRefreshToken } from '../tokens/refresh-token.ts'
import { tokenResponse } from '../tokens/token-response.ts'
import type { User } from '../users/users.ts'

/**
 * The user of an authorization, as the host's table has them now.
 *
 * @throws OAuthError `invalid_grant` when gone or disabled
 */
export const activeUser = async (
  server: AuthorizationServer,
  authorization: Authorization,
): Promise<User> => {
  const user = await server.users.find(authorization.subject)
  if (user === undefined) throw new OAuthError('invalid_grant', 'the user can no longer be served')
  return user
}

/** Ends every token of an authorization because one of them was used twice, and gives the error that says so. */
export const revokeFamily = async (
  server: AuthorizationServer,
  authorization: Authorization,
  reason: string,
): Promise<OAuthError> => {
  await revokeAuthorization(server.database, { id: authorization.id, now: server.now() })
  server.options.logger.warn(
    `latchkey: ${reason}; all tokens of authorization ${authorization.id} are revoked`,
  )
  return new OAuthError('invalid_grant', `${reason}; every token issued for it is revoked`)
}

/** To whom tokens are issued, and for what. */
export interface Issue {
  readonly client: Client
  readonly user: User
  readonly authorization: Authorization
  readonly scopes: readonly string[]
  /** A refresh token that exists already is told again instead of making one. */
  readonly refreshToken?: string
  readonly nonce?: string
}

/** Everything a response needs, made and signed before the transaction that makes it true. */
export interface Issued {
  readonly response: TokenResponse
  readonly accessToken: IssuableAccessToken
  readonly refreshToken: IssuableRefreshToken | undefined
}

/** Makes the tokens of one response: an ID token with `openid`, a refresh token where the client may refresh. */
export const issueTokens = async (server: AuthorizationServer, issue: Issue): Promise<Issued> => {
  const { client, user, authorization, scopes } = issue
  const accessToken = newAccessToken(server, { client, scopes, authorization })
  const mayRefresh = client.metadata.grant_types.includes('refresh_token')
  const refreshToken =
    mayRefresh && issue.refreshToken === undefined
      ? newRefreshToken(server, client, authorization)
      : undefined
  const idToken = scopes.includes('openid')
    ? await issueIdToken(server, {
        client,
        user,
        authorization,
        scopes,
        accessToken: accessToken.value,
        nonce: issue.nonce,
      })
    : undefined
  const response = tokenResponse({
    accessToken,
    scopes,
    refreshToken: refreshToken?.value ?? issue.refreshToken,
    idToken,
  })
  return { response, accessToken, refreshToken }
}
