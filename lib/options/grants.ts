import { isDefinedGrantType } from '../protocol/clients/defined-grant.ts'
import { assertNames, assertRecord, refuse } from './check.ts'
import type { GrantDefinition } from './grant-options.ts'

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
  assertRecord('defineGrant()', definition)
  assertNames('defineGrant().', definition, ['grantType', 'exchange'])
  const { grantType, exchange } = definition
  if (typeof grantType !== 'string' || !isDefinedGrantType(grantType)) {
    refuse(
      'defineGrant().grantType must be an absolute URI of your own, such as urn:example:grant-type:pin (RFC 6749 §4.5)',
    )
  }
  if (typeof exchange !== 'function') refuse('defineGrant().exchange must be a function')
  return definition
}

/**
 * Checks the option `grants`.
 *
 * @throws OptionsError
 */
export const checkedGrants = (grants: readonly GrantDefinition[]): readonly GrantDefinition[] => {
  if (!Array.isArray(grants)) refuse('grants must be a list of what defineGrant() returns')
  const checked = grants.map((grant) => defineGrant(grant))
  const names = checked.map(({ grantType }) => grantType)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) refuse(`grants: ${twice} is defined twice`)
  return checked
}
