import type { PageContext } from '../http/context.ts'
import { ownPath } from '../http/urls.ts'
import type { AuthorizationRequest } from '../protocol/authorization-request.ts'
import type { OpenedDevice } from '../protocol/device.ts'
import { EndedRequestError } from '../protocol/ended-request.ts'
import { consumePendingRequest, decideDevice } from '../repositories/index.ts'
import { endSurplus } from '../tokens/surplus.ts'
import { clientCard } from './consent.ts'
import type { PendingRequestKind, RequestToDecide } from './context.ts'
import { issueAuthorizationResponse } from './issue.ts'

/**
 * The device of a request that still waits for a decision.
 *
 * @throws EndedRequestError if the request is of no device, or its codes have expired
 */
export const waitingDevice = ({ device }: AuthorizationRequest, now: number): OpenedDevice => {
  if (device === undefined) throw new EndedRequestError('unknown')
  if (device.expiresAt <= now) throw new EndedRequestError('expired')
  return device
}

const sendEnd = (
  context: PageContext,
  { client, request }: RequestToDecide,
  outcome: 'connected' | 'denied',
): void => {
  const card = clientCard(context.server, client, request.redirectUri, context.language)
  context.send('device-done', { outcome, client: card, accountUrl: ownPath(context.server, '/account') })
}

/** A request of a device (RFC 8628 §3.3): the device polls for the answer, and the browser shows a last page. */
export const deviceKind: PendingRequestKind = {
  name: 'device',
  path: '/device',

  async grant(context, asked, { authorization, step }) {
    const { server, info } = context
    const { request, pending } = asked
    const { login, scopes, claims, organization } = step
    const device = waitingDevice(request, server.now())
    const issued = await issueAuthorizationResponse(server, {
      ...{ context: authorization, login, user: login.user, scopes, claims, organization },
      pendingId: pending?.id,
    })
    if (issued === 'signed-out' || issued === 'withdrawn') return issued
    const { clientId } = request
    const { subject } = login
    server.events.announce('device.authorized', info, {
      ...{
        authorizationId: issued.authorizationId,
        clientId,
        subject,
        scopes,
        deviceAddress: device.address,
      },
      ...(organization !== undefined && { organization }),
    })
    sendEnd(context, asked, 'connected')
    const offline = scopes.includes('offline_access')
    if (server.isSurplusCheckDue()) endSurplus(server, { subject, clientId, offline }, info)
    return 'answered'
  },

  async refuse(context, asked) {
    const { server, info } = context
    const { request, client, pending } = asked
    const now = server.now()
    const { hash, address } = waitingDevice(request, now)
    if (pending && (await consumePendingRequest({ id: pending.id, now }).run(server.database)) === 0) {
      throw new EndedRequestError('finished', client)
    }
    if ((await decideDevice({ hash, decision: 'denied', now }).run(server.database)) === 0) {
      throw new EndedRequestError('finished', client)
    }
    const { clientId } = request
    server.events.announce('device.denied', info, { clientId, deviceAddress: address })
    sendEnd(context, asked, 'denied')
  },
}
