import type { Preset } from '../map.ts'
import { flagIn, listIn, type SourceRow, sourceText } from '../source.ts'

/** Before version 13 two flags said what a client is for, and every other client had all grants. */
const grantsOf = (row: SourceRow): string[] => {
  if (row.grant_types !== undefined && row.grant_types !== null) return listIn(row, 'grant_types')
  if (flagIn(row, 'personal_access_client')) return ['personal_access']
  if (flagIn(row, 'password_client')) return ['password', 'refresh_token']
  const forUsers = sourceText(row, 'redirect') === '' ? [] : ['authorization_code', 'refresh_token']
  return isPublic(row) ? forUsers : [...forUsers, 'client_credentials']
}

const isPublic = (row: SourceRow): boolean => sourceText(row, 'secret') === ''

/**
 * Laravel Passport. Its columns: https://github.com/laravel/passport, versions 9 to 13. Unless the app has a column for it,
 * each client may request every scope of the server there.
 */
export const passport: Preset = {
  name: 'passport',
  keepsTokens:
    'Passport gives clients its refresh tokens encrypted, and stores only their ids: users sign in again',
  maps: () => ({
    clients: [
      {
        table: 'oauth_clients',
        key: 'id',
        needs: ['revoked'],
        columns: {
          client_id: 'id',
          client_secret: 'secret',
          client_name: 'name',
          redirect_uris: (row) => listIn(row, 'redirect_uris' in row ? 'redirect_uris' : 'redirect', /,/),
          grant_types: grantsOf,
          response_types: (row) => {
            const grants = grantsOf(row)
            if (!grants.includes('implicit')) return undefined
            return [...(grants.includes('authorization_code') ? ['code'] : []), 'token']
          },
          token_endpoint_auth_method: (row) => (isPublic(row) ? 'none' : undefined),
          scope: ['scopes'],
        },
        refused: (row) => grantsOf(row).length === 0 && 'it has no grant',
        ignored: (row) => flagIn(row, 'revoked') && 'it is revoked',
      },
    ],
    refreshTokens: [],
  }),
}
