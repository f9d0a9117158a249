import type { ClientMetadata } from '../protocol/clients/client-metadata.ts'
import type { ActClaim } from '../protocol/tokens/token-context.ts'
import { callback, type FeatureSchema, feature, required } from './schema.ts'

/** A token exchange, as the host's function `allow` sees it. All tokens of the request are valid. */
export interface TokenExchangeRequest {
  /** The client that asks, by the names of RFC 7591. The subject token is its own, or is for its API. */
  readonly client: Readonly<ClientMetadata> & { readonly client_id: string }
  /** The subject token: who and what it is for. */
  readonly subject: {
    /** The id of the user. */
    readonly subject: string
    /** The client that the token was issued to. */
    readonly clientId: string
    /** Its scopes, as far as they concern the client that asks. */
    readonly scopes: readonly string[]
    /** Its resources, as far as they concern the client that asks. */
    readonly resources: readonly string[]
    /** The organization of the user. */
    readonly organization?: string
    /** Who acts for the user already. */
    readonly act?: ActClaim
    /** Epoch seconds. */
    readonly expiresAt: number
  }
  /** Who will act for the user: the client that asks, or whom the actor token is about. */
  readonly actor: ActClaim
  /** The scopes that the request names; empty if it names none. */
  readonly scopes: readonly string[]
  /** The resources of the new token. */
  readonly resources: readonly string[]
}

/** The answer of `allow` to an exchange that it permits. */
export interface TokenExchangeDecision {
  /** The scopes at most, also beyond those of the subject token. @default those of the subject token */
  readonly scopes?: readonly string[]
  /** True: the new token does not say who acts. @default false: its claim `act` says it */
  readonly impersonation?: boolean
}

const members = {
  /**
   * Decides which client may act for which user at which resource. Anything but `true` and an object refuses the request.
   */
  allow: required(
    callback<
      (
        request: TokenExchangeRequest,
      ) => TokenExchangeDecision | boolean | undefined | Promise<TokenExchangeDecision | boolean | undefined>
    >(),
  ),
}

type TokenExchangeSchemasMembers = typeof members

/** The members of `protocol.tokenExchange`. */
export interface TokenExchangeSchemas extends TokenExchangeSchemasMembers {}

export const tokenExchange: FeatureSchema<TokenExchangeSchemas> = feature(members)
