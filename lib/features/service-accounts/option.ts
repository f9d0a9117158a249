import { refuse } from '../../options/check.ts'
import { limit } from '../../options/limits.ts'
import type { Options } from '../../options/options.ts'
import { type CheckedMembers, list, number, seconds, text, withDefault } from '../../options/schema.ts'
import { assertKnownScopes } from '../../options/scopes.ts'
import { isStandardScope } from '../../protocol/scope.ts'

const day = 86_400

/** Programs that act for an organization, which its administrators manage: docs/service-accounts.md. */
export const members = {
  /** The scopes that an account can have. @default all scopes of the option `scopes` */
  scopes: list(text(), { what: 'a list of scopes of the option scopes', min: 1 }),
  /** The longest time until an account expires, in seconds: 1 year. Administrators can extend it again. */
  maxLifetime: seconds(365 * day, { min: day, max: 3650 * day }),
  /** The most accounts of an organization. */
  maxPerOrganization: withDefault(50, number({ min: 1, max: 1000 })),
}

export const quotas = {
  /** Changes of service accounts by one administrator. */
  serviceAccount: limit(60, 3600),
}

/** The options, complete. */
export interface ServiceAccountOption {
  readonly scopes: readonly string[]
  readonly maxLifetime: number
  readonly maxPerOrganization: number
}

/**
 * Completes the options.
 *
 * @throws OptionsError for scopes that do not exist, without the option `organizations`, and with FAPI 2.0
 */
export const serviceAccountOption = (
  given: CheckedMembers<typeof members>,
  options: Options,
): ServiceAccountOption => {
  const where = 'serviceAccounts({ scopes })'
  if (options.organizations === undefined)
    refuse('serviceAccounts() needs the option organizations, which says who administers which organization')
  if (options.protocol.fapi2)
    refuse(
      'serviceAccounts() cannot be used with protocol.fapi2: the accounts have secrets, which it forbids',
    )
  const { scopes = Object.keys(options.scopes).filter((name) => !isStandardScope(name)) } = given
  if (scopes.length === 0) refuse(`${where} must be a list of scopes of the option scopes`)
  assertKnownScopes(where, scopes, options)
  const standard = scopes.find(isStandardScope)
  if (standard !== undefined) refuse(`${where} must not have ${standard}: it is about a user`)
  return { ...given, scopes: [...new Set(scopes)] }
}
