/** Whether a value is an object with members: neither null nor an array. */
export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * The members that are set, of a value that others get: listeners, functions of the host, `req.auth`, a header. JSON leaves
 * the others out by itself.
 *
 * @example setMembers({ subject: '1', organization: undefined }) // { subject: '1' }
 */
export const setMembers = <Value extends object>(value: Value): Value => {
  const set: Record<string, unknown> = {}
  // To assign this name would set the prototype.
  for (const [name, member] of Object.entries(value))
    if (member !== undefined && name !== '__proto__') set[name] = member
  return set as Value
}

// C0, DEL and C1 controls, and halves of surrogate pairs.
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding control characters is the purpose
const unprintable = /[\u0000-\u001f\u007f-\u009f]|\p{Surrogate}/u

/** Whether a string is well-formed and has no control characters, so that every database stores it and finds it again. */
export const isPlainText = (text: string): boolean => !unprintable.test(text)

/** The most levels of a value that is stored. */
const maxDepth = 10

/**
 * Whether all strings in a value are plain, with the names of members and on every level. A value of more than ten levels is
 * not.
 */
export const isPlainValue = (value: unknown, depth = 0): boolean => {
  if (typeof value === 'string') return isPlainText(value)
  if (typeof value !== 'object' || value === null) return true
  if (depth === maxDepth) return false
  return Object.entries(value).every(([name, member]) => isPlainText(name) && isPlainValue(member, depth + 1))
}

/**
 * Parses a JSON object.
 *
 * @returns undefined if the string is not JSON, or holds anything else than an object
 */
export const parseJsonObject = (json: string): Readonly<Record<string, unknown>> | undefined => {
  try {
    const value: unknown = JSON.parse(json)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** A part of a JWT: a JSON object in base64url; undefined if it is anything else. */
export const parseJwtPart = (part: string): Readonly<Record<string, unknown>> | undefined =>
  parseJsonObject(Buffer.from(part, 'base64url').toString('utf8'))

/** The claims of a JWT whose signature is not verified yet; undefined if it is not a JWT. */
export const claimsOfJwt = (jwt: string): Readonly<Record<string, unknown>> | undefined => {
  const [, payload = '', signature, more] = jwt.split('.')
  return signature === undefined || more !== undefined ? undefined : parseJwtPart(payload)
}
