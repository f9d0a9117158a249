import type { Row } from './types.ts'

/** @throws Error when the SELECT did not name the column */
const columnOf = (row: Row, column: string): unknown => {
  const value = row[column]
  if (value === undefined) throw new Error(`latchkey: the column ${column} is missing from the row`)
  return value
}

/** @throws Error when the SELECT did not name the column, or the value is null */
const notNull = (row: Row, column: string): unknown => {
  const value = columnOf(row, column)
  if (value === null) throw new Error(`latchkey: the column ${column} is null`)
  return value
}

/** A number. PostgreSQL returns bigint as a string, the other databases as a number. */
export const number = (row: Row, column: string): number => Number(notNull(row, column))

export const numberOrNull = (row: Row, column: string): number | null =>
  columnOf(row, column) === null ? null : number(row, column)

/** A string. */
export const text = (row: Row, column: string): string => String(notNull(row, column))

export const textOrNull = (row: Row, column: string): string | null =>
  columnOf(row, column) === null ? null : text(row, column)

/** A value that we stored as JSON. */
export const json = <T>(row: Row, column: string): T => JSON.parse(text(row, column))

export const jsonOrUndefined = <T>(row: Row, column: string): T | undefined =>
  columnOf(row, column) === null ? undefined : json<T>(row, column)

/** Scopes, which are stored as one string with spaces between them. */
export const scopes = (row: Row, column = 'scopes'): string[] => text(row, column).split(' ').filter(Boolean)

/** A flag, which is stored as 0 or 1. */
export const flag = (row: Row, column: string): boolean => number(row, column) === 1
