import { isStranger } from '../../protocol/clients/client.ts'
import { type AuthorizationTarget, asAuthorizationError } from '../../protocol/errors.ts'
import { refusal } from '../../protocol/refusal.ts'
import { responseTarget } from '../../protocol/requests/authorization-request.ts'
import { EndedRequestError } from '../../protocol/requests/ended-request.ts'
import { consumePendingRequest } from '../../storage/repositories/index.ts'
import { endSurplus } from '../tokens/surplus.ts'
import { issueAuthorizationResponse } from './issue.ts'
import type { PendingRequestKind, RequestToDecide } from './request-kind.ts'
import { authorizationResponse } from './response.ts'

/** @throws OAuthError if the request has no redirect URI, and so was not made here */
const targetOf = ({ request, client }: RequestToDecide): AuthorizationTarget => {
  const target = responseTarget(request, client)
  if (target === undefined) throw refusal('redirect_uri_missing')
  return target
}

/** A request at the authorization endpoint (RFC 6749 §4.1, OIDC Core §3.1): its answer goes to the redirect URI. */
export const authorizeKind: PendingRequestKind = {
  name: 'authorize',
  path: '/authorize',

  async grant(context, incoming, facts, step) {
    const { server, info } = context
    const { request, pending } = incoming
    const { login, scopes, organization } = step
    const issued = await issueAuthorizationResponse(server, {
      ...step,
      context: facts,
      pendingId: pending?.id,
    })
    if (typeof issued === 'string') return issued
    const { clientId, responseType } = request
    const { subject } = login
    server.events.announce('authorization.issued', info, {
      authorizationId: issued.authorizationId,
      clientId,
      subject,
      scopes,
      responseType,
      ...(organization !== undefined && { organization }),
    })
    const offline = scopes.includes('offline_access')
    if (server.isSurplusCheckDue()) endSurplus(server, { subject, clientId, offline }, info)
    return authorizationResponse(context, targetOf(incoming), issued.parameters)
  },

  async refuse({ server }, incoming, { reason }) {
    const { client, request, pending } = incoming
    const now = server.now()
    if (pending && (await consumePendingRequest({ id: pending.id, now }).run(server.database)) === 0) {
      throw new EndedRequestError('used', client)
    }
    // A request that has just arrived was refused before the user could do anything.
    const byLink = pending === undefined && isStranger(client) && !request.prompt.includes('none')
    const target = { ...targetOf(incoming), ...(byLink && { byLink }) }
    throw asAuthorizationError(target, refusal(reason, { clientId: request.clientId }))
  },
}
