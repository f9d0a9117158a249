import type { ImportedClient, Peer } from './imported.ts'
import { allRows, knownColumns, listIn, type Source, type SourceRow, textIn, timeIn } from './source.ts'

const clients = 'oauth_clients'

const supported = ['authorization_code', 'refresh_token', 'client_credentials']

/** The first of these columns that a table has: models differ in their names. */
const firstOf = (existing: readonly string[], names: readonly string[]): string | undefined =>
  names.find((name) => existing.includes(name))

const grantColumns = ['grants', 'grant_types']
const redirectColumns = ['redirect_uris', 'redirect_uri']
const scopeColumns = ['scope', 'scopes']
const nameColumns = ['name', 'client_name']

const firstIn = (row: SourceRow, names: readonly string[]): SourceRow => ({
  value: row[names.find((name) => row[name] !== undefined) ?? ''],
})

/** A client. Without a column for grants it has the code and refresh tokens, as in the example. */
const oauth2ServerClient = (row: SourceRow): ImportedClient => {
  const given = listIn(firstIn(row, grantColumns), 'value')
  const grants = given.length > 0 ? given : ['authorization_code', 'refresh_token']
  const kept = grants.filter((name) => supported.includes(name))
  const left = grants.filter((name) => !supported.includes(name))
  const isUsable = kept.some((name) => name !== 'refresh_token')
  const isPublic = textIn(row, 'client_secret') === ''
  return {
    clientId: textIn(row, 'client_id'),
    secret: textIn(row, 'client_secret'),
    metadata: {
      client_name: textIn(firstIn(row, nameColumns), 'value') || undefined,
      redirect_uris: listIn(firstIn(row, redirectColumns), 'value'),
      grant_types: kept,
      token_endpoint_auth_method: isPublic ? 'none' : undefined,
      scope: listIn(firstIn(row, scopeColumns), 'value').join(' ') || undefined,
    },
    ...(left.length > 0 && { notes: [`left out: the grant ${left.join(', ')}`] }),
    ...(!isUsable && { refusal: `the grant ${left.join(', ') || 'refresh_token alone'} is not supported` }),
  }
}

/** One table for refresh tokens, or one for both kinds of tokens. */
const tokenTables = ['oauth_refresh_tokens', 'oauth_tokens']
const expiryColumns = ['expires', 'refresh_token_expires_on', 'refresh_token_expires_at', 'expires_at']

const tokenTable = async (
  source: Source,
): Promise<{ table: string; existing: readonly string[] } | undefined> => {
  for (const table of tokenTables) {
    const existing = await source.columnsOf(table)
    if (existing.includes('refresh_token')) return { table, existing }
  }
  return undefined
}

/**
 * Tables of a model for node-oauth2-server. The package has no schema. These are the names of the example for PostgreSQL
 * that its repository contained: https://github.com/oauthjs/node-oauth2-server/tree/2.4.1/examples/postgresql, with the
 * columns that models of versions 3 to 5 add. For other names, the host creates views.
 */
export const oauth2Server: Peer = {
  name: 'oauth2-server',

  async clients(source) {
    const columns = await knownColumns(source, clients, {
      required: ['client_id', 'client_secret'],
      optional: [...redirectColumns, ...grantColumns, ...scopeColumns, ...nameColumns],
    })
    return (await allRows(source, { table: clients, key: 'client_id', columns })).map(oauth2ServerClient)
  },

  async *refreshTokens(source, { scopes }) {
    const found = await tokenTable(source)
    if (found === undefined) return
    const { table, existing } = found
    const expiry = firstOf(existing, expiryColumns)
    const columns = await knownColumns(source, table, {
      required: ['refresh_token', 'client_id', 'user_id'],
      optional: [...scopeColumns, ...(expiry === undefined ? [] : [expiry])],
    })
    const wanted = { table, key: 'refresh_token', columns, filled: ['refresh_token', 'user_id'] }
    for await (const rows of source.rows(wanted)) {
      yield rows.map((row) => {
        const { value } = firstIn(row, scopeColumns)
        const granted = value === undefined || value === null ? scopes : listIn({ value }, 'value')
        return {
          clientId: textIn(row, 'client_id'),
          subject: textIn(row, 'user_id'),
          scopes: granted ?? [],
          stored: textIn(row, 'refresh_token'),
          // The tokens that the package generates look like hashes.
          hex: 'plain' as const,
          expiresAt: expiry === undefined ? undefined : timeIn(row, expiry),
          ...(granted === undefined && { refusal: 'its scopes are unknown; name them with --scope' }),
        }
      })
    }
  },
}
