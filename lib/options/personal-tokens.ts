import { standardScopes } from '../protocol/scope.ts'
import { assertNames, assertRecord, refuse } from './check.ts'
import type { PersonalTokenOptions } from './personal-token-options.ts'
import { assertKnownScopes } from './scopes.ts'

/** Other options that this check reads. */
interface OtherOptions {
  readonly scopes?: Readonly<Record<string, unknown>>
  readonly securityProfile?: string
}

const day = 86_400

const assertWithin = (name: string, value: number, from: number, to: number): void => {
  if (!Number.isSafeInteger(value) || value < from || value > to)
    refuse(`features.personalAccessTokens.${name} must be a whole number from ${from} to ${to}`)
}

const checkedTokenScopes = (given: unknown, others: OtherOptions): readonly string[] => {
  const own = Object.keys(others.scopes ?? {})
  const scopes: unknown = given ?? own.filter((name) => !standardScopes.some((scope) => scope === name))
  if (!Array.isArray(scopes) || scopes.length === 0 || !scopes.every((scope) => typeof scope === 'string'))
    return refuse('features.personalAccessTokens.scopes must be a list of scopes of the option scopes')
  assertKnownScopes('features.personalAccessTokens.scopes', scopes, others)
  const standard = standardScopes.find((scope) => scopes.includes(scope))
  if (standard !== undefined)
    refuse(`features.personalAccessTokens.scopes must not have ${standard}: it is for clients`)
  return [...new Set(scopes)]
}

/**
 * Checks the option `features.personalAccessTokens`.
 *
 * @returns undefined if it is off
 * @throws OptionsError
 */
export const checkedPersonalTokens = (
  options: boolean | PersonalTokenOptions = false,
  others: OtherOptions,
): Required<PersonalTokenOptions> | undefined => {
  if (options === false) return undefined
  const given = options === true ? {} : options
  assertRecord('features.personalAccessTokens', given)
  assertNames('features.personalAccessTokens.', given, ['scopes', 'maxLifetime', 'maxPerUser', 'prefix'])
  const { maxLifetime = 365 * day, maxPerUser = 20, prefix = 'lk_pat_' } = given
  assertWithin('maxLifetime', maxLifetime, day, 3650 * day)
  assertWithin('maxPerUser', maxPerUser, 1, 1000)
  // The prefixes of other secrets have two letters.
  if (typeof prefix !== 'string' || !/^[a-z](_?[a-z0-9]){1,18}_$/.test(prefix) || /^lk_.._$/.test(prefix)) {
    refuse(
      "features.personalAccessTokens.prefix must be lower-case letters and digits with _ at the end, such as 'acme_pat_'",
    )
  }
  if (others.securityProfile !== undefined) {
    refuse(
      'features.personalAccessTokens must be off with securityProfile: it requires tokens that are bound to a key',
    )
  }
  return { scopes: checkedTokenScopes(given.scopes, others), maxLifetime, maxPerUser, prefix }
}
