import type { Options } from '../../options/options.ts'
import type { Client } from '../../protocol/clients/client.ts'
import type { GrantType } from '../../protocol/clients/client-metadata.ts'
import type { Parameters } from '../../protocol/parameters.ts'
import type { AuthorizationState } from '../../protocol/requests/authorization.ts'
import type { RefreshToken } from '../../protocol/tokens/refresh-token.ts'
import type { TokenRequest, TokenResponse } from '../../protocol/tokens/token-request.ts'
import type { Database } from '../../storage/database/types.ts'
import type { ClientLookup } from '../../storage/repositories/index.ts'
import type { AuthorizationServer } from '../authorization-server.ts'
import { extensionPoint } from '../extension-point.ts'

/** The stored rows of what a token request presents; undefined for an unknown value. */
export interface Presented {
  readonly authorization?: AuthorizationState | undefined
  readonly refreshToken?: RefreshToken | undefined
}

/** A grant that the token endpoint exchanges for tokens (RFC 6749 §1.3), by its registered name. */
export interface Grant {
  readonly grantType: GrantType
  /** Whether the host has turned it on; absent for a grant that is always on. */
  isOn?(options: Options): boolean
  /** Whether it reads `authorization_details` (RFC 9396 §6); all other grants refuse the parameter. */
  readonly readsDetails?: true
  /** Whether a client may come here before any page, so that one that describes itself elsewhere may be new. */
  readonly introducesClient?: true
  /** Reads the client together with what the request presents; undefined if it presents nothing that can be stored. */
  findPresented?(
    database: Database,
    parameters: Parameters,
    lookup: ClientLookup,
  ): Promise<(Presented & { readonly client: Client }) | undefined> | undefined
  /**
   * @param presented as it was read with the client; only a conditional write uses it up
   * @throws OAuthError if the grant is refused
   */
  exchange(
    server: AuthorizationServer,
    client: Client,
    request: TokenRequest,
    presented: Presented,
  ): Promise<TokenResponse>
}

export const featureGrants = extensionPoint<Grant>('oauth.grants')
