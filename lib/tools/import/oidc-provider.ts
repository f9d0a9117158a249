import { registeredMembers } from '../../protocol/clients/client-metadata.ts'
import type { ImportedClient, ImportedToken, Peer, PeerSettings } from './imported.ts'
import {
  allRows,
  knownColumns,
  listIn,
  objectIn,
  type Rows,
  type Source,
  type SourceRow,
  textIn,
  timeIn,
} from './source.ts'

type Model = 'Client' | 'RefreshToken'

/** The numbers of the models in its contributed adapters for Knex and Prisma. */
const numbers: Readonly<Record<Model, number>> = { Client: 7, RefreshToken: 4 }

/** Tables for all models, and the columns that name the model. */
const sharedTables = ['oidc_payloads', 'oidc_model', 'OidcModel', 'oidc_models', 'payloads']
const modelColumns = ['type', 'model', 'kind', 'name']

/** Sequelize has a table for each model. */
const ownTables: Readonly<Record<Model, readonly string[]>> = {
  Client: ['Clients', 'Client'],
  RefreshToken: ['RefreshTokens', 'RefreshToken'],
}

const contentColumns = ['payload', 'data']
const consumedColumns = ['consumedAt', 'consumed_at']

/** Where the adapter keeps a model; its author decides, so the columns are looked at. */
interface Place extends Rows {
  readonly content: string
  readonly consumed: string | undefined
}

const placeIn = async (
  source: Source,
  table: string,
  model: Model,
  isShared: boolean,
): Promise<Place | undefined> => {
  const existing = await source.columnsOf(table)
  const content = contentColumns.find((name) => existing.includes(name))
  if (content === undefined) return undefined
  const consumed = consumedColumns.find((name) => existing.includes(name))
  const named = modelColumns.find((name) => existing.includes(name))
  if (isShared && named === undefined) return undefined
  const columns = await knownColumns(source, table, {
    required: ['id', content, ...(consumed === undefined ? [] : [consumed])],
  })
  const value = named === 'type' ? numbers[model] : model
  const equal = isShared && named !== undefined ? { equal: { [named]: value } } : {}
  return { table, key: 'id', columns, content, consumed, ...equal }
}

/** A column `type` may have the name of the model instead of its number. */
const withRows = async (source: Source, place: Place, model: Model): Promise<Place> => {
  if (place.equal?.type === undefined) return place
  for await (const rows of source.rows({ ...place, equal: { type: numbers[model] } }))
    if (rows.length > 0) return place
  return { ...place, equal: { type: model } }
}

const placeOf = async (source: Source, model: Model, { table }: PeerSettings): Promise<Place | undefined> => {
  for (const name of table === undefined ? sharedTables : [table]) {
    const place = await placeIn(source, name, model, true)
    if (place) return place
  }
  for (const name of table === undefined ? ownTables[model] : []) {
    const place = await placeIn(source, name, model, false)
    if (place) return place
  }
  return undefined
}

/** A client, by the metadata that the adapter stored, with the defaults of OpenID Connect Registration §2. */
const oidcProviderClient = (clientId: string, payload: SourceRow | undefined): ImportedClient => {
  if (payload === undefined)
    return { clientId, secret: '', metadata: {}, refusal: 'its payload is no JSON object' }
  const { client_id: _, client_secret: secret, client_secret_expires_at: expiresAt, ...given } = payload
  const present = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null))
  const known = registeredMembers(present)
  const left = Object.keys(present).filter((name) => !Object.hasOwn(known, name))
  return {
    clientId,
    secret: String(secret ?? ''),
    isPlain: true,
    metadata: {
      token_endpoint_auth_method: 'client_secret_basic',
      grant_types: ['authorization_code'],
      ...known,
      ...(Number(expiresAt) > 0 && { client_secret_expires_at: Number(expiresAt) }),
    },
    ...(left.length > 0 && { notes: [`left out: ${left.join(', ')}`] }),
    ...(given.subject_type === 'pairwise' && {
      refusal: 'subject_type is pairwise: the identifiers of its users would change',
    }),
  }
}

/** A token, whose identifier is its value; undefined if it was used. */
const oidcProviderToken = (id: string, payload: SourceRow): ImportedToken | undefined => {
  if (payload.consumed) return undefined
  const isBound = payload.jkt !== undefined || payload['x5t#S256'] !== undefined
  const reasons = [
    isBound && 'it is bound to a key',
    payload.expiresWithSession === true && 'it ends with a session',
    payload.resource !== undefined && 'it is for one resource',
    payload.rar !== undefined && 'it has authorization details',
  ]
  const refusal = reasons.find(Boolean)
  return {
    clientId: textIn(payload, 'clientId'),
    subject: textIn(payload, 'accountId'),
    scopes: listIn(payload, 'scope'),
    stored: id,
    isHash: false,
    createdAt: timeIn(payload, 'iiat') ?? timeIn(payload, 'iat'),
    expiresAt: timeIn(payload, 'exp'),
    authTime: timeIn(payload, 'authTime'),
    ...(refusal && { refusal }),
  }
}

/**
 * Adapters of oidc-provider for SQL. A model has a row with its id and its payload as JSON, as in the adapters that its
 * repository contained: https://github.com/panva/node-oidc-provider/tree/v8.0.0/example/adapters/contributed
 */
export const oidcProvider: Peer = {
  name: 'oidc-provider',

  async clients(source, settings) {
    const found = await placeOf(source, 'Client', settings)
    if (found === undefined) {
      throw new Error(
        `the database has no table with a column ${contentColumns.join(' or ')} and a column ${modelColumns.join(', ')}: ` +
          `${[settings.table ?? sharedTables, ownTables.Client].flat().join(', ')}; name yours with --table, or see docs/moving.md`,
      )
    }
    const place = await withRows(source, found, 'Client')
    const rows = await allRows(source, place)
    return rows.map((row) => oidcProviderClient(textIn(row, 'id'), objectIn(row, place.content)))
  },

  async *refreshTokens(source, settings) {
    const found = await placeOf(source, 'RefreshToken', settings)
    if (found === undefined) return
    const place = await withRows(source, found, 'RefreshToken')
    const empty = place.consumed === undefined ? {} : { empty: [place.consumed] }
    for await (const rows of source.rows({ ...place, ...empty })) {
      yield rows.flatMap((row) => {
        const payload = objectIn(row, place.content)
        return (payload && oidcProviderToken(textIn(row, 'id'), payload)) ?? []
      })
    }
  },
}
