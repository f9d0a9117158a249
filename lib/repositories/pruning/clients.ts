import { command, query, text } from '../../database/statement.ts'
import type { Database } from '../../database/types.ts'
import { removeFamilies } from './authorizations.ts'
import { type BatchParams, batchesOf, batchParams, batchSize, keysIn, type Removal } from './batch.ts'

const consents = query<{ clientId: string }>((table, v) =>
  table('consents')
    .select('subject')
    .where({ client_id: v.clientId })
    .limit(batchSize, { skipBinding: true }),
)
const removeConsents = command<BatchParams>((table, v) =>
  table('consents')
    .whereIn('subject', keysIn(v))
    .where({ client_id: v.clientId ?? null })
    .delete(),
)

const authorizations = query<{ clientId: string }>((table, v) =>
  table('authorizations')
    .select('id')
    .where({ client_id: v.clientId })
    .limit(batchSize, { skipBinding: true }),
)

const ownTokens = query<{ clientId: string }>((table, v) =>
  table('access_tokens')
    .select('hash')
    .where({ client_id: v.clientId })
    .whereNull('authorization_id')
    .limit(batchSize, { skipBinding: true }),
)
const removeOwnTokens = command<BatchParams>((table, v) =>
  table('access_tokens').whereIn('hash', keysIn(v)).delete(),
)

/** Removes a client's consents, authorizations and tokens, a few rows at a time. It can be repeated after an error. */
export const removeDataOfClient = async function* (
  db: Database,
  { clientId }: { readonly clientId: string },
): Removal {
  for await (const rows of batchesOf(() => consents(db, { clientId }))) {
    const subjects = rows.map((row) => text(row, 'subject'))
    yield { table: 'consents', count: await removeConsents(db, batchParams(subjects, { clientId })) }
  }
  for await (const rows of batchesOf(() => authorizations(db, { clientId }))) {
    yield* removeFamilies(
      db,
      rows.map((row) => text(row, 'id')),
    )
  }
  for await (const rows of batchesOf(() => ownTokens(db, { clientId }))) {
    const hashes = rows.map((row) => text(row, 'hash'))
    yield { table: 'access_tokens', count: await removeOwnTokens(db, batchParams(hashes)) }
  }
}
