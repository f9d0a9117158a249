import { randomId } from '../keys/secrets.ts'
import type { Logger } from '../options/server.ts'
import { transaction } from '../storage/database/transaction.ts'
import type { Database } from '../storage/database/types.ts'
import { createEvent, type EventRecord } from '../storage/repositories/events.ts'
import type { AuthEvent } from './event.ts'
import { createShares } from './shares.ts'

/** The most events that wait to be stored; later ones are dropped, so that a database that is down costs no memory. */
const maxWaiting = 10_000

/** The most events that one transaction stores. */
const batchSize = 100

/** Stores events. */
export interface EventLog {
  /**
   * Adds an event, which is stored in the background. It never throws and never waits.
   *
   * @returns who causes more than is stored, for the first such event in ten minutes
   */
  add(event: AuthEvent): string | undefined
  /** Stores an event in the transaction of the change that it reports. */
  write(tx: Database, event: AuthEvent): Promise<void>
  /** Called when such a transaction is committed. */
  written(): void
  /** Waits until every event that was added is stored, or the database could not store it now. */
  settled(): Promise<void>
  /** Drops what still waits about a user. */
  forget(subject: string): void
}

/** An event as it is stored, with its row. */
export interface StoredEvent extends EventRecord {
  readonly id: string
  /** Epoch seconds. */
  readonly expiresAt: number
}

/** A feature that stores more beside events. */
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
  /** The network to count an address under. */
  networkOf(address: string): string
  /** Epoch seconds. */
  now(): number
  /** Features that store more beside the events, in one transaction with them. */
  readonly companions: readonly EventCompanion[]
  /** Aborted when the server closes. */
  readonly closing: AbortSignal
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

/** Of events of one type that anyone can cause: so many of a network in ten minutes and in this process, and so many of all. */
const ofStrangers = { seconds: 600, each: 300, all: 10_000 }

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

const store = async (
  tx: Database,
  records: readonly StoredEvent[],
  companions: readonly EventCompanion[],
): Promise<void> => {
  for (const record of records) await createEvent(tx, record)
  for (const companion of companions) await companion.write(tx, records)
}

/** Milliseconds before the next attempt, after so many that failed. */
const pauseAfter = (failures: number): number => Math.min(30_000, 250 * 2 ** failures)

/** An event that alone fails so often, while others are stored, is dropped. */
const mostFailures = 3

/** If so many events fail one after another, the database is the reason. */
const failuresInARow = 3

/** An event that waits, and how often it alone has failed. */
interface Waiting {
  readonly event: AuthEvent
  failures: number
}

/**
 * Creates a log of events. What is added is written in batches, one after another, and never delays or fails a request. While
 * the database is unavailable, up to 10,000 events wait; more are dropped, and so is what waits when the server closes. The log
 * of the app says how many.
 *
 * @example createEvents(logger, now, createEventLog(context))
 */
export const createEventLog = ({
  database,
  logger,
  lifetime,
  brief,
  companions,
  networkOf,
  now,
  closing,
  runInBackground,
}: EventLogContext): EventLog => {
  const take = createShares({ ...ofStrangers, now })
  let waiting: Waiting[] = []
  let dropped = 0
  let running: Promise<void> | undefined
  let attempt: ReturnType<typeof storeAll> | undefined

  const reportDropped = (cause?: unknown): void => {
    if (dropped > 0)
      logger.error(`latchkey: ${dropped} events could not be stored`, ...(cause ? [cause] : []))
    dropped = 0
  }
  const written = (): void => {
    for (const companion of companions) companion.written()
  }
  const storeBatch = async (batch: readonly Waiting[]): Promise<void> => {
    const records = batch.map(({ event }) => recordOf(event, { lifetime, brief }))
    await transaction(database, (tx) => store(tx, records, companions))
    written()
  }
  /**
   * Stores what can be stored alone. If several fail one after another, the rest is not tried.
   *
   * @param from the place to begin with, so that what can never be stored does not keep others back
   * @returns whether any was stored, and what is left
   */
  const storeEach = async (batch: readonly Waiting[], from: number) => {
    const stored = new Set<Waiting>()
    const failed: Waiting[] = []
    let inARow = 0
    for (const one of [...batch.slice(from), ...batch.slice(0, from)]) {
      if (inARow === failuresInARow) break
      try {
        await storeBatch([one])
        stored.add(one)
        inARow = 0
      } catch {
        failed.push(one)
        inARow += 1
      }
    }
    if (stored.size > 0) for (const one of failed) one.failures += 1
    const left = batch.filter((one) => !stored.has(one) && one.failures < mostFailures)
    dropped += batch.length - stored.size - left.length
    return { isAnyStored: stored.size > 0, left }
  }
  /** Waits for a while, but not for a server that closes. */
  const pause = (failures: number): Promise<void> =>
    new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer)
        closing.removeEventListener('abort', end)
        resolve()
      }
      const timer = setTimeout(end, pauseAfter(failures)).unref()
      closing.addEventListener('abort', end)
    })
  /**
   * Stores what waits.
   *
   * @param failures how often it failed before
   * @returns the reason if nothing can be stored now
   */
  const storeAll = async (failures: number): Promise<{ readonly reason: unknown } | undefined> => {
    // The events of one request come together, and its answer goes first.
    await new Promise((resolve) => setImmediate(resolve))
    while (waiting.length > 0) {
      const batch = waiting.splice(0, batchSize)
      try {
        await storeBatch(batch)
        reportDropped()
      } catch (reason) {
        const { isAnyStored, left } = await storeEach(batch, (failures * failuresInARow) % batch.length)
        waiting.unshift(...left)
        reportDropped(reason)
        if (!isAnyStored) return { reason }
      }
    }
    return undefined
  }
  const keepStoring = async (): Promise<void> => {
    let failures = 0
    while (waiting.length > 0) {
      attempt = storeAll(failures)
      const failed = await attempt
      if (failed === undefined) failures = 0
      else if (closing.aborted) {
        dropped += waiting.length
        waiting = []
        reportDropped(failed.reason)
      } else {
        if (failures === 0) logger.error('latchkey: events cannot be stored now, and wait', failed.reason)
        failures += 1
        await pause(failures)
      }
    }
    running = undefined
  }
  return {
    add: (event) => {
      if (!isStored(event, { brief })) return undefined
      // The event that says that too much was caused is never too much.
      if (brief.has(event.type) && event.type !== 'events.limited') {
        const network = networkOf(event.address ?? '')
        const outcome = take(`${event.type} ${network}`)
        if (outcome !== 'within') return outcome === 'reached' ? network : undefined
      }
      // Strangers fill half of it at most.
      if (waiting.length >= (brief.has(event.type) ? maxWaiting / 2 : maxWaiting)) {
        dropped += 1
        return undefined
      }
      waiting.push({ event, failures: 0 })
      if (running === undefined) {
        running = keepStoring()
        runInBackground(running)
      }
      return undefined
    },
    write: (tx, event) => store(tx, [recordOf(event, { lifetime, brief })], companions),
    written,
    settled: async () => void (await attempt),
    forget: (subject) => {
      waiting = waiting.filter(({ event }) => !('subject' in event) || event.subject !== subject)
    },
  }
}
