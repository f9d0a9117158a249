import type { AuthorizationServer } from '../authorization-server.ts'
import type { Database } from '../database/statement.ts'
import type { Authorization } from '../protocol/authorization.ts'
import type { Client } from '../protocol/client.ts'
import type { GrantType } from '../protocol/client-metadata.ts'
import { OAuthError } from '../protocol/errors.ts'
import type { TokenRequest, TokenResponse } from '../protocol/token-request.ts'
import { createAccessToken, createRefreshToken, revokeAuthorization } from '../repositories/index.ts'
import { mayUseOrganization } from '../users/organizations.ts'
import type { User } from '../users/users.ts'
import { type IssuableAccessToken, newAccessToken } from './access-token.ts'
import { issueIdToken } from './id-token.ts'
import { type IssuableRefreshToken, newRefreshToken } from './refresh-token.ts'
import { tokenResponse } from './token-response.ts'

/**
 * The user of an authorization, as the host's table has them now. The family of somebody who has left its workspace
 * is refused but not revoked: if the host takes them back, or was wrong, it goes on.
 *
 * @throws OAuthError `invalid_grant` when gone or disabled, or not in that workspace any more
 */
export const activeUser = async (
  server: AuthorizationServer,
  authorization: Authorization,
): Promise<User> => {
  const user = await server.users.find(authorization.subject)
  if (user === undefined) throw new OAuthError('invalid_grant', 'the user can no longer be served')
  if (!(await mayUseOrganization(server.options.organizations, user, authorization.details.organization))) {
    throw new OAuthError('invalid_grant', 'the user no longer belongs to the workspace')
  }
  return user
}

/** What was used twice. */
const replays = {
  code_replayed: 'code was redeemed before',
  refresh_token_replayed: 'refresh_token was used before',
} as const

/** Ends every token of an authorization because one of them was used twice, and gives the error that says so. */
export const revokeFamily = async (
  server: AuthorizationServer,
  { id, clientId, subject }: Authorization,
  { info }: TokenRequest,
  reason: keyof typeof replays,
): Promise<OAuthError> => {
  await revokeAuthorization(server.database, { id, now: server.now() })
  server.options.logger.warn(`latchkey: ${replays[reason]}; all tokens of authorization ${id} are revoked`)
  server.events.announce('authorization.revoked', info, {
    authorizationId: id,
    clientId,
    subject,
    reason,
  })
  return new OAuthError('invalid_grant', `${replays[reason]}; every token issued for it is revoked`)
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

/** The writes that make it true. */
export const storeTokens = ({
  accessToken,
  refreshToken,
}: Pick<Issued, 'accessToken' | 'refreshToken'>): ((tx: Database) => Promise<void>)[] => [
  ...(refreshToken ? [(tx: Database) => createRefreshToken(tx, refreshToken.row)] : []),
  (tx) => createAccessToken(tx, accessToken.row),
]

/** Tells that tokens are out; they are in the database by then. */
export const announceTokens = (
  server: AuthorizationServer,
  { info }: TokenRequest,
  grantType: GrantType,
  { client, authorization, scopes }: Pick<Issue, 'client' | 'authorization' | 'scopes'>,
): void =>
  server.events.announce('tokens.issued', info, {
    grantType,
    clientId: client.clientId,
    scopes,
    subject: authorization.subject,
    authorizationId: authorization.id,
    ...(authorization.details.organization !== undefined && {
      organization: authorization.details.organization,
    }),
  })

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
