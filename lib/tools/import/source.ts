/** A row of a table of another server. */
export type SourceRow = Readonly<Record<string, unknown>>

/** A selection of rows. */
export interface Rows {
  readonly table: string
  /** A column whose values differ: rows come in its order. */
  readonly key: string
  readonly columns: readonly string[]
  readonly equal?: Readonly<Record<string, string | number>>
  /** Columns that must be null. */
  readonly empty?: readonly string[]
  /** Columns that must not be null. */
  readonly filled?: readonly string[]
  /** Only rows with one of these keys, at most 1,000. */
  readonly keys?: readonly unknown[]
}

/** The database of another server, which is only read. */
export interface Source {
  /** The names of the columns of a table; empty if there is no such table. */
  columnsOf(table: string): Promise<readonly string[]>
  /** The rows, at most 1,000 at a time. */
  rows(wanted: Rows): AsyncIterable<readonly SourceRow[]>
}

/** The whole of a table that is not large. */
export const allRows = async (source: Source, wanted: Rows): Promise<SourceRow[]> => {
  const all: SourceRow[] = []
  for await (const rows of source.rows(wanted)) all.push(...rows)
  return all
}

/**
 * Those of the wanted columns that a table has: versions of a server differ in their columns.
 *
 * @throws Error if the table or one of the required columns is missing
 */
export const knownColumns = async (
  source: Source,
  table: string,
  {
    required,
    optional = [],
  }: { readonly required: readonly string[]; readonly optional?: readonly string[] },
): Promise<string[]> => {
  const existing = await source.columnsOf(table)
  if (existing.length === 0) throw new Error(`the database has no table ${table}`)
  const missing = required.find((name) => !existing.includes(name))
  if (missing !== undefined) throw new Error(`the table ${table} has no column ${missing}`)
  return [...required, ...optional.filter((name) => existing.includes(name))]
}

/** A string; empty for null and for a column that this version of the server does not have. */
export const textIn = (row: SourceRow, column: string): string => String(row[column] ?? '')

/** A flag: databases and drivers return true, 1, '1' or 't'. */
export const flagIn = (row: SourceRow, column: string): boolean =>
  [true, 1, '1', 't', 'true'].includes((row[column] ?? false) as boolean | number | string)

/** A list: an array of the database, JSON, or words with spaces, line breaks or commas between them. */
export const listIn = (row: SourceRow, column: string, separator = /[\s,]+/): string[] => {
  const value = row[column]
  if (Array.isArray(value)) return value.map(String)
  const text = textIn(row, column).trim()
  const parsed = text.startsWith('[') ? jsonOf(text) : undefined
  return Array.isArray(parsed) ? parsed.map(String) : text.split(separator).filter(Boolean)
}

const jsonOf = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A JSON object, stored as JSON or as text; undefined if it is none. */
export const objectIn = (row: SourceRow, column: string): SourceRow | undefined => {
  const value = typeof row[column] === 'string' ? jsonOf(row[column]) : row[column]
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value))
    : undefined
}

/** A number above this is in milliseconds. */
const lateSeconds = 100_000_000_000

/**
 * A time in epoch seconds; undefined for null. Times without a zone are in UTC, as all these servers store them by default.
 *
 * @throws Error that names the column, for a value that is no time
 */
export const timeIn = (row: SourceRow, column: string): number | undefined => {
  const value = row[column] ?? undefined
  if (value === undefined) return undefined
  const number = Number(value instanceof Date ? value.getTime() : value)
  if (Number.isFinite(number)) return Math.floor(number > lateSeconds ? number / 1000 : number)
  const text = String(value).replace(' ', 'T')
  const parsed = Date.parse(/(Z|[+-]\d\d(:?\d\d)?)$/.test(text.slice(10)) ? text : `${text}Z`)
  if (Number.isNaN(parsed)) throw new Error(`the column ${column} has a value that is no time`)
  return Math.floor(parsed / 1000)
}
