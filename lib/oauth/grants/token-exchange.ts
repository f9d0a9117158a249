import { hashSecret } from '../../keys/secrets.ts'
import type { TokenExchangeDecision, TokenExchangeRequest } from '../../options/token-exchange.ts'
import { allowedScopes, type Client, isPublic } from '../../protocol/clients/client.ts'
import { definedScopes } from '../../protocol/clients/defined-grant.ts'
import { OAuthError } from '../../protocol/errors.ts'
import { isObject, setMembers } from '../../protocol/json.ts'
import { HostError } from '../../protocol/problem.ts'
import { refusal } from '../../protocol/refusal.ts'
import type { AuthorizationState } from '../../protocol/requests/authorization.ts'
import { formatFor, parseResources, scopesWithin } from '../../protocol/requests/resource.ts'
import { isStandardScope, parseScope } from '../../protocol/scope.ts'
import { isSameBinding } from '../../protocol/tokens/token-binding.ts'
import type { ActClaim } from '../../protocol/tokens/token-context.ts'
import {
  assertMayAct,
  issuedTokenType,
  parseTokenExchange,
  tokenExchangeGrantType,
  withActor,
} from '../../protocol/tokens/token-exchange.ts'
import type { TokenRequest } from '../../protocol/tokens/token-request.ts'
import { findAuthorization, findAuthorizationByAccessToken } from '../../storage/repositories/index.ts'
import { askHost } from '../../users/host-function.ts'
import type { AuthorizationServer } from '../authorization-server.ts'
import { issueAccessToken, verifyAccessToken } from '../tokens/access-token.ts'
import { allowedUser } from '../tokens/allowed.ts'
import { announceTokens, tokenResponse } from '../tokens/issue-tokens.ts'
import { readJwtAccessToken } from '../tokens/jwt-access-token.ts'
import { subjectFor } from '../tokens/user-claims.ts'
import type { TokenWithUser, VerifiedToken } from '../tokens/verified-token.ts'
import { visiblePart } from '../tokens/visible-part.ts'
import { consumeProof, storeOwnToken } from './exchange.ts'
import type { Grant } from './grant.ts'
import { requestedResources } from './target.ts'

const invalidRequest = (parameter: string, problem: string): OAuthError =>
  refusal('exchange_invalid', { values: { parameter, problem } })

/** A valid token of a request, and what the client may know of it. */
interface ReceivedToken extends TokenWithUser {
  readonly visible: Pick<VerifiedToken, 'scopes' | 'resources'>
}

/**
 * Verifies a token that a client presents. It must be the client's own, or be for an API that the client serves: otherwise
 * a client that got hold of a token could use it as if it had been sent to it.
 *
 * @throws OAuthError `invalid_request`, the same for every reason (RFC 8693 §2.2.2)
 */
const receivedToken = async (
  server: AuthorizationServer,
  client: Client,
  request: TokenRequest,
  [name, value]: readonly [name: string, value: string],
): Promise<ReceivedToken> => {
  const refusal = invalidRequest(
    name,
    'must be a valid access token that was issued to this client or that is for its API',
  )
  const verified = await verifyAccessToken(server, value, 'any').catch((error: unknown) => {
    throw error instanceof OAuthError && error.code === 'invalid_token' ? refusal : error
  })
  const visible = visiblePart(server, client, verified.token)
  // A new token of a user belongs to the authorization of the received one.
  const lacksAuthorization = verified.token.subject !== undefined && verified.details === undefined
  if (visible === undefined || lacksAuthorization) throw refusal
  const { binding } = verified
  if (binding.type !== 'bearer' && !isSameBinding(binding, request.binding)) {
    throw invalidRequest(name, 'is bound to a key, and the request does not prove that the client has it')
  }
  return { ...verified, visible }
}

const actorOf = (
  server: AuthorizationServer,
  client: Client,
  received: ReceivedToken | undefined,
): ActClaim => {
  const { clientId } = received?.token ?? client
  const subject = received?.token.subject
  return subject === undefined
    ? { sub: clientId, client_id: clientId }
    : { sub: subjectFor(server, client, subject) }
}

/** The resources of the new token: those that `resource` and `audience` name, or those of the subject token. */
const targetResources = (
  server: AuthorizationServer,
  request: TokenRequest,
  { visible }: ReceivedToken,
): readonly string[] => {
  const audiences = parseResources(request.parameters.all('audience'), server.resources)
  const named = [...new Set([...requestedResources(server, request), ...audiences])]
  return named.length > 0 ? named : visible.resources
}

/** The decision of the host. Its mistakes are not the client's. */
const allowedBy = async (
  server: AuthorizationServer,
  request: TokenExchangeRequest,
): Promise<TokenExchangeDecision> => {
  const { tokenExchange } = server.options.protocol
  const decision = await askHost('protocol.tokenExchange.allow', () => tokenExchange?.allow(request))
  if (decision === true) return {}
  if (!isObject(decision))
    throw invalidRequest('subject_token', 'may not be exchanged by this client for this target')
  const { scopes } = decision
  if (
    scopes !== undefined &&
    !(Array.isArray(scopes) && scopes.every((scope) => typeof scope === 'string'))
  ) {
    throw new HostError('scopes of protocol.tokenExchange.allow must be a list of strings')
  }
  return decision
}

/** The authorization of a subject token, and what the token says of its actor if it is a JWT. */
const originOf = async (
  server: AuthorizationServer,
  value: string,
): Promise<{ authorization: AuthorizationState | undefined; mayAct: unknown }> => {
  const { database } = server
  const jwt = await readJwtAccessToken(server, value)
  const id = jwt?.authorizationId
  const authorization = await (id === undefined
    ? findAuthorizationByAccessToken(database, { hash: hashSecret(value) })
    : findAuthorization(database, { id }))
  return { authorization, mayAct: jwt?.claims.may_act }
}

/**
 * RFC 8693: a client exchanges a user's access token, which it received or got itself, for one at another resource. The
 * new token belongs to the authorization of the first one and ends with it, and it lives no longer than the first one.
 */
export const tokenExchangeGrant: Grant = {
  grantType: tokenExchangeGrantType,
  isOn: ({ protocol }) => protocol.tokenExchange !== undefined,
  async exchange(server, client, request) {
    if (isPublic(client)) {
      throw refusal('exchange_public')
    }
    const { subjectToken, actorToken, requestedType } = parseTokenExchange(request.parameters)
    const requested = parseScope(request.parameters.optional('scope'))
    const subject = await receivedToken(server, client, request, ['subject_token', subjectToken])
    const received =
      actorToken === undefined
        ? undefined
        : await receivedToken(server, client, request, ['actor_token', actorToken])
    const { token, user, visible } = subject
    const { authorization, mayAct } = await originOf(server, subjectToken)
    if (user === undefined || authorization === undefined) {
      throw invalidRequest('subject_token', 'must belong to a user')
    }
    const actor = actorOf(server, client, received)
    assertMayAct(mayAct, actor, server.issuer)
    const act = withActor(actor, token.act)

    const resources = targetResources(server, request, subject)
    const isJwt = formatFor(resources, server.resources) === 'jwt'
    const issuedType = issuedTokenType(requestedType, isJwt)
    const { clientId, metadata } = client
    const decision = await allowedBy(server, {
      client: { client_id: clientId, ...metadata },
      subject: setMembers({
        subject: user.subject,
        clientId: token.clientId,
        ...visible,
        expiresAt: token.expiresAt,
        organization: token.organization,
        act: token.act,
      }),
      actor,
      scopes: requested,
      resources,
    })
    const wanted = definedScopes(
      requested,
      decision.scopes ?? visible.scopes,
      allowedAt(server, client, resources),
    )
    const { acr } = authorization.details
    const { info } = request
    const access = await allowedUser(server, info, {
      user,
      client,
      scopes: wanted,
      organization: token.organization,
      acr,
      step: 'exchange',
    })
    const { scopes } = access
    await consumeProof(server, request)
    const content = { client, ...access, authorization, resources, binding: request.binding }
    const accessToken = await issueAccessToken(server, {
      ...content,
      context: {
        ...(decision.impersonation !== true && { act }),
        authorization_details: [],
        ...(token.choices && { choices: token.choices }),
      },
      notAfter: token.expiresAt,
      ...(authorization.clientId !== clientId && { ownerId: authorization.clientId }),
    })
    if (!(await storeOwnToken(server, client, accessToken, authorization)))
      throw invalidRequest('subject_token', 'was revoked while it was exchanged')
    announceTokens(server, request, tokenExchangeGrantType, { ...content, actor: actor.sub })
    return { ...tokenResponse({ accessToken, scopes }), issued_token_type: issuedType }
  },
}

/** The scopes that a client may have at these resources. Those of OpenID Connect are for tokens for no resource. */
const allowedAt = (
  server: AuthorizationServer,
  client: Client,
  resources: readonly string[],
): readonly string[] => {
  const within = scopesWithin(allowedScopes(client), resources, server.resources)
  return resources.length === 0 ? within : within.filter((scope) => !isStandardScope(scope))
}
