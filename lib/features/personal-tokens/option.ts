import { refuse } from '../../options/check.ts'
import type { FeatureOptions, Options } from '../../options/options.ts'
import { feature, list, number, seconds, text, withDefault } from '../../options/schema.ts'
import { assertKnownScopes } from '../../options/scopes.ts'
import { standardScopes } from '../../protocol/scope.ts'

const day = 86_400

const features = {
  /** Access tokens that users make for themselves, for scripts and tools: docs/personal-access-tokens.md. */
  personalAccessTokens: feature({
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
  }),
}

type Features = typeof features

declare module '../../options/options.ts' {
  interface FeatureSchemas extends Features {}
}

/** The option, complete. */
export interface PersonalTokenOption {
  readonly scopes: readonly string[]
  readonly maxLifetime: number
  readonly maxPerUser: number
  readonly prefix: string
}

const isStandard = (name: string): boolean => standardScopes.some((scope) => scope === name)

/**
 * Completes the option.
 *
 * @returns undefined while the feature is off
 * @throws OptionsError for scopes that do not exist, and with FAPI 2.0
 */
export const personalTokenOption = (options: Options): PersonalTokenOption | undefined => {
  const given = options.features.personalAccessTokens
  if (given === undefined) return undefined
  const where = 'features.personalAccessTokens'
  const { scopes = Object.keys(options.scopes).filter((name) => !isStandard(name)) } = given
  if (scopes.length === 0) refuse(`${where}.scopes must be a list of scopes of the option scopes`)
  assertKnownScopes(`${where}.scopes`, scopes, options)
  const standard = scopes.find(isStandard)
  if (standard !== undefined) refuse(`${where}.scopes must not have ${standard}: it is for clients`)
  if (options.features.fapi2)
    refuse(`${where} must be off with features.fapi2: it requires tokens that are bound to a key`)
  return { ...given, scopes: [...new Set(scopes)] }
}

export const option: FeatureOptions = { features, check: personalTokenOption }
