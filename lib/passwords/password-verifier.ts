import { setTimeout as wait } from 'node:timers/promises'
import { OAuthError } from '../protocol/errors.ts'
import { ownDummyHash, parsePasswordHash, UnsupportedPasswordHashError } from './password-hash.ts'
import { isPassword, verifyPassword } from './passwords.ts'

export interface PasswordVerifierOptions {
  /** Maximum number of concurrent verifications. @default UV_THREADPOOL_SIZE − 2, at least 1: signatures need the other threads */
  concurrency?: number
  /** Maximum number of waiting verifications. @default 100 */
  queue?: number
  /** Checks one password against one hash. @default {@link verifyPassword} */
  verify?: (password: string, hash: string) => Promise<boolean>
  /** Waits, in milliseconds. @default a timer */
  wait?: (milliseconds: number) => Promise<unknown>
}

export interface PasswordVerifier {
  /**
   * Checks one password with exactly one verification. Without a hash (an unknown or disabled user, or one without a
   * password) it is a dummy, at the cost of the hash that was seen last. `verifyOther` checks hashes of unknown formats;
   * a dummy then waits as long as its last call took. That hides the difference in response times, but not in processor
   * load.
   *
   * @throws OAuthError `temporarily_unavailable` if too many verifications are waiting
   * @throws UnsupportedPasswordHashError for a hash of unknown format without `verifyOther`, after a dummy
   */
  verify(
    password: string,
    hash: string | undefined,
    verifyOther?: () => boolean | Promise<boolean>,
  ): Promise<boolean>
  /** Makes the dummy cost as much as this hash. */
  learn(hash: string): void
}

/** The size of libuv's thread pool, which runs all hashing, minus two threads for other work. */
const threads = (): number => {
  const size = Number(process.env.UV_THREADPOOL_SIZE ?? 4)
  return Math.max(1, (Number.isInteger(size) && size > 0 ? size : 4) - 2)
}

// Milliseconds. Limits dummies after a host's verification that took too long.
const maxWait = 5000

/**
 * Checks passwords a few at a time, so that a burst of logins does not delay signatures, and at the same cost whether or
 * not the user exists.
 *
 * @example
 * const passwords = createPasswordVerifier()
 * const matches = await passwords.verify(password, row?.password_hash)
 */
export const createPasswordVerifier = (options: PasswordVerifierOptions = {}): PasswordVerifier => {
  const { concurrency = threads(), queue = 100, verify = verifyPassword } = options
  const enqueue = createQueue(concurrency, queue)
  let verifyDummy = (password: string): Promise<unknown> => verify(password, ownDummyHash)

  const learn = (hash: string): void => {
    const parsed = parsePasswordHash(hash)
    if (parsed) verifyDummy = (password) => verify(password, parsed.dummy)
  }

  const verifyByHost = async (verifyOther: () => boolean | Promise<boolean>): Promise<boolean> => {
    const start = performance.now()
    try {
      return (await verifyOther()) === true
    } finally {
      const milliseconds = Math.min(performance.now() - start, maxWait)
      verifyDummy = () => (options.wait ?? wait)(milliseconds)
    }
  }

  return {
    learn,
    verify: (given, hash, verifyOther) =>
      enqueue(async () => {
        const password = isPassword(given) ? given : 'refused'
        const known = hash !== undefined && parsePasswordHash(hash) !== undefined
        if (known) learn(hash)
        if (isPassword(given) && known) return verify(password, hash)
        if (isPassword(given) && hash && verifyOther) return verifyByHost(verifyOther)
        await verifyDummy(password)
        if (hash && !known && !verifyOther) throw new UnsupportedPasswordHashError()
        return false
      }),
  }
}

type Queue = <T>(task: () => Promise<T>) => Promise<T>

const createQueue = (concurrency: number, maxWaiting: number): Queue => {
  const waiting: (() => void)[] = []
  let running = 0
  return async (task) => {
    if (running < concurrency) {
      running += 1
    } else if (waiting.length < maxWaiting) {
      await new Promise<void>((resolve) => waiting.push(resolve))
    } else {
      throw new OAuthError('temporarily_unavailable', 'too many logins at once; try again in a moment', {
        headers: { 'Retry-After': '5' },
      })
    }
    try {
      return await task()
    } finally {
      // The next task takes over this slot directly; `running` stays the same.
      const next = waiting.shift()
      if (next) next()
      else running -= 1
    }
  }
}
