import { OAuthError } from '../../protocol/errors.ts'
import { HostError, problemInWords } from '../../protocol/problem.ts'
import { refusal, temporarilyUnavailable } from '../../protocol/refusal.ts'

const codeOf = (error: unknown): string | number | undefined => {
  if (typeof error !== 'object' || error === null) return undefined
  if ('code' in error && (typeof error.code === 'string' || typeof error.code === 'number')) return error.code
  return undefined
}

// PostgreSQL: 40001 serialization failure, 40P01 deadlock, 26000 and 42P05 a session without our prepared statements.
// MariaDB: 1213 deadlock (Galera also reports it, even at COMMIT, when another node wrote the same rows first),
// 1205 lock wait timeout, 1020 record changed since last read.
// SQLite: busy or locked.
const retryable = new Set([
  '40001',
  '40P01',
  '26000',
  '42P05',
  'ER_LOCK_DEADLOCK',
  'ER_LOCK_WAIT_TIMEOUT',
  'ER_CHECKREAD',
])

/** Whether the same work may succeed when it runs again. */
export const isRetryable = (error: unknown): boolean => {
  const code = String(codeOf(error) ?? '')
  return retryable.has(code) || code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED')
}

// PostgreSQL: 25006 read-only transaction.
// MariaDB: 1290 and 1836 read-only, 1047 a Galera node that is not part of its cluster.
const elsewhere = new Set([
  '25006',
  'ER_OPTION_PREVENTS_STATEMENT',
  'ER_READ_ONLY_MODE',
  'ER_UNKNOWN_COM_ERROR',
])

/** The database did not answer in time. */
export class SilenceError extends Error {}

/**
 * Whether this connection cannot serve us: its server is silent, or refuses to write, for example after a fail-over. A new
 * connection may lead to another server.
 */
export const needsReconnect = (error: unknown): boolean =>
  error instanceof SilenceError || elsewhere.has(String(codeOf(error) ?? ''))

/** Whether SQLite has already rolled back the transaction, as it does when the disk is full. */
export const hasRolledBack = (error: unknown): boolean =>
  codeOf(error) === 'SQLITE_ERROR' && String(error).includes('no transaction is active')

/** Whether an insert failed because the key exists. */
export const isUniqueViolation = (error: unknown): boolean => {
  const code = codeOf(error instanceof OAuthError ? error.cause : error)
  return (
    code === '23505' ||
    code === 'ER_DUP_ENTRY' ||
    code === 'SQLITE_CONSTRAINT_UNIQUE' ||
    code === 'SQLITE_CONSTRAINT_PRIMARYKEY'
  )
}

// PostgreSQL: 22P05 a character that its encoding lacks, 22021 one that no encoding has.
// MariaDB, MySQL: no common collation of 2, 3 or more strings, a string that cannot be converted, one that is malformed.
const unknownCharacter = new Set<unknown>([
  '22P05',
  '22021',
  'ER_CANT_AGGREGATE_2COLLATIONS',
  'ER_CANT_AGGREGATE_3COLLATIONS',
  'ER_CANT_AGGREGATE_NCOLLATIONS',
  'ER_CANNOT_CONVERT_STRING',
  'ER_IMPOSSIBLE_STRING_CONVERSION',
  'ER_INVALID_CHARACTER_STRING',
])

/** Whether a string has a character that the column or the database cannot hold. */
export const hasUnknownCharacter = (error: unknown): boolean => unknownCharacter.has(codeOf(error))

// PostgreSQL compares by the type of the column: 22P02 the value is no number or UUID, 22003 it is out of range.
const otherType = new Set<unknown>(['22P02', '22003'])

/** The rows; none if the column cannot hold the value that was looked for, because then no row has it. */
export const rowsOrNone = async <T>(reading: Promise<readonly T[]>): Promise<readonly T[]> => {
  try {
    return await reading
  } catch (error) {
    const cause = error instanceof OAuthError ? error.cause : error
    if (hasUnknownCharacter(cause) || otherType.has(codeOf(cause))) return []
    throw error
  }
}

/** Whether MariaDB or MySQL did not understand a statement. */
export const isSyntaxError = (error: unknown): boolean => codeOf(error) === 'ER_PARSE_ERROR'

/** Whether a table does not exist; SQLite has no error code of its own for that. */
export const isMissingTable = (error: unknown): boolean => {
  const code = codeOf(error)
  if (code === '42P01' || code === 'ER_NO_SUCH_TABLE') return true
  return code === 'SQLITE_ERROR' && String(error).includes('no such table')
}

/** Whether a column does not exist. */
export const isMissingColumn = (error: unknown): boolean => {
  const code = codeOf(error)
  if (code === '42703' || code === 'ER_BAD_FIELD_ERROR') return true
  return code === 'SQLITE_ERROR' && String(error).includes('no such column')
}

/** Knex puts the statement before the driver's message. */
const withoutStatement = (message: string): string =>
  /^(?:select|pragma)\b/i.test(message) ? (message.split(' - ').at(-1) ?? message) : message

/**
 * Why something failed, for the operator: for a 503 its cause, which clients never see. Some drivers report the reason as
 * a code, or in an AggregateError.
 *
 * @example reasonOf(error) // 'connect ECONNREFUSED 127.0.0.1:5432'
 */
export const reasonOf = (error: unknown): string => {
  if (error instanceof OAuthError && error.cause !== undefined) return reasonOf(error.cause)
  if (!(error instanceof Error)) return String(error)
  if (error instanceof HostError) return problemInWords(error)
  if (error.message !== '') return withoutStatement(error.message)
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0])
  return 'code' in error ? String(error.code) : error.name
}

/** The error for a client when a statement fails. A character that the database lacks is one that the client has sent. */
export const errorOfStatement = (cause: unknown): OAuthError =>
  hasUnknownCharacter(cause)
    ? refusal('character_unknown', {
        cause,
      })
    : temporarilyUnavailable(cause)
