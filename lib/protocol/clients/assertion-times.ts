import { type Explanation, explainedTimes, lateExplanation } from '../explanation.ts'

/** Seconds by which the clock of an issuer of assertions may differ. */
export const clockSkew = 30
/** Maximum lifetime of an assertion in seconds: libraries use up to an hour, and its `jti` is stored as long. */
export const maxLifetime = 3600

const isTime = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value)

/** The claims that make an assertion usable once. */
export interface AssertionTimes {
  readonly id: string | undefined
  /** Until when the identifier must be stored, in epoch seconds. */
  readonly expiresAt: number
}

/**
 * Checks the times and the identifier of a JWT assertion (RFC 7523 §3): it expires within an hour.
 *
 * @param now epoch seconds
 * @param refuse throws with a reason such as “is expired”
 */
export const assertionTimes = (
  { exp, nbf, iat, jti }: Readonly<Record<string, unknown>>,
  now: number,
  refuse: (problem: string, explanation?: Explanation) => never,
): AssertionTimes => {
  if (!isTime(exp)) return refuse('must have exp in seconds')
  if (exp <= now - clockSkew) refuse('is expired', lateExplanation(exp, now))
  for (const [name, time] of Object.entries({ nbf, iat })) {
    if (time === undefined) continue
    if (!isTime(time)) return refuse(`must have ${name} in seconds`)
    if (time > now + clockSkew)
      refuse(`has an ${name} in the future`, explainedTimes([`${name} until`, now], [`${name} at`, time]))
  }
  // Last, because a clock that is ahead says more about itself by iat.
  if (exp > now + maxLifetime + clockSkew)
    refuse(
      `must expire within ${maxLifetime} seconds`,
      explainedTimes(['exp until', now + maxLifetime], ['exp at', exp]),
    )
  if (jti !== undefined && (typeof jti !== 'string' || jti === '' || jti.length > 255)) {
    return refuse('must have a jti of 1 to 255 characters')
  }
  return { id: jti, expiresAt: Math.ceil(exp) + clockSkew }
}
