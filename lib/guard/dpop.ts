import { createNonces } from '../keys/dpop-nonce.ts'
import { createUsedProofs } from '../keys/used-proofs.ts'
import { refuse } from '../options/check.ts'
import { baseUrls } from '../options/dpop.ts'
import { type Checked, callback, explicit, feature } from '../options/schema.ts'
import { secrets } from '../options/server.ts'
import { callHost } from '../users/host-function.ts'
import type { ProofChecks } from '../web/http/dpop.ts'

/** The option `dpop` of an API in another process than its authorization server (RFC 9449 §7). */
export const remoteDpop = feature({
  /**
   * Where clients call this API, if that is not the origin of `audience`, or if a proxy removes a part of the path:
   * `['https://api.example.com/v1']`. @default the origin of `audience`
   */
  baseUrls,
  /**
   * Secrets of at least 32 bytes, newest first, the same in all processes of the API. With them, each proof needs a nonce.
   * @default proofs need no nonce
   */
  nonceSecrets: explicit(secrets),
  /**
   * Records the hash of a proof until a time in epoch seconds, for all processes of the API. It returns whether this is the
   * first use. @default in the memory of each process, so that another process accepts a proof once more
   * @example (hash, { expiresAt }) => redis.set(hash, '', { NX: true, EXAT: expiresAt }).then((reply) => reply === 'OK')
   */
  isFirstUse: callback<(hash: string, proof: { readonly expiresAt: number }) => boolean | Promise<boolean>>(),
})

/**
 * Completes the option `dpop` of `resourceServer()`.
 *
 * @param audience the URL of the API, if it has one
 * @param now epoch seconds
 * @returns undefined if it is off
 * @throws OptionsError without a URL of the API
 */
export const completeRemoteDpop = (
  dpop: Checked<typeof remoteDpop>,
  audience: string | undefined,
  now: () => number,
): { readonly baseUrls: readonly string[]; readonly checks: ProofChecks } | undefined => {
  if (dpop === undefined) return undefined
  const { nonceSecrets, isFirstUse } = dpop
  const urls = dpop.baseUrls ?? (audience === undefined ? [] : [new URL(audience).origin])
  if (urls.length === 0)
    refuse('dpop.baseUrls is required without audience: the URLs below which this API is called')
  const inMemory = createUsedProofs(now)
  return {
    baseUrls: urls,
    checks: {
      nonces: nonceSecrets && createNonces(nonceSecrets, now),
      isFirstUse: isFirstUse
        ? async (hash, expiresAt) =>
            (await callHost('dpop.isFirstUse', () => isFirstUse(hash, { expiresAt }))) === true
        : inMemory,
      now,
    },
  }
}
