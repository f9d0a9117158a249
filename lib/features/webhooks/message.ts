import { HostError } from '../../protocol/problem.ts'
import type { Delivery } from './lanes.ts'

type StandardWebhooks = typeof import('standardwebhooks')

/**
 * Loads the package that signs webhooks, an optional peer dependency.
 *
 * @throws Error that says how to install it
 */
export const loadStandardWebhooks = async (): Promise<StandardWebhooks> => {
  try {
    return await import('standardwebhooks')
  } catch (cause) {
    throw new HostError('webhooks() needs the package standardwebhooks', {
      fix: 'run: npm install standardwebhooks@1',
      cause,
    })
  }
}

/** A message as it is sent. */
export interface WebhookMessage {
  readonly json: string
  readonly headers: Readonly<Record<string, string>>
}

/** Signs the body of a message: its id, the time of the attempt and the body together. */
export type SignMessage = (id: string, time: Date, body: string) => string

/** Signs with each of the secrets, so that a receiver needs only one of them. */
export const createSigner = async (secrets: readonly string[]): Promise<SignMessage> => {
  const { Webhook } = await loadStandardWebhooks()
  const webhooks = secrets.map((secret) => new Webhook(secret))
  return (id, time, body) => webhooks.map((webhook) => webhook.sign(id, time, body)).join(' ')
}

/**
 * The message about an event, as Standard Webhooks says. Its id is the same for each attempt and each receiver.
 *
 * @param now epoch seconds of the attempt
 */
export const messageOf = (
  { eventId, event }: Pick<Delivery, 'eventId'> & { readonly event: NonNullable<Delivery['event']> },
  sign: SignMessage,
  now: number,
): WebhookMessage => {
  const { type, time, requestId, subject, details } = event
  const json = JSON.stringify({
    type,
    timestamp: new Date(time * 1000).toISOString(),
    data: { requestId, ...(subject !== undefined && { subject }), ...details },
  })
  return {
    json,
    headers: {
      'webhook-id': eventId,
      'webhook-timestamp': String(now),
      'webhook-signature': sign(eventId, new Date(now * 1000), json),
    },
  }
}
