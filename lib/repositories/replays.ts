import { isUniqueViolation } from '../database/errors.ts'
import { command } from '../database/statement.ts'
import type { Database } from '../database/types.ts'

const insert = command<{ hash: string; expiresAt: number }>((table, v) =>
  table('replays').insert({ hash: v.hash, expires_at: v.expiresAt }),
)

/**
 * Records that something was used, for all processes.
 *
 * @param hash of what may be used once, including its issuer
 * @param expiresAt epoch seconds; after that, it is refused because of its age anyway
 * @returns false if it was used before; of any number of calls at the same time, one returns true
 */
export const createReplay = async (
  db: Database,
  values: { hash: string; expiresAt: number },
): Promise<boolean> => {
  try {
    await insert(db, values)
    return true
  } catch (error) {
    if (isUniqueViolation(error)) return false
    throw error
  }
}
