import type { Client } from '../clients/client.ts'
import { type ErrorCode, OAuthError } from '../errors.ts'
import { wordsOf } from '../refusal.ts'

/**
 * Why nothing can be done about a request. `unknown` is also said of a request that another browser started, which
 * must learn nothing about it.
 */
export type EndedState = 'unknown' | 'expired' | 'used' | 'without_cookie'

const states: Readonly<Record<EndedState, string>> = {
  unknown: 'one that is unknown, of another browser or of another client',
  expired: 'one that is expired',
  used: 'one that is already used',
  without_cookie: 'one that came without the cookie of its browser',
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
  readonly state: EndedState
  /** Its client, for the link on the page; only if the browser may know it. */
  readonly client: Client | undefined
  /** The prefix of the texts of the page; undefined for those of the core. */
  readonly texts: string | undefined

  /** @param name what names the request; by default the parameter of our own pages */
  constructor(state: EndedState, client?: Client, { parameter, code, texts }: RequestName = ofPages) {
    const [, sentence] = wordsOf(`request_${state}`, { parameter })
    super(code, sentence, {
      reason: `request_${state}`,
      clientId: client?.clientId,
      explanation: {
        expected: 'a request that waits in this browser',
        received: states[state],
      },
    })
    this.state = state
    this.client = client
    this.texts = texts
  }
}
