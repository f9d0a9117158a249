import type { Knex } from 'knex'
import { command, insertInto, json, numberOf, query, textOf, textOrNull } from '../database/statement.ts'
import type { Database, Row } from '../database/types.ts'
import { findAll, findOne, type Places } from './statements.ts'

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
    type: textOf(row, 'type'),
    time: numberOf(row, 'time'),
    requestId: textOf(row, 'request_id'),
    ...(subject !== null && { subject }),
    details: json(row, 'details'),
  }
}

const insert = insertInto('events')

/** A field of the details that has a column of its own, because operators search by it. */
const searched = ({ details }: EventRecord, name: 'clientId' | 'account'): string | null => {
  const value = details[name]
  return typeof value === 'string' ? value : null
}

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
    client_id: searched(event, 'clientId'),
    account: searched(event, 'account'),
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

/** A selection of events: at most one of the fields, beside `isNamed`. */
export interface EventsAbout {
  readonly subject?: string | undefined
  readonly clientId?: string | undefined
  /** The keyed hash of a login name, which events of failed logins have. */
  readonly account?: string | undefined
  readonly type?: string | undefined
  /** With `type`: only events that name a client. @default all */
  readonly isNamed?: boolean | undefined
}

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

const newest = query<EventPlace>((table, v) => beforePlace(table('events'), v))
const newestAbout = (column: string) =>
  query<EventPlace & { value: string }>((table, v) =>
    beforePlace(table('events').where({ [column]: v.value }), v),
  )
const newestOfSubject = newestAbout('subject')
const newestOfClient = newestAbout('client_id')
const newestOfAccount = newestAbout('account')
const newestOfType = newestAbout('type')
/**
 * There are few types, so a range in the order of their index keeps planners from reading every event of a rare type's time.
 * MariaDB reads every event of the type then, but goes by the index without it.
 */
const newestInTypes = query<EventPlace & { value: string }>((table, v) =>
  beforePlace(table('events').whereBetween('type', [v.value, v.value]).orderBy('type', 'desc'), v),
)

/** As an expression, because by the index of clients planners would read all that any client ever did. */
const isNamed = (raw: Knex.RawBuilder): Knex.Raw => raw("coalesce(??, '') <> ''", ['client_id'])
const newestNamed = query<EventPlace & { value: string }>((table, v, _name, raw) =>
  beforePlace(table('events').where({ type: v.value }).where(isNamed(raw)), v),
)
const newestNamedInTypes = query<EventPlace & { value: string }>((table, v, _name, raw) =>
  beforePlace(
    table('events').whereBetween('type', [v.value, v.value]).where(isNamed(raw)).orderBy('type', 'desc'),
    v,
  ),
)

const readNewest = (
  db: Database,
  place: EventPlace,
  { subject, clientId, account, type, isNamed: mustName = false }: EventsAbout,
): Promise<readonly Row[]> => {
  if (subject !== undefined) return newestOfSubject(db, { ...place, value: subject })
  if (account !== undefined) return newestOfAccount(db, { ...place, value: account })
  if (clientId !== undefined) return newestOfClient(db, { ...place, value: clientId })
  const isMysql = db.driver.dialect === 'mysql'
  const ofType = isMysql ? newestOfType : newestInTypes
  const ofNamed = isMysql ? newestNamed : newestNamedInTypes
  if (type !== undefined && mustName) return ofNamed(db, { ...place, value: type })
  if (type !== undefined) return ofType(db, { ...place, value: type })
  return newest(db, place)
}

/**
 * The next 1,000 events, newest first.
 *
 * @param values.before the last event that was read; undefined begins with the newest
 */
export const listNewestEvents = async (
  db: Database,
  { before, ...about }: EventsAbout & { before?: EventPlace | undefined },
): Promise<PlacedEvent[]> => {
  const { time, id } = before ?? { time: Number.MAX_SAFE_INTEGER, id: '' }
  const rows = await readNewest(db, { time, id }, about)
  return rows.map((row) => ({
    ...recordOf(row),
    place: { time: numberOf(row, 'time'), id: textOf(row, 'id') },
  }))
}

const accountsOf = query<{ subject: string }>((table, v) =>
  table('events').distinct('account').where({ subject: v.subject }),
)
/** An expression again: by the index of subjects planners would read every event without one. */
const removeOfAccount = command<{ account: string }>((table, v, _name, raw) =>
  table('events')
    .where({ account: v.account })
    .where(raw("coalesce(??, '') = ''", ['subject']))
    .delete(),
)
const removeOfSubject = command<{ subject: string }>((table, v) =>
  table('events').where({ subject: v.subject }).delete(),
)

/** Removes the events about a user, and those of failed logins under the names with which the user has signed in. */
export const removeEventsOfSubject = async (
  db: Database,
  { subject }: { readonly subject: string },
): Promise<void> => {
  for (const row of await accountsOf(db, { subject })) {
    const account = textOrNull(row, 'account')
    if (account !== null) await removeOfAccount(db, { account })
  }
  await removeOfSubject(db, { subject })
}

/** How many of the newest events of a login name are looked at for whose it is. */
const ofAccountLookedAt = 200

/** The user whom the newest event with this hash of a login name is about, if any of its newest ones names a user. */
export const findSubjectOfAccount = findOne(
  query<{ account: string }>((table, v, _name, raw) => {
    const latest = table('events')
      .select(['subject', 'time'])
      .where({ account: v.account })
      .orderBy('time', 'desc')
      .limit(ofAccountLookedAt, { skipBinding: true })
    const rows: Knex.QueryBuilder = table('events')
    return rows
      .from(raw('(?) as ??', [latest, 'latest']) as unknown as string)
      .select('subject')
      .whereNotNull('subject')
      .orderBy('time', 'desc')
      .limit(1, { skipBinding: true })
  }),
  (row) => textOf(row, 'subject'),
)
