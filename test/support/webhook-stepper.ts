import type { Bell } from '../../lib/features/webhooks/bell.ts'
import type { WebhookEndpoints } from '../../lib/features/webhooks/option.ts'
import { createQueue } from '../../lib/features/webhooks/queue.ts'
import { keepSending } from '../../lib/features/webhooks/sender.ts'
import { randomId } from '../../lib/keys/secrets.ts'
import type { ServerSetup } from '../../lib/oauth/authorization-server.ts'
import { createEvent } from '../../lib/storage/repositories/events.ts'

/** A sender of webhooks that looks for work only when a test says so. */
export interface WebhookStepper {
  /** Stores an event, as the server does. */
  happens(type: string, subject: string, details?: Readonly<Record<string, unknown>>): Promise<void>
  /** Lets the sender do what is due, and waits until it has nothing to do. */
  step(): Promise<void>
}

/** Starts a sender to one receiver; it ends with the server. */
export const startStepper = async (
  server: ServerSetup,
  endpoints: WebhookEndpoints,
): Promise<WebhookStepper> => {
  let wake = (): void => {}
  let slept = (): void => {}
  const asleep = (): Promise<void> =>
    new Promise((resolve) => {
      slept = resolve
    })
  const bell: Bell = {
    count: () => 0,
    ring: () => {},
    wait: (_count, _milliseconds, signal) =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => resolve())
        // Else it waits for a lane that is being sent.
        if (signal !== server.closing) return
        wake = resolve
        slept()
      }),
  }
  const { write } = createQueue(server, endpoints, bell)
  const first = asleep()
  server.runInBackground(keepSending(server, endpoints, bell))
  await first
  return {
    happens: async (type, subject, details = {}) => {
      const time = server.now()
      const event = { id: randomId(), type, time, requestId: 'test', subject, details }
      await createEvent(server.database, { ...event, expiresAt: time + 8_000_000 })
      await write(server.database, [{ ...event, expiresAt: time + 8_000_000 }])
    },
    step: async () => {
      const done = asleep()
      wake()
      await done
    },
  }
}
