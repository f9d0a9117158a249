import { HostError, type Problem } from '../protocol/problem.ts'
import type { Jwk } from './jwk.ts'
import { openUnder, sealUnder } from './secrets.ts'

const purpose = 'signing keys'

const privateMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']

/** The key without its private members. */
export const publicPart = (jwk: Jwk): Jwk =>
  Object.fromEntries(Object.entries(jwk).filter(([name]) => !privateMembers.includes(name)))

/** Encrypts a JWK under one of the host's secrets. */
export const sealJwk = (secret: string, jwk: Jwk): string => sealUnder(secret, JSON.stringify(jwk), purpose)

const openWith = (secret: string, sealed: string): Jwk | undefined => {
  try {
    return JSON.parse(openUnder(secret, sealed, purpose))
  } catch {
    return undefined
  }
}

/**
 * Tries the secrets, newest first.
 *
 * @returns the key, and whether an older secret decrypted it, so that it should be encrypted under the newest. Undefined
 *   if none of them decrypts it
 */
export const openJwk = (
  secrets: readonly string[],
  sealed: string,
): { jwk: Jwk; stale: boolean } | undefined => {
  for (const [index, secret] of secrets.entries()) {
    const jwk = openWith(secret, sealed)
    if (jwk) return { jwk, stale: index > 0 }
  }
  return undefined
}

/** None of the secrets decrypts something that is stored. */
export class SealedError extends HostError {
  override readonly name = 'SealedError'
  /** The ciphertext that could not be decrypted. */
  readonly sealed: string

  constructor({ problem, fix }: Problem, sealed: string) {
    super(problem, { fix })
    this.sealed = sealed
  }
}

/** @param what none of the secrets decrypts */
export const undecryptable = (what: string): Problem => ({
  problem: `none of the option secrets decrypts ${what}`,
  fix: 'add the secret it was encrypted with to the end of the list',
})

/**
 * Decrypts a JWK. If an older secret decrypted it, it is encrypted again under the newest.
 *
 * @param what names it in the error
 * @throws SealedError if none of the secrets decrypts it
 */
export const openAndReseal = async (
  secrets: readonly [string, ...string[]],
  sealed: string,
  what: string,
  reseal: (to: string) => Promise<unknown>,
): Promise<Jwk> => {
  const opened = openJwk(secrets, sealed)
  if (opened === undefined) throw new SealedError(undecryptable(what), sealed)
  if (opened.stale) await reseal(sealJwk(secrets[0], opened.jwk))
  return opened.jwk
}
