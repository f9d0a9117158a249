import type { Knex } from 'knex'
import { command, json, number, query, text, textOrNull } from '../database/statement.ts'
import type { Database, Row } from '../database/types.ts'
import { findAll, insertInto, type Places } from './statements.ts'

/** An event as it is stored. */
export interface EventRecord {
  readonly type: string
  /** Epoch seconds. */
  readonly time: number
  readonly requestId: string
  readonly subject?: string
  /** Every other field of the event. */
  readonly details: Readonly<Record<string, unknown>>
}

const columns = ['type', 'request_id', 'subject', 'time', 'details']

const recordOf = (row: Row): EventRecord => {
  const subject = textOrNull(row, 'subject')
  return {
    type: text(row, 'type'),
    time: number(row, 'time'),
    requestId: text(row, 'request_id'),
    ...(subject !== null && { subject }),
    details: json(row, 'details'),
  }
}

const insert = insertInto('events', ['id', 'type', 'request_id', 'subject', 'time', 'details', 'expires_at'])

/** Stores an event. */
export const createEvent = (
  db: Database,
  event: EventRecord & { readonly id: string; readonly expiresAt: number },
): Promise<number> =>
  insert(db, {
    id: event.id,
    type: event.type,
    request_id: event.requestId,
    subject: event.subject ?? null,
    time: event.time,
    details: JSON.stringify(event.details),
    expires_at: event.expiresAt,
  })

/** The events of one request. */
export const listEventsOfRequest = findAll(
  query<{ requestId: string }>((table, v) =>
    table('events').select(columns).where({ request_id: v.requestId }).orderBy('time'),
  ),
  recordOf,
)

/** The events about a user, oldest first. */
export const listEventsOfSubject = findAll(
  query<{ subject: string }>((table, v) =>
    table('events').select(columns).where({ subject: v.subject }).orderBy('time'),
  ),
  recordOf,
)

/** An event with its place among all others. */
export interface PlacedEvent extends EventRecord {
  readonly place: EventPlace
}

/** Events are in the order of their times; the id decides between those of one second. */
export interface EventPlace {
  /** Epoch seconds. */
  readonly time: number
  readonly id: string
}

/** The most events that are read at once. */
export const eventWindow = 1000

const beforePlace = (rows: Knex.QueryBuilder, v: Places<'time' | 'id'>): Knex.QueryBuilder =>
  rows
    .select([...columns, 'id'])
    .where('time', '<=', v.time)
    .where((either) =>
      either.where('time', '<', v.time).orWhere((same) => same.where('time', v.time).where('id', '<', v.id)),
    )
    .orderBy([
      { column: 'time', order: 'desc' },
      { column: 'id', order: 'desc' },
    ])
    .limit(eventWindow, { skipBinding: true })

const newest = query<{ time: number; id: string }>((table, v) => beforePlace(table('events'), v))
const newestOfSubject = query<{ subject: string; time: number; id: string }>((table, v) =>
  beforePlace(table('events').where({ subject: v.subject }), v),
)

/**
 * The next 1,000 events, newest first.
 *
 * @param values.before the last event that was read; undefined begins with the newest
 * @param values.subject only events about this user
 */
export const listNewestEvents = async (
  db: Database,
  { before, subject }: { before: EventPlace | undefined; subject: string | undefined },
): Promise<PlacedEvent[]> => {
  const { time, id } = before ?? { time: Number.MAX_SAFE_INTEGER, id: '' }
  const rows = await (subject === undefined
    ? newest(db, { time, id })
    : newestOfSubject(db, { subject, time, id }))
  return rows.map((row) => ({
    ...recordOf(row),
    place: { time: number(row, 'time'), id: text(row, 'id') },
  }))
}

/** Removes the events about a user. */
export const removeEventsOfSubject = command<{ subject: string }>((table, v) =>
  table('events').where({ subject: v.subject }).delete(),
)
