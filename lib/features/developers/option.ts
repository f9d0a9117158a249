import { refuse } from '../../options/check.ts'
import { limit } from '../../options/limits.ts'
import type { FeatureOptions, Options } from '../../options/options.ts'
import {
  type Checked,
  callback,
  feature,
  list,
  number,
  required,
  text,
  withDefault,
} from '../../options/schema.ts'
import { assertKnownScopes } from '../../options/scopes.ts'
import type { HostUser, WithRequest } from '../../options/users.ts'
import { standardScopes } from '../../protocol/scope.ts'

const features = {
  /** Users register clients of their own at `/developer`: docs/developers.md. */
  developers: feature({
    /**
     * Says at each request whether this user may register clients: `true`, `false`, or `'approval'`, with which clients and their
     * changes wait for `oauth.developers.approve()`.
     */
    allow: required(
      callback<
        (user: HostUser, asked: WithRequest) => boolean | 'approval' | Promise<boolean | 'approval'>
      >(),
    ),
    /** The most clients of one user. */
    maxClients: withDefault(10, number()),
    /** The scopes that they may choose. @default the standard scopes */
    scopes: withDefault(standardScopes, list(text(), { what: 'a list of scopes', min: 1 })),
    /** Refuses redirect URIs that pass all other rules. It must not return a promise. @default accepts them */
    redirectUris: callback<(uri: string) => boolean>(),
  }),
}

const quotas = {
  /** Clients that one user registers at `/developer`. */
  developerClient: limit(30, 86_400),
}

type Features = typeof features
type Quotas = typeof quotas

declare module '../../options/options.ts' {
  interface FeatureSchemas extends Features {}
  interface QuotaSchemas extends Quotas {}
}

/** The checked option. */
export type DeveloperOption = NonNullable<Checked<Features['developers']>>

/**
 * Finds the option.
 *
 * @returns undefined while the feature is off
 * @throws OptionsError for scopes that do not exist, and with FAPI 2.0
 */
export const developerOption = (
  options: Pick<Options, 'features' | 'scopes'>,
): DeveloperOption | undefined => {
  const { developers, fapi2 } = options.features
  if (developers === undefined) return undefined
  assertKnownScopes('features.developers.scopes', developers.scopes, options)
  if (fapi2) {
    refuse(
      'features.developers must be off with features.fapi2: the clients of developers have secrets, which it forbids',
    )
  }
  return developers
}

export const option: FeatureOptions = { features, quotas, check: developerOption }
