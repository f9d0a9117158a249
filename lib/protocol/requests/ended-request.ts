import type { Client } from '../clients/client.ts'
import { OAuthError } from '../errors.ts'

/**
 * Why nothing can be done about a request. `unknown` is also said of a request that another browser started, which
 * must learn nothing about it.
 */
export type EndedReason = 'unknown' | 'expired' | 'finished' | 'no-cookie'

const endedStates: Readonly<Record<EndedReason, string>> = {
  unknown: 'is unknown, of another browser or of another client',
  expired: 'is expired',
  finished: 'is already used',
  'no-cookie': 'came without the cookie of its browser',
}

/** A pending request cannot continue; the page says why, and where to go on. */
export class EndedRequestError extends OAuthError {
  override readonly name = 'EndedRequestError'
  readonly reason: EndedReason
  /** Its client, for the link on the page; only if the browser may know it. */
  readonly client: Client | undefined

  /** @param parameter the one that names the request */
  constructor(
    reason: EndedReason,
    client?: Client,
    parameter: 'authorization_request' | 'request_uri' = 'authorization_request',
  ) {
    super('invalid_request', `${parameter} ${endedStates[reason]}`, {
      clientId: client?.clientId,
      explanation: {
        expected: 'a request that waits in this browser',
        received: `one that ${endedStates[reason]}`,
      },
    })
    this.reason = reason
    this.client = client
  }
}
