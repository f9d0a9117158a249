import { json, text } from '../database/row.ts'
import { command, query } from '../database/statement.ts'
import type { Database } from '../database/types.ts'
import type { AuthorizationDetails } from '../protocol/authorization.ts'
import { type BatchParams, batchParams, batchSize, keysIn } from './pruning/batch.ts'

const ofClient = query<{ subject: string; clientId: string }>((table, v) =>
  table('authorizations')
    .select(['id', 'request'])
    .where({ subject: v.subject, client_id: v.clientId })
    .whereNull('revoked_at'),
)

const revoke = command<BatchParams>((table, v) =>
  table('authorizations')
    .whereIn('id', keysIn(v))
    .whereNull('revoked_at')
    .update({ revoked_at: v.now ?? null }),
)

/**
 * Ends what a user gave to one client for one workspace, and nothing of the others. In a transaction that has taken
 * the lock on the consent, or a code that is issued at the same moment is not seen.
 *
 * @param values.organization undefined for what was given before the host had workspaces
 * @returns whether there was something to end
 */
export const revokeAuthorizationsOfOrganization = async (
  db: Database,
  {
    subject,
    clientId,
    organization,
    now,
  }: {
    subject: string
    clientId: string
    organization: string | undefined
    now: number
  },
): Promise<boolean> => {
  const ids = (await ofClient(db, { subject, clientId }))
    .filter((row) => json<AuthorizationDetails>(row, 'request').organization === organization)
    .map((row) => text(row, 'id'))
  let count = 0
  for (let start = 0; start < ids.length; start += batchSize)
    count += await revoke(db, batchParams(ids.slice(start, start + batchSize), { now }))
  return count > 0
}
