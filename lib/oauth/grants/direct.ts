import { createSecret, hashSecret, randomId } from '../../keys/secrets.ts'
import type { AccessStep } from '../../options/access.ts'
import { absoluteLifetime, type Client } from '../../protocol/clients/client.ts'
import type { GrantType } from '../../protocol/clients/client-metadata.ts'
import { refusal } from '../../protocol/refusal.ts'
import type { AuthorizationDetails } from '../../protocol/requests/authorization.ts'
import type { AuthorizationDetail } from '../../protocol/requests/authorization-details.ts'
import { scopesByResource } from '../../protocol/requests/resource.ts'
import type { TokenRequest, TokenResponse } from '../../protocol/tokens/token-request.ts'
import { type Condition, writeIf } from '../../storage/database/transaction.ts'
import {
  createAuthorization,
  type NewAuthorization,
  unlessRevoked,
} from '../../storage/repositories/index.ts'
import type { User } from '../../users/users.ts'
import type { AuthorizationServer } from '../authorization-server.ts'
import { whenGranted } from '../clients/client-data.ts'
import { extensionPoint } from '../extension-point.ts'
import { isRuled, usableScopes } from '../tokens/access-rules.ts'
import { issueAccessToken } from '../tokens/access-token.ts'
import { allowedUser } from '../tokens/allowed.ts'
import { announceTokens, issueTokens, storeTokens, tokenResponse } from '../tokens/issue-tokens.ts'
import { endSurplus } from '../tokens/surplus.ts'
import { consumeProof, removedClient, settledOrganization, storeOwnToken } from './exchange.ts'
import type { TokenTarget } from './target.ts'

/** The decision of a grant that needs no code and no page. */
interface DirectGrant extends TokenTarget {
  readonly grantType: GrantType
}

/** Sees the requests by which clients of organizations get tokens. It must be fast, and must not throw. */
export type OwnedClientObserver = (server: AuthorizationServer, client: Client, request: TokenRequest) => void

export const ownedClientObservers = extensionPoint<OwnedClientObserver>('oauth.ownedClients')

/**
 * A token that a client has for itself: neither an ID token nor a refresh token (RFC 6749 §4.4.3).
 *
 * @throws OAuthError for a client of an organization: `unauthorized_client` if it has expired, `access_denied` if a rule refuses it
 */
export const tokensForClient = async (
  server: AuthorizationServer,
  client: Client,
  request: TokenRequest,
  { grantType, scopes: wanted, resources }: DirectGrant,
): Promise<TokenResponse> => {
  const { info, binding } = request
  const { owned_by: owner } = client.metadata
  if (owner && owner.until <= server.now()) throw refusal('client_expired')
  const access = { client, subject: undefined, organization: owner?.id, scopes: wanted }
  const scopes = owner && isRuled(server) ? await usableScopes(server, access) : wanted
  if (scopes === undefined) throw refusal('client_not_allowed')
  await consumeProof(server, request)
  const owned = owner && { context: { generation: owner.generation }, notAfter: owner.until }
  const accessToken = await issueAccessToken(server, { client, scopes, resources, binding, ...owned })
  await storeOwnToken(server, client, accessToken)
  if (owner) for (const observe of server.added(ownedClientObservers)) observe(server, client, request)
  server.events.announce('tokens.issued', info, {
    grantType,
    clientId: client.clientId,
    scopes,
    resources: resources.length > 0 ? resources : undefined,
    ...(owner && { organization: owner.id }),
  })
  return tokenResponse({ accessToken, scopes })
}

/** The user of a direct grant, and their login elsewhere. */
interface DirectGrantForUser extends DirectGrant {
  /** The moment, for `access.allow`. */
  readonly step: AccessStep
  readonly user: User
  readonly login: Pick<AuthorizationDetails, 'authTime' | 'amr' | 'acr'>
  /** The organization, from the grant; by default the user's only one. */
  readonly organization?: string | undefined
  /** Authorization details of the tokens (RFC 9396); empty by default. */
  readonly authorizationDetails?: readonly AuthorizationDetail[]
  /** Whether the client gets a refresh token, if it may refresh. */
  readonly refreshes?: boolean
  /** The number of revocations when the request arrived. */
  readonly since: number
}

const authorizationFor = (
  server: AuthorizationServer,
  client: Client,
  { user, scopes, resources, login, organization, authorizationDetails, refreshes }: DirectGrantForUser,
): NewAuthorization => {
  const { clientId, metadata } = client
  const { lifetimes } = server.options
  const now = server.now()
  const lifetime = refreshes
    ? absoluteLifetime(metadata, lifetimes)
    : (metadata.access_token_lifetime ?? lifetimes.accessToken)
  return {
    id: randomId(),
    sid: randomId(),
    clientId,
    subject: user.subject,
    scopes,
    // It depends on no login here, and has no code that anyone knows.
    offline: true,
    codeHash: hashSecret(createSecret('authorizationCode')),
    codeExpiresAt: now,
    now,
    expiresAt: now + lifetime,
    details: {
      resources: scopesByResource(scopes, resources, server.resources),
      organization,
      authorizationDetails: authorizationDetails?.length ? authorizationDetails : undefined,
      ...login,
    },
  }
}

/**
 * Tokens of a user whom the grant itself names, for one of the user's organizations. They get an authorization, so that
 * whatever ends authorizations of the user ends them. It lasts as long as its one access token, or with a refresh token as
 * long as that.
 *
 * @throws OAuthError `invalid_grant` if no organization is settled · if everything of the user was ended meanwhile ·
 *   `access_denied` if the host does not allow the user
 */
export const tokensForUser = async (
  server: AuthorizationServer,
  client: Client,
  request: TokenRequest,
  grant: DirectGrantForUser,
): Promise<TokenResponse> => {
  const refreshes = grant.refreshes === true && client.metadata.grant_types.includes('refresh_token')
  const { binding } = request
  const organization = await settledOrganization(server, grant.user, grant.organization)
  const { acr } = grant.login
  const { info } = request
  const { user, scopes } = await allowedUser(server, info, { ...grant, client, organization, acr })
  await consumeProof(server, request)
  const settled = { ...grant, scopes, organization, refreshes }
  const created = authorizationFor(server, client, settled)
  const withoutLogin = { loginStands: false, loginEnd: 0 }
  const state = { createdAt: created.now, consumedAt: null, revokedAt: null, narrowed: 0 }
  const authorization = { ...created, ...state, ...withoutLogin }
  const { resources, grantType } = grant
  const content = { client, user, authorization, scopes, resources, refreshes, binding }
  const tokens = await issueTokens(server, content)
  const stands = unlessRevoked({ subject: user.subject, since: grant.since, now: created.now })
  const conditions: Condition<'revoked' | 'gone'>[] = [
    ['revoked', stands],
    ...whenGranted(server, client, { until: created.expiresAt, now: created.now }),
  ]
  const stored = [createAuthorization(created), ...storeTokens(tokens)]
  const obstacle = await writeIf(server.database, conditions, stored)
  if (obstacle === 'revoked') throw refusal('user_revoked')
  if (obstacle) throw removedClient()
  announceTokens(server, request, grantType, content)
  if (refreshes && server.isSurplusCheckDue()) endSurplus(server, created, info)
  return tokens.response
}
