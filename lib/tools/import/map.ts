import { nearest, refuse } from '../../options/check.ts'
import {
  type Checked,
  callback,
  custom,
  isRecord,
  list,
  object,
  optional,
  record,
  required,
  text,
} from '../../options/schema.ts'
import { clientMetadataNames } from '../../protocol/clients/client-metadata.ts'
import type { SourceRow } from './source.ts'

// A map names the tables and columns of another server, so that one importer reads all of them.

/** The form of a stored secret or token. */
export type StoredForm = 'plain' | 'sha256'

type Read<Value> = (row: SourceRow) => Value

/** The place of a value: a column, the first of several columns that the table has, or a function of the row. */
export type Field = string | readonly string[] | Read<unknown>

const isName = (value: unknown): value is string => typeof value === 'string' && value !== ''
const isScalar = (value: unknown): boolean =>
  value === null || ['string', 'number', 'boolean'].includes(typeof value)
const isNames = (value: unknown): boolean => Array.isArray(value) && value.every(isName)

const name = text('the name of a table or column')
const field = custom('a column, a list of columns or a function of the row', (value) =>
  isName(value) || isNames(value) || typeof value === 'function' ? (value as Field) : undefined,
)
const sentence = callback<Read<string | false | undefined>>()

const table = {
  /** The name of the table, or of a view. */
  table: required(name),
  /** A column whose values differ: rows are read in its order. @default that of the client's id, or of the token */
  key: name,
  /** Only rows with these values are read: a value, null, or a list of values that are compared as text. @default every row */
  where: custom('an object with values of columns', (value) =>
    isRecord(value) && Object.values(value).flat().every(isScalar) ? value : undefined,
  ),
  /** A column with a JSON object, or the first of several. Its members are read like columns. */
  json: custom('a column or a list of columns', (value) =>
    isName(value) || isNames(value) ? (value as string | readonly string[]) : undefined,
  ),
  /** The row of another table whose `key` equals the column `on`. Its columns are read under new names. */
  join: optional(
    object({ table: required(name), key: required(name), on: required(name), columns: record(name) }),
  ),
  /** Columns that the functions read, so that they must exist. */
  needs: list(name),
  /** The form of secrets or tokens. @default hashes of passwords are recognised; `--hex` says what hexadecimal digits are */
  stored: custom("'plain', 'sha256' or a function of the row", (value) =>
    value === 'plain' || value === 'sha256' || typeof value === 'function'
      ? (value as StoredForm | Read<StoredForm | undefined>)
      : undefined,
  ),
  /** Why a row cannot be imported. */
  refused: sentence,
  /** Why a row is not worth importing. */
  ignored: sentence,
}

const memberName = (given: string, path: string): string => {
  const names = ['client_id', 'client_secret', ...clientMetadataNames]
  if (names.includes(given.replace(/#.*/, ''))) return given
  const near = nearest(given, names)
  return refuse(
    `${path}.${given} is not client metadata${near === undefined ? '' : `; did you mean ${near}?`}`,
  )
}

const map = object({
  clients: required(
    object({
      ...table,
      /** Places of `client_id`, `client_secret` and of client metadata. */
      columns: record(field, memberName),
      /** An ability that the client loses. */
      note: sentence,
    }),
  ),
  refreshTokens: optional(
    object({
      ...table,
      /** The column of the clients' table to which `client_id` refers. @default that of the client's id */
      clientKey: name,
      columns: object({
        refresh_token: required(field),
        client_id: required(field),
        /** The id of the user. */
        subject: required(field),
        /** Absent or null: the scopes of `--scope`. */
        scope: field,
        created_at: field,
        expires_at: field,
        /** When the user signed in. */
        auth_time: field,
      }),
    }),
  ),
})

export type ClientTable = Checked<typeof map>['clients']
export type TokenTable = NonNullable<Checked<typeof map>['refreshTokens']>

/** Tables of a server. If its versions or adapters differ, the first that the database has is read. */
export interface TableMaps {
  readonly clients: readonly ClientTable[]
  readonly refreshTokens: readonly TokenTable[]
}

/** Facts about the other server, from the operator. */
export interface SourceSettings {
  /** The table of models, if it has an unusual name. */
  readonly table?: string | undefined
  /** Scopes of what has no scope of its own. */
  readonly scopes?: readonly string[] | undefined
  /** The meaning of 64 hexadecimal digits in a column. */
  readonly hex?: StoredForm | undefined
}

/** The maps of a server that many people use. */
export interface Preset {
  readonly name: string
  maps(settings: SourceSettings): TableMaps
  /** Why it has no map of refresh tokens. */
  readonly keepsTokens?: string
}

/**
 * Checks a map that a team wrote.
 *
 * @throws OptionsError that names the member and what it should be
 */
export const parseMap = (value: unknown): TableMaps => {
  const { clients, refreshTokens } = map.check(value, 'map')
  if (clients.columns.client_id === undefined) refuse('map.clients.columns.client_id is required: a column')
  return { clients: [clients], refreshTokens: refreshTokens === undefined ? [] : [refreshTokens] }
}
