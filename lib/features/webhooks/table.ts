import { command, json, number, numberOrNull, query, text, textOrNull } from '../../database/statement.ts'
import type { Database, Row } from '../../database/types.ts'
import type { EventRecord } from '../../repositories/index.ts'
import { type BatchParams, batchParams, batchSize, keysIn } from '../../repositories/pruning/batch.ts'
import { findAll, findOne, insertInto, isInserted, touches } from '../../repositories/statements.ts'

/** An event that waits for a receiver. Times are epoch seconds. */
export interface Delivery {
  /** Its place among all, and its id. */
  readonly seq: number
  readonly endpoint: string
  readonly eventId: string
  readonly lane: string
  /** Attempts that have failed. */
  readonly attempts: number
  /** When the next attempt is due. */
  readonly attemptAt: number
  /** Undefined if the event was removed meanwhile. */
  readonly event: EventRecord | undefined
}

/** What is known about a receiver. */
export interface EndpointState {
  readonly name: string
  readonly succeededAt: number | null
  readonly failedAt: number | null
  /** Why the last attempt that failed did. */
  readonly failure: string | null
  /** Since when nothing is sent; null if it is. */
  readonly disabledAt: number | null
}

const insertEndpoint = insertInto('webhook_endpoints', ['name'])

/** Stores a receiver, unless it is stored. */
export const createEndpoint = (db: Database, name: string): Promise<boolean> =>
  isInserted(insertEndpoint(db, { name }))

/** The most receivers that are listed. */
const maxEndpoints = 100

/** The receivers that were ever sent to. */
export const listEndpoints = findAll(
  query<Record<never, never>>((table) =>
    table('webhook_endpoints')
      .select(['name', 'succeeded_at', 'failed_at', 'failure', 'disabled_at'])
      .orderBy('name')
      .limit(maxEndpoints, { skipBinding: true }),
  ),
  (row): EndpointState => ({
    name: text(row, 'name'),
    succeededAt: numberOrNull(row, 'succeeded_at'),
    failedAt: numberOrNull(row, 'failed_at'),
    failure: textOrNull(row, 'failure'),
    disabledAt: numberOrNull(row, 'disabled_at'),
  }),
)

interface Hold {
  readonly name: string
  readonly holder: string
  readonly now: number
  /** Epoch seconds. */
  readonly until: number
}

/** Takes or prolongs the right to send to a receiver. Returns whether this process has it. */
export const holdEndpoint = touches(
  command<Hold>((table, v) =>
    table('webhook_endpoints')
      .where({ name: v.name })
      .whereNull('disabled_at')
      .where((either) => either.where({ holder: v.holder }).orWhere('held_until', '<=', v.now))
      .update({ holder: v.holder, held_until: v.until }),
  ),
)

/** Gives the right up, or keeps it until a time, in which nothing is sent. */
export const restEndpoint = command<Pick<Hold, 'name' | 'holder' | 'until'>>((table, v) =>
  table('webhook_endpoints').where({ name: v.name, holder: v.holder }).update({ held_until: v.until }),
)

/** Stores that a receiver took an event. */
export const storeSuccess = command<{ name: string; now: number }>((table, v) =>
  table('webhook_endpoints').where({ name: v.name }).update({ succeeded_at: v.now }),
)

/** Stores that an attempt failed, and why. */
export const storeFailure = command<{ name: string; now: number; failure: string }>((table, v) =>
  table('webhook_endpoints').where({ name: v.name }).update({ failed_at: v.now, failure: v.failure }),
)

/** Sends nothing more to a receiver. Returns whether this call disabled it. */
export const disableEndpoint = touches(
  command<{ name: string; now: number }>((table, v) =>
    table('webhook_endpoints')
      .where({ name: v.name })
      .whereNull('disabled_at')
      .update({ disabled_at: v.now }),
  ),
)

/** Sends again. Returns whether the receiver was disabled. */
export const enableEndpoint = touches(
  command<{ name: string }>((table, v) =>
    table('webhook_endpoints')
      .where({ name: v.name })
      .whereNotNull('disabled_at')
      .update({ disabled_at: null, held_until: 0 }),
  ),
)

/** Adds an event that waits for a receiver. */
export const createDelivery = insertInto('webhook_deliveries', [
  'endpoint',
  'event_id',
  'lane',
  'attempt_at',
  'expires_at',
])

const dueLanes = query<{ endpoint: string; now: number }>((table, v) =>
  table('webhook_deliveries')
    .select('lane')
    .where({ endpoint: v.endpoint })
    .where('attempt_at', '<=', v.now)
    .orderBy([{ column: 'attempt_at' }, { column: 'seq' }])
    .limit(batchSize, { skipBinding: true }),
)

/** The lanes of the next hundred events that are due. */
export const findDueLanes = async (
  db: Database,
  values: { readonly endpoint: string; readonly now: number },
): Promise<readonly string[]> => [...new Set((await dueLanes(db, values)).map((row) => text(row, 'lane')))]

/** The most events that are read at once. */
const window = 200

const eventOf = (row: Row): EventRecord | undefined => {
  const type = textOrNull(row, 'type')
  if (type === null) return undefined
  const subject = textOrNull(row, 'subject')
  return {
    type,
    time: number(row, 'time'),
    requestId: text(row, 'request_id'),
    ...(subject !== null && { subject }),
    details: json(row, 'details'),
  }
}

const columns = [
  'deliveries.seq as seq',
  'deliveries.endpoint as endpoint',
  'deliveries.event_id as event_id',
  'deliveries.lane as lane',
  'deliveries.attempts as attempts',
  'deliveries.attempt_at as attempt_at',
  'events.type as type',
  'events.time as time',
  'events.request_id as request_id',
  'events.subject as subject',
  'events.details as details',
]

const deliveryOf = (row: Row): Delivery => ({
  seq: number(row, 'seq'),
  endpoint: text(row, 'endpoint'),
  eventId: text(row, 'event_id'),
  lane: text(row, 'lane'),
  attempts: number(row, 'attempts'),
  attemptAt: number(row, 'attempt_at'),
  event: eventOf(row),
})

/** The events are joined last, so that no more of them are read than are returned. */
const inLanes = query<BatchParams>((table, v, name, raw) => {
  const first = table('webhook_deliveries')
    .whereIn('lane', keysIn(v))
    .where('endpoint', v.endpoint ?? null)
    .whereNotNull('attempt_at')
    .orderBy('seq')
    .limit(window, { skipBinding: true })
  return (
    table('webhook_deliveries')
      // Knex takes a subquery here; its types do not know it.
      .from(raw('(?) as ??', [first, 'deliveries']) as unknown as string)
      .leftJoin(name('events as events'), 'events.id', 'deliveries.event_id')
      .select(columns)
      .orderBy('deliveries.seq')
  )
})

/**
 * The first events of these lanes, oldest first: what is read of a lane is its beginning. Of some lanes it may be nothing.
 *
 * @param values.lanes at most a hundred
 */
export const listDeliveries = async (
  db: Database,
  { endpoint, lanes }: { readonly endpoint: string; readonly lanes: readonly string[] },
): Promise<Delivery[]> => (await inLanes(db, batchParams(lanes, { endpoint }))).map(deliveryOf)

/** Removes an event that has arrived. */
export const removeDelivery = command<{ seq: number }>((table, v) =>
  table('webhook_deliveries').where({ seq: v.seq }).delete(),
)

/** Stores that an attempt failed. */
export const storeAttempt = command<{ seq: number; attempts: number; failure: string }>((table, v) =>
  table('webhook_deliveries').where({ seq: v.seq }).update({ attempts: v.attempts, failure: v.failure }),
)

/** Lets what waits in a lane wait until a time. */
export const postponeLane = command<{ endpoint: string; lane: string; until: number }>((table, v) =>
  table('webhook_deliveries')
    .where({ endpoint: v.endpoint, lane: v.lane })
    .where('attempt_at', '<', v.until)
    .update({ attempt_at: v.until }),
)

/** Gives an event up: it is a dead letter. */
export const buryDelivery = command<{ seq: number; attempts: number; failure: string; now: number }>(
  (table, v) =>
    table('webhook_deliveries')
      .where({ seq: v.seq })
      .update({ attempts: v.attempts, failure: v.failure, attempt_at: null, dead_at: v.now }),
)

/** An event that was given up. */
export interface DeadLetter {
  readonly id: number
  readonly endpoint: string
  /** Null if the event was removed meanwhile. */
  readonly type: string | null
  readonly subject: string | null
  /** Epoch seconds. */
  readonly time: number | null
  readonly attempts: number
  readonly failure: string
  /** Epoch seconds of the last attempt. */
  readonly deadAt: number
}

/** The newest hundred dead letters. */
export const listDeadLetters = findAll(
  query<Record<never, never>>((table, _v, name) =>
    table('webhook_deliveries as deliveries')
      .leftJoin(name('events as events'), 'events.id', 'deliveries.event_id')
      .select([
        'deliveries.seq as seq',
        'deliveries.endpoint as endpoint',
        'deliveries.attempts as attempts',
        'deliveries.failure as failure',
        'deliveries.dead_at as dead_at',
        'events.type as type',
        'events.subject as subject',
        'events.time as time',
      ])
      .whereNotNull('deliveries.dead_at')
      .orderBy([
        { column: 'deliveries.dead_at', order: 'desc' },
        { column: 'deliveries.seq', order: 'desc' },
      ])
      .limit(batchSize, { skipBinding: true }),
  ),
  (row): DeadLetter => ({
    id: number(row, 'seq'),
    endpoint: text(row, 'endpoint'),
    type: textOrNull(row, 'type'),
    subject: textOrNull(row, 'subject'),
    time: numberOrNull(row, 'time'),
    attempts: number(row, 'attempts'),
    failure: textOrNull(row, 'failure') ?? '',
    deadAt: number(row, 'dead_at'),
  }),
)

const deadSeqs = query<Record<never, never>>((table) =>
  table('webhook_deliveries').select('seq').whereNotNull('dead_at').limit(batchSize, { skipBinding: true }),
)

/** How many dead letters there are, up to 100. */
export const countDeadLetters = async (db: Database): Promise<number> => (await deadSeqs(db, {})).length

const waiting = query<{ endpoint: string }>((table, v, _name, raw) =>
  table('webhook_deliveries')
    .select(raw('count(*) as ??', ['count']))
    .where({ endpoint: v.endpoint })
    .whereNotNull('attempt_at'),
)

/** How many events wait for a receiver. */
export const countWaiting = findOne(waiting, (row) => number(row, 'count'))

/** Tries a dead letter again, at once. Returns whether it was one. */
export const replayDelivery = touches(
  command<{ seq: number; now: number }>((table, v) =>
    table('webhook_deliveries')
      .where({ seq: v.seq })
      .whereNotNull('dead_at')
      .update({ attempts: 0, attempt_at: v.now, dead_at: null }),
  ),
)

/** Tries all dead letters of a receiver again. Returns how many there were. */
export const replayEndpoint = command<{ endpoint: string; now: number }>((table, v) =>
  table('webhook_deliveries')
    .where({ endpoint: v.endpoint })
    .whereNotNull('dead_at')
    .update({ attempts: 0, attempt_at: v.now, dead_at: null }),
)

/** Removes what waits in a lane, for any receiver. */
export const removeLane = command<{ lane: string }>((table, v) =>
  table('webhook_deliveries').where({ lane: v.lane }).delete(),
)
