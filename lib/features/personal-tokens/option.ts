import { refuse } from '../../options/check.ts'
import { featureNamed } from '../../options/features.ts'
import type { Options } from '../../options/options.ts'
import { type CheckedMembers, list, number, seconds, text, withDefault } from '../../options/schema.ts'
import { assertKnownScopes } from '../../options/scopes.ts'
import { standardScopes } from '../../protocol/scope.ts'

const day = 86_400

/** Access tokens that users make for themselves, for scripts and tools: docs/personal-access-tokens.md. */
export const members = {
  /** The scopes that a token can have. @default all scopes of the option `scopes` */
  scopes: list(text(), { what: 'a list of scopes of the option scopes', min: 1 }),
  /** The longest lifetime of a token that users can choose, in seconds: 1 year. */
  maxLifetime: seconds(365 * day, { min: day, max: 3650 * day }),
  /** The most tokens of a user. */
  maxPerUser: withDefault(20, number({ min: 1, max: 1000 })),
  /**
   * The beginning of tokens: lower-case letters and digits, with `_` at the end. Tokens with an earlier prefix are refused.
   */
  prefix: withDefault(
    'lk_pat_',
    text(
      "lower-case letters and digits with _ at the end, such as 'acme_pat_'",
      // The prefixes of other secrets have two letters.
      (value) => /^[a-z](_?[a-z0-9]){1,18}_$/.test(value) && !/^lk_.._$/.test(value),
    ),
  ),
}

/** The options, complete. */
export interface PersonalTokenOption {
  readonly scopes: readonly string[]
  readonly maxLifetime: number
  readonly maxPerUser: number
  readonly prefix: string
}

const isStandard = (name: string): boolean => standardScopes.some((scope) => scope === name)

/**
 * Completes the options.
 *
 * @throws OptionsError for scopes that do not exist, and with FAPI 2.0
 */
export const personalTokenOption = (
  given: CheckedMembers<typeof members>,
  options: Options,
): PersonalTokenOption => {
  const where = 'personalAccessTokens({ scopes })'
  const { scopes = Object.keys(options.scopes).filter((name) => !isStandard(name)) } = given
  if (scopes.length === 0) refuse(`${where} must be a list of scopes of the option scopes`)
  assertKnownScopes(where, scopes, options)
  const standard = scopes.find(isStandard)
  if (standard !== undefined) refuse(`${where} must not have ${standard}: it is for clients`)
  if (options.protocol.fapi2)
    refuse(
      'personalAccessTokens() cannot be used with protocol.fapi2, which requires tokens that are bound to a key',
    )
  return { ...given, scopes: [...new Set(scopes)] }
}

/** The complete options of `personalAccessTokens()`; undefined while it is off. */
export const personalTokenOptionIn = (options: Options): PersonalTokenOption | undefined => {
  const given = featureNamed(options, 'personalAccessTokens')?.option as
    | CheckedMembers<typeof members>
    | undefined
  return given && personalTokenOption(given, options)
}
