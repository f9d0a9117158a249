import type { OperatorContext, OperatorPage } from '../../endpoints/operator-page.ts'
import { iso } from '../../endpoints/page-values.ts'
import { ownPath } from '../../http/urls.ts'
import type { Parameters } from '../../protocol/parameters.ts'
import {
  type EventPlace,
  type EventRecord,
  eventWindow,
  listEventsOfRequest,
  listNewestEvents,
  type PlacedEvent,
} from '../../repositories/index.ts'
import { isLookup } from '../../users/users.ts'

const path = '/admin/events'

/** Events on one page. */
const pageSize = 50

/** What the page shows; empty strings stand for everything. */
interface Filter {
  readonly user: string
  readonly client: string
  readonly type: string
  readonly errorId: string
}

/** `login` finds all events whose type begins with `login.`. */
const matches =
  ({ user, client, type }: Filter) =>
  (event: EventRecord): boolean =>
    (user === '' || event.subject === user) &&
    (client === '' || event.details.clientId === client) &&
    (type === '' || event.type === type || event.type.startsWith(`${type}.`))

const placeOf = (text: string | undefined): EventPlace | undefined => {
  const [, seconds, id = ''] = /^([0-9]{1,15})-([\w-]{1,43})$/.exec(text ?? '') ?? []
  return seconds === undefined ? undefined : { time: Number(seconds), id }
}

interface FoundEvents {
  readonly events: readonly EventRecord[]
  /** Where the search goes on. */
  readonly next?: EventPlace | undefined
}

/** Searches a thousand events at most, so that a filter that finds few does not read the whole table. */
const search = async (
  { server }: OperatorContext,
  filter: Filter,
  before: EventPlace | undefined,
): Promise<FoundEvents> => {
  const { database } = server
  if (filter.errorId !== '') {
    const events = await listEventsOfRequest(database, { requestId: filter.errorId })
    return { events: events.filter(matches(filter)) }
  }
  const subject = isLookup(filter.user) ? filter.user : undefined
  const read = await listNewestEvents(database, { before, subject })
  const found: PlacedEvent[] = read.filter(matches(filter))
  const events = found.slice(0, pageSize)
  const last = found.length > pageSize ? events.at(-1) : read.length < eventWindow ? undefined : read.at(-1)
  return { events, next: last?.place }
}

const shown = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

const show = async (context: OperatorContext, parameters: Parameters): Promise<void> => {
  const { server, person } = context
  const filter: Filter = {
    user: parameters.optional('user', 255)?.trim() ?? '',
    client: parameters.optional('client', 255) ?? '',
    type: parameters.optional('type', 64)?.trim() ?? '',
    errorId: parameters.optional('error_id', 32)?.trim().toUpperCase() ?? '',
  }
  const before = placeOf(parameters.optional('before', 64))
  const isOn = server.eventLog !== undefined
  const { events, next } = isOn ? await search(context, filter, before) : { events: [] }
  const { errorId, ...others } = filter
  const given = Object.entries({ ...others, error_id: errorId }).filter(([, value]) => value !== '')
  const query = Object.fromEntries(given)
  context.send('operator-events', {
    sections: person.sections,
    isOn,
    action: ownPath(server, path),
    filter,
    events: events.map(({ type, time, requestId, subject, details }) => ({
      type,
      time: iso(time),
      errorId: requestId,
      url: ownPath(server, path, { error_id: requestId }),
      facts: Object.entries({ ...(subject !== undefined && { subject }), ...details }).map(
        ([name, value]): [string, string] => [name, shown(value)],
      ),
    })),
    nextUrl: next && ownPath(server, path, { ...query, before: `${next.time}-${next.id}` }),
    previousUrl: before && ownPath(server, path, query),
  })
}

/** The stored events, newest first. */
export const eventsPage: OperatorPage = {
  path,
  section: 'events',
  show,
}
