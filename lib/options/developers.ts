import { standardScopes } from '../protocol/scope.ts'
import { assertNames, assertRecord, assertType, refuse } from './check.ts'
import type { DeveloperCheck, DeveloperOptions } from './developer-options.ts'
import { assertKnownScopes } from './scopes.ts'

/** The same, checked and with its defaults. */
export interface Developers extends DeveloperOptions {
  readonly maxClients: number
  readonly scopes: readonly string[]
}

/** Other options that this check reads. */
interface OtherOptions {
  readonly scopes?: Readonly<Record<string, unknown>>
  readonly securityProfile?: string
}

/**
 * Checks the option `developers`.
 *
 * @returns undefined if it is off
 * @throws OptionsError
 */
export const checkedDevelopers = (
  developers: DeveloperCheck | DeveloperOptions | undefined,
  others: OtherOptions,
): Developers | undefined => {
  if (developers === undefined) return undefined
  const given = typeof developers === 'function' ? { allow: developers } : developers
  assertRecord('developers', given)
  assertNames('developers.', given, ['allow', 'maxClients', 'scopes', 'redirectUris'])
  const { allow, maxClients = 10, scopes = standardScopes, redirectUris } = given
  if (typeof allow !== 'function')
    refuse("developers.allow is required: a function that returns true, false or 'approval' for a user")
  if (!Number.isSafeInteger(maxClients) || maxClients < 1)
    refuse('developers.maxClients must be a whole number of at least 1')
  if (!Array.isArray(scopes) || scopes.length === 0) refuse('developers.scopes must be a list of scopes')
  assertKnownScopes('developers.scopes', scopes, others)
  assertType('developers.redirectUris', redirectUris, 'function')
  if (others.securityProfile !== undefined) {
    refuse(
      'developers cannot be used with securityProfile: the clients of developers have secrets, which it forbids',
    )
  }
  return { allow, maxClients, scopes, ...(redirectUris && { redirectUris }) }
}
