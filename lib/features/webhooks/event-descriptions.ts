import type { EventDescriptions, EventTypesOf } from '../../events/description.ts'

/** Descriptions of the events of webhooks, for operators. */
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
