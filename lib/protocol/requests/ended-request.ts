import type { Client } from '../clients/client.ts'
import { type ErrorCode, OAuthError } from '../errors.ts'

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

/** The parameters that name a request in a URL. */
export interface RequestName {
  readonly parameter: string
  /** The error code of a request that has ended. */
  readonly code: ErrorCode
  /** The page has the texts `error.<texts>-expired` or `error.<texts>-finished` of a feature. @default those of the core */
  readonly texts?: string
}

const ofPages: RequestName = { parameter: 'authorization_request', code: 'invalid_request' }

/** A pending request cannot continue; the page says why, and where to go on. */
export class EndedRequestError extends OAuthError {
  override readonly name = 'EndedRequestError'
  readonly reason: EndedReason
  /** Its client, for the link on the page; only if the browser may know it. */
  readonly client: Client | undefined
  /** The prefix of the texts of the page; undefined for those of the core. */
  readonly texts: string | undefined

  /** @param name what names the request; by default the parameter of our own pages */
  constructor(reason: EndedReason, client?: Client, { parameter, code, texts }: RequestName = ofPages) {
    super(code, `${parameter} ${endedStates[reason]}`, {
      clientId: client?.clientId,
      explanation: {
        expected: 'a request that waits in this browser',
        received: `one that ${endedStates[reason]}`,
      },
    })
    this.reason = reason
    this.client = client
    this.texts = texts
  }
}
