import { type ClientMetadata, grantTypes } from '../protocol/clients/client-metadata.ts'
import type { SecurityProfile } from '../protocol/clients/security-profile.ts'
import { problemInWords } from '../protocol/problem.ts'
import { closestOf } from './check.ts'
import { knownScopes, unknownScope } from './scopes.ts'

/** The names that clients may register, where the host's options decide. */
export interface Registrable {
  readonly scopes: readonly string[]
  readonly grantTypes: readonly string[]
  /** Types of `authorization_details`. */
  readonly detailTypes: readonly string[]
  /** The profile of every client that gets tokens. */
  readonly securityProfile?: SecurityProfile
}

/** Options that decide about them, checked or not. */
export interface RegistrableOptions {
  readonly scopes?: Readonly<Record<string, unknown>> | undefined
  readonly protocol?:
    | {
        readonly grants?: readonly { readonly grantType: string }[] | undefined
        readonly authorizationDetails?: Readonly<Record<string, unknown>> | undefined
        readonly fapi2?: boolean | undefined
      }
    | undefined
}

/** @param options of `authRouter()`, checked or not */
export const registrableOf = ({ scopes, protocol = {} }: RegistrableOptions): Registrable => ({
  scopes: knownScopes({ scopes }),
  grantTypes: [...grantTypes, ...(protocol.grants ?? []).map(({ grantType }) => grantType)],
  detailTypes: Object.keys(protocol.authorizationDetails ?? {}),
  ...(protocol.fapi2 && { securityProfile: 'fapi2' }),
})

/** A name that the options do not contain. */
interface UnknownName {
  /** The member of the metadata. */
  readonly parameter: string
  readonly problem: string
}

/**
 * The first name in this metadata that the options do not contain, in words that suggest a similar one; undefined if there
 * is none.
 */
export const unregistrable = (
  metadata: ClientMetadata,
  registrable: Registrable,
): UnknownName | undefined => {
  const scope = unknownScope(metadata.scope?.split(' ') ?? [], registrable.scopes)
  if (scope !== undefined) return { parameter: 'scope', problem: scope }
  const grant = metadata.grant_types.find((name) => !registrable.grantTypes.includes(name))
  if (grant !== undefined)
    return {
      parameter: 'grant_types',
      problem: problemInWords({
        problem: `${grant} is not in the option protocol.grants`,
        fix: closestOf(grant, registrable.grantTypes),
      }),
    }
  const { detailTypes } = registrable
  const detail = metadata.authorization_details_types?.find((name) => !detailTypes.includes(name))
  return detail === undefined
    ? undefined
    : {
        parameter: 'authorization_details_types',
        problem: problemInWords({
          problem: `${detail} is not in the option protocol.authorizationDetails`,
          fix: closestOf(detail, detailTypes),
        }),
      }
}
