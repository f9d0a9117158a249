import { hashSecret, mayBeRefreshToken, openUnder, sealUnder } from '../../keys/secrets.ts'
import { allowedScopes, type Client, isPublic, rotatesRefreshTokens } from '../../protocol/clients/client.ts'
import { type AuthorizationState, grantedStill } from '../../protocol/requests/authorization.ts'
import { parseScope, refreshedScopes, scopesStillAllowed } from '../../protocol/scope.ts'
import { assertRefreshable, type Refresh, type RefreshToken } from '../../protocol/tokens/refresh-token.ts'
import type { TokenRequest, TokenResponse } from '../../protocol/tokens/token-request.ts'
import { writeIf } from '../../storage/database/transaction.ts'
import {
  consumeRefreshToken,
  extendRefreshToken,
  findClientAndRefreshToken,
  findFirstAddress,
  findRefreshToken,
} from '../../storage/repositories/index.ts'
import type { AuthorizationServer } from '../authorization-server.ts'
import { storeAccessToken } from '../tokens/access-token.ts'
import {
  announceTokens,
  issueTokens,
  refreshTokenEnd,
  storeTokens,
  type TokenSetDraft,
} from '../tokens/issue-tokens.ts'
import { activeUser, asRead, consumeProof, narrowedMeanwhile, revokeReplayed } from './exchange.ts'
import type { Grant } from './grant.ts'
import { targetOf } from './target.ts'

/** RFC 6749 §6, with rotation and reuse detection (RFC 9700 §4.14.2). */
export const refreshToken: Grant = {
  grantType: 'refresh_token',
  readsDetails: true,
  findPresented(database, parameters, lookup) {
    const value = parameters.first('refresh_token') ?? ''
    if (!mayBeRefreshToken(value)) return undefined
    return findClientAndRefreshToken(database, { ...lookup, hash: hashSecret(value) })
  },

  exchange: (server, client, request, { refreshToken: stored }) =>
    exchange(server, client, request, { stored, mayRetry: true }),
}

const exchange = async (
  server: AuthorizationServer,
  client: Client,
  request: TokenRequest,
  { stored, mayRetry }: { stored: RefreshToken | undefined; mayRetry: boolean },
): Promise<TokenResponse> => {
  const value = request.parameters.required('refresh_token')
  const requested = parseScope(request.parameters.optional('scope'))
  const { lifetimes } = server.options
  const rules = {
    clientId: client.clientId,
    rotation: rotatesRefreshTokens(client),
    refreshGracePeriod: lifetimes.refreshGracePeriod,
    binding: isPublic(client) ? request.binding : undefined,
  }
  const next = stored?.successor ? openUnder(value, stored.successor, 'successor') : undefined
  const successor =
    next === undefined ? undefined : await findRefreshToken(server.database, { hash: hashSecret(next) })
  const presented = stored && {
    ...stored,
    authorization: grantedStill(stored.authorization, client, lifetimes),
  }
  const refresh = assertRefreshable(presented, successor, rules, server.now())
  const { authorization } = refresh.token
  if (refresh.outcome === 'reuse') {
    return revokeReplayed(server, authorization, request, 'refresh_token')
  }
  if (mayRetry) await server.throttle.takeLocalQuota([{ name: 'refresh', authorizationId: authorization.id }])

  const left = scopesStillAllowed(authorization.scopes, allowedScopes(client))
  const allowed = refreshedScopes(requested, left)
  const target = targetOf(server, request, authorization, allowed)
  const asked = { client, scopes: target.scopes, step: 'refresh' } as const
  const access = await activeUser(server, authorization, request, asked)
  const grant = { client, authorization, ...target, ...access, binding: request.binding }
  // A second look follows a lost race, for which the proof is used up already.
  if (mayRetry) await consumeProof(server, request)
  const { info } = request
  // Before tokens are stored: a read that fails afterwards would lose them.
  const { hash } = refresh.token
  const firstAddress =
    refresh.outcome === 'repeat' ? await findFirstAddress(server.database, { hash }) : undefined
  const response = await respond(server, { value, next, address: info.address }, refresh, grant)
  if (response) {
    if (refresh.outcome === 'repeat') announceRepeat(server, authorization, request, firstAddress)
    announceTokens(server, request, 'refresh_token', grant)
    return response
  }
  // Another request used the token meanwhile: read it again, once.
  if (mayRetry)
    return exchange(server, client, request, {
      stored: await findRefreshToken(server.database, { hash }),
      mayRetry: false,
    })
  return revokeReplayed(server, authorization, request, 'refresh_token')
}

/** Returns undefined if another request used the token meanwhile. */
const respond = (
  server: AuthorizationServer,
  { value, next = '', address }: Pick<PresentedToken, 'value' | 'next' | 'address'>,
  refresh: Exclude<Refresh, { outcome: 'reuse' }>,
  draft: TokenSetDraft,
): Promise<TokenResponse | undefined> => {
  const { hash } = refresh.token
  if (refresh.outcome === 'repeat') return repeat(server, refresh.successor, { ...draft, refreshToken: next })
  const presented = { value, hash, address }
  return refresh.outcome === 'rotate' ? rotate(server, presented, draft) : keep(server, presented, draft)
}

/** A repeat is usually a lost response. From another address, it may be a thief who was quick. */
const announceRepeat = (
  server: AuthorizationServer,
  { id, clientId, subject }: AuthorizationState,
  { info }: TokenRequest,
  firstAddress: string | undefined,
): void => {
  const family = { authorizationId: id, clientId, subject }
  server.events.announce('token.repeated', info, { ...family, firstAddress })
}

/** A refresh token as it was presented, its stored hash, and the IP address of the request. */
interface PresentedToken {
  readonly value: string
  /** The value of its successor, if it has one already. */
  readonly next?: string | undefined
  readonly hash: string
  readonly address: string
}

/** @throws OAuthError 503 if the user narrowed the authorization meanwhile, which used nothing up */
const unlessUsed = (
  obstacle: 'used' | 'gone' | 'narrowed' | undefined,
  response: TokenResponse,
): TokenResponse | undefined => {
  if (obstacle === 'narrowed') throw narrowedMeanwhile()
  return obstacle ? undefined : response
}

/** Issues a successor, and stores it encrypted so that it can be returned again during the grace period. */
const rotate = async (
  server: AuthorizationServer,
  { value, hash, address }: PresentedToken,
  draft: TokenSetDraft,
): Promise<TokenResponse | undefined> => {
  const tokens = await issueTokens(server, draft)
  const { refreshToken: next, response } = tokens
  const successor =
    next && server.options.lifetimes.refreshGracePeriod > 0 ? sealUnder(value, next.value, 'successor') : null
  const obstacle = await writeIf(
    server.database,
    [
      ...asRead(server, draft.authorization),
      ['used', consumeRefreshToken({ hash, successor, address, now: server.now() })],
    ],
    storeTokens(tokens),
  )
  return unlessUsed(obstacle, response)
}

/** Without rotation the client keeps its token, and its idle lifetime starts again. */
const keep = async (
  server: AuthorizationServer,
  { value, hash }: PresentedToken,
  draft: TokenSetDraft,
): Promise<TokenResponse | undefined> => {
  const tokens = await issueTokens(server, { ...draft, refreshToken: value })
  const expiresAt = refreshTokenEnd(server, draft.client, draft.authorization)
  const obstacle = await writeIf(
    server.database,
    [
      ...asRead(server, draft.authorization),
      ['gone', extendRefreshToken({ hash, now: server.now(), expiresAt })],
    ],
    storeTokens(tokens),
  )
  return unlessUsed(obstacle, tokens.response)
}

/** Returns the same successor and a new access token, unless the successor was used meanwhile. */
const repeat = async (
  server: AuthorizationServer,
  { hash, expiresAt }: RefreshToken,
  draft: TokenSetDraft,
): Promise<TokenResponse | undefined> => {
  const { accessToken, response } = await issueTokens(server, draft)
  const obstacle = await writeIf(
    server.database,
    [
      ...asRead(server, draft.authorization),
      ['used', extendRefreshToken({ hash, now: server.now(), expiresAt })],
    ],
    storeAccessToken(accessToken),
  )
  return unlessUsed(obstacle, response)
}
