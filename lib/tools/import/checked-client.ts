import { hashSecret } from '../../keys/secrets.ts'
import {
  type CheckedRegistration,
  type ClientRegistration,
  checkedRegistration,
} from '../../oauth/clients/register.ts'
import type { HashedSecret } from '../../oauth/clients/secret-change.ts'
import type { Registrable } from '../../options/registrable.ts'
import { usesSecret } from '../../protocol/clients/client.ts'
import { assertRedirectUriOf, assertRegistrableRedirectUri } from '../../protocol/clients/redirect-uri.ts'
import { OAuthError } from '../../protocol/errors.ts'
import { isPasswordHash } from '../../users/passwords/passwords.ts'
import type { HexMeaning, ImportedClient } from './imported.ts'

/** Rules of the operator for all clients. */
export interface ClientRules {
  readonly registrable: Registrable
  /** Scopes of clients that have no list of their own. */
  readonly scopes: readonly string[]
  /** @default 'sha256' */
  readonly hex?: HexMeaning | undefined
}

/** A client as it will be registered, or the reason why it cannot be. */
export type CheckedImport =
  | { readonly registration: CheckedRegistration; readonly notes: readonly string[] }
  | { readonly refusal: string }
  | { readonly ignored: string }

const hexHash = /^[0-9a-f]{64}$/

/** SHA-256 in hexadecimal digits, as Latchkey stores it. */
export const fromHex = (hash: string): string => Buffer.from(hash, 'hex').toString('base64url')

/** Whether a stored value is a SHA-256, rather than what was hashed. */
export const isHexHash = (stored: string): boolean => hexHash.test(stored)

/** Formats of hashes begin like this, such as `$2y$` and `argon2$`; generated secrets have no `$`. */
const hashFormat = /^(\$|[a-z][a-z0-9_]{2,20}\$)/

/** Django writes the name of the algorithm before hashes of other formats. */
const withoutName = (hash: string): string => hash.replace(/^(argon2|bcrypt)(?=\$)/, '').replace(/^\$\$/, '$')

type Secret =
  | { readonly secret?: string; readonly hashedSecret?: HashedSecret }
  | { readonly refusal: string }

const secretOf = ({ secret, isPlain = false }: ImportedClient, hex: HexMeaning): Secret => {
  if (secret === '') return {}
  if (isPlain) return { secret }
  if (isPasswordHash(withoutName(secret))) return { hashedSecret: { foreign: withoutName(secret) } }
  if (hashFormat.test(secret)) return { refusal: 'its secret is stored as a hash of an unknown format' }
  return isHexHash(secret) && hex === 'sha256' ? { hashedSecret: { own: fromHex(secret) } } : { secret }
}

/** Why a redirect URI cannot be registered; undefined if it can. */
const reasonAgainst = (uri: unknown, client: { readonly isPublic: boolean }): string | undefined => {
  try {
    assertRegistrableRedirectUri(String(uri))
    assertRedirectUriOf(String(uri), client)
    return undefined
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error
    return error.message
  }
}

/** The URIs that our rules allow. If they allow none, all stay, so that the client is refused by name of the rule. */
const allowedUris = (
  { metadata }: ImportedClient,
  name: 'redirect_uris' | 'post_logout_redirect_uris',
): { readonly value: unknown; readonly notes: string[] } => {
  const uris: unknown = metadata[name]
  if (!Array.isArray(uris)) return { value: uris, notes: [] }
  const client = { isPublic: metadata.token_endpoint_auth_method === 'none' }
  const allowed = uris.filter((uri) => reasonAgainst(uri, client) === undefined)
  if (allowed.length === 0 && name === 'redirect_uris') return { value: uris, notes: [] }
  const refused = uris.filter((uri) => !allowed.includes(uri))
  return {
    value: allowed,
    notes: refused.map((uri) => `left out of ${name}: ${uri} (${reasonAgainst(uri, client)})`),
  }
}

/**
 * Applies the rules of registration to a client of another server.
 *
 * @returns the registration, or why it is refused or not worth importing
 */
export const checkedImport = (
  client: ImportedClient,
  { registrable, scopes, hex = 'sha256' }: ClientRules,
): CheckedImport => {
  if (client.ignored !== undefined) return { ignored: client.ignored }
  if (client.refusal !== undefined) return { refusal: client.refusal }
  const redirects = allowedUris(client, 'redirect_uris')
  const logouts = allowedUris(client, 'post_logout_redirect_uris')
  const given = secretOf(client, hex)
  if ('refusal' in given) return given
  // Registration checks the values and their types.
  const metadata: ClientRegistration = {
    ...client.metadata,
    ...(redirects.value !== undefined && { redirect_uris: redirects.value as string[] }),
    ...(logouts.value !== undefined && { post_logout_redirect_uris: logouts.value as string[] }),
    ...(client.metadata.scope === undefined && scopes.length > 0 && { scope: scopes.join(' ') }),
  }
  const needsSecret = usesSecret(metadata)
  const { secret, hashedSecret } = given
  if (needsSecret && secret === undefined && hashedSecret === undefined)
    return { refusal: 'it is confidential and has no secret' }
  const clear = needsSecret ? secret : undefined
  try {
    const registration = checkedRegistration(
      { ...metadata, client_id: client.clientId, ...(clear !== undefined && { client_secret: clear }) },
      registrable,
    )
    const stored = clear === undefined ? hashedSecret : { own: hashSecret(clear) }
    return {
      registration: {
        ...registration,
        secret: undefined,
        ...(needsSecret && stored && { hashedSecret: stored }),
      },
      notes: [...(client.notes ?? []), ...redirects.notes, ...logouts.notes],
    }
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error
    return { refusal: error.message }
  }
}
