import { type Choices, isWithinChoices, limitedTo } from './choices.ts'
import { type ConsentTerms, parseEntry } from './requests/consent.ts'
import { type ImpliedScopes, withImpliedScopes } from './scope.ts'

/** Rights that a user takes away from a client. It never gives any. */
export interface Narrowing {
  /** Scopes that the client loses. */
  readonly scopes: readonly string[]
  /** The things that it keeps, of the kinds that are named. */
  readonly choices: Choices
  /** When its access ends at the latest, in epoch seconds. */
  readonly until?: number
}

/** The part of an authorization that a narrowing changes. */
export interface Narrowable {
  readonly scopes: readonly string[]
  readonly choices?: Choices
  readonly removed?: readonly string[]
  readonly expiresAt: number
}

/** Every scope that is lost with these: what a scope implies cannot be taken away while the scope stays. */
export const lostScopes = (
  scopes: readonly string[],
  taken: readonly string[],
  implied: ImpliedScopes,
): string[] =>
  scopes.filter((scope) => withImpliedScopes([scope], implied).some((one) => taken.includes(one)))

/** A limit on choices. A kind that the limit empties is no longer there. */
const limited = (choices: Choices | undefined, limit: Choices): { choices?: Choices } =>
  choices === undefined ? {} : { choices: limitedTo(choices, limit) }

/**
 * An authorization after a narrowing: never more than before, and never more than the narrowing leaves.
 *
 * @returns undefined if nothing changes
 */
export const narrowedAuthorization = (
  authorization: Narrowable,
  { scopes: taken, choices, until = Number.POSITIVE_INFINITY }: Narrowing,
  implied: ImpliedScopes,
): Narrowable | undefined => {
  const removed = lostScopes(authorization.scopes, taken, implied)
  const left = limited(authorization.choices, choices)
  const isSame =
    removed.length === 0 &&
    until >= authorization.expiresAt &&
    isWithinChoices(authorization.choices ?? {}, left.choices ?? {})
  if (isSame) return undefined
  return {
    scopes: authorization.scopes.filter((scope) => !removed.includes(scope)),
    ...left,
    removed: [...new Set([...(authorization.removed ?? []), ...removed, ...taken])],
    expiresAt: Math.min(authorization.expiresAt, until),
  }
}

/**
 * Consent after a narrowing: what was taken away is asked for again.
 *
 * @returns undefined if nothing changes
 */
export const narrowedTerms = (
  terms: ConsentTerms,
  { scopes: taken, choices, until }: Narrowing,
  implied: ImpliedScopes,
): ConsentTerms | undefined => {
  const scopes = Object.keys(terms.entries).flatMap((entry) => parseEntry(entry).scope ?? [])
  const removed = lostScopes(scopes, taken, implied)
  const kept = Object.entries(terms.entries).filter(([entry]) => {
    const { scope } = parseEntry(entry)
    return scope === undefined || !removed.includes(scope)
  })
  const { until: before = Number.POSITIVE_INFINITY } = terms
  const end = Math.min(before, until ?? before)
  const left = limited(terms.choices, choices)
  if (removed.length === 0 && end === before && isWithinChoices(terms.choices ?? {}, left.choices ?? {}))
    return undefined
  return {
    place: terms.place,
    entries: Object.fromEntries(kept),
    ...left,
    ...(end < Number.POSITIVE_INFINITY && { until: end }),
  }
}
