import type { PublicJwk } from '../protocol/clients/jwks.ts'

/** An issuer whose signed assertions clients exchange for access tokens (RFC 7523 §2.1). */
export interface TrustedIssuerOptions {
  /** Where it publishes its keys. Required without `jwks`. */
  jwksUri?: string
  /** Its public keys. Required without `jwksUri`. */
  jwks?: { keys: PublicJwk[] }
  /**
   * For assertions about users (ID-JAG): returns the id of the host's user, or undefined to refuse.
   * @default the claim `sub`
   */
  user?(claims: Readonly<Record<string, unknown>>): unknown
  /**
   * For assertions about workloads: returns the id of the client that the workload acts as, or undefined to refuse. An issuer
   * with this function vouches for workloads, and not for users.
   */
  client?(claims: Readonly<Record<string, unknown>>): unknown
}
