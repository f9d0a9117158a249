import { usableJwks } from '../protocol/clients/jwks.ts'
import { assertNames, assertRecord, assertType, refuse } from './check.ts'
import type { TrustedIssuerOptions } from './trusted-issuer-options.ts'

/**
 * Checks the option `trustedIssuers`.
 *
 * @throws OptionsError
 */
export const checkedTrustedIssuers = (
  issuers: Readonly<Record<string, TrustedIssuerOptions>>,
): Readonly<Record<string, TrustedIssuerOptions>> => {
  assertRecord('trustedIssuers', issuers)
  for (const [issuer, options] of Object.entries(issuers)) {
    const where = `trustedIssuers['${issuer}']`
    assertRecord(where, options)
    assertNames(`${where}.`, options, ['jwksUri', 'jwks', 'user', 'client'])
    const { jwksUri, jwks, user, client } = options
    assertType(`${where}.jwksUri`, jwksUri, 'string')
    for (const [name, given] of Object.entries({ user, client }))
      assertType(`${where}.${name}`, given, 'function')
    if ((jwksUri === undefined) === (jwks === undefined)) refuse(`${where} must have either jwksUri or jwks`)
    if (jwksUri !== undefined && !URL.canParse(jwksUri)) refuse(`${where}.jwksUri must be an absolute URL`)
    if (jwks !== undefined && !usableJwks(jwks)?.keys.length)
      refuse(`${where}.jwks must contain a public key`)
    if (user && client)
      refuse(`${where} must have either user or client: it vouches for users or for workloads`)
  }
  return issuers
}
