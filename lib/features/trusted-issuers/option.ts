import { refuse } from '../../options/check.ts'
import { type Checked, callback, custom, object, record, required, text } from '../../options/schema.ts'
import { type PublicJwks, usableJwks } from '../../protocol/clients/jwks.ts'

const trustedIssuer = object({
  /** Where it publishes its keys. Required without `jwks`. @default none */
  jwksUri: text('an absolute URL', URL.canParse),
  /** Its public keys. Required without `jwksUri`. @default none */
  jwks: custom<PublicJwks>('a JWK Set with a public key', (value) => {
    const jwks = usableJwks(value)
    return jwks?.keys.length ? jwks : undefined
  }),
  /**
   * For assertions about users (ID-JAG): returns the id of your user, or undefined to refuse. @default the claim `sub`
   */
  user: callback<(claims: Readonly<Record<string, unknown>>) => unknown>(),
  /**
   * For assertions about users: returns the id of the organization that the token is for. @default the user's only one
   */
  organization: callback<(claims: Readonly<Record<string, unknown>>) => unknown>(),
  /**
   * For assertions about workloads: returns the id of the client that the workload acts as, or undefined to refuse. An issuer with
   * this function vouches for workloads, and not for users. @default none
   */
  client: callback<(claims: Readonly<Record<string, unknown>>) => unknown>(),
})

/** An issuer whose signed assertions clients exchange for access tokens (RFC 7523 §2.1), checked. */
export type TrustedIssuer = Checked<typeof trustedIssuer>

/** Trusted issuers by their `iss`. */
export type TrustedIssuers = Readonly<Record<string, TrustedIssuer>>

/** Issuers whose assertions clients exchange for access tokens (RFC 7523 §2.1): docs/trusted-issuers.md. */
export const members = {
  /** The issuers, by their `iss`. */
  issuers: required(record(trustedIssuer)),
}

/** @throws OptionsError for an issuer without keys, and one that vouches for users and workloads */
export const assertIssuers = (issuers: TrustedIssuers): void => {
  for (const [name, { jwksUri, jwks, user, organization, client }] of Object.entries(issuers)) {
    const where = `trustedIssuers({}).issuers['${name}']`
    if ((jwksUri === undefined) === (jwks === undefined)) refuse(`${where} must have either jwksUri or jwks`)
    if (user && client)
      refuse(`${where} must have either user or client: it vouches for users or for workloads`)
    if (organization && client) refuse(`${where} has organization, which is for users, and client`)
  }
}
