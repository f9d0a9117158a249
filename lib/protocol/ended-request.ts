import type { Client } from './client.ts'
import { OAuthError } from './errors.ts'

/**
 * Why nothing can be done about a request. `unknown` is also said of a request that another browser started, which
 * must learn nothing about it.
 */
export type EndedReason = 'unknown' | 'expired' | 'finished' | 'no-cookie'

const endedDescriptions: Readonly<Record<EndedReason, string>> = {
  unknown: 'authorization_request is unknown or of another browser',
  expired: 'authorization_request is expired',
  finished: 'authorization_request is already used',
  'no-cookie': 'the browser sent no cookie with authorization_request',
}

/** A pending request cannot continue; the page says why, and where to go on. */
export class EndedRequestError extends OAuthError {
  override readonly name = 'EndedRequestError'
  readonly reason: EndedReason
  /** Its client, for the link on the page; only if the browser may know it. */
  readonly client: Client | undefined

  constructor(reason: EndedReason, client?: Client) {
    super('invalid_request', endedDescriptions[reason], { clientId: client?.clientId })
    this.reason = reason
    this.client = client
  }
}
