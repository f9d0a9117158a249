import type { AuthorizationServer } from '../authorization-server.ts'
import { transaction } from '../database/statement.ts'
import { hashSecret, isSecretOf, openUnder, sealUnder } from '../keys/secrets.ts'
import { allowedScopes, type Client } from '../protocol/client.ts'
import { OAuthError } from '../protocol/errors.ts'
import { checkRefreshToken, type RefreshToken } from '../protocol/refresh-token.ts'
import { narrowedScopes, parseScope, scopesStillAllowed } from '../protocol/scope.ts'
import type { TokenRequest, TokenResponse } from '../protocol/token-request.ts'
import {
  consumeRefreshToken,
  createAccessToken,
  extendRefreshToken,
  findRefreshToken,
} from '../repositories/index.ts'
import {
  activeUser,
  announceTokens,
  type Issue,
  issueTokens,
  revokeFamily,
  storeTokens,
} from '../tokens/issue-tokens.ts'
import { refreshTokenEnd } from '../tokens/refresh-token.ts'
import type { Grant } from './grant.ts'

interface Refresh {
  readonly server: AuthorizationServer
  /** What the client sent. */
  readonly value: string
  readonly token: RefreshToken
  /** To whom new tokens are issued, and for what. */
  readonly grant: Omit<Issue, 'refreshToken'>
}

/** RFC 6749 §6, with rotation and reuse detection (RFC 9700 §4.14.2). */
export const refreshToken: Grant = {
  grantType: 'refresh_token',
  exchange: async (server, client, request) => exchange(server, client, request, true),
}

const exchange = async (
  server: AuthorizationServer,
  client: Client,
  request: TokenRequest,
  mayReread: boolean,
): Promise<TokenResponse> => {
  const value = request.parameters.required('refresh_token')
  const asked = parseScope(request.parameters.optional('scope'))
  const token = isSecretOf('refreshToken', value)
    ? await findRefreshToken(server.database, { hash: hashSecret(value) })
    : undefined
  const rules = {
    clientId: client.clientId,
    rotation: client.metadata.refresh_token_rotation,
    refreshTokenGracePeriod: server.options.refreshTokenGracePeriod,
  }
  const outcome = checkRefreshToken(token, rules, server.now())
  // The rules throw for an unknown token; this tells the compiler so.
  if (token === undefined) throw new OAuthError('invalid_grant', 'refresh_token is unknown')
  if (outcome === 'reuse')
    throw await revokeFamily(server, token.authorization, request, 'refresh_token_replayed')

  const scopes = scopesStillAllowed(narrowedScopes(asked, token.authorization.scopes), allowedScopes(client))
  const user = await activeUser(server, token.authorization)
  const grant = { client, user, authorization: token.authorization, scopes }
  const response = await outcomes[outcome]({ server, value, token, grant })
  if (response) {
    server.lastUse.note(token.authorization.id)
    announceTokens(server, request, 'refresh_token', grant)
    return response
  }
  // Another request used the token up meanwhile: read again, once, and judge by what is true now.
  if (mayReread) return exchange(server, client, request, false)
  throw await revokeFamily(server, token.authorization, request, 'refresh_token_replayed')
}

type Outcome = (refresh: Refresh) => Promise<TokenResponse | undefined>

/** A new link in the chain; undefined when another request was first. */
const rotate: Outcome = async ({ server, value, token: { hash }, grant }) => {
  const issued = await issueTokens(server, grant)
  const { refreshToken: next, response } = issued
  const successor = next && server.options.refreshTokenGracePeriod > 0 ? sealUnder(value, next.value) : null
  const isRotated = await transaction(
    server.database,
    (tx) => consumeRefreshToken(tx, { hash, successor, now: server.now() }),
    (isFirst) => (isFirst ? storeTokens(issued) : []),
  )
  return isRotated ? response : undefined
}

/** A client that is registered without rotation keeps its token; its idle time starts afresh. */
const keep: Outcome = async ({ server, value, token: { hash }, grant }) => {
  const issued = await issueTokens(server, { ...grant, refreshToken: value })
  const expiresAt = refreshTokenEnd(server, grant.client, grant.authorization)
  const isKept = await transaction(
    server.database,
    (tx) => extendRefreshToken(tx, { hash, expiresAt }),
    (stands) => (stands ? storeTokens(issued) : []),
  )
  return isKept ? issued.response : undefined
}

/** The answer got lost on the way: the same successor again, while nobody has used it, and a fresh access token. */
const repeat: Outcome = async ({ server, value, token, grant }) => {
  const successor = openUnder(value, token.successor ?? '')
  const next = await findRefreshToken(server.database, { hash: hashSecret(successor) })
  if (next === undefined || next.consumedAt !== null || next.expiresAt <= server.now()) return undefined
  const { accessToken, response } = await issueTokens(server, { ...grant, refreshToken: successor })
  await createAccessToken(server.database, accessToken.row)
  return response
}

const outcomes = { rotate, keep, repeat }
