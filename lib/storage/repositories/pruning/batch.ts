import type { Knex } from 'knex'
import type { Row, Value } from '../../database/types.ts'
import type { Places } from '../statements.ts'

/** The number of rows that one statement removed. */
export interface Removed {
  readonly table: string
  readonly count: number
}

/** Removes a batch of rows with each step; the caller may pause between steps, or stop. */
export type Removal = AsyncGenerator<Removed, void, undefined>

/** The most rows that one statement reads or removes; on SQLite, which blocks, that takes a few milliseconds. */
export const batchSize = 100

/** Whether no rows are left after this batch. */
export const isLast = (rows: readonly Row[]): boolean => rows.length < batchSize

/** Batches of rows, until there are none left. The statement must not find again what the caller has removed. */
export const batchesOf = async function* (
  find: () => Promise<readonly Row[]>,
): AsyncGenerator<readonly Row[]> {
  let rows: readonly Row[]
  do {
    rows = await find()
    if (rows.length > 0) yield rows
  } while (!isLast(rows))
}

/** Values of a statement that takes a batch of keys, and possibly others by name. */
export type BatchParams = Readonly<Record<string, Value>>

/** So many places for keys in a statement, which stays the same for any smaller number of keys. */
export const keyPlaces = (count: number) => {
  const places = Array.from({ length: count }, (_, place) => `key${place}`)
  return {
    /** The places of the keys in the statement. */
    keysIn: (values: Places): Knex.Value[] => places.map((place) => values[place] ?? null),
    /** Repeats the last key in the places that are left. */
    keyParams: (keys: readonly string[], others: BatchParams = {}): BatchParams => ({
      ...Object.fromEntries(places.map((place, index) => [place, keys[index] ?? keys.at(-1) ?? null])),
      ...others,
    }),
  }
}

export const { keysIn, keyParams: batchParams } = keyPlaces(batchSize)
