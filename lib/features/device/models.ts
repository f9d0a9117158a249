import type { PageForm } from '../../web/pages/page-parts.ts'

/** Why the last code was rejected. */
export type UserCodeError = 'wrong' | 'throttled'

declare module '../../web/pages/page-models.ts' {
  interface PageModels {
    /** Asks for the code that a device shows (RFC 8628 §3.3). */
    device: PageForm & {
      /** As a link said it, or as it was typed before. */
      userCode: string
      /** Why the last code was rejected. */
      error?: UserCodeError
      /** With `throttled`: seconds until the next code is looked up. */
      retryAfter?: number
    }
    /** Asks whether the device is the user's own. The decision is `allow`, `deny` or `switch`. */
    'device-confirm': PageForm & {
      client: ClientCard
      /** The user who is signed in. */
      username: string
      /** As the device shows it, such as `WDJB-MJHT`. */
      userCode: string
      /** Seconds since the device asked. */
      requestedAgo: number
      /** The IP address of the device. */
      address: string
      /** Whether that is the network of this browser. */
      sameNetwork: boolean
    }
    /** The last page: the user goes back to the device. */
    'device-done': {
      outcome: 'connected' | 'denied'
      client: ClientCard
      /** The page where the user can remove the client later. */
      accountUrl: string
    }
  }
}
