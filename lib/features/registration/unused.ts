import type { AuthorizationServer } from '../../authorization-server.ts'
import { query, text } from '../../database/statement.ts'
import { transaction } from '../../database/transaction.ts'
import type { Database, Row } from '../../database/types.ts'
import { OAuthError } from '../../protocol/errors.ts'
import { deleteClient } from '../../repositories/clients.ts'
import { batchSize, isLast, type Removal } from '../../repositories/pruning/batch.ts'
import { countUnusedClients, deleteUnusedRegistration } from './table.ts'

/** A disabled client stays: its document would otherwise be read again and create it anew. */
const findUnused = query<{ before: number }>((table, v, name) =>
  table('client_registrations as registrations')
    .join(name('clients as clients'), 'clients.client_id', 'registrations.client_id')
    .select('registrations.client_id')
    .where('registrations.expires_at', '<=', v.before)
    .whereNull('clients.disabled_at')
    .orderBy('registrations.expires_at')
    .limit(batchSize, { skipBinding: true }),
)

/** Another request may use the client at the same moment: then it stays, or that request finds it gone. */
const removeUnused = (db: Database, clientId: string, before: number): Promise<boolean> =>
  transaction(db, async (tx) => {
    const isUnused = await deleteUnusedRegistration(tx, { clientId, before })
    if (isUnused) await deleteClient(tx, { clientId })
    return isUnused
  })

/**
 * Removes clients that described themselves and that no user has allowed anything until their expiry. They have neither consents nor
 * tokens.
 */
export const removeUnusedClients = async function* (
  db: Database,
  { before }: { readonly before: number },
): Removal {
  let rows: readonly Row[]
  do {
    rows = await findUnused(db, { before })
    let count = 0
    for (const row of rows) if (await removeUnused(db, text(row, 'client_id'), before)) count += 1
    if (rows.length > 0) yield { table: 'clients', count }
  } while (!isLast(rows))
}

/** The most unused clients. If there are more, the oldest make room; one that is younger than this stays, in seconds. */
const maxUnused = 10_000
const minUnusedAge = 3600

/**
 * Makes room for a client that no user has allowed anything yet, so that strangers cannot fill the database.
 *
 * @throws OAuthError `temporarily_unavailable` if all such clients are very recent
 */
export const makeRoom = async ({
  database,
  options,
  now,
}: Pick<AuthorizationServer, 'database' | 'options' | 'now'>): Promise<void> => {
  if ((await countUnusedClients(database)) < maxUnused) return
  const before = now() + options.lifetimes.unusedClient - minUnusedAge
  const { value: removed } = await removeUnusedClients(database, { before }).next()
  if (removed && removed.count > 0) return
  throw new OAuthError('temporarily_unavailable', 'too many clients have been registered, try again later', {
    headers: { 'Retry-After': String(minUnusedAge) },
  })
}
