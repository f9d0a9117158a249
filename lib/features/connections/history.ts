import { waitingClients } from '../../clients/listing.ts'
import type { Database } from '../../database/types.ts'
import { readableIdentifier } from '../../protocol/explanation.ts'
import { type EventRecord, type EventsAbout, listNewestEvents } from '../../repositories/index.ts'
import { type Connection, connectionsOf } from './connections.ts'
import { textIn } from './steps.ts'

/** What is asked for; nothing asks for the newest connections of all. */
export interface HistoryFilter {
  readonly clientId?: string | undefined
  /** The id of the user. */
  readonly subject?: string | undefined
}

/** Of one user, the most clients whose own events are read as well. */
const maxClients = 20

/** What programs send before a client is known of them, and where the id of a client that is gone is refused. */
const unnamedTypes = ['call.refused', 'document.requested', 'request.refused', 'api.refused'] as const

const clientIdsIn = (events: readonly EventRecord[]): string[] => [
  ...new Set(events.flatMap((event) => textIn(event, 'clientId') ?? [])),
]

/** A person came with the id of a client that was deleted: the event has the beginning and the length of the id. */
const withDeleted = (events: readonly EventRecord[], clientIds: readonly string[]): EventRecord[] =>
  events.map((event) => {
    const received = textIn(event, 'received')
    const isUnknown = event.type === 'request.refused' && textIn(event, 'clientId') === undefined
    if (!isUnknown || !received?.endsWith('which is not registered')) return event
    const clientId = clientIds.find((each) => received.startsWith(`${readableIdentifier(each)},`))
    return clientId === undefined ? event : { ...event, details: { ...event.details, clientId } }
  })

const readAll = async (database: Database, filter: HistoryFilter): Promise<EventRecord[]> => {
  const events: EventRecord[] = []
  const read = async (about: EventsAbout): Promise<void> => {
    events.push(...(await listNewestEvents(database, about)))
  }
  if (filter.clientId !== undefined) await read({ clientId: filter.clientId })
  else if (filter.subject !== undefined) {
    await read({ subject: filter.subject })
    for (const clientId of clientIdsIn(events).slice(0, maxClients)) await read({ clientId })
  } else await read({})
  for (const type of unnamedTypes) await read({ type })
  return events
}

/** A client that waits for approval is disabled until then. */
const withWaiting = async (
  context: Parameters<typeof waitingClients>[0],
  connections: readonly Connection[],
): Promise<readonly Connection[]> => {
  const isDisabled = ({ stop }: Connection): boolean => stop?.cause.name === 'client-disabled'
  const clientIds = new Set(connections.filter(isDisabled).flatMap(({ clientId }) => clientId ?? []))
  if (clientIds.size === 0) return connections
  const waiting = await waitingClients(context, [...clientIds].slice(0, 100))
  return connections.map((each) =>
    each.stop && isDisabled(each) && waiting.get(each.clientId ?? '')?.isNew
      ? { ...each, stop: { ...each.stop, cause: { name: 'client-waiting', values: {} } } }
      : each,
  )
}

/**
 * The connections that the stored events show, newest first. It reads the newest thousand events of each kind, and so the newest
 * connections of a busy server.
 *
 * @param resources the identifiers of the resources
 */
export const readConnections = async (
  context: Parameters<typeof waitingClients>[0],
  filter: HistoryFilter,
  resources: readonly string[],
): Promise<readonly Connection[]> => {
  const events = await readAll(context.database, filter)
  const connections = connectionsOf(withDeleted(events, clientIdsIn(events)), { resources })
  const asked = connections.filter(
    ({ clientId, subject }) =>
      (filter.clientId === undefined || clientId === filter.clientId) &&
      (filter.subject === undefined || subject === filter.subject),
  )
  return withWaiting(context, asked)
}
