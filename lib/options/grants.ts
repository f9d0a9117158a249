import type { ClientMetadata } from '../protocol/clients/client-metadata.ts'
import { type DefinedGrantType, isDefinedGrantType } from '../protocol/clients/defined-grant.ts'
import { refuse } from './check.ts'
import {
  callback,
  custom,
  type GivenMembers,
  isRecord,
  kept,
  list,
  type ObjectSchema,
  object,
  required,
  withDefault,
} from './schema.ts'

/** A token request for a grant of the host. Client authentication and registration are checked. */
export interface GrantRequest {
  /** The client, by the names of RFC 7591. */
  readonly client: Readonly<ClientMetadata> & { readonly client_id: string }
  /** The parameters of the request, each a string of at most 8,192 characters, without the client's credentials and `resource`. */
  readonly parameters: Readonly<Record<string, string>>
  /** The scopes that the request names. */
  readonly scopes: readonly string[]
  /** The resources that the request names (RFC 8707), which are in the option `resources`. */
  readonly resources: readonly string[]
  /** The IP address of the request, to limit guesses. */
  readonly address: string
}

/** The answer of the host to a token request: for whom tokens are issued. */
export interface GrantDecision {
  /** The id of the user, who must exist and be active. @default the client acts for itself */
  readonly subject?: string | number
  /** The scopes at most. The token has those of them that the request names and that the client is registered for. */
  readonly scopes: readonly string[]
  /** The resources at most. @default those that the request names */
  readonly resources?: readonly string[]
  /** The organization of the user, with the option `organizations`. @default the user's only one */
  readonly organization?: string
  /** When the user signed in, in epoch seconds. @default unknown: `auth_time` is 0, and guards with `maxAge` refuse the token */
  readonly authTime?: number
  /** How the user signed in (RFC 8176). @default [] */
  readonly amr?: readonly string[]
  /**
   * Whether the client gets a refresh token too, if its `grant_types` contain `refresh_token`. @default false: access ends
   * with the access token
   */
  readonly refreshToken?: boolean
}

const members = {
  /** Its name: an absolute URI of your own, such as `urn:example:grant-type:pin`. */
  grantType: required(
    custom<DefinedGrantType>(
      'an absolute URI of your own, such as urn:example:grant-type:pin (RFC 6749 §4.5)',
      (value) => (typeof value === 'string' && isDefinedGrantType(value) ? value : undefined),
    ),
  ),
  /** Decides what the request is for, or returns undefined to refuse it. */
  exchange: required(
    callback<(request: GrantRequest) => GrantDecision | undefined | Promise<GrantDecision | undefined>>(),
  ),
}

type GrantSchemasMembers = typeof members

/** The members of a grant. */
export interface GrantSchemas extends GrantSchemasMembers {}

const grant: ObjectSchema<GrantSchemas> = object(members, 'what defineGrant() returns')

/** A grant of the host. */
export interface GrantDefinition extends GivenMembers<(typeof grant)['members']> {}

/**
 * Defines a grant of your own for the option `grants` (RFC 6749 §4.5). Latchkey authenticates the client, checks that it is
 * registered for the grant and that the user is active, keeps scopes within those of the client, stores the token and
 * answers. Your function only decides.
 *
 * @returns the same definition, checked
 * @throws OptionsError for a name that is no absolute URI, and without a function `exchange`
 * @example
 * const pinGrant = defineGrant({
 *   grantType: 'urn:example:grant-type:pin',
 *   async exchange({ parameters, scopes }) {
 *     const terminal = await redeemPin(parameters.pin)
 *     return terminal && { subject: terminal.userId, scopes }
 *   },
 * })
 */
export const defineGrant = <Definition extends GrantDefinition>(definition: Definition): Definition => {
  if (!isRecord(definition)) refuse('defineGrant() needs an object with grantType and exchange')
  grant.check(definition, 'defineGrant()')
  return definition
}

/** Grants of the host, each name once. */
export const grants = withDefault(
  [],
  list(kept(grant), {
    what: 'a list of what defineGrant() returns',
  }),
)
