import type { Client } from '../clients/client.ts'
import { OAuthError } from '../errors.ts'
import { readableIdentifier } from '../explanation.ts'
import { wordsOf } from '../refusal.ts'

/** Why a client cannot be used. `waiting` and `refused`: the host has not approved it. */
export type StoppedState = 'unknown' | 'disabled' | 'waiting' | 'refused'

const inWords: Readonly<Record<StoppedState, string>> = {
  unknown: 'is not registered',
  disabled: 'is disabled',
  waiting: 'waits for approval',
  refused: 'was not approved',
}

/** `client_id` names no client that can be used. Its error code is always the same; the sentence says why. */
export class StoppedClientError extends OAuthError {
  override readonly name = 'StoppedClientError'
  readonly state: StoppedState
  /** Undefined if it is unknown. */
  readonly client: Client | undefined

  /** @param presented the `client_id` of the request, for the log */
  constructor(state: StoppedState, client: Client | undefined, presented = client?.clientId) {
    const receivedId = presented === undefined ? undefined : readableIdentifier(presented)
    super(...wordsOf(`client_${state}`), {
      reason: `client_${state}`,
      clientId: client?.clientId,
      explanation: {
        expected: 'the client_id of a registered client that is enabled',
        received: `${receivedId ?? 'a client'}, which ${inWords[state]}`,
        ...(receivedId !== undefined && { receivedId }),
      },
    })
    this.state = state
    this.client = client
  }
}
