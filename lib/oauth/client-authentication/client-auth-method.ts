import type { Options } from '../../options/options.ts'
import type { Client } from '../../protocol/clients/client.ts'
import type { TokenEndpointAuthMethod } from '../../protocol/clients/client-metadata.ts'
import type { TokenRequest } from '../../protocol/tokens/token-request.ts'
import type { AuthorizationServer, EndpointDescription } from '../authorization-server.ts'

/** The credentials that a client presents. */
export interface PresentedCredentials {
  /** Undefined if the credentials cannot be parsed. */
  readonly clientId: string | undefined
  /** Whether the credentials are those of this client, for the endpoint that was called. */
  verify(
    client: Client,
    server: AuthorizationServer,
    endpoint: EndpointDescription,
  ): boolean | Promise<boolean>
}

/** A client authentication method (RFC 6749 §2.3), by its registered name. */
export interface ClientAuthMethod {
  readonly name: TokenEndpointAuthMethod
  /** Whether the host has turned it on; absent for a method that is always on. */
  isOn?(options: Options): boolean
  /** Whether the request uses this method. */
  isUsed(request: TokenRequest): boolean
  /** @throws OAuthError `invalid_request` */
  credentials(request: TokenRequest): PresentedCredentials
}
