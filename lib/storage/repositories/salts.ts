import { command, insertInto, query, textOf } from '../database/statement.ts'
import { findOne } from './statements.ts'

/** The encrypted salt of a purpose. */
export const findSalt = findOne(
  query<{ purpose: string }>((table, v) => table('salts').select('sealed').where({ purpose: v.purpose })),
  (row) => textOf(row, 'sealed'),
)

/** Stores a salt. It fails with a unique violation if another process was first. */
export const createSalt = insertInto('salts')

/** Replaces the encryption of a salt, unless another process has done so. */
export const resealSalt = command<{ purpose: string; from: string; to: string }>((table, v) =>
  table('salts').where({ purpose: v.purpose, sealed: v.from }).update({ sealed: v.to }),
)
