import { closest, distance } from 'fastest-levenshtein'
import { HostError } from '../protocol/problem.ts'

/** An option is wrong. Thrown at start-up, before the first request. */
export class OptionsError extends HostError {
  override readonly name = 'OptionsError'
}

/**
 * @param fix what to write instead, if that is known
 * @throws OptionsError always
 */
export const refuse = (problem: string, fix?: string): never => {
  throw new OptionsError(problem, { fix })
}

/** Suggests the nearest of these names; undefined without names. */
export const closestOf = (name: string, names: readonly string[]): string | undefined =>
  names.length === 0 ? undefined : `did you mean ${closest(name, names)}?`

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
