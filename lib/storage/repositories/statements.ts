import type { Knex } from 'knex'
import { isUniqueViolation, rowsOrNone } from '../database/errors.ts'
import type { Database, Row } from '../database/types.ts'

/** Begins a statement on a table, by its name without the prefix. */
export type Table = (name: string) => Knex.QueryBuilder

/** The full name of a table. */
export type FullName = (table: string) => string

/** The places of values in a statement. */
export type Places<Names extends string = string> = Readonly<Record<Names, Knex.Value>>

type Read<Values> = (db: Database, values: Values) => Promise<readonly Row[]>

/** Reads one row; undefined if there is none, or if the database cannot hold the value that is looked for. */
export const findOne =
  <Values, T>(read: Read<Values>, of: (row: Row) => T) =>
  async (db: Database, values: Values): Promise<T | undefined> => {
    const [row] = await rowsOrNone(read(db, values))
    return row && of(row)
  }

/** Reads all rows. */
export const findAll =
  <Values, T>(read: Read<Values>, of: (row: Row) => T) =>
  async (db: Database, values: Values): Promise<T[]> =>
    (await read(db, values)).map(of)

/** Runs a statement that writes, and says whether it touched a row. */
export const touches =
  <Values>(write: (db: Database, values: Values) => Promise<number>) =>
  async (db: Database, values: Values): Promise<boolean> =>
    (await write(db, values)) > 0

/** Whether a row is inserted; false if one with the same key is there. */
export const isInserted = async (insert: Promise<number>): Promise<boolean> => {
  try {
    await insert
    return true
  } catch (error) {
    if (isUniqueViolation(error)) return false
    throw error
  }
}
