import { randomUUID } from 'node:crypto'
import type { Database } from '../../lib/storage/database/types.ts'
import { createLogin } from '../../lib/storage/repositories/index.ts'

/** The sid of a new login of this user, for what only a login can store. */
export const standingLogin = async (database: Database, subject: string, now: number): Promise<string> => {
  const sid = randomUUID()
  await createLogin(database, { sid, subject, authTime: now, amr: ['pwd'], expiresAt: now + 43_200 })
  return sid
}
