import { removeFrom } from '../../storage/repositories/pruning/expired.ts'
import { type ActiveFeature, defineFeature, type FeatureDefinition } from '../feature.ts'
import { createBell } from './bell.ts'
import { eventDescriptions } from './event-descriptions.ts'
import { loadStandardWebhooks } from './message.ts'
import { webhookEndpoints as endpointTable, webhookDeliveries, webhookTurns } from './migration.ts'
import { members, type WebhookEndpoints, webhookReceivers } from './option.ts'
import { webhooksPage } from './page.ts'
import { createQueue } from './queue.ts'
import { subjectLane } from './rules.ts'
import { keepSending } from './sender.ts'
import { removeLane } from './table.ts'
import { operatorTexts } from './texts.ts'

const activate = (endpoints: WebhookEndpoints): ActiveFeature => {
  const bell = createBell()
  return {
    start: async () => void (await loadStandardWebhooks()),
    observe: { events: (server) => createQueue(server, endpoints, bell) },
    background: (server) => keepSending(server, endpoints, bell),
    operators: { pages: [webhooksPage(endpoints, bell)] },
  }
}

const definition: FeatureDefinition = {
  name: 'webhooks',
  storage: {
    migrations: new Map([
      ['webhooks_001_endpoints', endpointTable],
      ['webhooks_002_deliveries', webhookDeliveries],
      ['webhooks_003_turns', webhookTurns],
    ]),
    users: {
      // The events are exported, and what waits is only a reference to them.
      export: async () => ({}),
      revoke: async () => {},
      async erase({ database, eventLog }, subject) {
        // Events that are stored later would wait again.
        await eventLog?.settled()
        await removeLane(database, { lane: subjectLane(subject) })
      },
    },
    clients: undefined,
    expired: [removeFrom('webhook_deliveries', 'seq')],
  },
  texts: { operators: operatorTexts },
  events: eventDescriptions,
  tools: () => import('./tools.ts').then(({ tools }) => tools),
}

/**
 * Sends stored events to other servers, signed as Standard Webhooks says: docs/webhooks.md.
 *
 * @example webhooks({ endpoints: { crm: { url: 'https://crm.example.com/hooks', secrets, events: ['*'] } } })
 */
export const webhooks = defineFeature(definition, {
  name: 'webhooks',
  members,
  complete: webhookReceivers,
  activate,
})
