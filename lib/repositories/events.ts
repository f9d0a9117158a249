import { json, number, text, textOrNull } from '../database/row.ts'
import { command, query } from '../database/statement.ts'
import type { Database, Row } from '../database/types.ts'

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

const insert = command<{
  id: string
  type: string
  requestId: string
  subject: string | null
  time: number
  details: string
  expiresAt: number
}>((table, v) =>
  table('events').insert({
    id: v.id,
    type: v.type,
    request_id: v.requestId,
    subject: v.subject,
    time: v.time,
    details: v.details,
    expires_at: v.expiresAt,
  }),
)

/** Stores an event. */
export const createEvent = async (
  db: Database,
  { id, expiresAt, ...event }: EventRecord & { readonly id: string; readonly expiresAt: number },
): Promise<void> => {
  const { type, requestId, time, subject = null } = event
  await insert(db, { id, type, requestId, subject, time, details: JSON.stringify(event.details), expiresAt })
}

const ofRequest = query<{ requestId: string }>((table, v) =>
  table('events').select(columns).where({ request_id: v.requestId }).orderBy('time'),
)

/** The events of one request. */
export const listEventsOfRequest = async (
  db: Database,
  values: { requestId: string },
): Promise<EventRecord[]> => (await ofRequest(db, values)).map(recordOf)

const ofSubject = query<{ subject: string }>((table, v) =>
  table('events').select(columns).where({ subject: v.subject }).orderBy('time'),
)

/** The events about a user, oldest first. */
export const listEventsOfSubject = async (
  db: Database,
  values: { subject: string },
): Promise<EventRecord[]> =>
  (await ofSubject(db, values))
    .map(recordOf)
    // MySQL before 8.0.17 ignores trailing spaces when it compares.
    .filter(({ subject }) => subject === values.subject)

const removeOfSubject = command<{ subject: string }>((table, v) =>
  table('events').where({ subject: v.subject }).delete(),
)

/** Removes the events about a user. */
export const removeEventsOfSubject = async (db: Database, values: { subject: string }): Promise<void> => {
  await removeOfSubject(db, values)
}
