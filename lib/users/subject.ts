/** The longest subject or login name: OIDC Core §2 bounds `sub` so, and no e-mail address is longer. */
const longest = 255

/** Whether it is worth asking a database for this id or login name; PostgreSQL raises an error on NUL. */
export const isLookup = (text: unknown): text is string =>
  typeof text === 'string' && text !== '' && text.length <= longest && !text.includes('\0')

/**
 * The subject identifier of a user's id (OIDC Core §2).
 *
 * @param where what to name in the error, such as `users.columns.id`
 * @throws TypeError when the id is neither text nor a whole number, or does not survive as text
 * @example subjectOf(42, 'users.columns.id') // '42'
 */
export const subjectOf = (id: unknown, where: string): string => {
  // Drivers round 64-bit numbers, so that two users would become one.
  if (typeof id === 'number' && !Number.isSafeInteger(id)) {
    throw new TypeError(
      `latchkey: ${where} must be a whole number below 2^53; let the driver return it as text`,
    )
  }
  const subject = typeof id === 'string' || typeof id === 'number' || typeof id === 'bigint' ? String(id) : ''
  if (!isLookup(subject)) {
    throw new TypeError(
      `latchkey: ${where} must be a number, or text of 1 to ${longest} characters without NUL`,
    )
  }
  return subject
}
