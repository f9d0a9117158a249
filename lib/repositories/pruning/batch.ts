import type { Knex } from 'knex'
import type { Row, Value } from '../../database/types.ts'

/** Rows that one statement has removed. */
export interface Removed {
  readonly table: string
  readonly count: number
}

/** Removes a few rows at a time; whoever takes the steps may pause between them, and stop after any. */
export type Removal = AsyncGenerator<Removed, void, undefined>

/** The most rows that one statement reads or removes: on SQLite, which blocks, a few milliseconds of work. */
export const batchSize = 100

/** Whether a batch that was read leaves nothing behind. */
export const isLast = (rows: readonly Row[]): boolean => rows.length < batchSize

const places = Array.from({ length: batchSize }, (_, place) => `key${place}`)

/** Values of a statement that takes a batch of keys; its others have names of their own. */
export type BatchParams = Readonly<Record<string, Value>>

/** Where the keys stand in the statement. */
export const keysIn = (values: Readonly<Record<string, Knex.Value>>): Knex.Value[] =>
  places.map((place) => values[place] ?? null)

/** So that the statement has one shape however many keys there are, the last one stands in every place that is left. */
export const batchParams = (keys: readonly string[], others: BatchParams = {}): BatchParams => ({
  ...Object.fromEntries(places.map((place, index) => [place, keys[index] ?? keys.at(-1) ?? null])),
  ...others,
})
