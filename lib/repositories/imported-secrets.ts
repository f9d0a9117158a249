import { command, query, text } from '../database/statement.ts'
import type { Database } from '../database/types.ts'

const byClient = query<{ clientId: string }>((table, v) =>
  table('imported_secrets').select(['client_id', 'hash']).where({ client_id: v.clientId }),
)

/** The hash that another server made of the secret of a client. */
export const findImportedSecret = async (
  db: Database,
  { clientId }: { clientId: string },
): Promise<string | undefined> => {
  const [row] = await byClient(db, { clientId })
  return row && text(row, 'hash')
}

const save = command<{ clientId: string; hash: string }>((table, v) =>
  table('imported_secrets')
    .insert({ client_id: v.clientId, hash: v.hash })
    .onConflict(['client_id'])
    .merge(['hash']),
)

/** Stores the hash of a client's secret. It replaces the previous one. */
export const saveImportedSecret = async (
  db: Database,
  values: { clientId: string; hash: string },
): Promise<void> => {
  await save(db, values)
}

const remove = command<{ clientId: string }>((table, v) =>
  table('imported_secrets').where({ client_id: v.clientId }).delete(),
)

export const removeImportedSecret = async (db: Database, values: { clientId: string }): Promise<void> => {
  await remove(db, values)
}

interface Upgrade {
  clientId: string
  /** What stands for the imported hash in the row of the client. */
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
  if ((await upgradeCurrent(db, upgrade)) === 0) await upgradePrevious(db, upgrade)
  await remove(db, upgrade)
}
