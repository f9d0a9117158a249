import { clientCard } from '../../oauth/authorization/consent.ts'
import { issueAuthorizationResponse } from '../../oauth/authorization/issue.ts'
import type { PendingRequestKind, RequestToDecide } from '../../oauth/authorization/request-kind.ts'
import { endSurplus } from '../../oauth/tokens/surplus.ts'
import type { AuthorizationRequest } from '../../protocol/requests/authorization-request.ts'
import { EndedRequestError } from '../../protocol/requests/ended-request.ts'
import { consumePendingRequest } from '../../storage/repositories/index.ts'
import type { Outcome, PageContext } from '../../web/http/context.ts'
import { ownPath } from '../../web/http/urls.ts'
import { decideDevice } from './table.ts'

/** The device that a pending request is for. */
export interface OpenedDevice {
  /** Hash of the device code. */
  readonly hash: string
  /** The user code, encrypted for the browser in which it was typed. */
  readonly sealedUserCode: string
  /** The IP address of the device. */
  readonly address: string
  /** When the device asked, in epoch seconds. */
  readonly createdAt: number
  readonly expiresAt: number
}

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

const lastPage = (
  context: PageContext,
  { client, request }: RequestToDecide,
  outcome: 'connected' | 'denied',
): Outcome => {
  const card = clientCard(context.server, client, request.redirectUri, context.language)
  return context.page('device-done', {
    outcome,
    client: card,
    accountUrl: ownPath(context.server, '/account'),
  })
}

/** A request of a device (RFC 8628 §3.3): the device polls for the answer, and the browser shows a last page. */
export const deviceKind: PendingRequestKind = {
  name: 'device',
  path: '/device',

  async grant(context, incoming, facts, step) {
    const { server, info } = context
    const { request, pending } = incoming
    const { login, scopes, organization } = step
    const device = waitingDevice(request, server.now())
    const issued = await issueAuthorizationResponse(server, {
      ...step,
      context: facts,
      pendingId: pending?.id,
      polledCode: {
        hash: device.hash,
        expiresAt: device.expiresAt,
        // If several browsers have the same user code, only one approves the device.
        approve: decideDevice({ hash: device.hash, decision: 'approved', now: server.now() }),
      },
    })
    if (typeof issued === 'string') return issued
    const { clientId } = request
    const { subject } = login
    server.events.announce('device.authorized', info, {
      authorizationId: issued.authorizationId,
      clientId,
      subject,
      scopes,
      deviceAddress: device.address,
      ...(organization !== undefined && { organization }),
    })
    const offline = scopes.includes('offline_access')
    if (server.isSurplusCheckDue()) endSurplus(server, { subject, clientId, offline }, info)
    return lastPage(context, incoming, 'connected')
  },

  async refuse(context, incoming) {
    const { server, info } = context
    const { request, client, pending } = incoming
    const now = server.now()
    const { hash, address } = waitingDevice(request, now)
    if (pending && (await consumePendingRequest({ id: pending.id, now }).run(server.database)) === 0) {
      throw new EndedRequestError('used', client)
    }
    if ((await decideDevice({ hash, decision: 'denied', now }).run(server.database)) === 0) {
      throw new EndedRequestError('used', client)
    }
    const { clientId } = request
    server.events.announce('device.denied', info, { clientId, deviceAddress: address })
    return lastPage(context, incoming, 'denied')
  },
}
