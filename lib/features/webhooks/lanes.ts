import { command, json, numberOf, query, textOf, textOrNull } from '../../storage/database/statement.ts'
import type { Database, Row } from '../../storage/database/types.ts'
import type { EventRecord } from '../../storage/repositories/index.ts'
import { batchSize } from '../../storage/repositories/pruning/batch.ts'
import { findAll } from '../../storage/repositories/statements.ts'
import { longestWait, type Priority, priorities } from './rules.ts'

/** An event that waits for a receiver. Times are epoch seconds. */
export interface Delivery {
  /** Its place among all, and its id. */
  readonly seq: number
  readonly endpoint: string
  readonly eventId: string
  readonly lane: string
  readonly priority: Priority
  /** Attempts that have failed. */
  readonly attempts: number
  /** Why the last attempt failed, of this event or of one before it in the lane; null before that. */
  readonly failure: string | null
  /** When the next attempt is due. */
  readonly attemptAt: number
  /** Undefined if the event was removed meanwhile. */
  readonly event: EventRecord | undefined
}

/** A lane with an event that is due, and its place among all that are. */
export interface DueLane {
  readonly lane: string
  /** Epoch seconds: when the first of them was due. */
  readonly attemptAt: number
  /** Whether others of the lane were due at other times: each of them is another place. */
  readonly isSpread: boolean
}

/** A place among all lanes that are due. */
export type LanePlace = Pick<DueLane, 'lane' | 'attemptAt'>

const dueAfter = query<LanePlace & { endpoint: string; priority: number; until: number }>((table, v) =>
  table('webhook_deliveries')
    .select('attempt_at', 'lane')
    .where({ endpoint: v.endpoint, priority: v.priority })
    .where('attempt_at', '<=', v.until)
    .where('attempt_at', '>=', v.attemptAt)
    .where((either) => either.where('attempt_at', '>', v.attemptAt).orWhere('lane', '>', v.lane))
    .orderBy([{ column: 'attempt_at' }, { column: 'lane' }])
    .limit(batchSize, { skipBinding: true }),
)

/** The most further reads. Each begins behind all events of the last lane with its time. */
const mostReads = 10

/**
 * Lanes with an event that is due, the longest first. However many events a lane has at one time, it takes one place.
 *
 * @param values.until epoch seconds
 * @param values.after the last place before them; undefined begins with the first
 * @param values.most how many are enough
 */
export const findDueLanes = async (
  db: Database,
  {
    after,
    most,
    ...values
  }: {
    readonly endpoint: string
    readonly priority: Priority
    readonly until: number
    readonly after?: LanePlace | undefined
    readonly most: number
  },
): Promise<DueLane[]> => {
  const lanes = new Map<string, DueLane>()
  let place = after ?? { lane: '', attemptAt: 0 }
  for (let reads = 0; reads < mostReads && lanes.size < most; reads += 1) {
    const rows = await dueAfter(db, { ...values, ...place })
    for (const row of rows) {
      place = { lane: textOf(row, 'lane'), attemptAt: numberOf(row, 'attempt_at') }
      const known = lanes.get(place.lane)
      if (known === undefined) lanes.set(place.lane, { ...place, isSpread: false })
      else if (known.attemptAt < place.attemptAt) lanes.set(place.lane, { ...known, isSpread: true })
    }
    if (rows.length < batchSize) break
  }
  return [...lanes.values()].slice(0, most)
}

const tooFarAhead = query<{ endpoint: string; priority: number; latest: number }>((table, v) =>
  table('webhook_deliveries')
    .select('seq')
    .where({ endpoint: v.endpoint, priority: v.priority })
    .where('attempt_at', '>', v.latest)
    .orderBy('attempt_at', 'desc')
    .limit(1, { skipBinding: true }),
)

const makeDue = command<{ endpoint: string; priority: number; latest: number; now: number }>((table, v) =>
  table('webhook_deliveries')
    .where({ endpoint: v.endpoint, priority: v.priority })
    .where('attempt_at', '>', v.latest)
    .update({ attempt_at: v.now }),
)

/** Makes due what waits longer than anything can. */
export const correctTimes = async (
  db: Database,
  values: { readonly endpoint: string; readonly priority: Priority; readonly now: number },
): Promise<void> => {
  const latest = values.now + longestWait
  if ((await tooFarAhead(db, { ...values, latest })).length > 0) await makeDue(db, { ...values, latest })
}

/** Makes due what waits for its next attempt, with all its attempts before it. Returns how many events that were. */
export const hastenDeliveries = command<{
  readonly endpoint: string
  readonly priority: Priority
  readonly now: number
}>((table, v) =>
  table('webhook_deliveries')
    .where({ endpoint: v.endpoint, priority: v.priority })
    .where('attempt_at', '>', v.now)
    .update({ attempts: 0, attempt_at: v.now }),
)

/** Gives all of a lane that is due the time of its first, so that it takes one place among the lanes. */
export const gatherLane = command<
  LanePlace & { readonly endpoint: string; readonly priority: Priority; readonly until: number }
>((table, v) =>
  table('webhook_deliveries')
    .where({ endpoint: v.endpoint, lane: v.lane, priority: v.priority })
    .where('attempt_at', '>', v.attemptAt)
    .where('attempt_at', '<=', v.until)
    .update({ attempt_at: v.attemptAt }),
)

const untried = query<{ endpoint: string; priority: number; now: number }>((table, v) =>
  table('webhook_deliveries')
    .select('lane')
    .where({ endpoint: v.endpoint, priority: v.priority })
    .where('attempt_at', '<=', v.now)
    .whereNull('failure')
    .orderBy([
      { column: 'attempt_at', order: 'desc' },
      { column: 'lane', order: 'desc' },
    ])
    .limit(1, { skipBinding: true }),
)

/** The lane of the newest event that is due and waited for no attempt that failed. */
export const findUntriedLane = async (
  db: Database,
  values: { readonly endpoint: string; readonly now: number },
): Promise<string | undefined> => {
  for (const priority of priorities) {
    const [row] = await untried(db, { ...values, priority })
    if (row) return textOf(row, 'lane')
  }
  return undefined
}

const eventOf = (row: Row): EventRecord | undefined => {
  const type = textOrNull(row, 'type')
  if (type === null) return undefined
  const subject = textOrNull(row, 'subject')
  return {
    type,
    time: numberOf(row, 'time'),
    requestId: textOf(row, 'request_id'),
    ...(subject !== null && { subject }),
    details: json(row, 'details'),
  }
}

const columns = [
  'deliveries.seq as seq',
  'deliveries.endpoint as endpoint',
  'deliveries.event_id as event_id',
  'deliveries.lane as lane',
  'deliveries.priority as priority',
  'deliveries.attempts as attempts',
  'deliveries.failure as failure',
  'deliveries.attempt_at as attempt_at',
  'events.type as type',
  'events.time as time',
  'events.request_id as request_id',
  'events.subject as subject',
  'events.details as details',
]

const deliveryOf = (row: Row): Delivery => ({
  seq: numberOf(row, 'seq'),
  endpoint: textOf(row, 'endpoint'),
  eventId: textOf(row, 'event_id'),
  lane: textOf(row, 'lane'),
  priority: numberOf(row, 'priority') as Priority,
  attempts: numberOf(row, 'attempts'),
  failure: textOrNull(row, 'failure'),
  attemptAt: numberOf(row, 'attempt_at'),
  event: eventOf(row),
})

/** The most events of a lane that are sent before it is the turn of others. */
const turn = 5

/** The events are joined last, so that no more of them are read than are returned. */
const firstOfLane = query<{ endpoint: string; lane: string }>((table, v, name, raw) => {
  const first = table('webhook_deliveries')
    .where({ lane: v.lane, endpoint: v.endpoint })
    .whereNotNull('attempt_at')
    .orderBy([{ column: 'priority' }, { column: 'seq' }])
    .limit(turn, { skipBinding: true })
  return (
    table('webhook_deliveries')
      // Knex takes a subquery here; its types do not know it.
      .from(raw('(?) as ??', [first, 'deliveries']) as unknown as string)
      .leftJoin(name('events as events'), 'events.id', 'deliveries.event_id')
      .select(columns)
      .orderBy([{ column: 'deliveries.priority' }, { column: 'deliveries.seq' }])
  )
})

/** The first five events of a lane: those that end access, and then the others, oldest first. */
export const listLane = findAll(firstOfLane, deliveryOf)

const dueOfLane = query<{ endpoint: string; lane: string; priority: number; now: number }>((table, v, name) =>
  table('webhook_deliveries as deliveries')
    .leftJoin(name('events as events'), 'events.id', 'deliveries.event_id')
    .select(columns)
    .where({
      'deliveries.lane': v.lane,
      'deliveries.endpoint': v.endpoint,
      'deliveries.priority': v.priority,
    })
    .where('deliveries.attempt_at', '<=', v.now)
    .orderBy('deliveries.seq')
    .limit(turn, { skipBinding: true }),
)

/** The first five of one priority in a lane that are due. */
export const listDueOfLane = findAll(dueOfLane, deliveryOf)

/** Lets the events of one priority that wait in a lane wait until a time, after an attempt that failed. */
export const postponeLane = command<{
  readonly endpoint: string
  readonly lane: string
  readonly priority: Priority
  readonly failure: string | null
  readonly until: number
}>((table, v) =>
  table('webhook_deliveries')
    .where({ lane: v.lane, endpoint: v.endpoint, priority: v.priority })
    .where('attempt_at', '<', v.until)
    .update({ attempt_at: v.until, failure: v.failure }),
)
