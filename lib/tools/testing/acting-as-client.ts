import { issueAccessToken, storeAccessToken } from '../../oauth/tokens/access-token.ts'
import { allowedScopes } from '../../protocol/clients/client.ts'
import { scopesWithin } from '../../protocol/requests/resource.ts'
import { clientCredentialsScopes } from '../../protocol/scope.ts'
import { bearer } from '../../protocol/tokens/token-binding.ts'
import type { AuthRouter } from '../../router.ts'
import { writeAll } from '../../storage/database/transaction.ts'
import {
  type ActingAs,
  acting,
  lifetime,
  listOf,
  refuseMisuse,
  resourcesOf,
  type Scopes,
  serverOf,
} from './acting.ts'
import { existingClient } from './test-client.ts'

/**
 * Creates an access token of a client that acts for itself, as the grant `client_credentials` does. It is valid for five
 * minutes.
 *
 * @param client its `client_id`
 * @param scopes separated by spaces, or a list; by default all scopes that the client may have for itself
 * @param options `resource` is the resource that the token is for, by default none
 * @throws Error with NODE_ENV=production, and for a client that does not exist or is not registered for that grant
 * @throws OAuthError `invalid_scope` for a scope that the client may not have
 * @example const { headers } = await actingAsClient(oauth, 'reports', 'orders:read')
 */
export const actingAsClient = async (
  oauth: AuthRouter,
  client: string,
  scopes: Scopes = [],
  { resource }: { readonly resource?: string } = {},
): Promise<ActingAs> => {
  const server = await serverOf(oauth).ready()
  const found = await existingClient(server, client)
  const { metadata } = found
  if (!metadata.grant_types.includes('client_credentials')) {
    refuseMisuse(`the client ${client} is not registered for the grant client_credentials`)
  }
  const resources = resourcesOf(server, resource)
  const allowed = scopesWithin(allowedScopes(found), resources, server.resources)
  const granted = clientCredentialsScopes(listOf(scopes), allowed)
  const access_token_lifetime = Math.min(lifetime, metadata.access_token_lifetime ?? lifetime)
  const brief = { ...found, metadata: { ...metadata, access_token_lifetime } }
  const accessToken = await issueAccessToken(server, {
    client: brief,
    scopes: granted,
    resources,
    binding: bearer,
  })
  await writeAll(server.database, storeAccessToken(accessToken))
  return acting(accessToken.value)
}
