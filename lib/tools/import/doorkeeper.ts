import type { ImportedClient, Peer } from './imported.ts'
import { allRows, flagIn, knownColumns, listIn, type SourceRow, textIn, timeIn } from './source.ts'

const applications = 'oauth_applications'
const tokens = 'oauth_access_tokens'

/** Registered by applications on devices without a browser: the page shows the code (removed in OAuth 2.1). */
const outOfBand = /^urn:ietf:wg:oauth:2\.0:oob/

/**
 * An application. Which grants are allowed is a setting of the whole server there: these are its defaults. An application
 * without scopes may request all scopes of the server.
 */
const doorkeeperClient = (row: SourceRow): ImportedClient => {
  const isConfidential = row.confidential === undefined || flagIn(row, 'confidential')
  const registered = listIn(row, 'redirect_uri', /\s+/)
  const uris = registered.filter((uri) => !outOfBand.test(uri))
  const forUsers = uris.length > 0 ? ['authorization_code', 'refresh_token'] : []
  const scope = textIn(row, 'scopes')
  return {
    clientId: textIn(row, 'uid'),
    secret: textIn(row, 'secret'),
    metadata: {
      client_name: textIn(row, 'name') || undefined,
      redirect_uris: uris,
      grant_types: [...forUsers, ...(isConfidential ? ['client_credentials'] : [])],
      token_endpoint_auth_method: isConfidential ? undefined : 'none',
      scope: scope || undefined,
    },
    ...(uris.length < registered.length && { notes: ['a code can no longer be shown for the user to copy'] }),
    ...(forUsers.length === 0 && !isConfidential && { refusal: 'it has no redirect URI that can be used' }),
  }
}

/** With polymorphic owners, ids of several types may be equal. */
const ownerType = (row: SourceRow): string => textIn(row, 'resource_owner_type') || 'User'

/** Doorkeeper (Rails). Its columns: https://github.com/doorkeeper-gem/doorkeeper, from version 5.0. */
export const doorkeeper: Peer = {
  name: 'doorkeeper',

  async clients(source) {
    const columns = await knownColumns(source, applications, {
      required: ['id', 'uid', 'name', 'secret', 'redirect_uri', 'scopes'],
      optional: ['confidential'],
    })
    return (await allRows(source, { table: applications, key: 'id', columns })).map(doorkeeperClient)
  },

  async *refreshTokens(source) {
    const ids = await allRows(source, { table: applications, key: 'id', columns: ['id', 'uid'] })
    const clientIds = new Map(ids.map((row) => [textIn(row, 'id'), textIn(row, 'uid')]))
    const columns = await knownColumns(source, tokens, {
      required: [
        'id',
        'application_id',
        'resource_owner_id',
        'refresh_token',
        'scopes',
        'created_at',
        'revoked_at',
      ],
      optional: ['resource_owner_type'],
    })
    const wanted = { filled: ['refresh_token', 'resource_owner_id'], empty: ['revoked_at'] }
    for await (const rows of source.rows({ table: tokens, key: 'id', columns, ...wanted })) {
      yield rows.map((row) => ({
        clientId: clientIds.get(textIn(row, 'application_id')) ?? '',
        subject: textIn(row, 'resource_owner_id'),
        scopes: listIn(row, 'scopes'),
        stored: textIn(row, 'refresh_token'),
        createdAt: timeIn(row, 'created_at'),
        ...(ownerType(row) !== 'User' && { refusal: `its owner is of the type ${ownerType(row)}` }),
      }))
    }
  },
}
