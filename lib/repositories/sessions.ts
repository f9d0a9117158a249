import { command, json, number, query } from '../database/statement.ts'
import type { Database } from '../database/types.ts'

export interface SessionRecord {
  readonly data: Record<string, unknown>
  /** Epoch seconds; the absolute lifetime counts from here. */
  readonly createdAt: number
  /** Epoch seconds at which it ends unless it is prolonged. */
  readonly expiresAt: number
}

const byId = query<{ id: string; now: number }>((table, v) =>
  table('sessions')
    .select(['data', 'created_at', 'expires_at'])
    .where({ id: v.id })
    .where('expires_at', '>', v.now),
)

/** The session under this hash of its id, unless it is expired. */
export const findSession = async (
  db: Database,
  values: { id: string; now: number },
): Promise<SessionRecord | undefined> => {
  const [row] = await byId(db, values)
  if (row === undefined) return undefined
  return {
    data: json(row, 'data'),
    createdAt: number(row, 'created_at'),
    expiresAt: number(row, 'expires_at'),
  }
}

interface SessionValues {
  id: string
  data: string
  now: number
  expiresAt: number
}

const save = command<SessionValues>((table, v) =>
  table('sessions')
    .insert({ id: v.id, data: v.data, created_at: v.now, expires_at: v.expiresAt })
    .onConflict('id')
    .merge(['data', 'expires_at']),
)
const touch = command<{ id: string; expiresAt: number }>((table, v) =>
  table('sessions').where({ id: v.id }).update({ expires_at: v.expiresAt }),
)
const remove = command<{ id: string }>((table, v) => table('sessions').where({ id: v.id }).delete())

/** Creates the session or replaces its data; `createdAt` stays as it was. */
export const saveSession = async (
  db: Database,
  session: { id: string; data: object; now: number; expiresAt: number },
): Promise<void> => {
  const { id, data, now, expiresAt } = session
  await save(db, { id, data: JSON.stringify(data), now, expiresAt })
}

export const touchSession = async (
  db: Database,
  values: { id: string; expiresAt: number },
): Promise<void> => {
  await touch(db, values)
}

export const removeSession = async (db: Database, values: { id: string }): Promise<void> => {
  await remove(db, values)
}
