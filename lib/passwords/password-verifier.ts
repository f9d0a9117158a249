import { setTimeout as wait } from 'node:timers/promises'
import { OAuthError } from '../protocol/errors.ts'
import { ownDummyHash, parsePasswordHash, UnsupportedPasswordHashError } from './password-hash.ts'
import { isPassword, verifyPassword } from './passwords.ts'

export interface PasswordVerifierOptions {
  /** Verifications at once. @default UV_THREADPOOL_SIZE − 2, at least 1: signatures need the other threads */
  concurrency?: number
  /** Verifications that may wait for their turn. @default 100 */
  queue?: number
  /** Checks one password against one hash. @default {@link verifyPassword} */
  verify?: (password: string, hash: string) => Promise<boolean>
  /** Waits, in milliseconds. @default a timer */
  wait?: (milliseconds: number) => Promise<unknown>
}

export interface PasswordVerifier {
  /**
   * Checks one password: exactly one verification, whatever the outcome. Without a hash (no such user, a disabled
   * one, one without a password) it is a dummy, at the cost of the hash of this table that was seen last.
   * Hashes of kinds that are not known here go to `verifyOther`; then the dummy waits as long as that took last
   * time, which hides the difference from a clock, not from one who measures the load of the processor.
   *
   * @throws OAuthError `temporarily_unavailable` when too many verifications wait
   * @throws UnsupportedPasswordHashError on a hash of an unknown kind without `verifyOther`, after a dummy
   */
  verify(
    password: string,
    hash: string | undefined,
    verifyOther?: () => boolean | Promise<boolean>,
  ): Promise<boolean>
  /** Makes the dummy as expensive as this hash. */
  learn(hash: string): void
}

/** Size of libuv's thread pool, on which all hashing runs, less two threads for everything else. */
const threads = (): number => {
  const size = Number(process.env.UV_THREADPOOL_SIZE ?? 4)
  return Math.max(1, (Number.isInteger(size) && size > 0 ? size : 4) - 2)
}

// A host's verification that hung once must not hold every later dummy.
const maxWait = 5000

/**
 * Checks passwords a few at a time, so that a burst of logins delays neither signatures nor other logins,
 * and at one cost whether the user exists or not.
 *
 * @example
 * const passwords = createPasswordVerifier()
 * const matches = await passwords.verify(password, row?.password_hash)
 */
export const createPasswordVerifier = (options: PasswordVerifierOptions = {}): PasswordVerifier => {
  const { concurrency = threads(), queue = 100, verify = verifyPassword } = options
  const inTurn = createTurns(concurrency, queue)
  let burn = (password: string): Promise<unknown> => verify(password, ownDummyHash)

  const learn = (hash: string): void => {
    const parsed = parsePasswordHash(hash)
    if (parsed) burn = (password) => verify(password, parsed.dummy)
  }

  const verifyByHost = async (verifyOther: () => boolean | Promise<boolean>): Promise<boolean> => {
    const start = performance.now()
    try {
      return (await verifyOther()) === true
    } finally {
      const milliseconds = Math.min(performance.now() - start, maxWait)
      burn = () => (options.wait ?? wait)(milliseconds)
    }
  }

  return {
    learn,
    verify: (given, hash, verifyOther) =>
      inTurn(async () => {
        const password = isPassword(given) ? given : 'refused'
        const known = hash !== undefined && parsePasswordHash(hash) !== undefined
        if (known) learn(hash)
        if (isPassword(given) && known) return verify(password, hash)
        if (isPassword(given) && hash && verifyOther) return verifyByHost(verifyOther)
        await burn(password)
        if (hash && !known && !verifyOther) throw new UnsupportedPasswordHashError()
        return false
      }),
  }
}

type Turns = <T>(task: () => Promise<T>) => Promise<T>

const createTurns = (concurrency: number, queue: number): Turns => {
  const waiting: (() => void)[] = []
  let running = 0
  return async (task) => {
    if (running < concurrency) {
      running += 1
    } else if (waiting.length < queue) {
      await new Promise<void>((resolve) => waiting.push(resolve))
    } else {
      throw new OAuthError('temporarily_unavailable', 'too many logins at once, try again in a moment', {
        headers: { 'Retry-After': '5' },
      })
    }
    try {
      return await task()
    } finally {
      // The turn is handed over, so nobody who comes in between can take it.
      const next = waiting.shift()
      if (next) next()
      else running -= 1
    }
  }
}
