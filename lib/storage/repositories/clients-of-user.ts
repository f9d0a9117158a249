import { numberOf, query, textOf } from '../database/statement.ts'
import type { Database } from '../database/types.ts'
import { maxCounted } from './client-usage.ts'
import { listLogins } from './logins.ts'

/** The most clients of one user that are listed, the last used first. */
const maxClients = 1000

const allowed = query<{ subject: string }>((table, v) =>
  table('consents')
    .select(['subject', 'client_id'])
    .max('updated_at as used_at')
    .where({ subject: v.subject })
    .groupBy(['subject', 'client_id'])
    .orderBy([{ column: 'used_at', order: 'desc' }, 'client_id'])
    .limit(maxClients, { skipBinding: true }),
)

// Reads the index alone, however often a client was granted something.
const granted = query<{ subject: string }>((table, v) =>
  table('authorizations')
    .select(['subject', 'client_id'])
    .max('created_at as used_at')
    .where({ subject: v.subject })
    .whereNull('revoked_at')
    .groupBy(['subject', 'client_id'])
    .orderBy([{ column: 'used_at', order: 'desc' }, 'client_id'])
    .limit(maxClients, { skipBinding: true }),
)

/**
 * The ids of the clients that a user allowed or granted something, at most 1,000: the one with the last sign-in first. What
 * was granted may have expired.
 */
export const listClientsOfUser = async (db: Database, values: { subject: string }): Promise<string[]> => {
  const rows = [...(await allowed(db, values)), ...(await granted(db, values))]
  const used = new Map<string, number>()
  for (const row of rows) {
    const clientId = textOf(row, 'client_id')
    used.set(clientId, Math.max(used.get(clientId) ?? 0, numberOf(row, 'used_at')))
  }
  return [...used]
    .sort(([one, before], [other, after]) => after - before || (one < other ? -1 : 1))
    .map(([clientId]) => clientId)
    .slice(0, maxClients)
}

const authorizations = query<{ subject: string }>((table, v, _name, raw) =>
  raw('select count(*) as count from (?) as counted', [
    table('authorizations')
      .select('id')
      .where({ subject: v.subject })
      .whereNull('revoked_at')
      .limit(maxCounted, { skipBinding: true }),
  ]),
)

/**
 * Counts what a user has: active logins, clients with access, at most 1,000, and authorizations that were not ended, at most
 * {@link maxCounted}. Some of these may have expired.
 */
export const countUsageOfUser = async (db: Database, values: { subject: string; now: number }) => {
  const [row] = await authorizations(db, values)
  return {
    logins: (await listLogins(db, values)).length,
    clients: (await listClientsOfUser(db, values)).length,
    authorizations: row ? numberOf(row, 'count') : 0,
  }
}
