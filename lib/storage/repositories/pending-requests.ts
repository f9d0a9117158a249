import type { AuthorizationRequest } from '../../protocol/requests/authorization-request.ts'
import type { Decision } from '../../protocol/requests/next-step.ts'
import {
  command,
  insertInto,
  json,
  jsonOrUndefined,
  numberOf,
  numberOrNull,
  query,
  textOf,
  textOrNull,
} from '../database/statement.ts'
import type { Database, Row } from '../database/types.ts'
import { shownClientOf } from './clients.ts'
import { type AuthorizeLookup, joinLoginAndConsents, lookupColumns, lookupOf } from './consents.ts'
import { joinRevocations, revocationsColumn } from './revocations.ts'

/** A validated request that waits for the user's login or consent. */
export interface PendingRequestRecord {
  /** Hash of the id that the pages carry. */
  readonly id: string
  /** The kind of request, which decides how it continues. */
  readonly kind: string
  /** Hash of the cookie of the only browser that may continue; a request that no browser has opened has another hash. */
  readonly browserHash: string
  /** The login of the browser when the request arrived. */
  readonly sid: string | undefined
  /** The login that the user chose to continue with (`prompt=select_account`). */
  readonly selectedSid: string | undefined
  readonly request: AuthorizationRequest
  readonly decision: Decision | undefined
  /** When the request arrived, in epoch seconds. */
  readonly createdAt: number
  readonly expiresAt: number
  readonly consumedAt: number | null
}

const pendingRequestOf = (row: Row, id: string): PendingRequestRecord => ({
  id,
  kind: textOf(row, 'kind'),
  browserHash: textOf(row, 'pending_browser_hash'),
  sid: textOrNull(row, 'pending_sid') ?? undefined,
  selectedSid: textOrNull(row, 'selected_sid') ?? undefined,
  request: json(row, 'request'),
  decision: jsonOrUndefined(row, 'decision'),
  createdAt: numberOf(row, 'pending_created_at'),
  expiresAt: numberOf(row, 'pending_expires_at'),
  consumedAt: numberOrNull(row, 'consumed_at'),
})

const byId = query<{ id: string; sessionHash: string | null; now: number }>((table, v, name) =>
  joinRevocations(
    joinLoginAndConsents(
      table('pending_requests as pending').join(
        name('clients as clients'),
        'clients.client_id',
        'pending.client_id',
      ),
      name,
      v,
    ),
    name,
  )
    .select([
      ...['kind', 'selected_sid', 'request', 'decision', 'consumed_at'].map((column) => `pending.${column}`),
      // Columns that the other tables have, too.
      ...['sid', 'browser_hash', 'created_at', 'expires_at'].map(
        (column) => `pending.${column} as pending_${column}`,
      ),
      ...lookupColumns,
      'clients.logo',
      revocationsColumn,
    ])
    .where('pending.id', v.id),
)

/** A pending request with what else decides its next step. */
export interface PendingRequestLookup extends AuthorizeLookup {
  readonly pending: PendingRequestRecord
  /** The number of revocations: a sign-in for the request begins here. */
  readonly since: number
}

/**
 * Reads a pending request with its client and the login of the session, in one statement.
 *
 * @param values.sessionHash of what the session of the browser holds, if it has one
 * @returns undefined also if the client no longer exists
 */
export const findPendingRequest = async (
  db: Database,
  { id, sessionHash, now }: { id: string; sessionHash: string | undefined; now: number },
): Promise<PendingRequestLookup | undefined> => {
  const rows = await byId(db, { id, sessionHash: sessionHash ?? null, now })
  const [row] = rows
  if (row === undefined) return undefined
  const { knownLogin } = lookupOf(row, rows, now)
  const since = numberOrNull(row, 'revocations') ?? 0
  return { pending: pendingRequestOf(row, id), client: shownClientOf(row, now), knownLogin, since }
}

const insert = insertInto('pending_requests')

/** Stores a request that waits. */
export const createPendingRequest = (
  db: Database,
  pending: Pick<PendingRequestRecord, 'id' | 'kind' | 'browserHash' | 'sid' | 'request' | 'expiresAt'> & {
    now: number
  },
): Promise<number> =>
  insert(db, {
    id: pending.id,
    kind: pending.kind,
    client_id: pending.request.clientId,
    browser_hash: pending.browserHash,
    sid: pending.sid ?? null,
    request: JSON.stringify(pending.request),
    created_at: pending.now,
    expires_at: pending.expiresAt,
  })

const ofBrowser = query<{ browserHash: string }>((table, v) =>
  table('pending_requests')
    .select(['id', 'consumed_at'])
    .where({ browser_hash: v.browserHash })
    .orderBy('created_at', 'desc'),
)

const remove = command<{ id: string }>((table, v) => table('pending_requests').where({ id: v.id }).delete())

/**
 * Removes the oldest requests of a browser, beyond these numbers of pending and of used ones.
 *
 * @returns how many the browser had
 */
export const removeOldestPendingRequests = async (
  db: Database,
  { browserHash, keep, keepUsed }: { browserHash: string; keep: number; keepUsed: number },
): Promise<number> => {
  const rows = await ofBrowser(db, { browserHash })
  const isUsed = (row: Row): boolean => numberOrNull(row, 'consumed_at') !== null
  const surplus = [...rows.filter((row) => !isUsed(row)).slice(keep), ...rows.filter(isUsed).slice(keepUsed)]
  for (const row of surplus) await remove(db, { id: textOf(row, 'id') })
  return rows.length
}

const decide = command<{ id: string; decision: string }>((table, v) =>
  table('pending_requests').where({ id: v.id }).whereNull('consumed_at').update({ decision: v.decision }),
)

/** Records what the user answered on the consent page. */
export const decidePendingRequest = async (
  db: Database,
  { id, decision }: { id: string; decision: Decision },
): Promise<void> => {
  await decide(db, { id, decision: JSON.stringify(decision) })
}

/** Records which login the user chose to continue with. */
export const selectLogin = command<{ id: string; sid: string }>((table, v) =>
  table('pending_requests').where({ id: v.id }).whereNull('consumed_at').update({ selected_sid: v.sid }),
)

const raise = command<{ id: string; request: string; sid: string }>((table, v) =>
  table('pending_requests')
    .where({ id: v.id })
    .whereNull('consumed_at')
    .update({ request: v.request, sid: v.sid }),
)

/** Records that a request asks for another login than this one. */
export const raisePendingRequest = async (
  db: Database,
  { id, request, sid }: Pick<PendingRequestRecord, 'id' | 'request'> & { sid: string },
): Promise<void> => {
  await raise(db, { id, request: JSON.stringify(request), sid })
}

/** Answers a request, once. */
export const consumePendingRequest = command<{ id: string; now: number }>((table, v) =>
  table('pending_requests').where({ id: v.id }).whereNull('consumed_at').update({ consumed_at: v.now }),
).with
