import { type PublicJwks, usableJwks } from '../protocol/clients/jwks.ts'
import { authorizationDetails } from './authorization-details.ts'
import { refuse } from './check.ts'
import { dpop } from './dpop.ts'
import { grants } from './grants.ts'
import { mutualTls } from './mutual-tls.ts'
import { type Checked, callback, custom, flag, object, record, text } from './schema.ts'
import { tokenExchange } from './token-exchange.ts'

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
   * For assertions about users, with the option `organizations`: returns the id of the user's organization that the token is
   * for. @default the user's only one
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

/** @throws OptionsError for an issuer without keys, and one that vouches for users and workloads */
export const assertTrustedIssuers = (issuers: Readonly<Record<string, TrustedIssuer>>): void => {
  for (const [name, { jwksUri, jwks, user, organization, client }] of Object.entries(issuers)) {
    const where = `protocol.trustedIssuers['${name}']`
    if ((jwksUri === undefined) === (jwks === undefined)) refuse(`${where} must have either jwksUri or jwks`)
    if (user && client)
      refuse(`${where} must have either user or client: it vouches for users or for workloads`)
    if (organization && client) refuse(`${where} has organization, which is for users, and client`)
  }
}

/** The option `protocol`. */
export const protocol = object({
  /**
   * The implicit and hybrid response types (`id_token`, `code id_token`, …) for clients that register them. They are deprecated
   * (RFC 9700 §2.1.2), because a token in a URL leaks. Use them only for an old client that you cannot change.
   */
  implicit: flag(false),
  /** Authorization requests as JWTs that clients sign (RFC 9101): docs/clients.md#request-objects. */
  requestObjects: flag(false),
  /**
   * Logout pages of clients in hidden frames, for clients that cannot receive back-channel logout:
   * docs/clients.md#front-channel-logout.
   */
  frontChannelLogout: flag(false),
  /** Holds every client to the FAPI 2.0 Security Profile: docs/fapi2.md. Clients that do not comply are not served. */
  fapi2: flag(false),
  /**
   * Clients exchange access tokens of users that they received for tokens at other resources, as far as you allow it (RFC 8693):
   * docs/token-exchange.md.
   */
  tokenExchange,
  /**
   * Certificates of clients (RFC 8705): docs/mutual-tls.md. `true` reads the certificates of the TLS connections of the app.
   */
  mutualTls,
  /** Access tokens that only the holder of a key can use (RFC 9449), for clients that send DPoP proofs: docs/dpop.md. */
  dpop,
  /** Issuers whose assertions clients exchange for access tokens (RFC 7523 §2.1), by their `iss`: docs/trusted-issuers.md. */
  trustedIssuers: record(trustedIssuer),
  /** Grants of your own at the token endpoint, each made with `defineGrant()` (RFC 6749 §4.5): docs/grants.md. */
  grants,
  /**
   * Types of `authorization_details` that clients may request (RFC 9396): docs/authorization-details.md. Without it the
   * parameter is ignored.
   */
  authorizationDetails,
})
