import { noncePeriod } from '../protocol/tokens/dpop-proof.ts'
import { authenticationCode, isEqual } from './secrets.ts'

/** Nonces for DPoP proofs (RFC 9449 §8). Nothing is stored, and every process with the same secrets accepts them. */
export interface Nonces {
  /** The nonce to use now. */
  current(): string
  /** Whether it is the current one, or one of the periods before and after, by the clock of another process. */
  isValid(nonce: string): boolean
}

/**
 * Makes nonces from the time and a secret.
 *
 * @param secrets the first makes them; the others accept those that were made before a rotation
 * @param now epoch seconds
 */
export const createNonces = (secrets: readonly [string, ...string[]], now: () => number): Nonces => {
  const nonceOf = (secret: string, period: number): string =>
    authenticationCode(secret, 'dpop nonce', [String(period)])
  const period = (): number => Math.floor(now() / noncePeriod)
  return {
    current: () => nonceOf(secrets[0], period()),
    isValid: (nonce) => {
      const at = period()
      return secrets.some((secret) =>
        [at, at - 1, at + 1].some((one) => isEqual(nonce, nonceOf(secret, one))),
      )
    },
  }
}
