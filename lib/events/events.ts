import { randomUUID } from 'node:crypto'
import { channel } from 'node:diagnostics_channel'
import { EventEmitter } from 'node:events'
import type { Logger } from '../options/options.ts'
import type { RequestInfo } from '../protocol/request-info.ts'
import type { AuthEvent, EventDetails, EventType } from './event.ts'

/** What a listener is given; `event` hears everything. */
export interface EventListeners {
  on<Type extends EventType>(type: Type, listener: (event: AuthEvent<Type>) => unknown): EventListeners
  on(type: 'event', listener: (event: AuthEvent) => unknown): EventListeners
  off(type: EventType | 'event', listener: (event: never) => unknown): EventListeners
}

/** Tells whoever listens what happened. */
export interface Events {
  /** For the host. */
  readonly listeners: EventListeners
  /** Tells it; without an info nobody's request led to it. A listener that fails harms nothing but itself. */
  announce<Type extends EventType>(
    type: Type,
    info: RequestInfo | undefined,
    details: EventDetails[Type],
  ): void
}

/** The name under which `node:diagnostics_channel` carries every event of every router in the process. */
export const channelName = 'latchkey'

/**
 * @param now epoch seconds
 * @example events.announce('token.revoked', request.info, { clientId: 'journal' })
 */
export const createEvents = (logger: Logger, now: () => number): Events => {
  const emitter = new EventEmitter()
  const diagnostics = channel(channelName)

  const failed = (error: unknown): void => logger.error('latchkey: a listener of events failed', error)
  const tell = (name: string, event: object): void => {
    for (const listener of emitter.listeners(name)) {
      try {
        Promise.resolve(listener(event)).catch(failed)
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
    off: (type, listener) => {
      emitter.off(type, listener as () => void)
      return listeners
    },
  }

  return {
    listeners,
    announce: (type, info, details) => {
      const isHeard = emitter.listenerCount(type) + emitter.listenerCount('event') > 0
      if (!isHeard && !diagnostics.hasSubscribers) return
      const { requestId = randomUUID(), address } = info ?? {}
      const event = {
        type,
        time: now(),
        requestId,
        ...(address === undefined ? {} : { address }),
        ...details,
      }
      tell(type, event)
      tell('event', event)
      diagnostics.publish(event)
    },
  }
}
