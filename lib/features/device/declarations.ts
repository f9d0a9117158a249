import type { PageForm } from '../../web/pages/page-parts.ts'
import type { OpenedDevice } from './kind.ts'

/** Why the last code was rejected. */
export type UserCodeError = 'wrong' | 'throttled'

declare module '../../protocol/requests/authorization-request.ts' {
  interface AuthorizationRequest {
    /** The device that asks, in the browser in which its code was typed (RFC 8628 §3.3). */
    readonly device?: OpenedDevice
  }
}

declare module '../../options/access.ts' {
  interface AccessSteps {
    /** In the browser: a device would be connected (RFC 8628). */
    readonly device: true
    /** A connected device fetches its tokens. */
    readonly device_code: true
  }
}

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

declare module '../../events/event.ts' {
  interface SingleUseParameters {
    readonly device_code: true
  }
  interface EventDetails {
    /** A device asked for tokens (RFC 8628), and got a code that its user types in a browser. */
    'device.requested': { readonly clientId: string; readonly scopes: readonly string[] }
    /** A user typed a code that no device waits with. `subject` is undefined if no user is signed in. */
    'device.code_refused': { readonly subject?: string }
    /** A user allowed a device, at `deviceAddress`, to poll for its tokens. */
    'device.authorized': AuthorizationFields &
      OrganizationFields & { readonly scopes: readonly string[]; readonly deviceAddress: string }
    /** A user did not allow a device, or could not. */
    'device.denied': { readonly clientId: string; readonly deviceAddress: string }
  }
}
