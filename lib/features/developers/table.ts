import {
  command,
  insertInto,
  jsonOrUndefined,
  numberOf,
  numberOrNull,
  query,
  textOf,
  textOrNull,
} from '../../storage/database/statement.ts'
import type { Database, Row } from '../../storage/database/types.ts'
import { type BatchParams, batchParams, keysIn } from '../../storage/repositories/pruning/batch.ts'
import { findAll, findOne, touches } from '../../storage/repositories/statements.ts'
import type { DeveloperFields } from './rules.ts'

/** `waiting`: the client, or a change of it, waits for approval. `refused`: it was refused. */
export type OwnerStatus = 'active' | 'waiting' | 'refused'

/** The user who registered a client, and what the host decided. Times are epoch seconds. */
export interface ClientOwner {
  readonly clientId: string
  readonly subject: string
  readonly status: OwnerStatus
  /** When the client, or its last change, was sent. */
  readonly requestedAt: number
  /** When the client could first be used; null: it never could. */
  readonly approvedAt: number | null
  readonly decidedAt: number | null
  readonly decidedBy: string | null
  /** Why the last request was refused. */
  readonly reason: string | null
  /** Changes of an approved client that wait for approval. */
  readonly proposed?: DeveloperFields
  /** Grows with every change. */
  readonly revision: number
}

const columns = [
  'client_id',
  'subject',
  'status',
  'requested_at',
  'approved_at',
  'decided_at',
  'decided_by',
  'reason',
  'proposed',
  'revision',
]

const ownerOf = (row: Row): ClientOwner => {
  const proposed = jsonOrUndefined<DeveloperFields>(row, 'proposed')
  return {
    clientId: textOf(row, 'client_id'),
    subject: textOf(row, 'subject'),
    status: textOf(row, 'status') as OwnerStatus,
    requestedAt: numberOf(row, 'requested_at'),
    approvedAt: numberOrNull(row, 'approved_at'),
    decidedAt: numberOrNull(row, 'decided_at'),
    decidedBy: textOrNull(row, 'decided_by'),
    reason: textOrNull(row, 'reason'),
    ...(proposed && { proposed }),
    revision: numberOf(row, 'revision'),
  }
}

/** The owner of a client; undefined for a client of the host. */
export const findClientOwner = findOne(
  query<{ clientId: string }>((table, v) =>
    table('client_owners').select(columns).where({ client_id: v.clientId }),
  ),
  ownerOf,
)

/** The numbers that the clients of a user have. */
export const listSlots = findAll(
  query<{ subject: string }>((table, v) =>
    table('client_owners').select('slot').where({ subject: v.subject }),
  ),
  (row) => numberOf(row, 'slot'),
)

/** The ids of the clients of a user, the newest first. */
export const listClientIdsOfOwner = findAll(
  query<{ subject: string }>((table, v) =>
    table('client_owners')
      .select(['client_id', 'subject'])
      .where({ subject: v.subject })
      .orderBy([{ column: 'created_at', order: 'desc' }, 'client_id']),
  ),
  (row) => textOf(row, 'client_id'),
)

const byIds = query<BatchParams>((table, v) =>
  table('client_owners').select(columns).whereIn('client_id', keysIn(v)),
)

/** The owners of these clients, at most 100, in no order. */
export const findClientOwners = async (
  db: Database,
  { clientIds }: { clientIds: readonly string[] },
): Promise<ClientOwner[]> => (await byIds(db, batchParams(clientIds))).map(ownerOf)

/** Rows of one answer of {@link listClientOwners}. */
export const ownersPerPage = 100

interface After {
  /** The last client id of the page before; '' for the first page. */
  readonly after: string
}

const all = query<After>((table, v) =>
  table('client_owners')
    .select(columns)
    .where('client_id', '>', v.after)
    .orderBy('client_id')
    .limit(ownersPerPage, { skipBinding: true }),
)
const withStatus = query<After & { status: string }>((table, v) =>
  table('client_owners')
    .select(columns)
    .where({ status: v.status })
    .where('client_id', '>', v.after)
    .orderBy('client_id')
    .limit(ownersPerPage, { skipBinding: true }),
)

/** Owners of clients in the order of the client ids, at most {@link ownersPerPage}. */
export const listClientOwners = async (
  db: Database,
  { status, after }: After & { readonly status?: OwnerStatus | undefined },
): Promise<ClientOwner[]> =>
  (status === undefined ? await all(db, { after }) : await withStatus(db, { after, status })).map(ownerOf)

const everyId = query<Record<never, never>>((table) => table('client_owners').select('client_id'))

const waiting = query<Record<never, never>>((table, _v, _name, raw) =>
  raw('select count(*) as waiting from (?) as counted', [
    table('client_owners')
      .select('client_id')
      .where({ status: 'waiting' })
      .limit(ownersPerPage, { skipBinding: true }),
  ]),
)

/** The number of requests that wait, up to {@link ownersPerPage}. */
export const countWaiting = async (db: Database): Promise<number> => {
  const [row] = await waiting(db, {})
  return row ? numberOf(row, 'waiting') : 0
}

/** The clients among these that wait, or the first {@link ownersPerPage} of all that wait. */
export const listWaiting = async (
  db: Database,
  among?: readonly string[],
): Promise<{ readonly clientId: string; readonly isNew: boolean }[]> => {
  const owners =
    among === undefined
      ? await listClientOwners(db, { status: 'waiting', after: '' })
      : await findClientOwners(db, { clientIds: among })
  return owners
    .filter(({ status }) => status === 'waiting')
    .map(({ clientId, approvedAt }) => ({ clientId, isNew: approvedAt === null }))
}

/** The ids of all clients that users registered. */
export const listOwnedClientIds = async (db: Database): Promise<string[]> =>
  (await everyId(db, {})).map((row) => textOf(row, 'client_id'))

const insert = insertInto('client_owners')

/** A new client and its owner. */
type NewClientOwner = Pick<ClientOwner, 'clientId' | 'subject' | 'status' | 'approvedAt'> & {
  readonly slot: number
  readonly now: number
}

/**
 * Makes a user the owner of a client.
 *
 * @throws OAuthError whose cause is a unique violation when the client has an owner, or the slot is taken
 */
export const createClientOwner = (
  db: Database,
  { clientId, subject, slot, status, approvedAt, now }: NewClientOwner,
): Promise<number> =>
  insert(db, {
    client_id: clientId,
    subject,
    slot,
    status,
    created_at: now,
    requested_at: now,
    approved_at: approvedAt,
    revision: 1,
  })

const update = command<Omit<ClientOwner, 'subject' | 'proposed'> & { next: number; proposed: string | null }>(
  (table, v) =>
    table('client_owners').where({ client_id: v.clientId, revision: v.revision }).update({
      status: v.status,
      requested_at: v.requestedAt,
      approved_at: v.approvedAt,
      decided_at: v.decidedAt,
      decided_by: v.decidedBy,
      reason: v.reason,
      proposed: v.proposed,
      revision: v.next,
    }),
)

/**
 * Stores what has changed about an owner, apart from who it is.
 *
 * @param owner with the revision that was read
 * @returns false if it was changed or removed meanwhile
 */
export const updateClientOwner = async (
  db: Database,
  { subject: _, proposed, ...owner }: ClientOwner,
): Promise<boolean> => {
  const { revision } = owner
  const values = { ...owner, next: revision + 1, proposed: proposed ? JSON.stringify(proposed) : null }
  return (await update(db, values)) === 1
}

/** Gives a client to another user. Returns false if it has no owner. */
export const setClientOwner = touches(
  command<{ clientId: string; subject: string; slot: number }>((table, v) =>
    table('client_owners').where({ client_id: v.clientId }).update({ subject: v.subject, slot: v.slot }),
  ),
)

/**
 * Records that the host has enabled a client that it had never approved, unless the client waits. A change by its owner
 * begins with the same row, so that it comes before this or is stale.
 */
export const approveEnabledClient = command<{ clientId: string; now: number }>((table, v) =>
  table('client_owners')
    .where({ client_id: v.clientId })
    .whereNull('approved_at')
    .whereNot({ status: 'waiting' })
    .update({ status: 'active', approved_at: v.now, decided_at: v.now, reason: null })
    .increment('revision', 1),
)

/** Leaves a client without an owner. Returns false if it had none. */
export const deleteClientOwner = touches(
  command<{ clientId: string }>((table, v) =>
    table('client_owners').where({ client_id: v.clientId }).delete(),
  ),
)
