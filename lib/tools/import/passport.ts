import type { ImportedClient, Peer } from './imported.ts'
import { allRows, flagIn, knownColumns, listIn, type SourceRow, textIn } from './source.ts'

const clients = 'oauth_clients'

const deviceCode = 'urn:ietf:params:oauth:grant-type:device_code'
const supported = ['authorization_code', 'refresh_token', 'client_credentials', 'implicit', deviceCode]

/** Before version 13 two flags said what a client is for, and every other client had all grants. */
const grantsOf = (row: SourceRow): string[] => {
  if (row.grant_types !== undefined && row.grant_types !== null) return listIn(row, 'grant_types')
  if (flagIn(row, 'personal_access_client')) return ['personal_access']
  if (flagIn(row, 'password_client')) return ['password', 'refresh_token']
  const forUsers = textIn(row, 'redirect') === '' ? [] : ['authorization_code', 'refresh_token']
  return textIn(row, 'secret') === '' ? forUsers : [...forUsers, 'client_credentials']
}

/** A client. Unless the app has a column for it, each client may request every scope of the server there. */
const passportClient = (row: SourceRow): ImportedClient => {
  const given = grantsOf(row)
  const grants = given.filter((name) => supported.includes(name))
  const left = given.filter((name) => !supported.includes(name))
  const forUsers = grants.some((name) => name !== 'refresh_token')
  const isPublic = textIn(row, 'secret') === ''
  return {
    clientId: textIn(row, 'id'),
    secret: textIn(row, 'secret'),
    metadata: {
      client_name: textIn(row, 'name') || undefined,
      redirect_uris:
        row.redirect_uris === undefined ? listIn(row, 'redirect', /,/) : listIn(row, 'redirect_uris', /,/),
      grant_types: grants,
      response_types: grants.includes('implicit')
        ? [...(grants.includes('authorization_code') ? ['code'] : []), 'token']
        : undefined,
      token_endpoint_auth_method: isPublic ? 'none' : undefined,
      scope: listIn(row, 'scopes').join(' ') || undefined,
    },
    ...(left.length > 0 && { notes: [`left out: the grant ${left.join(', ')}`] }),
    ...(!forUsers && { refusal: `the grant ${left.join(', ') || 'refresh_token alone'} is not supported` }),
    ...(flagIn(row, 'revoked') && { ignored: 'it is revoked' }),
  }
}

/** Laravel Passport. Its columns: https://github.com/laravel/passport, versions 9 to 13. */
export const passport: Peer = {
  name: 'passport',
  keepsTokens:
    'Passport gives clients its refresh tokens encrypted, and stores only their ids: users sign in again',

  async clients(source) {
    const columns = await knownColumns(source, clients, {
      required: ['id', 'name', 'secret', 'revoked'],
      optional: [
        'redirect',
        'redirect_uris',
        'grant_types',
        'personal_access_client',
        'password_client',
        'scopes',
      ],
    })
    return (await allRows(source, { table: clients, key: 'id', columns })).map(passportClient)
  },
}
