import type { EventDescription } from '../../events/description.ts'
import { coreEvents } from '../../events/descriptions.ts'
import type { EventCompanion } from '../../events/event-log.ts'
import type { ServerSetup } from '../../oauth/authorization-server.ts'
import { refuse } from '../../options/check.ts'
import type { Bell } from './bell.ts'
import type { WebhookEndpoints } from './option.ts'
import { isOwn, laneOf, matchesPattern, priority } from './rules.ts'
import { createDelivery } from './table.ts'

/** The description of each type of event, of the core and of every feature. */
const descriptionsOf = ({ installed }: Pick<ServerSetup, 'installed'>): Map<string, EventDescription> =>
  new Map([coreEvents, ...installed.map(({ events = {} }) => events)].flatMap((each) => Object.entries(each)))

/** @throws OptionsError for a pattern that selects no event, such as a misspelt type */
const assertPatterns = (endpoints: WebhookEndpoints, types: readonly string[]): void => {
  for (const [name, { events }] of Object.entries(endpoints)) {
    const wrong = events.find(
      (pattern) => !types.some((type) => !isOwn(type) && matchesPattern(pattern, type)),
    )
    if (wrong !== undefined)
      refuse(
        `webhooks({ endpoints })['${name}'].events has ${wrong}, which is no event`,
        'see docs/events.md',
      )
  }
}

/**
 * Stores which receivers an event is for, in the transaction that stores the event: what is stored is sent.
 *
 * @throws OptionsError for a pattern that selects no event
 */
export const createQueue = (
  server: ServerSetup,
  endpoints: WebhookEndpoints,
  { ring }: Pick<Bell, 'ring'>,
): EventCompanion => {
  const descriptions = descriptionsOf(server)
  assertPatterns(endpoints, [...descriptions.keys()])
  const priorityOf = (type: string) =>
    descriptions.get(type)?.endsAccess ? priority.endsAccess : priority.ordinary
  const receiversOf = (type: string): string[] =>
    isOwn(type)
      ? []
      : Object.entries(endpoints).flatMap(([name, { events }]) =>
          events.some((pattern) => matchesPattern(pattern, type)) ? [name] : [],
        )
  return {
    write: async (tx, events) => {
      for (const event of events) {
        const { id: event_id, time: attempt_at, expiresAt: expires_at } = event
        const placed = {
          event_id,
          lane: laneOf(event),
          priority: priorityOf(event.type),
          attempt_at,
          expires_at,
        }
        for (const endpoint of receiversOf(event.type)) await createDelivery(tx, { endpoint, ...placed })
      }
    },
    written: ring,
  }
}
