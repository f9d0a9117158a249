import type { ImportedClient, ImportedToken, Peer } from './imported.ts'
import {
  allRows,
  flagIn,
  knownColumns,
  listIn,
  objectIn,
  type Source,
  type SourceRow,
  textIn,
  timeIn,
} from './source.ts'

const applications = 'oauth2_provider_application'
const accessTokens = 'oauth2_provider_accesstoken'
const refreshTokens = 'oauth2_provider_refreshtoken'

const deviceCode = 'urn:ietf:params:oauth:grant-type:device_code'

/** Each application has one grant there; those with a user get refresh tokens. */
const grants: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  'authorization-code': { grant_types: ['authorization_code', 'refresh_token'] },
  'client-credentials': { grant_types: ['client_credentials'] },
  [deviceCode]: { grant_types: [deviceCode, 'refresh_token'] },
  implicit: { grant_types: ['implicit'], response_types: ['token', 'id_token', 'id_token token'] },
  'openid-hybrid': {
    grant_types: ['authorization_code', 'implicit', 'refresh_token'],
    response_types: ['code', 'code id_token', 'code token', 'code id_token token'],
  },
}

const optional = [
  'post_logout_redirect_uris',
  'hash_client_secret',
  'algorithm',
  'token_endpoint_auth_method',
  'client_jwks',
  'client_jwks_uri',
  'require_pushed_authorization_requests',
  'registration_source',
]

const authMethod = (row: SourceRow): string | undefined =>
  textIn(row, 'client_type') === 'public' ? 'none' : textIn(row, 'token_endpoint_auth_method') || undefined

/** An application. All of them may request every scope of the server there. */
const djangoClient = (row: SourceRow): ImportedClient => {
  const grant = textIn(row, 'authorization_grant_type')
  const known = grants[grant]
  const logout = listIn(row, 'post_logout_redirect_uris', /\s+/)
  const source = textIn(row, 'registration_source')
  const isPushed = flagIn(row, 'require_pushed_authorization_requests')
  return {
    clientId: textIn(row, 'client_id'),
    secret: textIn(row, 'client_secret'),
    // Version 1 had no hashes; later ones have a column since an application can be without one.
    isPlain: row.hash_client_secret !== undefined && !flagIn(row, 'hash_client_secret'),
    metadata: {
      client_name: textIn(row, 'name') || undefined,
      redirect_uris: listIn(row, 'redirect_uris', /\s+/),
      post_logout_redirect_uris: logout.length > 0 ? logout : undefined,
      token_endpoint_auth_method: authMethod(row),
      jwks: objectIn(row, 'client_jwks'),
      jwks_uri: textIn(row, 'client_jwks_uri') || undefined,
      first_party: flagIn(row, 'skip_authorization') || undefined,
      require_pushed_authorization_requests: isPushed || undefined,
      ...known,
    },
    ...(textIn(row, 'algorithm') === 'HS256' && {
      notes: ['ID tokens are signed with RS256; it must verify them with the published keys'],
    }),
    ...(known === undefined && { refusal: `the grant ${grant} is not supported` }),
    ...(source === 'cimd' && { ignored: 'it is read again from its metadata document' }),
  }
}

/** The scopes are in the access token that was issued together. */
const scopesOf = async (
  source: Source,
  rows: readonly SourceRow[],
): Promise<ReadonlyMap<string, readonly string[]>> => {
  const keys = rows.map((row) => row.access_token_id).filter((id) => id !== null && id !== undefined)
  if (keys.length === 0) return new Map()
  const wanted = { table: accessTokens, key: 'id', columns: ['id', 'scope'], keys }
  return new Map((await allRows(source, wanted)).map((row) => [textIn(row, 'id'), listIn(row, 'scope')]))
}

const tokenOf = (row: SourceRow, clientId: string, scopes: readonly string[] | undefined): ImportedToken => {
  // With its setting for hashed tokens, the column of the token is empty.
  const isHash = textIn(row, 'token') === ''
  return {
    clientId,
    subject: textIn(row, 'user_id'),
    scopes: scopes ?? [],
    stored: textIn(row, isHash ? 'token_checksum' : 'token'),
    isHash,
    createdAt: timeIn(row, 'created'),
    ...(listIn(row, 'resource').length > 0 && { refusal: 'it is for one resource' }),
    ...(scopes === undefined && { refusal: 'its scopes are unknown, because its access token was removed' }),
  }
}

/** django-oauth-toolkit. Its columns: https://github.com/django-oauth/django-oauth-toolkit, from version 1.7. */
export const djangoOauthToolkit: Peer = {
  name: 'django-oauth-toolkit',

  async clients(source) {
    const columns = await knownColumns(source, applications, {
      required: [
        'id',
        'client_id',
        'client_secret',
        'client_type',
        'authorization_grant_type',
        'name',
        'redirect_uris',
        'skip_authorization',
      ],
      optional,
    })
    return (await allRows(source, { table: applications, key: 'id', columns })).map(djangoClient)
  },

  async *refreshTokens(source, { scopes }) {
    const ids = await allRows(source, { table: applications, key: 'id', columns: ['id', 'client_id'] })
    const clientIds = new Map(ids.map((row) => [textIn(row, 'id'), textIn(row, 'client_id')]))
    const columns = await knownColumns(source, refreshTokens, {
      required: ['id', 'user_id', 'token', 'application_id', 'access_token_id', 'created', 'revoked'],
      optional: ['token_checksum', 'resource'],
    })
    const wanted = { empty: ['revoked'], filled: ['user_id'] }
    for await (const rows of source.rows({ table: refreshTokens, key: 'id', columns, ...wanted })) {
      const granted = await scopesOf(source, rows)
      yield rows.map((row) =>
        tokenOf(
          row,
          clientIds.get(textIn(row, 'application_id')) ?? '',
          granted.get(textIn(row, 'access_token_id')) ?? scopes,
        ),
      )
    }
  },
}
