import type { Knex } from 'knex'
import {
  command,
  insertInto,
  numberOf,
  numberOrNull,
  query,
  textOf,
  textOrNull,
} from '../../storage/database/statement.ts'
import type { Database } from '../../storage/database/types.ts'
import { batchSize } from '../../storage/repositories/pruning/batch.ts'
import { findAll, findOne, isInserted, type Places, touches } from '../../storage/repositories/statements.ts'
import { longestWait, type Priority, priorities } from './rules.ts'

/** The state of a receiver. */
export interface EndpointState {
  readonly name: string
  readonly succeededAt: number | null
  /** When it was down last: it did not answer, or with 429 or 5xx. */
  readonly failedAt: number | null
  readonly failure: string | null
  /** When it last refused an event by any other answer. */
  readonly refusedAt: number | null
  readonly refusal: string | null
  /** Since when nothing is sent; null if it is. */
  readonly disabledAt: number | null
}

const insertEndpoint = insertInto('webhook_endpoints')

/** Stores a receiver, unless it is stored. */
export const createEndpoint = (db: Database, name: string): Promise<boolean> =>
  isInserted(insertEndpoint(db, { name }))

/** The most receivers that are listed. */
const maxEndpoints = 100

/** The receivers that were ever sent to. */
export const listEndpoints = findAll(
  query<Record<never, never>>((table) =>
    table('webhook_endpoints')
      .select(['name', 'succeeded_at', 'failed_at', 'failure', 'refused_at', 'refusal', 'disabled_at'])
      .orderBy('name')
      .limit(maxEndpoints, { skipBinding: true }),
  ),
  (row): EndpointState => ({
    name: textOf(row, 'name'),
    succeededAt: numberOrNull(row, 'succeeded_at'),
    failedAt: numberOrNull(row, 'failed_at'),
    failure: textOrNull(row, 'failure'),
    refusedAt: numberOrNull(row, 'refused_at'),
    refusal: textOrNull(row, 'refusal'),
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

const hold = touches(
  command<Hold & { readonly latest: number }>((table, v) =>
    table('webhook_endpoints')
      .where({ name: v.name })
      .whereNull('disabled_at')
      .where((either) =>
        either
          .where({ holder: v.holder })
          .orWhere('held_until', '<=', v.now)
          .orWhere('held_until', '>', v.latest),
      )
      .update({ holder: v.holder, held_until: v.until }),
  ),
)

/** Takes or prolongs the right to send to a receiver. Returns whether this process has it. */
export const holdEndpoint = (db: Database, values: Hold): Promise<boolean> =>
  hold(db, { ...values, latest: values.now + longestWait })

/** Gives the right up. No process has it until a time, in which the receiver rests. */
export const restEndpoint = command<Pick<Hold, 'name' | 'holder' | 'until'>>((table, v) =>
  table('webhook_endpoints')
    .where({ name: v.name, holder: v.holder })
    .update({ holder: null, held_until: v.until }),
)

/** Ends the rest of a receiver. One that a process sends to does not rest. Returns whether it did. */
export const endPause = touches(
  command<{ name: string; now: number }>((table, v) =>
    table('webhook_endpoints')
      .where({ name: v.name })
      .whereNull('holder')
      .where('held_until', '>', v.now)
      .update({ held_until: 0 }),
  ),
)

/** Stores that a receiver took an event. */
export const storeSuccess = command<{ name: string; now: number }>((table, v) =>
  table('webhook_endpoints').where({ name: v.name }).update({ succeeded_at: v.now }),
)

/** Stores that a receiver refused an event, and why. */
export const storeRefusal = command<{ name: string; now: number; refusal: string }>((table, v) =>
  table('webhook_endpoints').where({ name: v.name }).update({ refused_at: v.now, refusal: v.refusal }),
)

/** Stores that a receiver was down, and why. */
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
export const createDelivery = insertInto('webhook_deliveries')

const stored = query<{ seq: number }>((table, v) =>
  table('webhook_deliveries').select('seq').where({ seq: v.seq }),
)

/** Whether an event is still to be sent. */
export const isWaiting = async (db: Database, { seq }: { readonly seq: number }): Promise<boolean> =>
  (await stored(db, { seq })).length > 0

/** Removes an event that has arrived. */
export const removeDelivery = command<{ seq: number }>((table, v) =>
  table('webhook_deliveries').where({ seq: v.seq }).delete(),
)

interface FailedAttempt {
  readonly seq: number
  readonly attempts: number
  readonly failure: string
}

/** Stores that an attempt failed, and when the next one is due. */
export const storeAttempt = command<FailedAttempt & { readonly until: number }>((table, v) =>
  table('webhook_deliveries')
    .where({ seq: v.seq })
    .update({ attempts: v.attempts, failure: v.failure, attempt_at: v.until }),
)

/** Gives an event up: it is a dead letter. */
export const buryDelivery = command<FailedAttempt & { readonly now: number }>((table, v) =>
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

/** The place of a dead letter among all: the newest come first. */
export type LetterPlace = Pick<DeadLetter, 'id' | 'deadAt'>

/** The number of dead letters on one page. */
export const lettersPerPage = batchSize

const deadLetters = findAll(
  query<LetterPlace>((table, v, name) =>
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
      .where('deliveries.dead_at', '<=', v.deadAt)
      .where((either) =>
        either.where('deliveries.dead_at', '<', v.deadAt).orWhere('deliveries.seq', '<', v.id),
      )
      .orderBy([
        { column: 'deliveries.dead_at', order: 'desc' },
        { column: 'deliveries.seq', order: 'desc' },
      ])
      .limit(lettersPerPage, { skipBinding: true }),
  ),
  (row): DeadLetter => ({
    id: numberOf(row, 'seq'),
    endpoint: textOf(row, 'endpoint'),
    type: textOrNull(row, 'type'),
    subject: textOrNull(row, 'subject'),
    time: numberOrNull(row, 'time'),
    attempts: numberOf(row, 'attempts'),
    failure: textOrNull(row, 'failure') ?? '',
    deadAt: numberOf(row, 'dead_at'),
  }),
)

/**
 * The next hundred dead letters, newest first.
 *
 * @param before the last one that was read; undefined begins with the newest
 */
export const listDeadLetters = (db: Database, before?: LetterPlace): Promise<DeadLetter[]> => {
  const { id, deadAt } = before ?? { id: 0, deadAt: Number.MAX_SAFE_INTEGER }
  return deadLetters(db, { id, deadAt })
}

const deadSeqs = query<Record<never, never>>((table) =>
  table('webhook_deliveries').select('seq').whereNotNull('dead_at').limit(batchSize, { skipBinding: true }),
)

/** The number of dead letters, up to 100. */
export const countDeadLetters = async (db: Database): Promise<number> => (await deadSeqs(db, {})).length

/** An event without a next attempt is dead. */
const firstDead = (rows: Knex.QueryBuilder, v: Places<'endpoint' | 'priority'>): Knex.QueryBuilder =>
  rows
    .select('seq')
    .where({ endpoint: v.endpoint, priority: v.priority })
    .whereNull('attempt_at')
    .limit(1, { skipBinding: true })

type OfReceiver = { readonly endpoint: string; readonly priority: Priority }
const anyDead = query<OfReceiver>((table, v) => firstDead(table('webhook_deliveries'), v))
/** The order keeps planners from reading the table. MariaDB would sort. */
const anyDeadInOrder = query<OfReceiver>((table, v) =>
  firstDead(table('webhook_deliveries'), v).orderBy('attempt_at'),
)

/** Whether a receiver has a dead letter. */
export const hasDeadLetter = async (
  db: Database,
  { endpoint }: { readonly endpoint: string },
): Promise<boolean> => {
  const find = db.driver.dialect === 'mysql' ? anyDead : anyDeadInOrder
  for (const each of priorities) if ((await find(db, { endpoint, priority: each })).length > 0) return true
  return false
}

/** The events that wait for a receiver. */
export interface Backlog {
  readonly count: number
  /** Epoch seconds: when the first of it happened; null if nothing waits. */
  readonly oldest: number | null
}

const waiting = query<{ endpoint: string }>((table, v, _name, raw) =>
  table('webhook_deliveries')
    .select(raw('count(*) as ??, min(seq) as ??', ['count', 'first']))
    .where({ endpoint: v.endpoint })
    .whereNotNull('attempt_at'),
)

const timeOf = query<{ seq: number }>((table, v, name) =>
  table('webhook_deliveries as deliveries')
    .innerJoin(name('events as events'), 'events.id', 'deliveries.event_id')
    .select('events.time as time')
    .where('deliveries.seq', v.seq),
)

/** The events that wait for a receiver. */
export const findBacklog = async (db: Database, values: { readonly endpoint: string }): Promise<Backlog> => {
  const [row] = await waiting(db, values)
  const first = row ? numberOrNull(row, 'first') : null
  const [event] = first === null ? [] : await timeOf(db, { seq: first })
  return { count: row ? numberOf(row, 'count') : 0, oldest: event ? numberOf(event, 'time') : null }
}

/** When an event is tried next: not before the receiver is asked again. Undefined if none waits. */
export const findNextAttempt = findOne(
  query<{ endpoint: string }>((table, v, name) =>
    table('webhook_deliveries as deliveries')
      .join(name('webhook_endpoints as endpoints'), 'endpoints.name', 'deliveries.endpoint')
      .select(['deliveries.attempt_at as attempt_at', 'endpoints.held_until as held_until'])
      .where({ 'deliveries.endpoint': v.endpoint })
      .whereNotNull('deliveries.attempt_at')
      .orderBy('deliveries.attempt_at')
      .limit(1, { skipBinding: true }),
  ),
  (row) => Math.max(numberOf(row, 'attempt_at'), numberOf(row, 'held_until')),
)

/** Tries a dead letter again, at once. Returns whether it was one. */
export const replayDelivery = touches(
  command<{ seq: number; now: number }>((table, v) =>
    table('webhook_deliveries')
      .where({ seq: v.seq })
      .whereNotNull('dead_at')
      .update({ attempts: 0, failure: null, attempt_at: v.now, dead_at: null }),
  ),
)

/** Tries all dead letters of a receiver again. Returns how many there were. */
export const replayEndpoint = command<{ endpoint: string; now: number }>((table, v) =>
  table('webhook_deliveries')
    .where({ endpoint: v.endpoint })
    .whereNotNull('dead_at')
    .update({ attempts: 0, failure: null, attempt_at: v.now, dead_at: null }),
)

/** Removes what waits in a lane, for any receiver. */
export const removeLane = command<{ lane: string }>((table, v) =>
  table('webhook_deliveries').where({ lane: v.lane }).delete(),
)
