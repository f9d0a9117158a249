import { number, query } from '../database/statement.ts'
import type { Database } from '../database/types.ts'

const users = query<{ clientId: string }>((table, v) =>
  table('consents').countDistinct('subject as count').where({ client_id: v.clientId }),
)

const authorizations = query<{ clientId: string }>((table, v) =>
  table('authorizations').count('id as count').where({ client_id: v.clientId }).whereNull('revoked_at'),
)

/**
 * Counts what ends with a client: the users who allow it something, and the authorizations that were not ended, some of
 * which may have expired. It reads each table once, as deleting the client does.
 */
export const countUsageOfClient = async (db: Database, values: { clientId: string }) => {
  const [[user], [authorization]] = [await users(db, values), await authorizations(db, values)]
  return {
    users: user ? number(user, 'count') : 0,
    authorizations: authorization ? number(authorization, 'count') : 0,
  }
}
