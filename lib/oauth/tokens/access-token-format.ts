import type { Client } from '../../protocol/clients/client.ts'
import type { AuthorizationState } from '../../protocol/requests/authorization.ts'
import type { AuthorizationDetail } from '../../protocol/requests/authorization-details.ts'
import type { TokenBinding } from '../../protocol/tokens/token-binding.ts'
import type { TokenContext } from '../../protocol/tokens/token-context.ts'
import type { AccessToken, NewAccessToken } from '../../storage/repositories/index.ts'
import type { AuthorizationServer } from '../authorization-server.ts'
import type { AllowedUser } from './allowed.ts'

/** To which client an access token is issued, and for what. */
interface TokenContent {
  readonly client: Client
  readonly scopes: readonly string[]
  /** Its audience (RFC 8707): identifiers of resources, or none. */
  readonly resources: readonly string[]
  /** The key or certificate that the client must prove to have. */
  readonly binding: TokenBinding
  /** Contents of the token beyond its authorization. */
  readonly context?: TokenContext
  /** The client of the authorization, if it is another one after a token exchange. */
  readonly ownerId?: string
  /** When it expires at the latest, in epoch seconds. */
  readonly notAfter?: number
}

/** An access token of a user. */
export interface UserTokenDraft extends TokenContent {
  readonly authorization: Pick<AuthorizationState, 'id' | 'subject' | 'expiresAt' | 'details' | 'choices'>
  readonly user: AllowedUser
}

/** An access token that a client has for itself. */
interface ClientTokenDraft extends TokenContent {
  readonly authorization?: undefined
  readonly user?: undefined
}

/** Whom an access token is issued to, and for what. */
export type AccessTokenDraft = UserTokenDraft | ClientTokenDraft

/** A new access token, with the row that stores it, if its format stores any. */
export interface IssuedAccessToken {
  readonly value: string
  readonly binding: TokenBinding
  /** Lifetime in seconds. */
  readonly expiresIn: number
  /** Authorization details of the token (RFC 9396 §7); empty if it has none. */
  readonly authorizationDetails: readonly AuthorizationDetail[]
  readonly row?: NewAccessToken
}

/** The contents of an access token, settled before its format issues it. */
export interface AccessTokenContent extends Pick<IssuedAccessToken, 'authorizationDetails'> {
  /** When it is issued, in epoch seconds. */
  readonly now: number
  /** Epoch seconds. */
  readonly expiresAt: number
}

/** A kind of access token. */
export interface AccessTokenFormat {
  issue(
    server: AuthorizationServer,
    draft: AccessTokenDraft,
    content: AccessTokenContent,
  ): Promise<IssuedAccessToken>
  /** The stored token; undefined if this format did not issue it. The caller checks expiry and revocation. */
  verify(server: AuthorizationServer, value: string): Promise<AccessToken | undefined>
}
