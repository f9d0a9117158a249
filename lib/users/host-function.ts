import { temporarilyUnavailable } from '../database/errors.ts'
import { withTimeout } from '../database/timeout.ts'
import { OAuthError } from '../protocol/errors.ts'

/** Milliseconds in which a function of the host's must answer: as long as a database may take in all. */
const timeoutMs = 10_000

/**
 * By these codes sockets and DNS (Node), fetch, PostgreSQL (SQLSTATE classes 08, 53, 57P, 58), MySQL and SQLite say
 * that something is away, full or late, and not that it was asked for something wrong.
 */
const away = [
  /^E(CONN(REFUSED|RESET|ABORTED)|TIMEDOUT|PIPE|HOSTUNREACH|NETUNREACH|NETDOWN|HOSTDOWN|NOTFOUND|AI_AGAIN)$/,
  /^UND_ERR_(CONNECT_TIMEOUT|HEADERS_TIMEOUT|BODY_TIMEOUT|SOCKET|CLOSED|DESTROYED)$/,
  /^(08|53|58)[0-9A-Z]{3}$|^57P0[0-9A-Z]$/,
  /^PROTOCOL_(CONNECTION_LOST|SEQUENCE_TIMEOUT)$|^ER_(CON_COUNT_ERROR|SERVER_SHUTDOWN)$/,
  /^SQLITE_(BUSY|LOCKED|FULL|IOERR|CANTOPEN|READONLY)/,
]
const awayNames: ReadonlySet<unknown> = new Set(['KnexTimeoutError', 'TimeoutError', 'AbortError'])
/** What a service that the host asked answered, or what the host says by itself. */
const awayStatuses: ReadonlySet<unknown> = new Set([502, 503, 504])

/** How deep an error is looked into; a cause may be its own. */
const deepest = 5

const isAway = (error: unknown, depth = 0): boolean => {
  if (typeof error !== 'object' || error === null || depth > deepest) return false
  const { code, name, status, statusCode, cause, errors } = error as Readonly<Record<string, unknown>>
  if (away.some((pattern) => pattern.test(String(code))) || awayNames.has(name)) return true
  if (awayStatuses.has(status) || awayStatuses.has(statusCode)) return true
  const within: readonly unknown[] = [cause, ...(Array.isArray(errors) ? errors : [])]
  return within.some((inner) => isAway(inner, depth + 1))
}

/** Whatever it carries, such as a status of 404, it is no fault of the client's. */
const errorOf = (name: string, cause: unknown): Error => {
  if (cause instanceof OAuthError) return cause
  const fault = new Error(`latchkey: ${name} failed`, { cause })
  return isAway(cause) ? temporarilyUnavailable(fault) : fault
}

const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'

const answerOf = async <T>(name: string, answer: PromiseLike<T>): Promise<T> => {
  try {
    return await withTimeout(answer, timeoutMs, () => {
      throw temporarilyUnavailable(new Error(`latchkey: ${name} did not answer within ${timeoutMs} ms`))
    })
  } catch (error) {
    throw errorOf(name, error)
  }
}

/**
 * What a function of the host's gives, at once where it is no promise.
 *
 * @param name of the option, for the log
 * @throws OAuthError `temporarily_unavailable` when what the function needs is away, or it does not answer in time ·
 *   Error with what it threw as the cause, an answer of 500
 * @example const user = await callHost('users.find', () => functions.find(subject))
 */
export const callHost = <T>(name: string, ask: () => T): T | Promise<Awaited<T>> => {
  let answer: T
  try {
    answer = ask()
  } catch (error) {
    throw errorOf(name, error)
  }
  if (!isThenable(answer)) return answer
  const given = answerOf(name, answer) as Promise<Awaited<T>>
  // Of several that are asked together another may fail first, and then nobody hears this one.
  given.catch(() => {})
  return given
}
