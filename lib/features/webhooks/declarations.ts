import type { OperatorPageModel } from '../../web/pages/operator-page-model.ts'
import type { PageForm } from '../../web/pages/page-parts.ts'

/** A receiver on the page. */
export interface ShownEndpoint {
  name: string
  /** Absent if the configuration has no such receiver any more. */
  origin?: string
  backlog: number
  /** ISO 8601: when the first of what waits happened. */
  oldest?: string
  /** It is `down`, or it `refuses` an event. */
  state: 'ok' | 'down' | 'refuses' | 'disabled' | 'removed'
  /** ISO 8601. */
  succeeded?: string
  failed?: string
  refused?: string
  failure?: string
  /** ISO 8601: when it is tried next, if it is `down` or `refuses`. */
  next?: string
  /** Tries what waits at once; absent like `next`. */
  tryNow?: PageForm
  /** Sends a test message; absent if it is `removed`. */
  test?: PageForm
  /** Sends again to a receiver that is disabled. */
  enable?: PageForm
  /** Sends all again that was given up. */
  replay?: PageForm
}

/** An event that was given up. */
export interface ShownDeadLetter {
  id: number
  endpoint: string
  /** Absent if the event was removed. */
  type?: string
  user?: { name: string; url: string }
  /** ISO 8601, of the event. */
  time?: string
  attempts: number
  failure: string
  replay: PageForm
}

declare module '../../web/pages/page-models.ts' {
  interface PageModels {
    'operator-webhooks': OperatorPageModel & {
      endpoints: readonly ShownEndpoint[]
      /** Newest first. */
      deadLetters: readonly ShownDeadLetter[]
      /** The newest, from an older page. */
      previousUrl?: string | undefined
      nextUrl?: string | undefined
      notice?: 'replayed' | 'enabled' | 'stale' | 'tested' | 'test-failed'
      /** With `tested` and `test-failed`: the receiver. */
      about?: string
      /** With `test-failed`: why, in English. */
      reason?: string
    }
  }
}

declare module '../../events/event.ts' {
  interface EventDetails {
    /** A webhook was given up after its last attempt. */
    'webhook.failed': {
      readonly endpoint: string
      readonly deliveryId: string
      /** The type of the event that did not arrive. */
      readonly event: string
      readonly reason: string
    }
    /** A receiver answered 410, so nothing more is sent to it. */
    'webhook.disabled': { readonly endpoint: string }
    /** An administrator lets webhooks be sent again. */
    'webhook.enabled': { readonly endpoint: string; readonly actor?: string }
    /** An administrator lets webhooks be sent again that were given up, or wait. */
    'webhook.replayed': {
      readonly endpoint?: string
      /** The id of the only one, or how many there were. */
      readonly deliveries: string
      readonly actor?: string
    }
  }
}
