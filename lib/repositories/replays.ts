import { isUniqueViolation } from '../database/errors.ts'
import { command } from '../database/statement.ts'
import type { Database } from '../database/types.ts'

const insert = command<{ hash: string; expiresAt: number }>((table, v) =>
  table('replays').insert({ hash: v.hash, expires_at: v.expiresAt }),
)

/**
 * Remembers that something was used; every process of this database then knows.
 *
 * @param hash of what may be used once, its issuer included
 * @param expiresAt epoch seconds from which on it is refused for its age anyway
 * @returns false when it had been used before: of any number at once, one gets true
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
