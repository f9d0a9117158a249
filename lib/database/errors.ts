import { OAuthError } from '../protocol/errors.ts'

const codeOf = (error: unknown): string | number | undefined => {
  if (typeof error !== 'object' || error === null) return undefined
  if ('code' in error && (typeof error.code === 'string' || typeof error.code === 'number')) return error.code
  return undefined
}

// PostgreSQL 40001 serialization failure and 40P01 deadlock · MariaDB 1213 deadlock, which is also how Galera tells
// that another node wrote the same rows first, even at COMMIT, 1205 lock wait timeout, and 1020 record changed since
// it was read · SQLite busy or locked
const retryable = new Set(['40001', '40P01', 'ER_LOCK_DEADLOCK', 'ER_LOCK_WAIT_TIMEOUT', 'ER_CHECKREAD'])

/** Whether the same work, tried again, may well succeed. */
export const isRetryable = (error: unknown): boolean => {
  const code = String(codeOf(error) ?? '')
  return retryable.has(code) || code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED')
}

// PostgreSQL 25006 read-only · MariaDB 1290 and 1836 read-only, and 1047, by which a Galera node says that it is not
// part of the cluster
const elsewhere = new Set([
  '25006',
  'ER_OPTION_PREVENTS_STATEMENT',
  'ER_READ_ONLY_MODE',
  'ER_UNKNOWN_COM_ERROR',
])

/** Whether the connection leads to a server that cannot serve us, after a fail-over say; a new one may lead to another. */
export const needsReconnect = (error: unknown): boolean => elsewhere.has(String(codeOf(error) ?? ''))

/** Whether SQLite has taken back a transaction by itself, as it does when the disk is full. */
export const hasRolledBack = (error: unknown): boolean =>
  codeOf(error) === 'SQLITE_ERROR' && String(error).includes('no transaction is active')

/** Whether an insert lost against an equal key. */
export const isUniqueViolation = (error: unknown): boolean => {
  const code = codeOf(error instanceof OAuthError ? error.cause : error)
  return (
    code === '23505' ||
    code === 'ER_DUP_ENTRY' ||
    code === 'SQLITE_CONSTRAINT_UNIQUE' ||
    code === 'SQLITE_CONSTRAINT_PRIMARYKEY'
  )
}

/** Whether a statement names a table that is not there; SQLite has no code of its own for that. */
export const isMissingTable = (error: unknown): boolean => {
  const code = codeOf(error)
  if (code === '42P01' || code === 'ER_NO_SUCH_TABLE') return true
  return code === 'SQLITE_ERROR' && String(error).includes('no such table')
}

/** What a client hears when the database fails, or what a function of the host's needs: that it may try again. */
export const temporarilyUnavailable = (cause: unknown): OAuthError =>
  new OAuthError('temporarily_unavailable', 'the service is temporarily unavailable', {
    cause,
    headers: { 'Retry-After': '1' },
  })

const attempts = 4

/**
 * Tries work again that lost against other work, at most three times, each after a longer and random pause.
 *
 * @param mayRetry whether an error means that it lost
 */
export const retrying = async <T>(work: () => Promise<T>, mayRetry = isRetryable): Promise<T> => {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work()
    } catch (error) {
      if (attempt === attempts || !mayRetry(error)) throw error
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 25 * 2 ** attempt))
    }
  }
}
