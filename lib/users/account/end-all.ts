import type { AuthorizationServer } from '../../oauth/authorization-server.ts'
import type { Write } from '../../storage/database/statement.ts'
import { transaction } from '../../storage/database/transaction.ts'
import {
  endLogin,
  listLogins,
  revokeAuthorizationsOfSubject,
  stopAttempts,
} from '../../storage/repositories/index.ts'

/** The logins that ended, and counts of rows. */
interface Ended {
  readonly sids: readonly string[]
  /** The number of rows that each of the writes touched. */
  readonly counts: readonly number[]
}

/**
 * Ends everything that a user has, and stops everything that has begun and would give them more: sign-ins, and authorizations
 * without a login. All of it ends at one moment, so that nothing can renew the rest. What a login stores that outlives it
 * holds the lock on that login, and so comes before this moment or not at all.
 *
 * @param writes what else ends
 */
export const endAllOf = (
  { database, installed, now: clock }: Pick<AuthorizationServer, 'database' | 'installed' | 'now'>,
  subject: string,
  writes: readonly Write[] = [],
): Promise<Ended> =>
  transaction(database, async (tx) => {
    const now = clock()
    await stopAttempts(tx, { subject, now })
    const sids: string[] = []
    for (const sid of await listLogins(tx, { subject, now }))
      if (await endLogin(tx, { sid, now })) sids.push(sid)
    await revokeAuthorizationsOfSubject(tx, { subject, now })
    for (const { storage } of installed) await storage?.users?.revoke(tx, subject)
    const counts: number[] = []
    for (const write of writes) counts.push(await write.run(tx))
    return { sids, counts }
  })
