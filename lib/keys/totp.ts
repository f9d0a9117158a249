import { Secret, TOTP } from 'otpauth'

// RFC 6238 with the values that every authenticator app knows: HMAC-SHA-1, six digits, thirty seconds.

/** Seconds. */
const period = 30
/** The number of digits of a code. */
export const totpDigits = 6

/** A new TOTP secret of 160 bits, in base32. */
export const createTotpSecret = (): string => new Secret({ size: 20 }).base32

/** When a TOTP code may be used. */
export interface TotpOptions {
  /** The time of the check in epoch seconds. @default now */
  now?: number
  /** The last time step whose code was accepted: only codes of later ones are right. @default any */
  after?: number | undefined
}

/**
 * Checks a code of an authenticator app (TOTP, RFC 6238): six digits, HMAC-SHA-1, steps of thirty seconds. The step before
 * and the step after the present one count, too, because clocks differ.
 *
 * @param secret in base32, as authenticator apps get it
 * @param code as it was typed
 * @returns the time step of the code, to be stored and given as `after` the next time; undefined if the code is wrong
 * @throws TypeError if the secret is not base32
 * @example verifyTotp(user.totp_secret, code) !== undefined
 */
export const verifyTotp = (secret: string, code: string, options: TotpOptions = {}): number | undefined => {
  const { now = Math.floor(Date.now() / 1000), after = -1 } = options
  const token = code.replace(/\s/g, '')
  // The library throws for digits of other scripts.
  if (!/^[0-9]{6}$/.test(token)) return undefined
  const key = Secret.fromBase32(secret)
  const delta = TOTP.validate({
    token,
    secret: key,
    digits: totpDigits,
    period,
    timestamp: now * 1000,
    window: 1,
  })
  if (delta === null) return undefined
  const step = Math.floor(now / period) + delta
  return step > after ? step : undefined
}

/**
 * The contents of the QR code for an authenticator app.
 *
 * @param issuer the product
 * @param label the user, as the app shows them
 */
export const totpUri = (secret: string, issuer: string, label: string): string =>
  new TOTP({ issuer, label, secret: Secret.fromBase32(secret), digits: totpDigits, period }).toString()
