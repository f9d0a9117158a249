import { createSecret, hashSecret } from '../../keys/secrets.ts'
import type { Client } from '../../protocol/clients/client.ts'
import type { GrantType } from '../../protocol/clients/client-metadata.ts'
import { type AuthorizationState, refreshTokenExpiry } from '../../protocol/requests/authorization.ts'
import { formatScope } from '../../protocol/scope.ts'
import { refreshTokenBinding } from '../../protocol/tokens/refresh-token.ts'
import { tokenType } from '../../protocol/tokens/token-binding.ts'
import type { TokenRequest, TokenResponse } from '../../protocol/tokens/token-request.ts'
import type { Write } from '../../storage/database/statement.ts'
import { createRefreshToken } from '../../storage/repositories/index.ts'
import type { AuthorizationServer } from '../authorization-server.ts'
import {
  type IssuedAccessToken,
  issueAccessToken,
  storeAccessToken,
  type UserTokenDraft,
} from './access-token.ts'
import { issueIdToken } from './id-token.ts'

/** To which user tokens are issued, and for what. */
export interface TokenSetDraft extends Omit<UserTokenDraft, 'ownerId' | 'notAfter'> {
  readonly authorization: AuthorizationState
  /** An existing refresh token to return instead of a new one. */
  readonly refreshToken?: string
  /** False: the grant has no refresh token. By default it has one if the client may refresh. */
  readonly refreshes?: boolean
  readonly nonce?: string
}

/** The tokens of one response, created and signed before the transaction that stores them. */
export interface IssuedTokens {
  readonly response: TokenResponse
  readonly accessToken: IssuedAccessToken
  /** Undefined if the response has none, or an existing one. */
  readonly refreshToken: IssuedRefreshToken | undefined
}

/** Issues an access token, an ID token with `openid`, and a refresh token if the client may refresh. */
export const issueTokens = async (
  server: AuthorizationServer,
  draft: TokenSetDraft,
): Promise<IssuedTokens> => {
  const { scopes } = draft
  const accessToken = await issueAccessToken(server, draft)
  const refreshToken = issuesRefreshToken(draft) ? issueRefreshToken(server, draft) : undefined
  const idToken = scopes.includes('openid')
    ? await issueIdToken(server, { ...draft, accessToken: accessToken.value })
    : undefined
  const response = tokenResponse({
    accessToken,
    scopes,
    refreshToken: refreshToken?.value ?? draft.refreshToken,
    idToken,
  })
  return { response, accessToken, refreshToken }
}

const issuesRefreshToken = ({ client, refreshToken, refreshes = true }: TokenSetDraft): boolean =>
  refreshes && refreshToken === undefined && client.metadata.grant_types.includes('refresh_token')

/** The writes that store the tokens and redeem the draft. */
export const storeTokens = ({
  accessToken,
  refreshToken,
}: Pick<IssuedTokens, 'accessToken' | 'refreshToken'>): Write[] => [
  ...(refreshToken ? [createRefreshToken(refreshToken.row)] : []),
  ...storeAccessToken(accessToken),
]

interface AnnouncedTokens extends Pick<TokenSetDraft, 'client' | 'authorization' | 'scopes' | 'resources'> {
  /** The `sub` of the actor. */
  readonly actor?: string
}

/** Announces tokens that are stored. */
export const announceTokens = (
  server: AuthorizationServer,
  { info }: TokenRequest,
  grantType: GrantType,
  { client, authorization, scopes, resources, actor }: AnnouncedTokens,
): void => {
  server.events.announce('tokens.issued', info, {
    grantType,
    clientId: client.clientId,
    scopes,
    subject: authorization.subject,
    authorizationId: authorization.id,
    resources: resources.length > 0 ? resources : undefined,
    organization: authorization.details.organization,
    actor,
  })
}

/** A new refresh token, with the row that stores it. */
interface IssuedRefreshToken {
  readonly value: string
  readonly row: Parameters<typeof createRefreshToken>[0]
}

/** When a refresh token of this authorization expires if it is issued or used now, in epoch seconds. */
export const refreshTokenEnd = (
  server: AuthorizationServer,
  client: Client,
  authorization: AuthorizationState,
): number =>
  refreshTokenExpiry(
    server.now(),
    client.metadata.refresh_token_idle_lifetime ?? server.options.lifetimes.refreshTokenIdle,
    authorization.expiresAt,
  )

const issueRefreshToken = (
  server: AuthorizationServer,
  { client, authorization, binding }: TokenSetDraft,
): IssuedRefreshToken => {
  const value = createSecret('refreshToken')
  return {
    value,
    row: {
      hash: hashSecret(value),
      authorizationId: authorization.id,
      binding: refreshTokenBinding(client, binding),
      now: server.now(),
      expiresAt: refreshTokenEnd(server, client, authorization),
    },
  }
}

interface TokenResponseParts {
  readonly accessToken: IssuedAccessToken
  readonly scopes: readonly string[]
  readonly refreshToken?: string
  readonly idToken?: string
}

/** A token response (RFC 6749 §5.1), with the scopes that were granted; RFC 6749 §3.3 has no empty `scope`. */
export const tokenResponse = ({
  accessToken,
  scopes,
  refreshToken,
  idToken,
}: TokenResponseParts): TokenResponse => ({
  access_token: accessToken.value,
  token_type: tokenType(accessToken.binding),
  expires_in: accessToken.expiresIn,
  scope: formatScope(scopes) || undefined,
  refresh_token: refreshToken,
  id_token: idToken,
  authorization_details:
    accessToken.authorizationDetails.length > 0 ? accessToken.authorizationDetails : undefined,
})
