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
