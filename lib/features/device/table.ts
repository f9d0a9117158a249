import { isUniqueViolation } from '../../database/errors.ts'
import { command, json, number, query, text, textOrNull, type Write } from '../../database/statement.ts'
import type { Database, Row } from '../../database/types.ts'
import { type DeviceCode, slowDownSeconds } from './rules.ts'

const columns = ['hash', 'client_id', 'request', 'address', 'decision', 'created_at', 'expires_at']

const deviceCodeOf = (row: Row): DeviceCode => ({
  hash: text(row, 'hash'),
  clientId: text(row, 'client_id'),
  request: json(row, 'request'),
  address: text(row, 'address'),
  decision: (textOrNull(row, 'decision') as DeviceCode['decision'] | null) ?? undefined,
  createdAt: number(row, 'created_at'),
  expiresAt: number(row, 'expires_at'),
})

const insert = command<{
  hash: string
  userCodeHash: string
  clientId: string
  request: string
  address: string
  interval: number
  now: number
  expiresAt: number
}>((table, v) =>
  table('device_codes').insert({
    hash: v.hash,
    user_code_hash: v.userCodeHash,
    client_id: v.clientId,
    request: v.request,
    address: v.address,
    poll_interval: v.interval,
    created_at: v.now,
    expires_at: v.expiresAt,
  }),
)

/** A device code to store; times are in seconds. */
export type NewDeviceCode = Pick<DeviceCode, 'hash' | 'request' | 'address' | 'expiresAt'> & {
  readonly userCodeHash: string
  /** Between two polls. */
  readonly interval: number
  readonly now: number
}

/** @returns false if another device has the user code */
export const createDeviceCode = async (
  db: Database,
  { request, ...values }: NewDeviceCode,
): Promise<boolean> => {
  try {
    await insert(db, { ...values, clientId: request.clientId, request: JSON.stringify(request) })
    return true
  } catch (error) {
    if (isUniqueViolation(error)) return false
    throw error
  }
}

const byHash = query<{ hash: string }>((table, v) =>
  table('device_codes').select(columns).where({ hash: v.hash }),
)

/** The request of a device that polls. */
export const findDeviceCode = async (
  db: Database,
  values: { hash: string },
): Promise<DeviceCode | undefined> => {
  const [row] = await byHash(db, values)
  return row && deviceCodeOf(row)
}

const undecided = query<{ userCodeHash: string; now: number }>((table, v) =>
  table('device_codes')
    .select(columns)
    .where({ user_code_hash: v.userCodeHash })
    .whereNull('decision')
    .where('expires_at', '>', v.now),
)

/** The request that a user code names, if it still waits for a decision. */
export const findUndecidedDevice = async (
  db: Database,
  values: { userCodeHash: string; now: number },
): Promise<DeviceCode | undefined> => {
  const [row] = await undecided(db, values)
  return row && deviceCodeOf(row)
}

// Times are whole seconds, so a poll may seem to come up to a second too early.
const poll = command<{ hash: string; now: number; due: number }>((table, v, _name, raw) =>
  table('device_codes')
    .where({ hash: v.hash })
    .where((due) => due.whereNull('polled_at').orWhere(raw('polled_at + poll_interval'), '<=', v.due))
    .update({ polled_at: v.now }),
)

/**
 * Records a poll.
 *
 * @returns whether the interval had passed; of any number of polls at the same time, one returns true
 */
export const pollDeviceCode = async (db: Database, values: { hash: string; now: number }): Promise<boolean> =>
  (await poll(db, { ...values, due: values.now + 1 })) === 1

const slowDown = command<{ hash: string; now: number }>((table, v, _name, raw) =>
  table('device_codes')
    .where({ hash: v.hash })
    .update({ polled_at: v.now, poll_interval: raw(`poll_interval + ${slowDownSeconds}`) }),
)

/** Lengthens the interval for this and all later polls (RFC 8628 §3.5). */
export const slowDownDevice = async (db: Database, values: { hash: string; now: number }): Promise<void> => {
  await slowDown(db, values)
}

const decide = command<{ hash: string; decision: string; now: number }>((table, v) =>
  table('device_codes')
    .where({ hash: v.hash })
    .whereNull('decision')
    .where('expires_at', '>', v.now)
    .update({ decision: v.decision }),
)

/** Decides the request of a device, once, until it expires. */
export const decideDevice = (values: { hash: string; decision: 'approved' | 'denied'; now: number }): Write =>
  decide.with(values)
