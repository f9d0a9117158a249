import { transaction } from '../database/transaction.ts'
import type { Database } from '../database/types.ts'
import { randomId } from '../keys/secrets.ts'
import type { Logger } from '../options/server.ts'
import { createEvent, type EventRecord } from '../repositories/events.ts'
import type { AuthEvent } from './event.ts'

/** The most events that wait to be stored; later ones are dropped, so that a slow database costs no memory. */
const maxWaiting = 10_000

/** The most events that one transaction stores. */
const batchSize = 100

/** Stores events in the background. */
export interface EventLog {
  /** Adds an event. It never throws and never waits. */
  add(event: AuthEvent): void
  /** Waits until every event that was added is stored or dropped. */
  settled(): Promise<void>
}

/** An event as it is stored, with its row. */
export interface StoredEvent extends EventRecord {
  readonly id: string
  /** Epoch seconds. */
  readonly expiresAt: number
}

/** What a feature stores beside events. */
export interface EventCompanion {
  /** Writes in the transaction that stores these events, after them. It consists of statements only, and may run again. */
  write(tx: Database, events: readonly StoredEvent[]): Promise<void>
  /** Called when the transaction is committed. It must be fast, and must not throw. */
  written(): void
}

export interface EventLogContext {
  readonly database: Database
  readonly logger: Pick<Logger, 'error'>
  /** Seconds that an event is kept. */
  readonly lifetime: number
  /** The types of events that anyone can cause as often as they like. */
  readonly brief: ReadonlySet<string>
  /** What features store beside the events, in one transaction with them. */
  readonly companions: readonly EventCompanion[]
  runInBackground(work: Promise<unknown>): void
}

/** No row keeps the id of a user who was erased. */
const storable = (event: AuthEvent): Readonly<Record<string, unknown>> => {
  const { type, time, requestId, ...details } = event
  if (type !== 'user.erased') return details
  const { subject: _, ...others } = details as { subject?: string }
  return others
}

/** Seconds that an event is kept at most that anyone can cause: a week, in which its reason is looked for. */
const briefLifetime = 604_800

type Kept = Pick<EventLogContext, 'lifetime' | 'brief'>

/** Whether an event is stored. What was refused because there was too much of it must cost the database nothing. */
const isStored = (
  event: { readonly type: string; readonly status?: unknown },
  { brief }: Pick<Kept, 'brief'>,
): boolean => !(event.status === 429 && brief.has(event.type))

const recordOf = (event: AuthEvent, { lifetime, brief }: Kept): StoredEvent => {
  const { type, time, requestId } = event
  const { subject, ...details } = storable(event)
  const about = typeof subject === 'string' ? { subject } : {}
  const expiresAt = time + (brief.has(type) ? Math.min(lifetime, briefLifetime) : lifetime)
  return { id: randomId(), type, time, requestId, ...about, details, expiresAt }
}

const storeBatch = async (
  database: Database,
  records: readonly StoredEvent[],
  companions: readonly EventCompanion[],
): Promise<void> => {
  await transaction(database, async (tx) => {
    for (const record of records) await createEvent(tx, record)
    for (const companion of companions) await companion.write(tx, records)
  })
  for (const companion of companions) companion.written()
}

/**
 * Creates a log of events. It writes in batches, one after another, and never delays or fails a request: if the database
 * is unavailable, events are dropped, and the log of the app says how many.
 *
 * @example events.listeners.on('*', createEventLog(context).add)
 */
export const createEventLog = ({
  database,
  logger,
  lifetime,
  brief,
  companions,
  runInBackground,
}: EventLogContext): EventLog => {
  const waiting: AuthEvent[] = []
  let dropped = 0
  let running: Promise<void> | undefined

  const reportDropped = (cause?: unknown): void => {
    if (dropped > 0)
      logger.error(`latchkey: ${dropped} events could not be stored`, ...(cause ? [cause] : []))
    dropped = 0
  }
  const storeAll = async (): Promise<void> => {
    // The events of one request come together, and its answer goes first.
    await new Promise((resolve) => setImmediate(resolve))
    while (waiting.length > 0) {
      const batch = waiting.splice(0, batchSize)
      try {
        const records = batch.map((event) => recordOf(event, { lifetime, brief }))
        await storeBatch(database, records, companions)
        reportDropped()
      } catch (error) {
        dropped += batch.length
        reportDropped(error)
      }
    }
    running = undefined
  }
  return {
    add: (event) => {
      if (!isStored(event, { brief })) return
      if (waiting.length >= maxWaiting) {
        dropped += 1
        return
      }
      waiting.push(event)
      if (running !== undefined) return
      running = storeAll()
      runInBackground(running)
    },
    settled: async () => running,
  }
}
