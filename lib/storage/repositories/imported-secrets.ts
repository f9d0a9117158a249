import { command, query, textOf } from '../database/statement.ts'
import type { Database } from '../database/types.ts'
import { findOne } from './statements.ts'

/** The hash that another server made of the secret of a client. */
export const findImportedSecret = findOne(
  query<{ clientId: string }>((table, v) =>
    table('imported_secrets').select('hash').where({ client_id: v.clientId }),
  ),
  (row) => textOf(row, 'hash'),
)

/** Stores the hash of a client's secret. It replaces the previous one. */
export const saveImportedSecret = command<{ clientId: string; hash: string }>((table, v) =>
  table('imported_secrets')
    .insert({ client_id: v.clientId, hash: v.hash })
    .onConflict(['client_id'])
    .merge(['hash']),
)

/** Removes the hash of a client's secret. */
export const removeImportedSecret = command<{ clientId: string }>((table, v) =>
  table('imported_secrets').where({ client_id: v.clientId }).delete(),
)

interface Upgrade {
  clientId: string
  /** The mark that stands for the imported hash in the row of the client. */
  mark: string
  /** Our hash of the same secret. */
  hash: string
}

const upgradeCurrent = command<Upgrade>((table, v) =>
  table('clients').where({ client_id: v.clientId, secret_hash: v.mark }).update({ secret_hash: v.hash }),
)

const upgradePrevious = command<Upgrade>((table, v) =>
  table('clients')
    .where({ client_id: v.clientId, previous_secret_hash: v.mark })
    .update({ previous_secret_hash: v.hash }),
)

/** Puts our own hash in the place of an imported one, unless the client has got another secret meanwhile. */
export const upgradeImportedSecret = async (db: Database, upgrade: Upgrade): Promise<void> => {
  const touched = (await upgradeCurrent(db, upgrade)) || (await upgradePrevious(db, upgrade))
  // Another one may have been imported since.
  if (touched > 0) await removeImportedSecret(db, upgrade)
}
