import {
  command,
  insertInto,
  numberOf,
  numberOrNull,
  query,
  textOf,
  textOrNull,
} from '../../storage/database/statement.ts'
import type { Database, Row } from '../../storage/database/types.ts'
import { findAll, findOne, touches } from '../../storage/repositories/statements.ts'

/** The organization of a service account and who made it. Times are epoch seconds. */
export interface AccountRow {
  readonly clientId: string
  readonly organization: string
  /** The user; null after they were erased, and empty for an account that the host made. */
  readonly createdBy: string | null
  readonly createdAt: number
  /** At most a minute old; null if it was never used. */
  readonly lastUsedAt: number | null
}

const columns = ['client_id', 'organization', 'created_by', 'created_at', 'last_used_at']

const accountOf = (row: Row): AccountRow => ({
  clientId: textOf(row, 'client_id'),
  organization: textOf(row, 'organization'),
  createdBy: textOrNull(row, 'created_by'),
  createdAt: numberOf(row, 'created_at'),
  lastUsedAt: numberOrNull(row, 'last_used_at'),
})

/** One account, of this organization only. */
export const findAccountRow = findOne(
  query<{ organization: string; clientId: string }>((table, v) =>
    table('service_accounts').select(columns).where({ client_id: v.clientId, organization: v.organization }),
  ),
  accountOf,
)

const ofOrganization = query<{ organization: string }>((table, v) =>
  table('service_accounts')
    .select([...columns, 'slot'])
    .where({ organization: v.organization })
    .orderBy([{ column: 'created_at', order: 'desc' }, 'client_id']),
)

/** The accounts of an organization, the newest first. Their number is limited. */
export const listAccountRows = findAll(ofOrganization, accountOf)

/** The numbers that the accounts of an organization have. */
export const listAccountSlots = findAll(ofOrganization, (row) => numberOf(row, 'slot'))

/** The accounts that a person made, in all organizations. */
export const listAccountRowsBy = findAll(
  query<{ subject: string }>((table, v) =>
    table('service_accounts')
      .select(columns)
      .where({ created_by: v.subject })
      .orderBy(['created_at', 'client_id']),
  ),
  accountOf,
)

const insertAccount = insertInto('service_accounts')

/** @throws OAuthError whose cause is a unique violation if the slot is taken */
export const createAccountRow = (
  db: Database,
  row: Pick<AccountRow, 'clientId' | 'organization' | 'createdBy' | 'createdAt'> & { readonly slot: number },
): Promise<number> =>
  insertAccount(db, {
    client_id: row.clientId,
    organization: row.organization,
    slot: row.slot,
    created_by: row.createdBy,
    created_at: row.createdAt,
  })

/** Forgets who made the accounts of a person. */
export const forgetCreator = command<{ subject: string }>((table, v) =>
  table('service_accounts').where({ created_by: v.subject }).update({ created_by: null }),
)

const removeAccount = command<{ clientId: string }>((table, v) =>
  table('service_accounts').where({ client_id: v.clientId }).delete(),
)
const removeSecretsOf = command<{ clientId: string }>((table, v) =>
  table('service_account_secrets').where({ client_id: v.clientId }).delete(),
)

/** Removes every row about an account. */
export const removeAccountRows = async (db: Database, clientId: string): Promise<void> => {
  await removeSecretsOf(db, { clientId })
  await removeAccount(db, { clientId })
}

/** A secret of an account, as its client has it now. */
export interface AccountSecret {
  readonly hash: string
  /** Whether it is the newest one. */
  readonly isCurrent: boolean
  /** When it ends because another one has replaced it; null for the current one. */
  readonly until: number | null
  /** Null for a secret that an operator made. */
  readonly createdAt: number | null
  readonly lastUsedAt: number | null
}

const secretsOfClient = query<{ clientId: string }>((table, v) =>
  table('clients')
    .select(['secret_hash', 'previous_secret_hash', 'previous_secret_expires_at'])
    .where({ client_id: v.clientId }),
)
const usesOfSecrets = query<{ clientId: string }>((table, v) =>
  table('service_account_secrets')
    .select(['hash', 'created_at', 'last_used_at'])
    .where({ client_id: v.clientId }),
)

/** The valid secrets of an account, the current one first. */
export const listAccountSecrets = async (
  db: Database,
  { clientId, now }: { readonly clientId: string; readonly now: number },
): Promise<readonly AccountSecret[]> => {
  const [row] = await secretsOfClient(db, { clientId })
  if (row === undefined) return []
  const uses = new Map((await usesOfSecrets(db, { clientId })).map((use) => [textOf(use, 'hash'), use]))
  const secretOf = (hash: string | null, until: number | null): AccountSecret[] => {
    if (hash === null) return []
    const use = uses.get(hash)
    const [createdAt, lastUsedAt] = use
      ? [numberOf(use, 'created_at'), numberOrNull(use, 'last_used_at')]
      : [null, null]
    return [{ hash, isCurrent: until === null, until, createdAt, lastUsedAt }]
  }
  const until = numberOrNull(row, 'previous_secret_expires_at') ?? 0
  return [
    ...secretOf(textOrNull(row, 'secret_hash'), null),
    ...(until > now ? secretOf(textOrNull(row, 'previous_secret_hash'), until) : []),
  ]
}

const insertSecret = insertInto('service_account_secrets')

/** Remembers when a secret was made. */
export const createSecretRow = (
  db: Database,
  row: { readonly hash: string; readonly clientId: string; readonly now: number },
): Promise<number> => insertSecret(db, { hash: row.hash, client_id: row.clientId, created_at: row.now })

/** Forgets the secrets of an account beside these two. */
export const forgetOtherSecrets = command<{ clientId: string; current: string; previous: string }>(
  (table, v) =>
    table('service_account_secrets')
      .where({ client_id: v.clientId })
      .whereNot({ hash: v.current })
      .whereNot({ hash: v.previous })
      .delete(),
)

/** Gives a client whose current secret was revoked another one. */
export const setMissingSecret = touches(
  command<{ clientId: string; hash: string; now: number }>((table, v) =>
    table('clients')
      .where({ client_id: v.clientId })
      .whereNull('secret_hash')
      .update({ secret_hash: v.hash, updated_at: v.now }),
  ),
)

/** Takes the current secret from a client, if it is still this one. */
export const dropCurrentSecret = touches(
  command<{ clientId: string; hash: string; now: number }>((table, v) =>
    table('clients')
      .where({ client_id: v.clientId, secret_hash: v.hash })
      .update({ secret_hash: null, updated_at: v.now }),
  ),
)

/** Takes the secret before the current one from a client, if it is still this one. */
export const dropPreviousSecret = touches(
  command<{ clientId: string; hash: string; now: number }>((table, v) =>
    table('clients')
      .where({ client_id: v.clientId, previous_secret_hash: v.hash })
      .update({ previous_secret_hash: null, previous_secret_expires_at: null, updated_at: v.now }),
  ),
)

interface Use {
  readonly now: number
  /** A use after this time is stored already. */
  readonly before: number
}

/** Stores that an account was used. */
export const touchAccount = command<Use & { clientId: string }>((table, v) =>
  table('service_accounts')
    .where({ client_id: v.clientId })
    .where((either) => either.whereNull('last_used_at').orWhere('last_used_at', '<=', v.before))
    .update({ last_used_at: v.now }),
)

/** Stores that a secret was used. */
export const touchSecret = command<Use & { hash: string }>((table, v) =>
  table('service_account_secrets')
    .where({ hash: v.hash })
    .where((either) => either.whereNull('last_used_at').orWhere('last_used_at', '<=', v.before))
    .update({ last_used_at: v.now }),
)
