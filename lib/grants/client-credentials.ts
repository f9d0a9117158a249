import { allowedScopes } from '../protocol/client.ts'
import { clientCredentialsScopes, parseScope } from '../protocol/scope.ts'
import { createAccessToken } from '../repositories/index.ts'
import { issueAccessToken } from '../tokens/access-token.ts'
import { tokenResponse } from '../tokens/token-response.ts'
import type { Grant } from './grant.ts'

/** RFC 6749 §4.4: a client acts for itself. Without a user there is neither an ID token nor a refresh token. */
export const clientCredentials: Grant = {
  grantType: 'client_credentials',
  async exchange(server, client, { parameters, info }) {
    const scopes = clientCredentialsScopes(parseScope(parameters.optional('scope')), allowedScopes(client))
    const accessToken = await issueAccessToken(server, { client, scopes })
    await createAccessToken(server.database, accessToken.row)
    const { clientId } = client
    server.events.announce('tokens.issued', info, { grantType: 'client_credentials', clientId, scopes })
    return tokenResponse({ accessToken, scopes })
  },
}
