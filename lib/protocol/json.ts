/** Whether a value is an object with members: neither null nor an array. */
export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

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
