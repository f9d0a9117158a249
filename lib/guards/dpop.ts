import type { ProofChecks } from '../http/dpop.ts'
import { createNonces } from '../keys/dpop-nonce.ts'
import { createUsedProofs } from '../keys/used-proofs.ts'
import { checkedBaseUrls } from '../options/base-urls.ts'
import { assertNames, assertRecord, assertType, refuse } from '../options/check.ts'
import { checkedSecrets } from '../options/checks.ts'
import { callHost } from '../users/host-function.ts'

/** How an API in another process than its authorization server checks DPoP proofs (RFC 9449 §7). */
export interface RemoteDpopOptions {
  /**
   * Where clients call this API, if that is not the origin of `audience`, or if a proxy removes a part of the path:
   * `['https://api.example.com/v1']`. @default the origin of `audience`
   */
  baseUrls?: readonly string[]
  /**
   * Secrets of at least 32 bytes, newest first, the same in all processes of the API. With them, each proof needs a nonce.
   * @default proofs need no nonce
   */
  nonceSecrets?: readonly (string | undefined)[]
  /**
   * Records the hash of a proof until a time in epoch seconds, for all processes of the API. It returns whether this is the
   * first use. @default in the memory of each process, so that another process accepts a proof once more
   * @example (hash, expiresAt) => redis.set(hash, '', { NX: true, EXAT: expiresAt }).then((reply) => reply === 'OK')
   */
  isFirstUse?: (hash: string, expiresAt: number) => boolean | Promise<boolean>
}

/**
 * Checks the option `dpop` of `resourceServer()`.
 *
 * @param audience the URL of the API, if it has one
 * @param now epoch seconds
 * @returns undefined if it is off
 * @throws OptionsError
 */
export const checkedRemoteDpop = (
  dpop: boolean | RemoteDpopOptions = false,
  audience: string | undefined,
  now: () => number,
) => {
  if (dpop === false) return undefined
  const options = dpop === true ? {} : dpop
  assertRecord('dpop', options)
  assertNames('dpop.', options, ['baseUrls', 'nonceSecrets', 'isFirstUse'])
  const { baseUrls, nonceSecrets, isFirstUse } = options
  assertType('dpop.isFirstUse', isFirstUse, 'function')
  const origin = audience === undefined ? [] : [new URL(audience).origin]
  const urls = baseUrls === undefined ? origin : checkedBaseUrls('dpop.baseUrls', baseUrls)
  if (urls.length === 0)
    refuse('dpop.baseUrls is required without audience: the URLs below which this API is called')
  const checks: ProofChecks = {
    // An empty list is an environment variable that is not set.
    nonces: Object.hasOwn(options, 'nonceSecrets')
      ? createNonces(checkedSecrets(nonceSecrets, 'dpop.nonceSecrets'), now)
      : undefined,
    isFirstUse: isFirstUse
      ? async (hash, expiresAt) =>
          (await callHost('dpop.isFirstUse', () => isFirstUse(hash, expiresAt))) === true
      : createUsedProofs(now),
    now,
  }
  return { baseUrls: urls, checks }
}
