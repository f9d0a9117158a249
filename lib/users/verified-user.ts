import type { Logger } from '../options/options.ts'
import type { PasswordVerifier } from '../passwords/password-verifier.ts'
import { UnsupportedPasswordHashError } from '../passwords/passwords.ts'

/** A user whose password is checked. */
export interface Candidate<Kind> {
  /** Identifies the user in the log. */
  readonly id: unknown
  readonly hash: string | undefined
  /** The host's check, for a hash in an unknown format. */
  readonly verifyOther?: (() => boolean | Promise<boolean>) | undefined
  readonly user: () => Kind
}

/**
 * Checks a password with exactly one verification, real or dummy. A hash that cannot be checked is logged and counts as a
 * wrong password.
 *
 * @param candidate undefined if the user does not exist or is disabled
 */
export const verifiedUser = async <Kind>(
  passwords: PasswordVerifier,
  logger: Logger,
  password: string,
  candidate: Candidate<Kind> | undefined,
): Promise<Kind | undefined> => {
  try {
    const matches = await passwords.verify(password, candidate?.hash, candidate?.verifyOther)
    return matches ? candidate?.user() : undefined
  } catch (error) {
    if (!(error instanceof UnsupportedPasswordHashError)) throw error
    logger.error(`latchkey: user ${JSON.stringify(String(candidate?.id))} cannot log in: ${error.message}`)
    return undefined
  }
}
