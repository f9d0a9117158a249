import { insertInto } from '../database/statement.ts'
import type { Database } from '../database/types.ts'
import { isInserted } from './statements.ts'

const insert = insertInto('replays')

/**
 * Records that something was used, for all processes.
 *
 * @param hash of what may be used once, including its issuer
 * @param expiresAt epoch seconds; after that, it is refused because of its age anyway
 * @returns false if it was used before; of any number of calls at the same time, one returns true
 */
export const createReplay = (
  db: Database,
  { hash, expiresAt }: { hash: string; expiresAt: number },
): Promise<boolean> => isInserted(insert(db, { hash, expires_at: expiresAt }))
