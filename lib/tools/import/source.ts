import { isUtf8 } from 'node:buffer'
import type { MemberForm } from '../../protocol/clients/client-metadata-checks.ts'

/** A row of a table of another server. */
export type SourceRow = Readonly<Record<string, unknown>>

/** A string; empty for null and for a column that this version of the server does not have. Bytes that are no text are hexadecimal. */
export const sourceText = (row: SourceRow, column: string): string => {
  const value = row[column] ?? ''
  return Buffer.isBuffer(value) ? value.toString(isUtf8(value) ? 'utf8' : 'hex') : String(value)
}

/** A flag: databases and drivers return true, 1, '1' or 't'. */
export const flagIn = (row: SourceRow, column: string): boolean =>
  [true, 1, '1', 't', 'true'].includes(row[column] as number)

const jsonOf = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A list: an array of the database, JSON, or words with spaces, line breaks or commas between them. */
export const listIn = (row: SourceRow, column: string, separator = /[\s,]+/): string[] => {
  const value = row[column]
  if (Array.isArray(value)) return value.map(String)
  const text = sourceText(row, column).trim()
  const parsed = text.startsWith('[') ? jsonOf(text) : undefined
  return Array.isArray(parsed) ? parsed.map(String) : text.split(separator).filter(Boolean)
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

/** A time in epoch seconds; undefined if it is none. Without a zone it is in UTC, as these servers store it by default. */
const timeOf = (value: unknown): number | undefined => {
  const number = Number(value instanceof Date ? value.getTime() : value)
  if (Number.isFinite(number)) return Math.floor(number > lateSeconds ? number / 1000 : number)
  const text = String(value).replace(' ', 'T').replace(' ', '')
  const parsed = Date.parse(/(Z|[+-]\d\d(:?\d\d)?)$/.test(text.slice(10)) ? text : `${text}Z`)
  return Number.isNaN(parsed) ? undefined : Math.floor(parsed / 1000)
}

/** A value that cannot be read. */
export class UnreadableValue extends Error {
  override readonly name = 'UnreadableValue'
}

const refuse = (column: string, form: string): never => {
  throw new UnreadableValue(`the column ${column} has a value that is no ${form}`)
}

/**
 * A value in the form of client metadata; undefined for null, and for an empty string that is no list.
 *
 * @param column its name, for the error
 * @throws UnreadableValue that names the column
 */
export const valueIn = (row: SourceRow, column: string, form: MemberForm): unknown => {
  const value = row[column] ?? undefined
  if (value === undefined) return undefined
  if (form === 'lines' || form === 'choices') return listIn(row, column)
  if (value === '') return undefined
  if (form === 'object') return objectIn(row, column) ?? refuse(column, 'JSON object')
  if (form === 'time') return timeOf(value) ?? refuse(column, 'time')
  if (form === 'number') return Number.isFinite(Number(value)) ? Number(value) : refuse(column, 'number')
  if (form !== 'flag') return sourceText(row, column)
  return (
    flagIn(row, column) ||
    (![false, 0, '0', 'f', 'false'].includes(value as number) && refuse(column, 'flag'))
  )
}
