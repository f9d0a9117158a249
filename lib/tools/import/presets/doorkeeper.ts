import type { Preset } from '../map.ts'
import { flagIn, listIn, type SourceRow, sourceText } from '../source.ts'

/** Registered by applications on devices without a browser: the page shows the code (removed in OAuth 2.1). */
const outOfBand = /^urn:ietf:wg:oauth:2\.0:oob/

const registeredUris = (row: SourceRow): string[] => listIn(row, 'redirect_uri', /\s+/)
const usableUris = (row: SourceRow): string[] => registeredUris(row).filter((uri) => !outOfBand.test(uri))
const isPublic = (row: SourceRow): boolean => row.confidential !== undefined && !flagIn(row, 'confidential')
const hasUsers = (row: SourceRow): boolean => usableUris(row).length > 0

/** With polymorphic owners, ids of several types may be equal. */
const ownerType = (row: SourceRow): string => sourceText(row, 'resource_owner_type') || 'User'

/**
 * Doorkeeper (Rails). Its columns: https://github.com/doorkeeper-gem/doorkeeper, from version 5.0. Which grants are allowed is
 * a setting of the whole server there: these are its defaults. An application without scopes may request all scopes.
 */
export const doorkeeper: Preset = {
  name: 'doorkeeper',
  maps: () => ({
    clients: [
      {
        table: 'oauth_applications',
        key: 'id',
        needs: ['redirect_uri'],
        columns: {
          client_id: 'uid',
          client_secret: 'secret',
          client_name: 'name',
          redirect_uris: usableUris,
          grant_types: (row) => [
            ...(hasUsers(row) ? ['authorization_code', 'refresh_token'] : []),
            ...(isPublic(row) ? [] : ['client_credentials']),
          ],
          token_endpoint_auth_method: (row) => (isPublic(row) ? 'none' : undefined),
          scope: 'scopes',
        },
        note: (row) =>
          usableUris(row).length < registeredUris(row).length &&
          'a code can no longer be shown for the user to copy',
        refused: (row) => isPublic(row) && !hasUsers(row) && 'it has no redirect URI that can be used',
      },
    ],
    refreshTokens: [
      {
        table: 'oauth_access_tokens',
        key: 'id',
        clientKey: 'id',
        where: { revoked_at: null },
        needs: ['scopes'],
        columns: {
          refresh_token: 'refresh_token',
          client_id: 'application_id',
          subject: 'resource_owner_id',
          scope: (row) => row.scopes ?? '',
          created_at: 'created_at',
        },
        refused: (row) => ownerType(row) !== 'User' && `its owner is of the type ${ownerType(row)}`,
      },
    ],
  }),
}
