import { channel } from 'node:diagnostics_channel'
import { EventEmitter } from 'node:events'
import { createRequestId } from '../keys/secrets.ts'
import type { Logger } from '../options/server.ts'
import { setMembers } from '../protocol/json.ts'
import type { RequestInfo } from '../protocol/requests/request-info.ts'
import type { RolledBack } from '../storage/database/in-transaction.ts'
import { transaction } from '../storage/database/transaction.ts'
import type { Database } from '../storage/database/types.ts'
import type { AuthEvent, ChangeType, EventDetails, EventType } from './event.ts'
import type { EventLog } from './event-log.ts'

/** Listens to one type of event, or to all of them with `'*'`. */
export type Listen = {
  <Type extends EventType>(type: Type, listener: (event: AuthEvent<Type>) => unknown): EventListeners
  (type: '*', listener: (event: AuthEvent) => unknown): EventListeners
}

/**
 * Adds and removes listeners. Errors in a listener are logged and do not affect the request.
 *
 * @example oauth.events.on('login.failed', ({ account, address }) => alert(account, address))
 */
export interface EventListeners {
  /** Calls the listener for every event of this type, or of any type with `'*'`. */
  readonly on: Listen
  /** Calls the listener for the next event only. */
  readonly once: Listen
  /** Removes a listener. */
  off(type: EventType | '*', listener: (event: never) => unknown): EventListeners
}

/** Reports a change in its transaction. `info` is undefined if no request caused the event. */
export type Tell = <Type extends EventType>(
  type: Type,
  info: RequestInfo | undefined,
  details: EventDetails[Type],
) => Promise<void>

export interface Events {
  /** For the host. */
  readonly listeners: EventListeners
  /** Sends an event to all listeners. `info` is undefined if no request caused the event. */
  announce<Type extends Exclude<EventType, ChangeType>>(
    type: Type,
    info: RequestInfo | undefined,
    details: EventDetails[Type],
  ): void
  /**
   * Makes a change in a transaction, as `transaction()` does. What it tells is stored in that transaction, and sent to all
   * listeners when it is committed.
   *
   * @param work gets the database of the transaction, and `tell`
   * @returns what the work returns
   * @throws OAuthError as `transaction()`, also if an event cannot be stored
   * @example
   * await events.change(database, async (tx, tell) => {
   *   if (await endLogin(tx, { sid, now })) await tell('login.ended', info, { subject })
   * })
   */
  change<T>(database: Database, work: (tx: Database, tell: Tell) => Promise<T | RolledBack<T>>): Promise<T>
}

/** Makes a change as {@link Events.change} does, and tells no one. */
export const changeSilently: Events['change'] = (database, work) =>
  transaction(database, (tx) => work(tx, async () => {}))

/** The `node:diagnostics_channel` that carries every event of every router in the process. */
export const channelName = 'latchkey'

/**
 * @param now epoch seconds
 * @param log stores the events; undefined if they are not stored
 * @example events.announce('token.revoked', request.info, { clientId: 'journal' })
 */
export const createEvents = (logger: Logger, now: () => number, log?: EventLog): Events => {
  const emitter = new EventEmitter()
  const diagnostics = channel(channelName)

  const failed = (error: unknown): void => logger.error('latchkey: an event listener failed', error)
  const emit = (name: string, event: object): void => {
    // Called one by one, so that an error in one listener does not skip the others.
    for (const listener of emitter.rawListeners(name)) {
      try {
        Promise.resolve(listener.call(emitter, event)).catch(failed)
      } catch (error) {
        failed(error)
      }
    }
  }

  const listeners: EventListeners = {
    on: (type: string, listener: (event: never) => unknown) => {
      emitter.on(type, listener as () => void)
      return listeners
    },
    once: (type: string, listener: (event: never) => unknown) => {
      emitter.once(type, listener as () => void)
      return listeners
    },
    off: (type, listener) => {
      emitter.off(type, listener as () => void)
      return listeners
    },
  }

  const isHeard = (type: EventType): boolean =>
    emitter.listenerCount(type) + emitter.listenerCount('*') > 0 || diagnostics.hasSubscribers
  const eventOf = <Type extends EventType>(
    type: Type,
    info: RequestInfo | undefined,
    details: EventDetails[Type],
  ): AuthEvent => {
    const { requestId = createRequestId(), address, agent } = info ?? {}
    const event = { type, time: now(), requestId, address, agent, ...details }
    return setMembers(event) as unknown as AuthEvent
  }
  const publish = (event: AuthEvent): void => {
    emit(event.type, event)
    emit('*', event)
    diagnostics.publish(event)
  }

  const announce: Events['announce'] = (type, info, details) => {
    if (log === undefined && !isHeard(type)) return
    const event = eventOf(type, info, details)
    const tooMuch = log?.add(event)
    publish(event)
    if (tooMuch !== undefined) announce('events.limited', undefined, { of: tooMuch })
  }

  return {
    listeners,
    announce,
    change: async (database, work) => {
      let told: AuthEvent[] = []
      const result = await transaction(database, (tx) => {
        // Work that loses a race runs again.
        told = []
        return work(tx, async (type, info, details) => {
          const event = eventOf(type, info, details)
          told.push(event)
          await log?.write(tx, event)
        })
      })
      if (told.length > 0) log?.written()
      for (const event of told) publish(event)
      return result
    },
  }
}
