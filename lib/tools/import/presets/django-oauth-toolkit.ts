import type { Preset } from '../map.ts'
import { flagIn, listIn, type SourceRow, sourceText } from '../source.ts'

const deviceCode = 'urn:ietf:params:oauth:grant-type:device_code'

/** Each application has one grant there; those with a user get refresh tokens. */
const grantTypes: Readonly<Record<string, readonly string[]>> = {
  'authorization-code': ['authorization_code', 'refresh_token'],
  'client-credentials': ['client_credentials'],
  [deviceCode]: [deviceCode, 'refresh_token'],
  'openid-hybrid': ['authorization_code', 'implicit', 'refresh_token'],
}

const responseTypes: Readonly<Record<string, readonly string[]>> = {
  implicit: ['token', 'id_token', 'id_token token'],
  'openid-hybrid': ['code', 'code id_token', 'code token', 'code id_token token'],
}

const grantOf = (row: SourceRow): string => sourceText(row, 'authorization_grant_type')

/** With its setting for hashed tokens, the column of the token is empty. */
const isHashed = (row: SourceRow): boolean => sourceText(row, 'token') === ''

/**
 * django-oauth-toolkit. Its columns: https://github.com/django-oauth/django-oauth-toolkit, from version 1.7. All applications
 * may request every scope of the server there. A refresh token has its scopes in the access token that was issued with it.
 */
export const djangoOauthToolkit: Preset = {
  name: 'django-oauth-toolkit',
  maps: () => ({
    clients: [
      {
        table: 'oauth2_provider_application',
        key: 'id',
        needs: ['redirect_uris', 'client_type', 'authorization_grant_type'],
        columns: {
          client_id: 'client_id',
          client_secret: 'client_secret',
          client_name: 'name',
          redirect_uris: (row) => listIn(row, 'redirect_uris', /\s+/),
          post_logout_redirect_uris: (row) => listIn(row, 'post_logout_redirect_uris', /\s+/),
          grant_types: (row) => grantTypes[grantOf(row)] ?? [grantOf(row)],
          response_types: (row) => responseTypes[grantOf(row)],
          token_endpoint_auth_method: (row) =>
            sourceText(row, 'client_type') === 'public' ? 'none' : row.token_endpoint_auth_method,
          jwks: ['client_jwks'],
          jwks_uri: ['client_jwks_uri'],
          first_party: 'skip_authorization',
          require_pushed_authorization_requests: ['require_pushed_authorization_requests'],
        },
        // Version 1 had no hashes; later ones have a column since an application can be without one.
        stored: (row) =>
          row.hash_client_secret !== undefined && !flagIn(row, 'hash_client_secret') ? 'plain' : undefined,
        note: (row) =>
          sourceText(row, 'algorithm') === 'HS256' &&
          'ID tokens are signed with RS256; it must verify them with the published keys',
        ignored: (row) =>
          sourceText(row, 'registration_source') === 'cimd' && 'it is read again from its metadata document',
      },
    ],
    refreshTokens: [
      {
        table: 'oauth2_provider_refreshtoken',
        key: 'id',
        clientKey: 'id',
        where: { revoked: null },
        join: {
          table: 'oauth2_provider_accesstoken',
          key: 'id',
          on: 'access_token_id',
          columns: { granted: 'scope' },
        },
        needs: ['token'],
        stored: (row) => (isHashed(row) ? 'sha256' : 'plain'),
        columns: {
          refresh_token: (row) => (isHashed(row) ? row.token_checksum : row.token),
          client_id: 'application_id',
          subject: 'user_id',
          scope: 'granted',
          created_at: 'created',
        },
        refused: (row) => listIn(row, 'resource').length > 0 && 'it is for one resource',
      },
    ],
  }),
}
