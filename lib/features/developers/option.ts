import { refuse } from '../../options/check.ts'
import { featureNamed } from '../../options/features.ts'
import { limit } from '../../options/limits.ts'
import type { Options } from '../../options/options.ts'
import {
  type CheckedMembers,
  callback,
  list,
  number,
  required,
  text,
  withDefault,
} from '../../options/schema.ts'
import { assertKnownScopes } from '../../options/scopes.ts'
import type { HostUser, WithRequest } from '../../options/users.ts'
import { standardScopes } from '../../protocol/scope.ts'

/** Users register clients of their own at `/developer`: docs/developers.md. */
export const members = {
  /**
   * Says at each request whether this user may register clients: `true`, `false`, or `'approval'`. With `'approval'` clients
   * and their changes wait for `oauth.developers.approve()`.
   */
  allow: required(
    callback<(user: HostUser, asked: WithRequest) => boolean | 'approval' | Promise<boolean | 'approval'>>(),
  ),
  /** The most clients of one user. */
  maxClients: withDefault(10, number()),
  /** The scopes that they may choose. @default the standard scopes */
  scopes: withDefault(standardScopes, list(text(), { what: 'a list of scopes', min: 1 })),
  /** Refuses redirect URIs that pass all other rules. It must not return a promise. @default accepts them */
  redirectUris: callback<(uri: string) => boolean>(),
}

export const quotas = {
  /** Clients that one user registers at `/developer`. */
  developerClient: limit(30, 86_400),
}

/** The checked options. */
export type DeveloperOption = CheckedMembers<typeof members>

/** @throws OptionsError for scopes that do not exist, and with FAPI 2.0 */
export const assertDeveloperOption = (
  { scopes }: DeveloperOption,
  options: Pick<Options, 'protocol' | 'scopes'>,
): void => {
  assertKnownScopes('developers({ scopes })', scopes, options)
  if (options.protocol.fapi2)
    refuse(
      'developers() cannot be used with protocol.fapi2: the clients of developers have secrets, which it forbids',
    )
}

/** The options of `developers()`; undefined after `developers.off()`. */
export const developerOptionIn = (options: Options): DeveloperOption | undefined =>
  featureNamed(options, 'developers')?.option as DeveloperOption | undefined
