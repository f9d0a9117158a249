import type { AuthorizationServer } from '../authorization-server.ts'
import { hashSecret, isEqual } from '../keys/secrets.ts'
import type { Options } from '../options/resolve.ts'
import { type Client, hasExpiredSecret } from '../protocol/client.ts'
import type { TokenEndpointAuthMethod } from '../protocol/client-metadata.ts'
import { OAuthError } from '../protocol/errors.ts'
import type { TokenRequest } from '../protocol/token-request.ts'

/** The credentials that a client presents. */
export interface ClientCredentials {
  /** Undefined if the credentials cannot be parsed. */
  readonly clientId: string | undefined
  /** Whether the credentials are those of this client. */
  verify(client: Client, server: AuthorizationServer): boolean | Promise<boolean>
}

/** A client authentication method (RFC 6749 §2.3), by its registered name. */
export interface ClientAuthMethod {
  readonly name: TokenEndpointAuthMethod
  /** Whether the host has turned it on; absent for a method that is always on. */
  isOn?(options: Options): boolean
  /** Whether the request uses this method. */
  isUsed(request: TokenRequest): boolean
  /** @throws OAuthError `invalid_request` */
  credentials(request: TokenRequest): ClientCredentials
}

/** The client presented its secret after `client_secret_expires_at`. */
export class ExpiredSecretError extends OAuthError {
  constructor() {
    super('invalid_client', 'client_secret is expired')
  }
}

/**
 * Compares a secret with each valid one of the client, by hash and in constant time.
 *
 * @param now epoch seconds
 * @throws ExpiredSecretError, which only the holder of the secret learns
 */
export const matchesSecret = ({ secretHashes, metadata }: Client, secret: string, now: number): boolean => {
  const presented = hashSecret(secret)
  if (secret === '') return false
  const matched = secretHashes.findIndex((hash) => isEqual(hash, presented))
  // The first is the current one. The other has an expiry of its own, after which it is not in the list.
  if (matched === 0 && hasExpiredSecret(metadata, now)) throw new ExpiredSecretError()
  return matched !== -1
}
