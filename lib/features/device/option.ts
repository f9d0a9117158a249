import { limit } from '../../options/limits.ts'
import { type CheckedMembers, seconds, text } from '../../options/schema.ts'

const isShortUrl = (value: string): boolean =>
  URL.canParse(value) && !/[?#@]/.test(value) && ['https:', 'http:'].includes(new URL(value).protocol)

/** Tokens for devices without a browser or a keyboard (RFC 8628): docs/device.md. */
export const members = {
  /** The seconds that a user has to type the code, sign in and allow the device. */
  lifetime: seconds(600, { min: 60, max: 3600 }),
  /** The seconds that a device must wait between two polls. */
  interval: seconds(5, { min: 1, max: 60 }),
  /**
   * A short URL that devices show instead of that of `/device`, such as `'https://example.com/tv'`. You redirect it there with its
   * query. @default the URL of `/device`
   */
  verificationUri: text("a URL without a query, such as 'https://example.com/tv'", isShortUrl),
}

const quarterHour = 900

export const failures = {
  /** Codes typed at `/device` that no device waits with, from one IPv4 address or one IPv6 /64: docs/device.md#guessing. */
  userCodeAddress: limit(20, quarterHour),
  /** Such codes from one IPv6 /48. */
  userCodeNetwork: limit(200, quarterHour),
  /** Such codes from all addresses. */
  userCodeTotal: limit(1000, 3600),
  /** Such codes of one signed-in user. */
  userCodeUser: limit(10, quarterHour),
  /** Failed client authentication at `/device_authorization`, for one client from one address. */
  deviceAuthorization: limit(30, 60),
}

export const quotas = {
  /** Requests at `/device_authorization` from one address. */
  deviceCode: limit(100, 3600),
}

/** The checked options. */
export type DeviceOption = CheckedMembers<typeof members>
