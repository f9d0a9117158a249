/** An act of authentication: begins when a user proves their identity, ends by sign-out or by the host. */
export interface Login {
  /** Session identifier as ID tokens carry it (OIDC Back-Channel Logout §2.1); not a secret. */
  readonly sid: string
  readonly subject: string
  /** Epoch seconds at which the user proved their identity, or at which we first saw a login of the host. */
  readonly authTime: number
  /** Authentication methods (RFC 8176). */
  readonly amr: readonly string[]
  /** Authentication level (OIDC Core §2), if the host declares levels. */
  readonly acr?: string
  /** Whether the host reported it (`login.current`): it counts only while the host does. */
  readonly fromHost?: boolean
  /** Whether the host reports it without its time. */
  readonly lacksTime?: boolean
}

/** The time of a login whose time is not known. It is older than any that a client asks for. */
export const unknownTime = 0

/**
 * When the user proved their identity, in epoch seconds, as far as that is known. The time at which we first saw a login
 * of the host proves nothing, because the login may be much older.
 */
export const provenTime = ({ authTime, lacksTime }: Pick<Login, 'authTime' | 'lacksTime'>): number =>
  lacksTime ? unknownTime : authTime

/** Seconds by which the clock of a host, of its database or of another process may be behind ours. */
const maxClockDifference = 10

/** Whether a user authenticated at or after a time, both in epoch seconds. */
export const isSince = (authTime: number, time: number): boolean => authTime >= time - maxClockDifference

// Every time in seconds is below this for three thousand years; every time in milliseconds is above it.
const maxTime = 100_000_000_000

/** Seconds by which a login may be in the future: clocks differ by less, and time zones by more. */
const maxAhead = 300

/** Whether this can be the time of a login in epoch seconds. Milliseconds and times in the future satisfy every `max_age`. */
export const isLoginTime = (value: unknown, now: number): value is number =>
  isEpochSeconds(value) && value <= now + maxAhead

/** Whether this is a time in epoch seconds, and not in milliseconds. */
export const isEpochSeconds = (value: unknown): value is number =>
  typeof value === 'number' && value > 0 && value < maxTime
