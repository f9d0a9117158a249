import type { PageContext } from '../http/context.ts'
import { responseTarget } from '../protocol/authorization-request.ts'
import { EndedRequestError } from '../protocol/ended-request.ts'
import { AuthorizationResponseError, type AuthorizationTarget, OAuthError } from '../protocol/errors.ts'
import { consumePendingRequest } from '../repositories/index.ts'
import { endSurplus } from '../tokens/surplus.ts'
import type { RequestToDecide } from './context.ts'
import { issueAuthorizationResponse } from './issue.ts'
import type { PendingRequestKind } from './pending-request-kind.ts'
import { sendAuthorizationResponse } from './response.ts'

/** @throws OAuthError if the request has no redirect URI, and so was not made here */
const targetOf = ({ request, client }: Pick<RequestToDecide, 'request' | 'client'>): AuthorizationTarget => {
  const target = responseTarget(request, client)
  if (target === undefined) throw new OAuthError('invalid_request', 'redirect_uri is missing')
  return target
}

/** A request at the authorization endpoint (RFC 6749 §4.1, OIDC Core §3.1): its answer goes to the redirect URI. */
export const authorizeKind: PendingRequestKind = {
  name: 'authorize',
  path: '/authorize',

  async grant(context, { client, request, pending }, { authorization, step }) {
    const { server, info } = context
    const { login, scopes, claims, organization } = step
    const issued = await issueAuthorizationResponse(server, {
      ...{ context: authorization, login, user: login.user, scopes, claims, organization },
      pendingId: pending?.id,
    })
    if (issued === 'signed-out') return issued
    if (issued === 'withdrawn') {
      const description = 'the user has just removed this client'
      throw new AuthorizationResponseError(targetOf({ request, client }), 'access_denied', description)
    }
    server.events.announce('authorization.issued', info, {
      authorizationId: issued.authorizationId,
      clientId: request.clientId,
      subject: login.subject,
      scopes,
      responseType: request.responseType,
      ...(organization !== undefined && { organization }),
    })
    await sendAuthorizationResponse(context, targetOf({ request, client }), issued.parameters)
    const offline = scopes.includes('offline_access')
    const { subject } = login
    if (server.isSurplusCheckDue()) endSurplus(server, { subject, clientId: request.clientId, offline }, info)
    return 'answered'
  },

  async refuse({ server }: PageContext, { client, request, pending }, { code, description }) {
    const now = server.now()
    if (pending && !(await consumePendingRequest(server.database, { id: pending.id, now }))) {
      throw new EndedRequestError('finished', client)
    }
    throw new AuthorizationResponseError(targetOf({ request, client }), code, description)
  },
}
