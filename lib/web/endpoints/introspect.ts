import type { SeenCall } from '../../events/sighting.ts'
import { hashSecret, isSecretOf, mayBeRefreshToken } from '../../keys/secrets.ts'
import type { AuthorizationServer } from '../../oauth/authorization-server.ts'
import { invalidClient } from '../../oauth/client-authentication/index.ts'
import { isRuled, usableScopes } from '../../oauth/tokens/access-rules.ts'
import { tokenDetails, verifyAccessToken } from '../../oauth/tokens/access-token.ts'
import { subjectFor, tokenClaims } from '../../oauth/tokens/user-claims.ts'
import { storedClaims, type TokenWithUser } from '../../oauth/tokens/verified-token.ts'
import { visiblePart } from '../../oauth/tokens/visible-part.ts'
import { allowedScopes, type Client, isPublic } from '../../protocol/clients/client.ts'
import { OAuthError } from '../../protocol/errors.ts'
import { listed } from '../../protocol/explanation.ts'
import { refusal } from '../../protocol/refusal.ts'
import { grantedStill, isLive } from '../../protocol/requests/authorization.ts'
import { choiceDetails } from '../../protocol/requests/choice-details.ts'
import { formatScope, intersectScopes } from '../../protocol/scope.ts'
import { tokenType } from '../../protocol/tokens/token-binding.ts'
import { findRefreshToken } from '../../storage/repositories/index.ts'
import { belongsToOrganization, type User } from '../../users/users.ts'
import { sendJson } from '../http/send.ts'
import { clientEndpoint } from './client-endpoint.ts'

/** RFC 7662 §2.2: the answer for every token that is expired, revoked, unknown or another client's. */
const inactive = { active: false }

/**
 * Who the user is. The username is often an e-mail address: only the token's own client gets it, with a scope that reveals such a
 * name, unless the subject hides who the user is (OIDC Core §8.1).
 */
const aboutUser = (
  server: AuthorizationServer,
  client: Pick<Client, 'clientId' | 'metadata'>,
  user: User,
  scopes: readonly string[],
  isOwn = true,
): object => {
  const mayKnowName = isOwn && (scopes.includes('profile') || scopes.includes('email'))
  const isPairwise = client.metadata.subject_type === 'pairwise'
  return {
    sub: subjectFor(server, client, user.subject),
    ...(mayKnowName && !isPairwise && { username: user.username }),
  }
}

/** Logs once per client why its resource server refuses every token. The answer itself says nothing. */
const warnOfForeignToken = (server: AuthorizationServer, { clientId }: Client): undefined => {
  server.warnOnce(
    `client ${clientId} asked /introspect about a valid token of another client and got active: false, because a client ` +
      'sees only its own tokens; protect an API in this app with requireToken(), and for another API see introspection in ' +
      'the option resources, or may_introspect of its client',
  )
}

/** The resources whose tokens an API may introspect. */
const resourcesOf = ({ resources }: AuthorizationServer, { clientId }: Client): string[] =>
  resources.flatMap(({ identifier, introspection }) => (introspection.includes(clientId) ? [identifier] : []))

/** An API in another process asks about each token that it is called with: that is how its calls are seen here. */
const observeCall = (
  server: AuthorizationServer,
  client: Client,
  seen: Pick<SeenCall, 'accepted' | 'refused'>,
): void => {
  const [resource] = resourcesOf(server, client)
  server.observe?.({
    kind: 'call',
    info: undefined,
    path: undefined,
    api: client.clientId,
    resource,
    ...seen,
  })
}

/** The token is for another API than the one that asks. */
const foreignToken = (server: AuthorizationServer, client: Client, { token }: TokenWithUser): OAuthError =>
  refusal('token_for_other_resource', {
    clientId: token.clientId,
    subject: token.subject,
    explanation: { expected: listed(resourcesOf(server, client)), received: listed(token.resources) },
  })

const describeAccessToken = async (
  server: AuthorizationServer,
  client: Client,
  value: string,
): Promise<object | undefined> => {
  const verified = await verifyAccessToken(server, value, 'any').catch((error: unknown) => {
    if (!(error instanceof OAuthError && error.code === 'invalid_token')) throw error
    if (error.clientId !== client.clientId) observeCall(server, client, { refused: error })
    return undefined
  })
  if (verified === undefined) return undefined
  const { token, user, binding } = verified
  const visible = visiblePart(server, client, token)
  if (visible === undefined) {
    observeCall(server, client, { refused: foreignToken(server, client, verified) })
    return warnOfForeignToken(server, client)
  }
  const { scopes, resources } = visible
  if (token.clientId !== client.clientId) {
    const { clientId, subject, issuedAt } = token
    observeCall(server, client, { accepted: { clientId, subject, authorizationId: undefined, issuedAt } })
  }
  const owner = { clientId: token.clientId, metadata: verified.client }
  const allowed = [
    ...tokenDetails(server, {
      client: verified.client,
      resources,
      details: { authorizationDetails: token.authorizationDetails },
    }),
    ...choiceDetails(server.options.choices, scopes, token.choices ?? {}),
  ]
  const { organization } = token
  return {
    ...(await tokenClaims(server, { client: owner, user, scopes, resources, organization }, 'introspection')),
    active: true,
    token_type: tokenType(binding),
    ...storedClaims(verified, server.issuer, { scopes, resources, authorizationDetails: allowed }),
    // The subject of a client's own token is the client (RFC 9068 §2.2).
    ...(user === undefined
      ? { sub: token.clientId }
      : aboutUser(server, owner, user, scopes, token.clientId === client.clientId)),
  }
}

const describeRefreshToken = async (
  server: AuthorizationServer,
  client: Client,
  value: string,
): Promise<object | undefined> => {
  const found = await findRefreshToken(server.database, { hash: hashSecret(value) })
  const now = server.now()
  if (found === undefined || found.consumedAt !== null || found.expiresAt <= now) return undefined
  if (!isLive(found.authorization, now)) return undefined
  if (found.authorization.clientId !== client.clientId) return warnOfForeignToken(server, client)
  if (!isLive(grantedStill(found.authorization, client, server.options.lifetimes), now)) return undefined
  const user = await server.users.find(found.authorization.subject)
  const { organization } = found.authorization.details
  const granted = intersectScopes(found.authorization.scopes, allowedScopes(client))
  if (user === undefined || !(await belongsToOrganization(server.options.organizations, user, organization)))
    return undefined
  const access = { client, subject: user.subject, organization, scopes: granted }
  const scopes = isRuled(server) ? await usableScopes(server, access) : granted
  if (scopes === undefined) return undefined
  return {
    active: true,
    iss: server.issuer,
    client_id: client.clientId,
    scope: formatScope(scopes) || undefined,
    ...aboutUser(server, client, user, scopes),
    exp: found.expiresAt,
    org_id: organization,
  }
}

/** RFC 7662 §2.1, §2.3: a confidential client asks about its own token, or an API about a token that it received. */
export const introspectEndpoint = clientEndpoint({
  path: '/introspect',
  metadataName: 'introspection_endpoint',
  limit: 'introspect',
  async answer({ server, res }, client, request) {
    if (isPublic(client)) {
      throw invalidClient(request, 'introspection_public')
    }
    const token = request.parameters.required('token')
    const description = isSecretOf('refreshToken', token)
      ? await describeRefreshToken(server, client, token)
      : ((await describeAccessToken(server, client, token)) ??
        (mayBeRefreshToken(token) ? await describeRefreshToken(server, client, token) : undefined))
    sendJson(res, description ?? inactive)
  },
})
