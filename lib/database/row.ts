import type { Row } from './driver.ts'

/** PostgreSQL returns bigint as text, the other two as a number; every conversion stands here. */
export const number = (row: Row, column: string): number => Number(row[column])

export const numberOrNull = (row: Row, column: string): number | null =>
  row[column] === null || row[column] === undefined ? null : Number(row[column])

export const text = (row: Row, column: string): string => String(row[column])

export const textOrNull = (row: Row, column: string): string | null =>
  row[column] === null || row[column] === undefined ? null : String(row[column])

/** A value that this kit itself has written as JSON. */
export const json = <T>(row: Row, column: string): T => JSON.parse(text(row, column))

export const jsonOrUndefined = <T>(row: Row, column: string): T | undefined =>
  textOrNull(row, column) === null ? undefined : json<T>(row, column)

/** Scopes are stored as the wire has them. */
export const scopes = (row: Row, column = 'scopes'): string[] => text(row, column).split(' ').filter(Boolean)

/** A flag is stored as 0 or 1. */
export const flag = (row: Row, column: string): boolean => Number(row[column]) === 1
