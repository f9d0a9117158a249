import { closest } from 'fastest-levenshtein'

/** An option is wrong. Thrown at start-up, so that nothing wrong ever serves a request. */
export class OptionsError extends Error {
  override readonly name = 'OptionsError'
}

export const refuse = (message: string): never => {
  throw new OptionsError(`latchkey: ${message}`)
}

/**
 * Refuses names that nobody reads, and says which one was probably meant.
 *
 * @throws OptionsError
 */
export const assertNames = (where: string, value: object, names: readonly string[]): void => {
  for (const name of Object.keys(value)) {
    if (!names.includes(name))
      refuse(`${where}${name} is not an option; did you mean ${where}${closest(name, names)}?`)
  }
}

/** @throws OptionsError unless the value is a plain record */
export const assertRecord = (name: string, value: unknown): void => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) refuse(`${name} must be an object`)
}

/** @throws OptionsError unless the value is absent or of this type */
export const assertType = (
  name: string,
  value: unknown,
  type: 'string' | 'function' | 'boolean' | 'number',
): void => {
  if (value !== undefined && typeof value !== type) {
    refuse(`${name} must be a ${type}`)
  }
}

/** @throws OptionsError unless the value is a whole number of at least `least` */
export const assertWhole = (name: string, value: unknown, least: number): void => {
  if (!Number.isSafeInteger(value) || Number(value) < least) {
    refuse(`${name} must be a whole number of seconds, at least ${least}`)
  }
}
