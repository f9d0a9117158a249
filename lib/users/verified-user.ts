import { authenticationCode } from '../keys/secrets.ts'
import type { Logger } from '../options/server.ts'
import type { PasswordVerifier } from './passwords/password-verifier.ts'
import { UnsupportedPasswordHashError } from './passwords/passwords.ts'
import { maxLookupLength } from './users.ts'

/** How passwords are checked and what is logged. */
export interface VerificationContext {
  readonly passwords: PasswordVerifier
  readonly logger: Logger
  /** Decides what unknown login names cost; the same in every process. */
  readonly secret: string
}

/** A typed name and password, and whether the user has logged in in this browser before. */
export interface Typed {
  readonly username: string
  readonly password: string
  readonly isKnown: boolean
}

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
 * @param candidate undefined if the user does not exist
 */
export const verifiedUser = async <Kind>(
  { passwords, logger, secret }: VerificationContext,
  { username, password, isKnown }: Typed,
  candidate: Candidate<Kind> | undefined,
): Promise<Kind | undefined> => {
  // In lower case, as users are looked up: otherwise only names without a user would differ by their case.
  const name = username.slice(0, maxLookupLength + 1).toLowerCase()
  const preference = (kind: string): string => authenticationCode(secret, 'dummy', [name, kind])
  const { hash, verifyOther } = candidate ?? {}
  try {
    const matches = await passwords.verify({ password, hash, verifyOther, preference, isKnown })
    return matches ? candidate?.user() : undefined
  } catch (error) {
    if (!(error instanceof UnsupportedPasswordHashError)) throw error
    logger.error(`latchkey: user ${JSON.stringify(String(candidate?.id))} cannot log in: ${error.message}`)
    return undefined
  }
}
