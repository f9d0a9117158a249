import { command, query, textOrNull } from '../database/statement.ts'
import type { Database } from '../database/types.ts'

const byPurpose = query<{ purpose: string }>((table, v) =>
  table('salts').select('sealed').where({ purpose: v.purpose }),
)
const insert = command<{ purpose: string; sealed: string }>((table, v) =>
  table('salts').insert({ purpose: v.purpose, sealed: v.sealed }),
)
const replace = command<{ purpose: string; from: string; to: string }>((table, v) =>
  table('salts').where({ purpose: v.purpose, sealed: v.from }).update({ sealed: v.to }),
)

/** The encrypted salt of a purpose. */
export const findSalt = async (db: Database, values: { purpose: string }): Promise<string | undefined> => {
  const [row] = await byPurpose(db, values)
  return row && (textOrNull(row, 'sealed') ?? undefined)
}

/** @throws OAuthError with a unique violation as its cause if another process was first */
export const createSalt = async (
  db: Database,
  values: { purpose: string; sealed: string },
): Promise<void> => {
  await insert(db, values)
}

/** Replaces the encryption of a salt, unless another process has done so. */
export const resealSalt = async (
  db: Database,
  values: { purpose: string; from: string; to: string },
): Promise<void> => {
  await replace(db, values)
}
