import type { Knex } from 'knex'
import { command, query, textOf } from '../../database/statement.ts'
import type { Database } from '../../database/types.ts'
import { removeFamilies } from './authorizations.ts'
import { type BatchParams, batchesOf, batchParams, batchSize, keysIn, type Removal } from './batch.ts'

/**
 * A batch of a client's rows. PostgreSQL plans this for any client at once, and would read the whole table if most rows are of
 * a few clients; it uses the index for a range in its order.
 */
const batchOf = (name: string, key: string, only = (rows: Knex.QueryBuilder) => rows) => {
  const find = query<{ clientId: string }>((table, v) =>
    only(table(name).select(key))
      .whereBetween('client_id', [v.clientId, v.clientId])
      .orderBy('client_id')
      .limit(batchSize, { skipBinding: true }),
  )
  return async function* (db: Database, clientId: string): AsyncGenerator<readonly string[]> {
    for await (const rows of batchesOf(() => find(db, { clientId })))
      yield rows.map((row) => textOf(row, key))
  }
}

const consentSubjects = batchOf('consents', 'subject')
const authorizationIds = batchOf('authorizations', 'id')
// The client's own: the others go with their authorization.
const ownTokenHashes = batchOf('access_tokens', 'hash', (rows) => rows.whereNull('authorization_id'))

const removeConsents = command<BatchParams>((table, v) =>
  table('consents')
    .whereIn('subject', keysIn(v))
    .where({ client_id: v.clientId ?? null })
    .delete(),
)
const removeAccessTokens = command<BatchParams>((table, v) =>
  table('access_tokens').whereIn('hash', keysIn(v)).delete(),
)

/** Removes a client's consents, authorizations and tokens, a few rows at a time. It can be repeated after an error. */
export const removeDataOfClient = async function* (
  db: Database,
  { clientId }: { readonly clientId: string },
): Removal {
  for await (const subjects of consentSubjects(db, clientId))
    yield { table: 'consents', count: await removeConsents(db, batchParams(subjects, { clientId })) }
  for await (const ids of authorizationIds(db, clientId)) yield* removeFamilies(db, ids)
  for await (const hashes of ownTokenHashes(db, clientId))
    yield { table: 'access_tokens', count: await removeAccessTokens(db, batchParams(hashes)) }
}
