import type { ClientMetadata } from './client-metadata.ts'
import { inLanguage } from './client-metadata-languages.ts'
import { redirectUriKind } from './redirect-uri.ts'
import { standardScopes } from './scope.ts'

/** A registered client (RFC 6749 §2), as every rule reads it. */
export interface Client {
  readonly clientId: string
  /** SHA-256 hashes of the secrets that are valid now; two while one is being rotated, none for a public client. */
  readonly secretHashes: readonly string[]
  readonly metadata: ClientMetadata
  /** Epoch seconds since when the client is switched off; null while it is on. */
  readonly disabledAt: number | null
}

/** RFC 6749 §2.1: a public client cannot keep a secret. */
export const isPublic = (client: Client): boolean => client.metadata.token_endpoint_auth_method === 'none'

/** A client that signs, or that has nothing to prove itself by, has no secret either. */
export const usesSecret = ({
  token_endpoint_auth_method: method,
}: Pick<ClientMetadata, 'token_endpoint_auth_method'>): boolean =>
  method !== 'none' && method !== 'private_key_jwt'

/** PKCE is required of public clients, and of others that are registered so (RFC 9700 §2.1.1). */
export const requiresPkce = (client: Client): boolean => isPublic(client) || client.metadata.require_pkce

/** What the pages call the client, in the language of the page where it has a name in that. */
export const clientName = (client: Client, language?: string): string =>
  inLanguage(client.metadata, 'client_name', language) ?? client.clientId

/** The scopes a client may ask for; one registered without any may ask for all standard ones. */
export const allowedScopes = (client: Client): readonly string[] =>
  client.metadata.scope?.split(' ') ?? standardScopes

/**
 * Whether a remembered consent may be used in silence. Whoever controls the device can listen on a loopback
 * address or claim a private-use scheme, and a public client has nothing else to show who it is, so those
 * always ask (RFC 8252 §8.6, RFC 6819 §5.2.3.2). A confidential client's code is worthless without its secret.
 */
export const mayRememberConsent = (client: Client, redirectUri: string): boolean =>
  !isPublic(client) || redirectUriKind(redirectUri) === 'https'

/** The sector of a client with pairwise subjects: all clients of one host know a user by one `sub` (OIDC Core §8.1). */
export const sectorOf = ({ sector_identifier_uri, redirect_uris }: ClientMetadata): string =>
  new URL(sector_identifier_uri ?? redirect_uris[0] ?? 'https://invalid').host
