import type { AccountPageModel } from './account-page-model.ts'
import type { PageForm } from './page-parts.ts'

/** The words by which people know a device; both are absent if its browser did not say. */
export interface ShownDevice {
  /** Such as `Chrome`. */
  browser?: string | undefined
  /** Such as `macOS` or `iPad`. */
  system?: string | undefined
}

/** A browser in which the user is signed in. */
export interface DeviceCard extends ShownDevice {
  /** ISO 8601. */
  since: string
  /** ISO 8601. */
  lastUsed: string
}

/** The devices that the user has just signed out. */
export interface DevicesDone {
  kind: 'ended' | 'others'
  /** With `ended`. */
  device?: ShownDevice
  /** With `ended`: what was signed in to there, with the page that removes its access. */
  apps?: readonly { readonly name: string; readonly url: string }[]
  /** With `ended`: where the user sets a new password. */
  forgotPassword?: string | undefined
}

/** The pages about the devices of a user. */
export interface DevicePageModels {
  /** Where the user is signed in. */
  devices: AccountPageModel & {
    /** In display order. */
    devices: readonly (DeviceCard & {
      /** The browser that shows this page. */
      isHere: boolean
      /** The page that asks whether to sign it out. */
      removeUrl?: string
    })[]
    /** The page that asks whether to sign out all others; absent if there are none. */
    others?: { readonly url: string } | undefined
    done?: DevicesDone | undefined
  }
  /** Asks whether to sign out one of them, or all others. */
  'end-device': PageForm & {
    /** Absent for all others. */
    device?: DeviceCard
    /** How many devices there are. */
    count: number
    /** The clients that the user signed in to there. */
    apps: readonly { readonly name: string }[]
    /** The host itself reports the login, and may do so again. */
    isAtHost: boolean
    username: string
    cancelUrl: string
  }
}
