import { nearest } from '../../options/check.ts'
import { clientMembers, registeredMembers } from '../../protocol/clients/client-metadata.ts'
import type { MemberForm } from '../../protocol/clients/client-metadata-checks.ts'
import type { ImportedClient } from './checked-client.ts'
import type { ImportedToken } from './import-refresh-tokens.ts'
import type { ClientTable, Field, TokenTable } from './map.ts'
import { objectIn, type SourceRow, sourceText, UnreadableValue, valueIn } from './source.ts'
import type { Source } from './source-database.ts'

/** A table that the database has. */
interface Opened<Table> {
  readonly table: Table
  readonly key: string
  readonly columns: readonly string[]
  /** The column with JSON, if it has one. */
  readonly json: string | undefined
}

const isColumn = (field: unknown): field is string => typeof field === 'string'

/** A sentence about columns that a table lacks; undefined if it has them all. */
const missingIn = (table: string, wanted: readonly string[], existing: readonly string[]) => {
  if (existing.length === 0) return `the database has no table ${table}`
  const missing = wanted.find((name) => !existing.includes(name))
  if (missing === undefined) return undefined
  const near = nearest(missing, existing)
  return `the table ${table} has no column ${missing}${near === undefined ? '' : `; did you mean ${near}?`}`
}

/** Opens a table, or returns a sentence about what the database lacks. Columns of a list may be missing, as in some versions. */
const openTable = async <Table extends ClientTable | TokenTable>(
  source: Source,
  table: Table,
  id: Field | undefined,
): Promise<Opened<Table> | string> => {
  const { key = id, where = {}, json = [], join, needs = [], columns } = table
  if (!isColumn(key)) return `the map of ${table.table} must name its key: a column whose values differ`
  const existing = await source.columnsOf(table.table)
  const documents = [json].flat()
  const document = documents.find((name) => existing.includes(name)) ?? documents[0]
  const joined = join?.columns ?? {}
  // Members of the JSON are known only when a row is read.
  const named = Object.values<Field>(document === undefined ? columns : {}).filter(isColumn)
  const own = [...named, document, key, join?.on, ...Object.keys(where), ...needs].filter(isColumn)
  const missing =
    missingIn(
      table.table,
      own.filter((name) => !Object.hasOwn(joined, name)),
      existing,
    ) ??
    (join && missingIn(join.table, [join.key, ...Object.values(joined)], await source.columnsOf(join.table)))
  return missing ?? { table, key, columns: existing, json: document }
}

/** The first of several tables that the database has; undefined if it has none. The only one of a list must exist. */
const firstOpened = async <Table extends ClientTable | TokenTable>(
  source: Source,
  tables: readonly Table[],
  idOf: (table: Table) => Field | undefined,
): Promise<Opened<Table> | undefined> => {
  for (const table of tables) {
    const result = await openTable(source, table, idOf(table))
    if (typeof result !== 'string') return result
    if (tables.length === 1) throw new Error(result)
  }
  return undefined
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** Reads fields of a row in the form of client metadata. */
const fieldsOf =
  (columns: Readonly<Record<string, Field | undefined>>, row: SourceRow) =>
  (member: string, form: MemberForm): unknown => {
    const field = columns[member]
    if (typeof field === 'function') {
      try {
        return valueIn({ [member]: field(row) }, member, form)
      } catch (error) {
        throw new UnreadableValue(`the function for ${member} failed: ${reasonOf(error)}`)
      }
    }
    const column = [field ?? []].flat().find((name) => Object.hasOwn(row, name))
    return column === undefined ? undefined : valueIn(row, column, form)
  }

/** The rows of a table, each with the members of its JSON and with its name in errors. */
const rowsOf = async function* (
  source: Source,
  { table, key, columns, json }: Opened<ClientTable | TokenTable>,
  fields: readonly unknown[],
) {
  const filled = [key, ...fields].filter(isColumn).filter((name) => columns.includes(name))
  let count = 0
  for await (const rows of source.rows({ ...table, key, filled })) {
    yield rows.map((row) => {
      count += 1
      const document = json === undefined ? {} : objectIn(row, json)
      // A key may be a token, so only a number is shown.
      const isNumber = /^\d{1,20}$/.test(String(row[key]))
      return {
        document,
        row: { ...document, ...row },
        name: isNumber ? `the row with ${key} ${row[key]}` : `row ${count} in the order of ${key}`,
      }
    })
  }
}

/** Reads a row, or returns a sentence about why it cannot be read. */
const readable = <T>(
  { json }: Pick<Opened<unknown>, 'json'>,
  document: SourceRow | undefined,
  read: () => T,
): T | string => {
  if (document === undefined) return `its ${json} is no JSON object`
  try {
    return read()
  } catch (error) {
    return error instanceof UnreadableValue
      ? error.message
      : `a function of the map failed: ${reasonOf(error)}`
  }
}

const storedForm = ({ stored }: ClientTable | TokenTable, row: SourceRow) =>
  typeof stored === 'function' ? stored(row) : stored

const formOf = (member: string): MemberForm => {
  const forms: Readonly<Record<string, { readonly form: MemberForm } | undefined>> = clientMembers
  return member === 'scope' ? 'lines' : (forms[member.replace(/#.*/, '')]?.form ?? 'text')
}

const isEmpty = (value: unknown): boolean =>
  value === undefined || (Array.isArray(value) && value.length === 0)

const clientOf = (
  table: ClientTable,
  row: SourceRow,
  document: SourceRow,
): Omit<ImportedClient, 'clientId'> => {
  const { client_id: _, client_secret: __, ...members } = table.columns
  const read = fieldsOf(table.columns, row)
  const named = Object.keys(members).map((member) => {
    const value = read(member, formOf(member))
    return [member, member === 'scope' && Array.isArray(value) ? value.join(' ') : value]
  })
  const known = registeredMembers(document)
  const isKnown = (name: string): boolean => Object.hasOwn(known, name) || Object.hasOwn(table.columns, name)
  const left = Object.keys(document).filter((name) => document[name] !== null && !isKnown(name))
  const notes = [left.length > 0 && `left out: ${left.join(', ')}`, table.note?.(row)]
  return {
    secret: String(read('client_secret', 'text') ?? ''),
    form: storedForm(table, row),
    metadata: { ...known, ...Object.fromEntries(named.filter(([, value]) => !isEmpty(value))) },
    notes: notes.filter((note) => typeof note === 'string'),
    refusal: table.refused?.(row) || undefined,
    ignored: table.ignored?.(row) || undefined,
  }
}

/** A client, and its row. */
export interface ReadClient {
  readonly client: ImportedClient
  readonly row: SourceRow
}

/**
 * Reads every client of another server. One whose row cannot be read is refused.
 *
 * @throws Error that names the table or the column that is missing
 */
export const readClients = async (source: Source, tables: readonly ClientTable[]): Promise<ReadClient[]> => {
  const opened = await firstOpened(source, tables, ({ columns }) => columns.client_id)
  if (opened === undefined) {
    const names = [...new Set(tables.map((each) => each.table))].join(', ')
    throw new Error(
      `the database has none of the tables ${names} with their columns; name yours with --table, or write a map: docs/moving.md`,
    )
  }
  const { table } = opened
  const clients: ReadClient[] = []
  for await (const rows of rowsOf(source, opened, [])) {
    for (const { row, document, name } of rows) {
      const clientId = String(fieldsOf(table.columns, row)('client_id', 'text') ?? '')
      const read =
        clientId === ''
          ? 'it has no client_id'
          : readable(opened, document, () => clientOf(table, row, { ...document }))
      const client = typeof read === 'string' ? { secret: '', metadata: {}, refusal: read } : read
      clients.push({ row, client: { ...client, clientId: clientId || name } })
    }
  }
  return clients
}

/** @throws Error if the column is missing, or has a value twice, so that a token would be that of another client */
const clientIdsBy = (column: string | undefined, clients: readonly ReadClient[]) => {
  const ids = new Map<string, string>()
  for (const { client, row } of clients) {
    if (column !== undefined && !Object.hasOwn(row, column))
      throw new Error(`the table of clients has no column ${column}`)
    const key = column === undefined ? client.clientId : sourceText(row, column)
    if (ids.has(key)) throw new Error(`the column ${column} of the table of clients has a value twice`)
    if (key !== '') ids.set(key, client.clientId)
  }
  return ids
}

const tokenOf = (
  table: TokenTable,
  row: SourceRow,
  scopes: readonly string[] | undefined,
): Omit<ImportedToken, 'clientId'> => {
  const read = fieldsOf(table.columns, row)
  const text = (member: string): string => String(read(member, 'text') ?? '')
  const time = (member: string) => read(member, 'time') as number | undefined
  const granted = (read('scope', 'lines') as string[] | undefined) ?? scopes
  const unknown = granted === undefined && 'its scopes are unknown; name them with --scope'
  return {
    subject: text('subject'),
    scopes: granted ?? [],
    stored: text('refresh_token'),
    form: storedForm(table, row),
    createdAt: time('created_at'),
    expiresAt: time('expires_at'),
    authTime: time('auth_time'),
    refusal: table.refused?.(row) || unknown || undefined,
  }
}

/**
 * Reads the refresh tokens of another server, at most a thousand at a time. Those whose row cannot be read are refused; the
 * reason names the first of the rows.
 *
 * @param clients of {@link readClients}
 * @param scopes of tokens without scopes of their own
 * @throws Error that names the table or the column that is missing
 */
export const readRefreshTokens = async function* (
  source: Source,
  tables: readonly TokenTable[],
  clients: readonly ReadClient[],
  scopes: readonly string[] | undefined,
): AsyncGenerator<readonly ImportedToken[]> {
  const opened = await firstOpened(source, tables, ({ columns }) => columns.refresh_token)
  if (opened === undefined) return
  const { table } = opened
  const { clientKey, columns } = table
  const clientIds = clientIdsBy(clientKey, clients)
  const reasons = new Map<string, string>()
  for await (const rows of rowsOf(source, opened, [columns.refresh_token, columns.subject])) {
    yield rows.flatMap(({ row, document, name }): ImportedToken | readonly [] => {
      const clientId = clientIds.get(String(fieldsOf(columns, row)('client_id', 'text') ?? '')) ?? ''
      const read = readable(opened, document, () => !table.ignored?.(row) && tokenOf(table, row, scopes))
      if (typeof read !== 'string') return read ? { ...read, clientId } : []
      const refusal = reasons.get(read) ?? `${read}, first in ${name}`
      reasons.set(read, refusal)
      return { clientId, subject: '', scopes: [], stored: '', refusal }
    })
  }
}
