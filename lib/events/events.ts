import { channel } from 'node:diagnostics_channel'
import { EventEmitter } from 'node:events'
import { createRequestId } from '../keys/secrets.ts'
import type { Logger } from '../options/server.ts'
import type { RequestInfo } from '../protocol/requests/request-info.ts'
import type { AuthEvent, EventDetails, EventType } from './event.ts'

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

export interface Events {
  /** For the host. */
  readonly listeners: EventListeners
  /** Sends an event to all listeners. `info` is undefined if no request caused the event. */
  announce<Type extends EventType>(
    type: Type,
    info: RequestInfo | undefined,
    details: EventDetails[Type],
  ): void
}

/** The `node:diagnostics_channel` that carries every event of every router in the process. */
export const channelName = 'latchkey'

/**
 * @param now epoch seconds
 * @example events.announce('token.revoked', request.info, { clientId: 'journal' })
 */
export const createEvents = (logger: Logger, now: () => number): Events => {
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

  return {
    listeners,
    announce: (type, info, details) => {
      const isHeard = emitter.listenerCount(type) + emitter.listenerCount('*') > 0
      if (!isHeard && !diagnostics.hasSubscribers) return
      const { requestId = createRequestId(), address, agent } = info ?? {}
      const event = {
        type,
        time: now(),
        requestId,
        ...(address === undefined ? {} : { address }),
        ...(agent === undefined ? {} : { agent }),
        ...details,
      }
      emit(type, event)
      emit('*', event)
      diagnostics.publish(event)
    },
  }
}
