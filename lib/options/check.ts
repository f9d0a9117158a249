import { closest } from 'fastest-levenshtein'

/** An option is wrong. Thrown at start-up, before the first request. */
export class OptionsError extends Error {
  override readonly name = 'OptionsError'
}

/** @throws OptionsError always */
export const refuse = (message: string): never => {
  throw new OptionsError(`latchkey: ${message}`)
}

/** Suggests the nearest of these names; empty without names. */
export const closestOf = (name: string, names: readonly string[]): string =>
  names.length === 0 ? '' : `; did you mean ${closest(name, names)}?`
