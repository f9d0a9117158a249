import { command, query, text } from '../../database/statement.ts'
import type { Database } from '../../database/types.ts'
import { removeFamilies } from './authorizations.ts'
import { type BatchParams, batchParams, batchSize, isLast, keysIn } from './batch.ts'

/**
 * Keys of a client's rows, in batches. No index has the client first, so each batch starts after the last key of the
 * previous one: together they read the table once.
 */
const keysOfClient = (name: string, key: string) => {
  const find = query<{ clientId: string; after: string }>((table, v) =>
    table(name)
      .select(key)
      .where({ client_id: v.clientId })
      .where(key, '>', v.after)
      .orderBy(key)
      .limit(batchSize, { skipBinding: true }),
  )
  return async function* (db: Database, clientId: string): AsyncGenerator<readonly string[]> {
    let after: string | undefined = ''
    while (after !== undefined) {
      const rows = await find(db, { clientId, after })
      const keys = rows.map((row) => text(row, key))
      if (keys.length > 0) yield keys
      after = isLast(rows) ? undefined : keys.at(-1)
    }
  }
}

const consentSubjects = keysOfClient('consents', 'subject')
const authorizationIds = keysOfClient('authorizations', 'id')
const accessTokenHashes = keysOfClient('access_tokens', 'hash')

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
export const removeDataOfClient = async (
  db: Database,
  { clientId }: { readonly clientId: string },
): Promise<void> => {
  for await (const subjects of consentSubjects(db, clientId)) {
    await removeConsents(db, batchParams(subjects, { clientId }))
  }
  for await (const ids of authorizationIds(db, clientId)) {
    for await (const _ of removeFamilies(db, ids));
  }
  // The client's own tokens, which belong to no authorization.
  for await (const hashes of accessTokenHashes(db, clientId)) {
    await removeAccessTokens(db, batchParams(hashes))
  }
}
