import { waitingClients } from '../../oauth/clients/listing.ts'
import { readableIdentifier } from '../../protocol/explanation.ts'
import type { Database } from '../../storage/database/types.ts'
import {
  type EventRecord,
  type EventsAbout,
  eventWindow,
  listNewestEvents,
  othersFirst,
} from '../../storage/repositories/index.ts'
import { type Connection, connectionsOf } from './connections.ts'
import { eventText, provingTypes, stepTypes } from './steps.ts'

/** The connections that stored events show. */
export interface History {
  /** Newest first. */
  readonly connections: readonly Connection[]
  /** Whether there are more events than were read, so that older connections are missing. */
  readonly isWindow: boolean
  /** When more was caused than is stored, in epoch seconds, the last time of those that are kept. */
  readonly limitedAt: number | undefined
}

/** Whose connections to read; without a member, the newest of all clients and users. */
export interface HistoryFilter {
  readonly clientId?: string | undefined
  /** The id of the user. */
  readonly subject?: string | undefined
}

/** Of one user, the most clients whose own events are read as well. */
const maxClients = 20

/** Events that name no client: programs are not known yet, or send the id of a client that is gone. */
const unnamedTypes = ['call.refused', 'document.requested', 'request.refused', 'api.refused'] as const

const clientIdsIn = (events: readonly EventRecord[]): string[] => [
  ...new Set(events.flatMap((event) => eventText(event, 'clientId') ?? [])),
]

/** A person came with the id of a client that was deleted: the event has the beginning and the length of the id. */
const withDeleted = (events: readonly EventRecord[], clientIds: readonly string[]): EventRecord[] => {
  const byText = new Map(clientIds.map((each) => [readableIdentifier(each), each]))
  return events.map((event) => {
    const isUnknown = eventText(event, 'reason') === 'client_unknown'
    const clientId = isUnknown ? byText.get(eventText(event, 'receivedId') ?? '') : undefined
    return clientId === undefined ? event : { ...event, details: { ...event.details, clientId } }
  })
}

/** The events that were read. */
interface Reading {
  readonly events: readonly EventRecord[]
  readonly isWindow: boolean
  /** Since when every event is there that shows how far a client came, in epoch seconds. */
  readonly since: number
}

/** By type, and those that name a client apart, so that what one of them has much of hides nothing of the others. */
const readAll = async (database: Database, filter: HistoryFilter): Promise<Reading> => {
  // An event may be read twice: by its client and by its type.
  const read = new Map<string, EventRecord>()
  let isWindow = false
  let since = 0
  const add = async (about: EventsAbout): Promise<void> => {
    const found = await listNewestEvents(database, about)
    for (const event of found) read.set(event.place.id, event)
    if (found.length >= eventWindow) {
      isWindow = true
      if (provingTypes.includes(about.type ?? '')) since = Math.max(since, found.at(-1)?.time ?? 0)
    }
    await othersFirst()
  }
  if (filter.clientId !== undefined) await add({ clientId: filter.clientId })
  else if (filter.subject !== undefined) {
    await add({ subject: filter.subject })
    for (const clientId of clientIdsIn([...read.values()]).slice(0, maxClients)) await add({ clientId })
  } else for (const type of stepTypes) await add({ type, isNamed: true })
  for (const type of unnamedTypes) await add({ type })
  return { events: [...read.values()], isWindow, since }
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
 * The connections that the stored events show. It reads the newest thousand events of each type, and so the newest connections
 * of a busy server.
 *
 * @param resources the identifiers of the resources
 */
export const readConnections = async (
  context: Parameters<typeof waitingClients>[0],
  filter: HistoryFilter,
  resources: readonly string[],
): Promise<History> => {
  const { events, isWindow, since } = await readAll(context.database, filter)
  const [limited] = await listNewestEvents(context.database, { type: 'events.limited' })
  const connections = await connectionsOf(withDeleted(events, clientIdsIn(events)), { resources })
  const asked = connections.filter(
    ({ clientId, subject, stop, time }) =>
      // A connection that stopped before that time may have gone on in events that were not read.
      (stop === undefined || clientId === undefined || time >= since) &&
      (filter.clientId === undefined || clientId === filter.clientId) &&
      (filter.subject === undefined || subject === filter.subject),
  )
  return { connections: await withWaiting(context, asked), isWindow, limitedAt: limited?.time }
}
