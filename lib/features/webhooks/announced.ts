import '../../events/event.ts'

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
