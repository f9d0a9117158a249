import type { Preset } from '../map.ts'
import { sourceText } from '../source.ts'

/**
 * Tables of a model for node-oauth2-server. The package has no schema. These are the names of the example for PostgreSQL
 * that its repository contained: https://github.com/oauthjs/node-oauth2-server/tree/2.4.1/examples/postgresql, with the
 * columns that models of versions 3 to 5 add. One table has refresh tokens, or both kinds of tokens.
 */
export const oauth2Server: Preset = {
  name: 'oauth2-server',
  maps: ({ hex }) => ({
    clients: [
      {
        table: 'oauth_clients',
        columns: {
          client_id: 'client_id',
          client_secret: 'client_secret',
          client_name: ['name', 'client_name'],
          redirect_uris: ['redirect_uris', 'redirect_uri'],
          grant_types: ['grants', 'grant_types'],
          token_endpoint_auth_method: (row) => (sourceText(row, 'client_secret') === '' ? 'none' : undefined),
          scope: ['scope', 'scopes'],
        },
      },
    ],
    refreshTokens: ['oauth_refresh_tokens', 'oauth_tokens'].map((table) => ({
      table,
      // The tokens that the package generates look like hashes.
      stored: hex === 'sha256' ? undefined : 'plain',
      columns: {
        refresh_token: 'refresh_token',
        client_id: 'client_id',
        subject: 'user_id',
        scope: ['scope', 'scopes'],
        expires_at: ['expires', 'refresh_token_expires_on', 'refresh_token_expires_at', 'expires_at'],
      },
    })),
  }),
}
