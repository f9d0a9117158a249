import type { EventCompanion } from '../../events/event-log.ts'
import {
  command,
  insertInto,
  json,
  numberOf,
  query,
  textOf,
  textOrNull,
} from '../../storage/database/statement.ts'
import type { Database, Row } from '../../storage/database/types.ts'
import { findAll } from '../../storage/repositories/statements.ts'

/** An event of an organization. */
export interface OrganizationEvent {
  readonly id: string
  readonly type: string
  /** Epoch seconds. */
  readonly time: number
  readonly subject?: string
  readonly details: Readonly<Record<string, unknown>>
}

/** Events on one page. */
export const eventsPerPage = 50

/** Each code and token of a member would bury the decisions. */
const isListed = (type: string): boolean =>
  !['tokens.', 'authorization.', 'access.'].some((start) => type.startsWith(start))

const insert = insertInto('organization_events')

/** Notes which stored events are about which organization. */
export const activityCompanion: EventCompanion = {
  async write(tx, events) {
    for (const { id, type, time, details, expiresAt } of events)
      if (isListed(type) && typeof details.organization === 'string')
        await insert(tx, { id, organization: details.organization, time, expires_at: expiresAt })
  },
  written() {},
}

const eventOf = (row: Row): OrganizationEvent => {
  const subject = textOrNull(row, 'subject')
  return {
    id: textOf(row, 'id'),
    type: textOf(row, 'type'),
    time: numberOf(row, 'time'),
    ...(subject !== null && { subject }),
    details: json(row, 'details'),
  }
}

/** The events of an organization, newest first, before one of them. */
export const listOrganizationEvents = findAll(
  query<{ organization: string; time: number; id: string }>((table, v, name) =>
    table('organization_events as noted')
      .join(name('events as events'), 'events.id', 'noted.id')
      .select(['events.id', 'events.type', 'events.time', 'events.subject', 'events.details'])
      .where('noted.organization', v.organization)
      .where((earlier) =>
        earlier
          .where('noted.time', '<', v.time)
          .orWhere((same) => same.where('noted.time', v.time).where('noted.id', '<', v.id)),
      )
      .orderBy([
        { column: 'noted.time', order: 'desc' },
        { column: 'noted.id', order: 'desc' },
      ])
      .limit(eventsPerPage + 1, { skipBinding: true }),
  ),
  eventOf,
)

/** Removes the notes about an organization. The events belong to the users. */
export const removeOrganizationEvents = command<{ organization: string }>((table, v) =>
  table('organization_events').where({ organization: v.organization }).delete(),
)

/** The beginning of a list of events. */
export const newest = { time: Number.MAX_SAFE_INTEGER, id: '' }

/** All events of an organization, newest first, in batches. */
export const everyEvent = async function* (
  db: Database,
  organization: string,
): AsyncGenerator<readonly OrganizationEvent[]> {
  let last: { readonly time: number; readonly id: string } | undefined = newest
  while (last !== undefined) {
    const events: readonly OrganizationEvent[] = await listOrganizationEvents(db, {
      organization,
      time: last.time,
      id: last.id,
    })
    yield events
    last = events.length > eventsPerPage ? events.at(-1) : undefined
  }
}

/**
 * A line of a CSV file (RFC 4180). A cell that a spreadsheet would run as a formula begins with a quote.
 *
 * @example csvLine(['=1+1', 'a "b"']) // `"'=1+1","a ""b"""\r\n`
 */
export const csvLine = (cells: readonly string[]): string =>
  `${cells.map((cell) => `"${cell.replace(/^(?=[=+\-@\t\r\n])/, "'").replaceAll('"', '""')}"`).join(',')}\r\n`
