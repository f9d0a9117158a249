import type { Preset } from '../map.ts'
import type { SourceRow } from '../source.ts'

/** The numbers of the models in its contributed adapters for Knex and Prisma. */
const numbers = { Client: 7, RefreshToken: 4 }

/** Tables for all models, and the columns that name the model. */
const sharedTables = ['oidc_payloads', 'oidc_model', 'OidcModel', 'oidc_models', 'payloads']
const modelColumns = ['type', 'model', 'kind', 'name']

/** Sequelize has a table for each model. */
const ownTables = { Client: ['Clients', 'Client'], RefreshToken: ['RefreshTokens', 'RefreshToken'] }

/** Places where an adapter may keep a model: its author decides. */
const placesOf = (model: keyof typeof numbers, named: string | undefined) => {
  const shared = (named === undefined ? sharedTables : [named]).flatMap((table) =>
    modelColumns.map((column) => ({ table, where: { [column]: [model, numbers[model]] } })),
  )
  const own = named === undefined ? ownTables[model].map((table) => ({ table })) : []
  return [...shared, ...own].map((place) => ({
    ...place,
    key: 'id',
    json: ['payload', 'data'],
    stored: 'plain' as const,
  }))
}

const reasonAgainst = (token: SourceRow): string | undefined => {
  if (token.jkt !== undefined || token['x5t#S256'] !== undefined) return 'it is bound to a key'
  if (token.expiresWithSession === true) return 'it ends with a session'
  if (token.resource !== undefined) return 'it is for one resource'
  return token.rar === undefined ? undefined : 'it has authorization details'
}

/**
 * Adapters of oidc-provider for SQL. A model has a row with its id and its payload as JSON, as in the adapters that its
 * repository contained: https://github.com/panva/node-oidc-provider/tree/v8.0.0/example/adapters/contributed
 */
export const oidcProvider: Preset = {
  name: 'oidc-provider',
  maps: ({ table }) => ({
    clients: placesOf('Client', table).map((place) => ({
      ...place,
      columns: {
        client_id: 'id',
        client_secret: 'client_secret',
        client_secret_expires_at: 'client_secret_expires_at',
        // The defaults of OpenID Connect Registration §2.
        token_endpoint_auth_method: (row) => row.token_endpoint_auth_method ?? 'client_secret_basic',
        grant_types: (row) => row.grant_types ?? ['authorization_code'],
      },
      refused: (row) =>
        row.subject_type === 'pairwise' &&
        'subject_type is pairwise: the identifiers of its users would change',
    })),
    refreshTokens: placesOf('RefreshToken', table).map((place) => ({
      ...place,
      columns: {
        refresh_token: 'id',
        client_id: 'clientId',
        subject: 'accountId',
        scope: (row) => row.scope ?? '',
        created_at: ['iiat', 'iat'],
        expires_at: 'exp',
        auth_time: 'authTime',
      },
      refused: reasonAgainst,
      ignored: (row) => Boolean(row.consumed ?? row.consumedAt ?? row.consumed_at) && 'it was used',
    })),
  }),
}
