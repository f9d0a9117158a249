/** Maximum length of a subject or username: the limit of `sub` (OIDC Core §2), and longer than any e-mail address. */
export const maxLookupLength = 255

/** Whether this can be an id or a username; PostgreSQL reports an error for NUL. */
export const isLookup = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && value.length <= maxLookupLength && !value.includes('\0')

/**
 * Converts a user's id to a subject identifier (OIDC Core §2).
 *
 * @param where named in the error, such as `users.columns.id`
 * @throws TypeError if the id is neither a safe integer nor a string of printable ASCII characters, or too long
 * @example subjectOf(42, 'users.columns.id') // '42'
 */
export const subjectOf = (id: unknown, where: string): string => {
  // Drivers round larger integers, which would merge two users.
  if (typeof id === 'number' && !Number.isSafeInteger(id)) {
    throw new TypeError(
      `latchkey: ${where} must be a whole number below 2^53; let the driver return it as a string`,
    )
  }
  const subject = typeof id === 'string' || typeof id === 'number' || typeof id === 'bigint' ? String(id) : ''
  if (!isLookup(subject) || !/^[\x20-\x7e]+$/.test(subject)) {
    throw new TypeError(
      `latchkey: ${where} must be a number, or a string of 1 to ${maxLookupLength} printable ASCII characters`,
    )
  }
  return subject
}
