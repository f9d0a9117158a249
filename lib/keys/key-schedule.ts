import type { Lifetimes } from '../options/lifetimes.ts'
import type { SigningKeyRecord } from '../storage/repositories/signing-keys.ts'

/** The times of a key that decide its state. */
export type KeyTimes = Pick<SigningKeyRecord, 'kid' | 'generation' | 'activeAt' | 'retiredAt'>

/** `next` signs later; `verifying` no longer signs but is still published; `retired` only verifies hints. */
export type KeyState = 'next' | 'signing' | 'verifying' | 'retired'

/** The key of one algorithm that signs: the newest active one, or else the oldest. */
export const signingAt = <Key extends KeyTimes>(keys: readonly Key[], now: number): Key | undefined => {
  const usable = keys
    .filter((key) => key.retiredAt === null)
    .sort((one, other) => one.generation - other.generation)
  return usable.findLast((key) => key.activeAt <= now) ?? usable[0]
}

/** OIDC Core §10.1.1: keys are published before, while and after they sign. */
export const isPublished = (key: KeyTimes, now: number): boolean =>
  key.retiredAt === null || key.retiredAt > now

/** @param keys all keys of its algorithm, including itself */
export const keyStateOf = (key: KeyTimes, keys: readonly KeyTimes[], now: number): KeyState => {
  if (!isPublished(key, now)) return 'retired'
  const signing = signingAt(keys, now)
  if (signing === undefined || key.generation < signing.generation) return 'verifying'
  return key.kid === signing.kid ? 'signing' : 'next'
}

/** Every key with its state. */
export const withStates = <Key extends KeyTimes & { readonly algorithm: string }>(
  keys: readonly Key[],
  now: number,
): (Key & { readonly state: KeyState })[] =>
  keys.map((key) => {
    const others = keys.filter(({ algorithm }) => algorithm === key.algorithm)
    return { ...key, state: keyStateOf(key, others, now) }
  })

/** Whether the newest key has reached its maximum age, so that the next one must be published. */
export const isSuccessorDue = (
  keys: readonly KeyTimes[],
  now: number,
  { signingKey }: Pick<Lifetimes, 'signingKey'>,
): boolean => keys.length > 0 && keys.every((key) => key.activeAt + signingKey <= now)

/** When the next key takes over signing from this one; undefined if there is none. */
export const succeededAt = (key: KeyTimes, keys: readonly KeyTimes[]): number | undefined => {
  const later = keys.filter((other) => other.generation > key.generation).map((other) => other.activeAt)
  return later.length === 0 ? undefined : Math.min(...later)
}

/**
 * The seconds for which the keys may be cached. Both together stay below the time that a key is published before it signs,
 * with half of it to spare for clocks that differ and for a database that is unavailable: so that a client always knows
 * the key of a signature, even from a cache.
 */
export const freshnessOf = ({ signingKeyLead }: Pick<Lifetimes, 'signingKeyLead'>) => ({
  /** `max-age` of the JWKS; short, so that a replaced key soon disappears. */
  maxAge: Math.floor(Math.min(300, signingKeyLead / 4)),
  /**
   * A process uses keys that it read this long ago; it reads older ones again before it answers. Short, so that a revoked
   * key soon disappears: one small statement in this time, however many requests there are.
   */
  readAfter: Math.min(5, signingKeyLead / 4),
})
