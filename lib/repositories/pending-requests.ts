import { json, jsonOrUndefined, number, numberOrNull, text, textOrNull } from '../database/row.ts'
import { command, query } from '../database/statement.ts'
import type { Database, Row } from '../database/types.ts'
import type { AuthorizationRequest } from '../protocol/authorization-request.ts'
import type { Decision } from '../protocol/next-step.ts'

/** A validated request that waits for a login or a consent. */
export interface PendingRequest {
  /** Hash of the id that the pages carry. */
  readonly id: string
  /** Hash of the browser's own cookie: the only browser that may go on with it. */
  readonly browserHash: string
  /** The login found when the request came. */
  readonly sid: string | undefined
  /** The login that the user chose to go on with (`prompt=select_account`). */
  readonly selectedSid: string | undefined
  readonly request: AuthorizationRequest
  readonly decision: Decision | undefined
  readonly expiresAt: number
  readonly consumedAt: number | null
}

const waitingRequestOf = (row: Row): PendingRequest => ({
  id: text(row, 'id'),
  browserHash: text(row, 'browser_hash'),
  sid: textOrNull(row, 'sid') ?? undefined,
  selectedSid: textOrNull(row, 'selected_sid') ?? undefined,
  request: json(row, 'request'),
  decision: jsonOrUndefined(row, 'decision'),
  expiresAt: number(row, 'expires_at'),
  consumedAt: numberOrNull(row, 'consumed_at'),
})

const byId = query<{ id: string }>((table, v) =>
  table('pending_requests')
    .select([
      ...['id', 'browser_hash', 'sid', 'selected_sid', 'request', 'decision', 'expires_at', 'consumed_at'],
    ])
    .where({ id: v.id }),
)

export const findPendingRequest = async (
  db: Database,
  values: { id: string },
): Promise<PendingRequest | undefined> => {
  const [row] = await byId(db, values)
  return row && waitingRequestOf(row)
}

const insert = command<{
  id: string
  browserHash: string
  sid: string | null
  request: string
  now: number
  expiresAt: number
}>((table, v) =>
  table('pending_requests').insert({
    id: v.id,
    browser_hash: v.browserHash,
    sid: v.sid,
    request: v.request,
    created_at: v.now,
    expires_at: v.expiresAt,
  }),
)

const ofBrowser = query<{ browserHash: string }>((table, v) =>
  table('pending_requests')
    .select('id')
    .where({ browser_hash: v.browserHash })
    .whereNull('consumed_at')
    .orderBy('created_at', 'desc'),
)

const remove = command<{ id: string }>((table, v) => table('pending_requests').where({ id: v.id }).delete())

/** Requests that one browser may have open, one a tab. */
const maxPerBrowser = 10

/** Keeps a request; the oldest of the same browser make room, so that a page cannot fill the table. */
export const createPendingRequest = async (
  db: Database,
  waiting: Pick<PendingRequest, 'id' | 'browserHash' | 'sid' | 'request' | 'expiresAt'> & { now: number },
): Promise<void> => {
  const { id, browserHash, sid, request, now, expiresAt } = waiting
  const rows = await ofBrowser(db, { browserHash })
  for (const row of rows.slice(maxPerBrowser - 1)) await remove(db, { id: text(row, 'id') })
  await insert(db, { id, browserHash, sid: sid ?? null, request: JSON.stringify(request), now, expiresAt })
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

const select = command<{ id: string; sid: string }>((table, v) =>
  table('pending_requests').where({ id: v.id }).whereNull('consumed_at').update({ selected_sid: v.sid }),
)

/** Records which login the user chose to go on with. */
export const selectLogin = async (db: Database, values: { id: string; sid: string }): Promise<void> => {
  await select(db, values)
}

const consume = command<{ id: string; now: number }>((table, v) =>
  table('pending_requests').where({ id: v.id }).whereNull('consumed_at').update({ consumed_at: v.now }),
)

/** @returns whether it was this call that used the request up */
export const consumePendingRequest = async (
  db: Database,
  values: { id: string; now: number },
): Promise<boolean> => (await consume(db, values)) === 1
