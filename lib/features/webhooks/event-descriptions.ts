import type { EventDescriptions, EventTypesOf } from '../../events/description.ts'

declare module '../../events/event.ts' {
  interface EventDetails {
    /** A webhook was given up after its last attempt. */
    'webhook.failed': {
      readonly endpoint: string
      readonly deliveryId: string
      /** The type of the event that did not arrive. */
      readonly event: string
      readonly reason: string
    }
    /** A receiver answered 410, so nothing more is sent to it. */
    'webhook.disabled': { readonly endpoint: string }
    /** An administrator lets webhooks be sent again. */
    'webhook.enabled': { readonly endpoint: string; readonly actor?: string }
    /** An administrator lets webhooks that were given up be sent again. */
    'webhook.replayed': {
      readonly endpoint?: string
      /** The id of the only one, or how many there were. */
      readonly deliveries: string
      readonly actor?: string
    }
  }
}

/** What operators read about the events of webhooks. */
export const eventDescriptions: EventDescriptions<EventTypesOf<'webhook'>> = {
  'webhook.failed': {
    group: 'admin',
    tone: 'bad',
    title: 'Webhook given up',
    sentence: '{event} did not arrive at {endpoint}: {reason}',
  },
  'webhook.disabled': {
    group: 'admin',
    tone: 'bad',
    title: 'Webhooks disabled',
    sentence: '{endpoint} answered that it wants no more webhooks',
  },
  'webhook.enabled': {
    group: 'admin',
    tone: 'admin',
    title: 'Webhooks enabled',
    sentence: 'Webhooks to {endpoint} were enabled[ by {actor}]',
  },
  'webhook.replayed': {
    group: 'admin',
    tone: 'admin',
    title: 'Webhooks sent again',
    sentence: 'Webhooks[ to {endpoint}] are sent again[ by {actor}]: {deliveries}',
  },
}
