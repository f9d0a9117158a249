import { setTimeout as wait } from 'node:timers/promises'
import { inSpan, type Tracing } from '../../events/tracing.ts'
import { refusal } from '../../protocol/refusal.ts'
import { ownDummyHash, parsePasswordHash, UnsupportedPasswordHashError } from './password-hash.ts'
import { isPassword, verifyPassword } from './passwords.ts'

export interface PasswordVerifierOptions {
  /** Maximum number of concurrent verifications. @default UV_THREADPOOL_SIZE − 2, at least 1: signatures need the other threads */
  concurrency?: number
  /** Maximum number of waiting verifications, for known browsers and for all others each. @default 100 */
  queue?: number
  /** Checks one password against one hash. @default {@link verifyPassword} */
  verify?: (password: string, hash: string) => Promise<boolean>
  /** Waits, in milliseconds. @default a timer */
  wait?: (milliseconds: number) => Promise<unknown>
  /** Spans of checks, with the wait for their turn. @default none */
  tracing?: Tracing
}

/** A password that is checked, and what is stored for it. */
export interface PasswordCheck {
  readonly password: string
  /** Undefined for an unknown user, and for one without a password. */
  readonly hash: string | undefined
  /** Checks hashes of unknown formats. */
  readonly verifyOther?: (() => boolean | Promise<boolean>) | undefined
  /**
   * Orders the kinds of hashes for a dummy: the least one is taken. It must be secret and the same for each login name,
   * so that an unknown name is checked like one kind of user at all times.
   */
  readonly preference?: (kind: string) => string
  /** Whether the user has logged in in this browser before: strangers cannot take its turn. */
  readonly isKnown?: boolean
}

export interface PasswordVerifier {
  /**
   * Checks one password with exactly one verification. Without a hash it is a dummy, at the cost of one kind of the hashes
   * that were seen. `verifyOther` counts as a kind: its dummy waits as long as its last call took. That hides the
   * difference in response times, but not in processor load.
   *
   * @throws OAuthError `temporarily_unavailable` if too many verifications are waiting
   * @throws UnsupportedPasswordHashError for a hash of unknown format without `verifyOther`, after a dummy
   */
  verify(check: PasswordCheck): Promise<boolean>
  /**
   * Checks the secret of a client, one at a time in the same queue, so that a crowd of wrong secrets does not hold up logins.
   * It teaches no dummy: the secrets of clients say nothing about users.
   *
   * @throws OAuthError `temporarily_unavailable` if too many verifications are waiting
   * @throws UnsupportedPasswordHashError for a hash of unknown format
   */
  verifySecret(secret: string, hash: string): Promise<boolean>
  /** Makes dummies that cost as much as this hash. */
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
 * const matches = await passwords.verify({ password, hash: row?.password_hash })
 */
export const createPasswordVerifier = (options: PasswordVerifierOptions = {}): PasswordVerifier => {
  const { concurrency = threads(), queue = 100, verify = verifyPassword } = options
  const enqueue = createQueue(concurrency, queue)
  const enqueueSecret = createQueue(1, queue)
  const kinds = new Map<string, Dummy>()

  const add = (kind: string, dummy: Dummy): void => {
    if (kinds.size < maxKinds || kinds.has(kind)) kinds.set(kind, dummy)
  }

  const learn = (hash: string): void => {
    const parsed = parsePasswordHash(hash)
    if (parsed) add(parsed.dummy, (password) => verify(password, parsed.dummy))
  }

  const verifyByHost = async (verifyOther: () => boolean | Promise<boolean>): Promise<boolean> => {
    const start = performance.now()
    try {
      return (await verifyOther()) === true
    } finally {
      const milliseconds = Math.min(performance.now() - start, maxWait)
      add(ofHost, () => (options.wait ?? wait)(milliseconds))
    }
  }

  const dummyOf = (preference: PasswordCheck['preference']): Dummy => {
    const [kind] = kinds.size > 1 ? inOrder([...kinds.keys()], preference) : kinds.keys()
    return kinds.get(kind ?? '') ?? ((password) => verify(password, ownDummyHash))
  }

  /** Invalid passwords cost what the hash of this user costs. */
  const verifyKnown = (given: string, hash: string, dummy: string): Promise<boolean> =>
    isPassword(given) ? verify(given, hash) : verify('refused', dummy).then(() => false)

  const check = ({ password, hash, verifyOther, preference, isKnown = false }: PasswordCheck) =>
    enqueue(async () => {
      // Chosen for every check, so that the choice takes no time of its own for unknown users.
      const dummy = dummyOf(preference)
      const parsed = hash === undefined ? undefined : parsePasswordHash(hash)
      if (hash !== undefined && parsed) {
        learn(hash)
        return verifyKnown(password, hash, parsed.dummy)
      }
      const isOther = Boolean(hash) && verifyOther !== undefined
      if (isOther && isPassword(password)) return verifyByHost(verifyOther)
      const equal = isOther ? kinds.get(ofHost) : undefined
      await (equal ?? dummy)(isPassword(password) ? password : 'refused')
      if (hash && !isOther) throw new UnsupportedPasswordHashError()
      return false
    }, isKnown)

  const checkSecret = (secret: string, hash: string): Promise<boolean> =>
    enqueueSecret(() => enqueue(() => verify(secret, hash), false), false)

  return {
    learn,
    verifySecret: (secret, hash) =>
      inSpan(
        options.tracing,
        () => ({ name: 'secret.verify' }),
        () => checkSecret(secret, hash),
      ),
    verify: (given) =>
      inSpan(
        options.tracing,
        () => ({ name: 'password.verify' }),
        () => check(given),
      ),
  }
}

type Dummy = (password: string) => Promise<unknown>

/** Kinds of hashes that are remembered: a table has a few, and a bound keeps each choice cheap. */
const maxKinds = 16
/** The kind of hashes that only the host can check. */
const ofHost = 'host'

const inOrder = (kinds: readonly string[], preference: (kind: string) => string = () => ''): string[] =>
  kinds
    .map((kind) => ({ kind, rank: preference(kind) }))
    .sort((one, other) => (one.rank < other.rank ? -1 : Number(one.rank > other.rank)))
    .map(({ kind }) => kind)

/** Runs a task when it is its turn. */
export type Queue = <T>(task: () => Promise<T>, isKnown: boolean) => Promise<T>

/**
 * Runs a few tasks at once. Those of known browsers wait apart from all others and every other turn is theirs, so that a
 * crowd of strangers can neither take their places nor hold them up.
 *
 * @param maxWaiting the most that wait, on each side
 * @returns a queue that throws OAuthError `temporarily_unavailable` if too many are waiting
 */
const createQueue = (concurrency: number, maxWaiting: number): Queue => {
  const known: (() => void)[] = []
  const others: (() => void)[] = []
  let running = 0
  let isTurnOfKnown = true

  const next = (): (() => void) | undefined => {
    const [first, second] = isTurnOfKnown ? [known, others] : [others, known]
    isTurnOfKnown = !isTurnOfKnown
    return first.shift() ?? second.shift()
  }

  return async (task, isKnown) => {
    const waiting = isKnown ? known : others
    if (running < concurrency) {
      running += 1
    } else if (waiting.length < maxWaiting) {
      await new Promise<void>((resolve) => waiting.push(resolve))
    } else {
      throw refusal('logins_too_many', {
        headers: { 'Retry-After': '5' },
      })
    }
    try {
      return await task()
    } finally {
      // The next task takes over this slot directly; `running` stays the same.
      const start = next()
      if (start) start()
      else running -= 1
    }
  }
}
