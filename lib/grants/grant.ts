import type { AuthorizationServer } from '../authorization-server.ts'
import type { Options } from '../options/resolve.ts'
import type { Client } from '../protocol/client.ts'
import type { GrantType } from '../protocol/client-metadata.ts'
import type { TokenRequest, TokenResponse } from '../protocol/token-request.ts'

/** A grant that the token endpoint exchanges for tokens (RFC 6749 §1.3), by its registered name. */
export interface Grant {
  readonly grantType: GrantType
  /** Whether the host has turned it on; absent for a grant that is always on. */
  isOn?(options: Options): boolean
  /** Whether it reads `authorization_details` (RFC 9396 §6); all other grants refuse the parameter. */
  readonly readsDetails?: true
  /** @throws OAuthError if the grant is refused */
  exchange(server: AuthorizationServer, client: Client, request: TokenRequest): Promise<TokenResponse>
}
