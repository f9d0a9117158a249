import { closest } from 'fastest-levenshtein'

/** An option is wrong. Thrown at start-up, before the first request. */
export class OptionsError extends Error {
  override readonly name = 'OptionsError'
}

/** @throws OptionsError always */
export const refuse = (message: string): never => {
  throw new OptionsError(`latchkey: ${message}`)
}

/**
 * Refuses unknown names and suggests the nearest known one.
 *
 * @throws OptionsError
 */
export const assertNames = (where: string, value: object, names: readonly string[]): void => {
  for (const name of Object.keys(value)) {
    if (!names.includes(name))
      refuse(`${where}${name} is not an option; did you mean ${where}${closest(name, names)}?`)
  }
}

/** Suggests the nearest of these names; empty without names. */
export const closestOf = (name: string, names: readonly string[]): string =>
  names.length === 0 ? '' : `; did you mean ${closest(name, names)}?`

/** @throws OptionsError unless the value is an object, and not an array */
export const assertRecord = (name: string, value: unknown): void => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) refuse(`${name} must be an object`)
}

/** @throws OptionsError unless the value is undefined or has this type */
export const assertType = (
  name: string,
  value: unknown,
  type: 'string' | 'function' | 'boolean' | 'number',
): void => {
  if (value !== undefined && typeof value !== type) {
    refuse(`${name} must be a ${type}`)
  }
}

/** @throws OptionsError unless the value is an integer of at least `minimum` */
export const assertSeconds = (name: string, value: unknown, minimum: number): void => {
  if (!Number.isSafeInteger(value) || Number(value) < minimum) {
    refuse(`${name} must be a whole number of seconds, at least ${minimum}`)
  }
}
