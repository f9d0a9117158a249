import { assertNames, assertRecord, refuse } from './check.ts'

/** The device authorization grant (RFC 8628). */
export interface DeviceAuthorizationOptions {
  /** Seconds that a user has to type the code, sign in and allow the device: 60 to 3600. @default 600 */
  lifetime?: number
  /** Seconds that a device must wait between two polls: 1 to 60. @default 5 */
  interval?: number
  /**
   * A short URL that devices show instead of that of `/device`, such as `'https://example.com/tv'`. The host redirects
   * it there with its query. @default the URL of `/device`
   */
  verificationUri?: string
}

/** The same with its defaults. */
export interface DeviceAuthorization {
  readonly lifetime: number
  readonly interval: number
  readonly verificationUri: string | undefined
}

const assertWithin = (name: string, value: number, from: number, to: number): void => {
  if (!Number.isSafeInteger(value) || value < from || value > to) {
    refuse(`features.deviceAuthorization.${name} must be a whole number of seconds, from ${from} to ${to}`)
  }
}

const isShortUrl = (value: unknown): boolean => {
  if (typeof value !== 'string' || !URL.canParse(value) || /[?#@]/.test(value)) return false
  return ['https:', 'http:'].includes(new URL(value).protocol)
}

/**
 * Checks the option `features.deviceAuthorization`.
 *
 * @returns undefined if the grant is off
 * @throws OptionsError
 */
export const checkedDeviceAuthorization = (
  options: boolean | DeviceAuthorizationOptions = false,
): DeviceAuthorization | undefined => {
  if (options === false) return undefined
  const given = options === true ? {} : options
  assertRecord('features.deviceAuthorization', given)
  assertNames('features.deviceAuthorization.', given, ['lifetime', 'interval', 'verificationUri'])
  const { lifetime = 600, interval = 5, verificationUri } = given
  assertWithin('lifetime', lifetime, 60, 3600)
  assertWithin('interval', interval, 1, 60)
  if (verificationUri !== undefined && !isShortUrl(verificationUri)) {
    refuse(
      "features.deviceAuthorization.verificationUri must be a URL without a query, such as 'https://example.com/tv'",
    )
  }
  return { lifetime, interval, verificationUri }
}
