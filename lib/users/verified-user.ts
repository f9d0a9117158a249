import type { Logger } from '../options/options.ts'
import type { PasswordVerifier } from '../passwords/password-verifier.ts'
import { UnsupportedPasswordHashError } from '../passwords/passwords.ts'

/** Somebody who might log in. */
export interface Candidate<Kind> {
  /** Names the user in the log, as the operator would look them up. */
  readonly id: unknown
  readonly hash: string | undefined
  /** The host's own check, for a hash of another kind. */
  readonly verifyOther?: (() => boolean | Promise<boolean>) | undefined
  readonly user: () => Kind
}

/**
 * The one path of every attempt to log in by password: one verification, real or dummy, then the answer.
 * A hash that cannot be checked is reported to the operator, and to nobody else.
 *
 * @param candidate undefined when there is no such user, or none who may log in
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
