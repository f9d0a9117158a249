import { hashSecret } from '../../keys/secrets.ts'
import {
  type CheckedRegistration,
  type ClientRegistration,
  checkedRegistration,
} from '../../oauth/clients/register.ts'
import type { HashedSecret } from '../../oauth/clients/secret-change.ts'
import type { Registrable } from '../../options/registrable.ts'
import { usesSecret } from '../../protocol/clients/client.ts'
import type { GrantType } from '../../protocol/clients/client-metadata.ts'
import { assertRedirectUriOf, assertRegistrableRedirectUri } from '../../protocol/clients/redirect-uri.ts'
import { OAuthError } from '../../protocol/errors.ts'
import { isPasswordHash } from '../../users/passwords/passwords.ts'
import type { StoredForm } from './map.ts'
import type { SourceRow } from './source.ts'

/** A client of another server, as that server describes it. */
export interface ImportedClient {
  readonly clientId: string
  /** With the names of RFC 7591. An absent scope stands for every scope of the server. */
  readonly metadata: SourceRow
  /** As it is stored: the secret itself or a hash of it. Empty if there is none. */
  readonly secret: string
  /** The form of the secret; absent: it is recognised. */
  readonly form?: StoredForm | undefined
  /** Abilities that the client loses without being refused. */
  readonly notes?: readonly string[]
  /** Why it cannot be imported. */
  readonly refusal?: string | undefined
  /** Why it is not worth importing, such as that it is revoked. */
  readonly ignored?: string | undefined
}

/** Rules of the operator for all clients. */
export interface ClientRules {
  readonly registrable: Registrable
  /** Scopes of clients that have no list of their own. */
  readonly scopes: readonly string[]
  /** The meaning of 64 hexadecimal digits. @default 'sha256' */
  readonly hex?: StoredForm | undefined
}

/** A client as it will be registered, or the reason why it will not be. */
export interface CheckedImport extends Pick<ImportedClient, 'refusal' | 'ignored' | 'notes'> {
  readonly registration?: CheckedRegistration
}

const hexHash = /^[0-9a-f]{64}$/
const anyHash = /^(?:([0-9a-f]{64})|([\w+/-]{43})=?)$/i

/** Whether a stored value looks like an SHA-256, rather than what was hashed. */
export const isHexHash = (stored: string): boolean => hexHash.test(stored)

/** An SHA-256 as Latchkey stores it; undefined for a value that is none, in hexadecimal digits, base64 or base64url. */
export const ownHash = (stored: string): string | undefined => {
  const [, hex, base64 = ''] = anyHash.exec(stored) ?? []
  const bytes = hex === undefined ? Buffer.from(base64, 'base64') : Buffer.from(hex, 'hex')
  return bytes.length === 32 ? bytes.toString('base64url') : undefined
}

/** Formats of hashes begin like this, such as `$2y$` and `argon2$`; generated secrets have no `$`. */
const hashFormat = /^(\$|[a-z][a-z0-9_]{2,20}\$)/

/** Django writes the name of the algorithm before hashes of other formats. */
const withoutName = (hash: string): string => hash.replace(/^(argon2|bcrypt)(?=\$)/, '').replace(/^\$\$/, '$')

type Secret =
  | { readonly secret?: string; readonly hashedSecret?: HashedSecret }
  | { readonly refusal: string }

const secretOf = ({ secret, form }: ImportedClient, hex: StoredForm): Secret => {
  if (secret === '') return {}
  if (form === 'plain') return { secret }
  if (form === undefined && isPasswordHash(withoutName(secret)))
    return { hashedSecret: { foreign: withoutName(secret) } }
  if (form === undefined && hashFormat.test(secret))
    return { refusal: 'its secret is stored as a hash of an unknown format' }
  if (form === undefined && !(isHexHash(secret) && hex === 'sha256')) return { secret }
  const own = ownHash(secret)
  return own === undefined ? { refusal: 'its secret is stored as no SHA-256' } : { hashedSecret: { own } }
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
  const { ignored, refusal } = client
  if (ignored !== undefined || refusal !== undefined) return ignored === undefined ? { refusal } : { ignored }
  const { grant_types: grants, response_types } = client.metadata
  // The implicit grant needs response types of its own.
  const isKept = (name: GrantType): boolean =>
    registrable.grantTypes.includes(name) && (name !== 'implicit' || response_types !== undefined)
  const kept = Array.isArray(grants) ? grants.filter(isKept) : []
  const left = Array.isArray(grants) ? grants.filter((name) => !isKept(name)) : []
  if (left.length > 0 && kept.every((name) => name === 'refresh_token'))
    return { refusal: `the grant ${left.join(', ')} is not supported` }
  const redirects = allowedUris(client, 'redirect_uris')
  const logouts = allowedUris(client, 'post_logout_redirect_uris')
  const given = secretOf(client, hex)
  if ('refusal' in given) return given
  // Registration checks the values and their types.
  const metadata: ClientRegistration = {
    ...client.metadata,
    ...(left.length > 0 && { grant_types: kept }),
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
      notes: [
        ...(client.notes ?? []),
        ...(left.length > 0 ? [`left out: the grant ${left.join(', ')}`] : []),
        ...redirects.notes,
        ...logouts.notes,
      ],
    }
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error
    return { refusal: error.message }
  }
}
