import { closest, distance } from 'fastest-levenshtein'

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

const snakeCase = (name: string): string => name.replace(/(?<=[a-z0-9])(?=[A-Z])/g, '_').toLowerCase()

/**
 * The name that was probably meant: the same in another spelling, one that begins with it, or one that differs in half of its
 * letters at most.
 *
 * @returns undefined if none of them is similar
 * @example nearest('clientId', ['client_id', 'client_uri']) // 'client_id'
 */
export const nearest = (given: string, names: readonly string[]): string | undefined => {
  const same = names.find((name) => snakeCase(name) === snakeCase(given))
  const longer = given.length > 2 ? names.find((name) => name.startsWith(given)) : undefined
  const near = same ?? longer ?? (names.length > 0 ? closest(given, names) : undefined)
  if (near === undefined || near === same || near === longer) return near
  return distance(given, near) * 2 <= Math.max(given.length, near.length) ? near : undefined
}
