import { OAuthError } from '../protocol/errors.ts'
import { HostError } from '../protocol/problem.ts'
import { temporarilyUnavailable } from '../protocol/refusal.ts'
import { withTimeout } from '../storage/database/with-timeout.ts'

/** The usual time limit of one call, in milliseconds: as long as the database has in all. */
const timeoutMs = 10_000

/**
 * Error codes by which sockets and DNS (Node), fetch, PostgreSQL (SQLSTATE classes 08, 53, 57P, 58), MySQL and SQLite
 * report that a service is unavailable, overloaded or late, rather than that the request was wrong.
 */
const unavailableCodes = [
  /^E(CONN(REFUSED|RESET|ABORTED)|TIMEDOUT|PIPE|HOSTUNREACH|NETUNREACH|NETDOWN|HOSTDOWN|NOTFOUND|AI_AGAIN)$/,
  /^UND_ERR_(CONNECT_TIMEOUT|HEADERS_TIMEOUT|BODY_TIMEOUT|SOCKET|CLOSED|DESTROYED)$/,
  /^(08|53|58)[0-9A-Z]{3}$|^57P0[0-9A-Z]$/,
  /^PROTOCOL_(CONNECTION_LOST|SEQUENCE_TIMEOUT)$|^ER_(CON_COUNT_ERROR|SERVER_SHUTDOWN)$/,
  /^SQLITE_(BUSY|LOCKED|FULL|IOERR|CANTOPEN|READONLY)/,
]
const unavailableNames: ReadonlySet<unknown> = new Set(['KnexTimeoutError', 'TimeoutError', 'AbortError'])
const unavailableStatuses: ReadonlySet<unknown> = new Set([502, 503, 504])

/** Bounds the search through causes, which can be circular. */
const maxDepth = 5

/** Whether this holds for the error, or for one of its causes. */
export const someCause = (error: unknown, holds: (error: object) => boolean, depth = 0): boolean => {
  if (typeof error !== 'object' || error === null || depth > maxDepth) return false
  if (holds(error)) return true
  const { cause, errors } = error as Readonly<Record<string, unknown>>
  const inner: readonly unknown[] = [cause, ...(Array.isArray(errors) ? errors : [])]
  return inner.some((each) => someCause(each, holds, depth + 1))
}

const isUnavailable = (error: object): boolean => {
  const { code, name, status, statusCode } = error as Readonly<Record<string, unknown>>
  return (
    unavailableCodes.some((pattern) => pattern.test(String(code))) ||
    unavailableNames.has(name) ||
    unavailableStatuses.has(status) ||
    unavailableStatuses.has(statusCode)
  )
}

/** An error of a host function is never the client's fault, even if it is an `OAuthError` or has a status such as 404. */
const errorOf = (name: string, cause: unknown): Error => {
  const error = new HostError(`${name} failed`, { cause })
  return someCause(cause, isUnavailable) ? temporarilyUnavailable(error) : error
}

const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === 'object' && value !== null && 'then' in value

type ErrorOf = (name: string, cause: unknown) => Error

/** The result of a promise of the host, or an error after the time limit. */
const inTime = <T>(name: string, result: T, limit: number, failure: ErrorOf): Promise<Awaited<T>> => {
  const answer = Promise.resolve(result).catch((cause: unknown) => {
    throw failure(name, cause)
  })
  return withTimeout(answer, limit, () => {
    throw temporarilyUnavailable(new HostError(`${name} did not return within ${limit} ms`))
  })
}

const call = <T>(
  name: string,
  work: () => T,
  limit: number,
  failure: ErrorOf,
): Awaited<T> | Promise<Awaited<T>> => {
  try {
    const result = work()
    return isThenable(result) ? inTime(name, result, limit, failure) : (result as Awaited<T>)
  } catch (cause) {
    return Promise.reject(failure(name, cause))
  }
}

/**
 * Calls a function of the host. Await the result, for at most ten seconds unless told otherwise; most host functions return a value at once, which
 * costs neither a timer nor a promise.
 *
 * @param name of the option, for the log
 * @param limit the time limit in milliseconds
 * @throws OAuthError `temporarily_unavailable` if what the function needs is unavailable, or after the timeout ·
 *   Error with what the function threw as its cause. All of them reject: nothing is thrown before the `await`
 * @example const user = await callHost('users.find', () => functions.find(subject))
 */
export const callHost = <T>(
  name: string,
  work: () => T,
  limit = timeoutMs,
): Awaited<T> | Promise<Awaited<T>> => call(name, work, limit, errorOf)

/**
 * Calls a function of the host that may choose the answer: an `OAuthError` that it throws reaches the client
 * (docs/plug-in.md). Everything else is as with {@link callHost}.
 *
 * @example const decision = await askHost('protocol.tokenExchange.allow', () => allow(asked))
 */
export const askHost = <T>(name: string, work: () => T): Awaited<T> | Promise<Awaited<T>> =>
  call(name, work, timeoutMs, (_, cause) => (cause instanceof OAuthError ? cause : errorOf(name, cause)))
