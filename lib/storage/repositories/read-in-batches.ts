import type { Database, Row } from '../database/types.ts'
import { type BatchParams, batchParams, batchSize } from './pruning/batch.ts'

/** Lets other requests run: on SQLite statements answer at once, and a series of them would block. */
export const othersFirst = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/**
 * Reads rows by their keys, a batch at a time, so that a long list does not hold up other requests.
 *
 * @param keys in the order of the rows
 * @param read the rows of one batch of keys, in the same order
 */
export const readInBatches = async (
  db: Database,
  keys: readonly string[],
  read: (db: Database, values: BatchParams) => Promise<readonly Row[]>,
): Promise<Row[]> => {
  const rows: Row[] = []
  for (let start = 0; start < keys.length; start += batchSize) {
    if (start > 0) await othersFirst()
    rows.push(...(await read(db, batchParams(keys.slice(start, start + batchSize)))))
  }
  return rows
}
