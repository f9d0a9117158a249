import { standardScopes } from '../scope.ts'
import type { ClientMetadata } from './client-metadata.ts'
import { inLanguage } from './client-metadata-languages.ts'
import { redirectUriKind } from './redirect-uri.ts'

/** The logo of a client. */
export interface ClientLogo {
  /** The `logo_uri` from which it was fetched; absent if the host gave a file. */
  readonly uri?: string
  /** SHA-256 of the image in base64url; absent if there is none that the pages can show. */
  readonly hash?: string
  /** When it was fetched, or fetching it was tried, in epoch seconds. */
  readonly checkedAt: number
}

/** A registered client (RFC 6749 §2). */
export interface Client {
  readonly clientId: string
  /** SHA-256 hashes of the currently valid secrets; two during a rotation, none for a public client. */
  readonly secretHashes: readonly string[]
  readonly metadata: ClientMetadata
  /** When the client was disabled, in epoch seconds; null while it is enabled. */
  readonly disabledAt: number | null
  readonly logo?: ClientLogo
}

/** The hash of the logo that the pages show: of the registered `logo_uri`, or of a file of the host. */
export const logoHash = ({ logo, metadata }: Pick<Client, 'logo' | 'metadata'>): string | undefined =>
  logo?.uri === undefined || logo.uri === metadata.logo_uri ? logo?.hash : undefined

/** RFC 6749 §2.1: a public client cannot keep a secret. */
export const isPublic = ({ metadata }: Client): boolean =>
  metadata.token_endpoint_auth_method === 'none' || metadata.key_is_optional === true

/** Whether the client authenticates with a secret, rather than a key, a certificate or not at all. */
export const usesSecret = ({
  token_endpoint_auth_method: method,
}: Pick<ClientMetadata, 'token_endpoint_auth_method'>): boolean =>
  method === undefined || method === 'client_secret_basic' || method === 'client_secret_post'

/** Whether the current secret has expired. @param now epoch seconds */
export const hasExpiredSecret = (
  { client_secret_expires_at: expiresAt }: Pick<ClientMetadata, 'client_secret_expires_at'>,
  now: number,
): boolean => expiresAt !== undefined && expiresAt <= now

/** PKCE is required of public clients, and of others with `require_pkce` (RFC 9700 §2.1.1). */
export const requiresPkce = (client: Client): boolean => isPublic(client) || client.metadata.require_pkce

/**
 * Whether each use of a refresh token replaces it. For a public client always: without a secret, reuse is the only sign of
 * a stolen token (RFC 9700 §4.14.2).
 */
export const rotatesRefreshTokens = (client: Client): boolean =>
  isPublic(client) || client.metadata.refresh_token_rotation

/** The client's name for the pages, in the given language if it has one. */
export const clientName = (client: Client, language?: string): string =>
  inLanguage(client.metadata, 'client_name', language) ?? client.clientId

/** Where the client describes itself: its id is the URL of that document. Undefined if its description is only stored. */
export const describedAt = ({
  clientId,
  metadata,
}: Pick<Client, 'clientId' | 'metadata'>): URL | undefined =>
  metadata.self_described === 'document' ? new URL(clientId) : undefined

/** Whether the client described itself, so that the host has not decided about it. */
export const isStranger = ({ metadata }: Pick<Client, 'metadata'>): boolean =>
  metadata.self_described !== undefined

/** Whether pages may link to the client. A client that describes itself gets no link: nothing is known about it. */
const mayBeLinked = (client: Client): boolean => !isStranger(client)

/** The client's page that starts a sign-in by itself (OIDC Core §4), with `iss`, if pages may link to it. */
export const signInUrl = (client: Client, issuer: string): string | undefined => {
  const { initiate_login_uri: start } = client.metadata
  if (start === undefined || !mayBeLinked(client)) return undefined
  const url = new URL(start)
  url.searchParams.set('iss', issuer)
  return url.href
}

/** The client's home page, in the given language if it has one, if pages may link to it. */
export const homePage = (client: Client, language: string): string | undefined =>
  mayBeLinked(client) ? inLanguage(client.metadata, 'client_uri', language) : undefined

/** Whether a client has introduced itself, by registration or by a metadata document, without a person who read our docs. */
export const isIntroduced = ({ metadata }: Client): boolean =>
  metadata.self_described === 'registration' || metadata.self_described === 'document'

/** The scopes a client may request: those it registered, or by default all standard ones. */
export const allowedScopes = ({ metadata }: Pick<Client, 'metadata'>): readonly string[] =>
  metadata.scope?.split(' ') ?? standardScopes

/**
 * Seconds from the beginning of a grant after which its refresh tokens end, however often they are used.
 *
 * @param lifetimes of the option
 */
export const absoluteLifetime = (
  { refresh_token_absolute_lifetime: own }: Pick<ClientMetadata, 'refresh_token_absolute_lifetime'>,
  lifetimes: { readonly refreshTokenAbsolute: number },
): number => own ?? lifetimes.refreshTokenAbsolute

/**
 * Whether a remembered consent may skip the consent page. A public client on a loopback address or a private-use scheme
 * always asks: any program on the device can listen there and pose as the client (RFC 8252 §8.6, RFC 6819 §5.2.3.2).
 * So does one without a redirect URI. A confidential client's code is worthless without its secret.
 */
export const mayRememberConsent = (client: Client, redirectUri: string | undefined): boolean =>
  !isPublic(client) || (redirectUri !== undefined && redirectUriKind(redirectUri) === 'https')

/**
 * The sector of a client with pairwise subjects: all clients of one sector see the same `sub` for a user (OIDC Core §8.1).
 * Without `sector_identifier_uri` that is the https host of all redirect URIs. One on the device says nothing about who made the
 * client, whatever else it names, so that client is a sector of its own.
 */
export const sectorOf = ({ clientId, metadata }: Pick<Client, 'clientId' | 'metadata'>): string => {
  const { sector_identifier_uri: sector, redirect_uris } = metadata
  if (sector !== undefined) return new URL(sector).host
  const hosts = redirect_uris.map((uri) => (redirectUriKind(uri) === 'https' ? new URL(uri).host : ''))
  const [host] = hosts
  // No host contains a space.
  return host && hosts.every((other) => other === host) ? host : `client ${clientId}`
}

/**
 * A lifetime as the profile of the client allows it.
 *
 * @param seconds of the option `lifetimes`
 * @param longest seconds that a profile allows
 */
export const profileLifetime = (
  { security_profile: profile }: Pick<ClientMetadata, 'security_profile'>,
  seconds: number,
  longest: number,
): number => (profile === undefined ? seconds : Math.min(seconds, longest))
