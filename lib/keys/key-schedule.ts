import type { Lifetimes } from '../options/options.ts'
import type { SigningKeyRecord } from '../repositories/signing-keys.ts'

/** The times of a key that decide what it is for. */
export type KeyTimes = Pick<SigningKeyRecord, 'kid' | 'generation' | 'activeAt' | 'retiredAt'>

/** What a key is for at some moment: it waits to sign, signs, verifies what it signed, or only hints of old. */
export type KeyState = 'next' | 'signing' | 'verifying' | 'retired'

/** Of the generations of one algorithm the one that signs: the newest that is active, else the first there is. */
export const signingAt = <Key extends KeyTimes>(keys: readonly Key[], now: number): Key | undefined => {
  const usable = keys
    .filter((key) => key.retiredAt === null)
    .sort((one, other) => one.generation - other.generation)
  return usable.findLast((key) => key.activeAt <= now) ?? usable[0]
}

/** Clients learn of these keys (OIDC Core §10.1.1: those that sign, those that will, and those that did). */
export const isPublished = (key: KeyTimes, now: number): boolean =>
  key.retiredAt === null || key.retiredAt > now

/** @param keys the generations of its algorithm, itself among them */
export const stateOf = (key: KeyTimes, keys: readonly KeyTimes[], now: number): KeyState => {
  if (!isPublished(key, now)) return 'retired'
  const signing = signingAt(keys, now)
  if (signing === undefined || key.generation < signing.generation) return 'verifying'
  return key.kid === signing.kid ? 'signing' : 'next'
}

/** Whether the newest generation has signed for its time, so that the next one should be published. */
export const isSuccessorDue = (
  keys: readonly KeyTimes[],
  now: number,
  { signingKey }: Pick<Lifetimes, 'signingKey'>,
): boolean => keys.length > 0 && keys.every((key) => key.activeAt + signingKey <= now)

/** Since when the next generation signs in place of this one; undefined when there is none. */
export const succeededAt = (key: KeyTimes, keys: readonly KeyTimes[]): number | undefined => {
  const later = keys.filter((other) => other.generation > key.generation).map((other) => other.activeAt)
  return later.length === 0 ? undefined : Math.min(...later)
}

/**
 * How old, in seconds, what somebody knows of our keys may get. A cached JWKS and the memory of the process that
 * served it together stay below the time that a key is published before it signs, with a quarter of it to spare for
 * clocks that differ: so nobody meets a signature by a key that a fetch would not have shown.
 */
export const freshnessOf = ({ signingKeyLead }: Pick<Lifetimes, 'signingKeyLead'>) => ({
  /** `max-age` of the JWKS; short, so that a withdrawn key is soon gone. */
  maxAge: Math.floor(Math.min(300, signingKeyLead / 4)),
  /** A process reads the keys again, beside its work. */
  readAfter: Math.min(60, signingKeyLead / 4),
  /** A process that was idle for so long reads them before it works. */
  readBefore: signingKeyLead / 2,
})
