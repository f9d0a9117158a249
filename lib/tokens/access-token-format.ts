import type { AuthorizationServer } from '../authorization-server.ts'
import type { Client } from '../protocol/client.ts'
import type { TokenBinding } from '../protocol/token-binding.ts'
import type { AccessToken, NewAccessToken } from '../repositories/index.ts'

/** Whom an access token is issued to, and for what. */
export interface AccessTokenGrant {
  readonly client: Client
  readonly scopes: readonly string[]
  /** Absent if the client acts for itself. */
  readonly authorization?: { readonly id: string; readonly subject: string; readonly expiresAt: number }
}

/** A new access token, with the row that stores it. */
export interface IssuedAccessToken {
  readonly value: string
  readonly binding: TokenBinding
  /** Lifetime in seconds. */
  readonly expiresIn: number
  readonly row: NewAccessToken
}

/** When an access token is issued and expires, in epoch seconds. */
export interface AccessTokenTimes {
  readonly now: number
  readonly expiresAt: number
}

/** A kind of access token. */
export interface AccessTokenFormat {
  issue(
    server: AuthorizationServer,
    grant: AccessTokenGrant,
    times: AccessTokenTimes,
  ): Promise<IssuedAccessToken>
  /** The stored token; undefined if this format did not issue it. The caller checks expiry and revocation. */
  verify(server: AuthorizationServer, value: string): Promise<AccessToken | undefined>
}
