import type { OAuthError } from '../../protocol/errors.ts'
import { lateExplanation } from '../../protocol/explanation.ts'
import { refusal } from '../../protocol/refusal.ts'
import {
  type AuthorizationState,
  assertUnused,
  issuedToAnother,
  type Redemption,
} from '../../protocol/requests/authorization.ts'
import type { AuthorizationRequest } from '../../protocol/requests/authorization-request.ts'
import type { TokenBinding } from '../../protocol/tokens/token-binding.ts'

export const deviceCodeGrantType = 'urn:ietf:params:oauth:grant-type:device_code'

/** The characters of a user code (RFC 8628 §6.1): no vowels, so that no code is a word, and none that look alike. */
export const userCodeAlphabet = 'BCDFGHJKLMNPQRSTVWXZ'

/** Of twenty characters: 34.5 bits. */
export const userCodeLength = 8

/** @example formatUserCode('WDJBMJHT') // 'WDJB-MJHT' */
export const formatUserCode = (code: string): string => `${code.slice(0, 4)}-${code.slice(4)}`

const wellFormed = /^[BCDFGHJKLMNPQRSTVWXZ]{8}$/

/**
 * Reads a user code as people type it: in any case, with or without the hyphen, with spaces, or in the wide characters
 * of an East Asian keyboard (RFC 8628 §6.1).
 *
 * @returns the eight letters; undefined if it cannot be a code
 * @example parseUserCode(' wdjb mjht') // 'WDJBMJHT'
 */
export const parseUserCode = (typed: string): string | undefined => {
  const letters = typed
    .normalize('NFKC')
    .toUpperCase()
    .replace(/[^\p{L}\p{N}]/gu, '')
  return wellFormed.test(letters) ? letters : undefined
}

/** A device's request for tokens. */
export interface DeviceCode {
  /** Hash of the device code. */
  readonly hash: string
  readonly clientId: string
  readonly request: AuthorizationRequest
  /** The IP address of the device. */
  readonly address: string
  /** Undefined until a user has decided. */
  readonly decision: 'approved' | 'denied' | undefined
  /** Epoch seconds. */
  readonly createdAt: number
  readonly expiresAt: number
}

/** Seconds that each poll that came too early adds to the interval (RFC 8628 §3.5). */
export const slowDownSeconds = 5

/**
 * Whether the user has decided.
 *
 * @param found the code that was presented, if it is known
 * @throws OAuthError `invalid_grant`, `access_denied` or `expired_token` if polling is over (RFC 8628 §3.5)
 * @returns `pending` if the device must poll again later
 */
export const devicePollState = (
  found: DeviceCode | undefined,
  clientId: string,
  now: number,
): 'pending' | 'approved' => {
  if (found === undefined || found.clientId !== clientId) {
    throw refusal('device_code_unknown', {
      explanation: issuedToAnother(found, clientId),
    })
  }
  if (found.decision === 'denied') throw refusal('user_denied')
  if (found.decision === 'approved') return 'approved'
  if (found.expiresAt <= now) {
    const explanation = lateExplanation(found.expiresAt, now)
    throw refusal('device_code_expired', { explanation })
  }
  return 'pending'
}

/**
 * The error of a poll before the user has decided (RFC 8628 §3.5).
 *
 * @param isDue whether the interval had passed
 */
export const stillPending = (isDue: boolean): OAuthError =>
  isDue ? refusal('device_pending') : refusal('device_too_early', { values: { seconds: slowDownSeconds } })

/**
 * Checks an approved device code, which works once. A second use revokes its tokens, like that of an authorization code.
 *
 * @param found what the user granted
 * @param proved what the request proved
 * @throws OAuthError `invalid_grant`, or `expired_token` if the device did not come back in time
 */
export const assertDeviceRedeemable = (
  found: AuthorizationState | undefined,
  proved: TokenBinding,
  now: number,
): Redemption => {
  if (found === undefined) throw refusal('device_code_revoked')
  return assertUnused(found, 'device_code', proved, now)
}
