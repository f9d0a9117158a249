import type { AuthorizationServer } from '../authorization-server.ts'
import { hashSecret, isEqual } from '../keys/secrets.ts'
import type { Client } from '../protocol/client.ts'
import type { TokenEndpointAuthMethod } from '../protocol/client-metadata.ts'
import type { TokenRequest } from '../protocol/token-request.ts'

/** What a client presents to say who it is. */
export interface PresentedClient {
  /** Undefined when the credentials cannot be read. */
  readonly clientId: string | undefined
  /** Whether what was presented proves it; called with undefined for a client that may not use this method. */
  verify(client: Client | undefined, server: AuthorizationServer): boolean | Promise<boolean>
}

/** One way for a client to authenticate (RFC 6749 §2.3), by its registered name. */
export interface ClientAuthMethod {
  readonly name: TokenEndpointAuthMethod
  /** Whether the request uses it. */
  isUsed(request: TokenRequest): boolean
  present(request: TokenRequest): PresentedClient
}

// A hash that no secret has, so that an unknown client costs the same comparison.
const hashOfNothing = hashSecret('')

/** Compares a presented secret with every live one; no stored secret, or none presented, never matches. */
export const matchesSecret = (client: Client | undefined, secret: string): boolean => {
  const presented = hashSecret(secret)
  const known = client?.secretHashes.length ? client.secretHashes : [hashOfNothing]
  const matches = known.map((hash) => isEqual(hash, presented))
  return matches.includes(true) && client !== undefined && client.secretHashes.length > 0 && secret !== ''
}
