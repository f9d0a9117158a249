import type { ClientMetadata } from '../../protocol/clients/client-metadata.ts'
import { withoutInternals } from '../../protocol/clients/client-metadata.ts'
import { refuseMetadata } from '../../protocol/clients/client-metadata-checks.ts'
import { assertPlainNames } from '../../protocol/clients/client-name.ts'
import { redirectUriKind } from '../../protocol/clients/redirect-uri.ts'
import { standardScopes } from '../../protocol/scope.ts'

/** The members that developers may set for their clients; null removes one. */
export interface DeveloperFields {
  readonly client_name: string
  readonly redirect_uris: readonly string[]
  /** Separated by spaces. */
  readonly scope: string
  readonly client_uri: string | null
  readonly logo_uri: string | null
  readonly policy_uri: string | null
  readonly tos_uri: string | null
}

/** The host's rules for its developers. */
export interface DeveloperRules {
  readonly scopes: readonly string[]
  readonly redirectUris?: ((uri: string) => boolean) | undefined
}

/**
 * Refuses what developers must not register, beyond the rules for all clients.
 *
 * @param existing of a client that is changed; it keeps the scopes that the host gave it
 * @throws OAuthError `invalid_client_metadata` or `invalid_redirect_uri`
 */
export const assertDeveloperClient = (
  metadata: ClientMetadata,
  { scopes, redirectUris = () => true }: DeveloperRules,
  existing?: ClientMetadata,
): void => {
  if (metadata.client_name === undefined) refuseMetadata('client_name', 'is required', 'metadata_missing')
  assertPlainNames({ ...metadata })
  if (metadata.redirect_uris.length === 0) refuseMetadata('redirect_uris', 'is required', 'metadata_missing')
  for (const uri of metadata.redirect_uris) {
    if (existing?.redirect_uris.includes(uri)) continue
    if (redirectUriKind(uri) === 'private-use')
      refuseMetadata('redirect_uris', 'must use https, or http on loopback', 'metadata_insecure')
    if (!redirectUris(uri))
      refuseMetadata('redirect_uris', 'has one that this server does not accept', 'metadata_unaccepted')
  }
  const chosen = scopesOf(metadata)
  if (metadata.scope === undefined || chosen.length === 0)
    refuseMetadata('scope', 'must name at least one scope', 'metadata_missing')
  const allowed = new Set([...scopes, ...(existing ? scopesOf(existing) : [])])
  if (chosen.some((scope) => !allowed.has(scope)))
    refuseMetadata('scope', 'has one that developers may not choose')
}

const scopesOf = ({ scope }: ClientMetadata): readonly string[] => scope?.split(' ') ?? standardScopes

/**
 * The metadata of a client as its owner changes it. What only the host sets stays, with two exceptions: no client that its
 * owner describes is one of the host's own, and none is verified.
 *
 * @param fields what the owner says
 * @param scopes that developers may choose; the others that the client has are the host's
 */
export const withDeveloperFields = (
  existing: ClientMetadata,
  fields: DeveloperFields,
  scopes: readonly string[],
): Record<string, unknown> => {
  const ofHost = scopesOf(existing).filter((scope) => !scopes.includes(scope))
  const scope = [...new Set([...fields.scope.split(' ').filter(Boolean), ...ofHost])].join(' ')
  return { ...withoutInternals(existing), ...fields, scope, first_party: false }
}

/** The members of a client that its owner sees and can change. */
export const developerFields = (metadata: ClientMetadata, clientId: string): DeveloperFields => ({
  client_name: metadata.client_name ?? clientId,
  redirect_uris: metadata.redirect_uris,
  scope: scopesOf(metadata).join(' '),
  client_uri: metadata.client_uri ?? null,
  logo_uri: metadata.logo_uri ?? null,
  policy_uri: metadata.policy_uri ?? null,
  tos_uri: metadata.tos_uri ?? null,
})

/** Whether a change only removes redirect URIs and scopes, which needs no approval. */
export const onlyRemoves = (before: DeveloperFields, after: DeveloperFields): boolean => {
  const isWithin = (some: readonly string[], all: readonly string[]): boolean =>
    some.every((each) => all.includes(each))
  const { redirect_uris: uris, scope, ...shown } = after
  return (
    isWithin(uris, before.redirect_uris) &&
    isWithin(scope.split(' '), before.scope.split(' ')) &&
    Object.entries(shown).every(([name, value]) => value === before[name as keyof DeveloperFields])
  )
}
