import { allowedScopes } from '../../protocol/clients/client.ts'
import { scopesWithin } from '../../protocol/requests/resource.ts'
import { clientCredentialsScopes, parseScope } from '../../protocol/scope.ts'
import { tokensForClient } from './direct.ts'
import type { Grant } from './grant.ts'
import { requestedResources } from './target.ts'

/** RFC 6749 §4.4: a client acts for itself. Without a user there is neither an ID token nor a refresh token. */
export const clientCredentials: Grant = {
  grantType: 'client_credentials',
  async exchange(server, client, request) {
    const { parameters } = request
    const resources = requestedResources(server, request)
    const allowed = scopesWithin(allowedScopes(client), resources, server.resources)
    const scopes = clientCredentialsScopes(parseScope(parameters.optional('scope')), allowed)
    return tokensForClient(server, client, request, { grantType: 'client_credentials', scopes, resources })
  },
}
