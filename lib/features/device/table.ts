import {
  command,
  insertInto,
  json,
  numberOf,
  query,
  textOf,
  textOrNull,
  type Write,
} from '../../storage/database/statement.ts'
import type { Database, Row } from '../../storage/database/types.ts'
import { findOne, isInserted, touches } from '../../storage/repositories/statements.ts'
import { type DeviceCode, slowDownSeconds } from './rules.ts'

const columns = ['hash', 'client_id', 'request', 'address', 'decision', 'created_at', 'expires_at']

const deviceCodeOf = (row: Row): DeviceCode => ({
  hash: textOf(row, 'hash'),
  clientId: textOf(row, 'client_id'),
  request: json(row, 'request'),
  address: textOf(row, 'address'),
  decision: (textOrNull(row, 'decision') as DeviceCode['decision'] | null) ?? undefined,
  createdAt: numberOf(row, 'created_at'),
  expiresAt: numberOf(row, 'expires_at'),
})

const insert = insertInto('device_codes')

/** A device code to store; times are in seconds. */
export type NewDeviceCode = Pick<DeviceCode, 'hash' | 'request' | 'address' | 'expiresAt'> & {
  readonly userCodeHash: string
  /** Between two polls. */
  readonly interval: number
  readonly now: number
}

/** @returns false if another device has the user code */
export const createDeviceCode = (db: Database, device: NewDeviceCode): Promise<boolean> =>
  isInserted(
    insert(db, {
      hash: device.hash,
      user_code_hash: device.userCodeHash,
      client_id: device.request.clientId,
      request: JSON.stringify(device.request),
      address: device.address,
      poll_interval: device.interval,
      created_at: device.now,
      expires_at: device.expiresAt,
    }),
  )

/** The request of a device that polls. */
export const findDeviceCode = findOne(
  query<{ hash: string }>((table, v) => table('device_codes').select(columns).where({ hash: v.hash })),
  deviceCodeOf,
)

/** The request that a user code names, if it still waits for a decision. */
export const findUndecidedDevice = findOne(
  query<{ userCodeHash: string; now: number }>((table, v) =>
    table('device_codes')
      .select(columns)
      .where({ user_code_hash: v.userCodeHash })
      .whereNull('decision')
      .where('expires_at', '>', v.now),
  ),
  deviceCodeOf,
)

/** Seconds: the clocks of two processes differ by less. A poll that is further ahead was stored by a wrong clock. */
const mostAhead = 60

/**
 * Records a poll. No interval allows two in one second.
 *
 * @param values.due a second from now: times are whole seconds, so a poll may seem to come up to a second too early
 * @returns whether the interval had passed; only one of several polls at the same time returns true
 */
export const pollDeviceCode = (
  db: Database,
  values: { readonly hash: string; readonly now: number; readonly due: number },
): Promise<boolean> => poll(db, { ...values, latest: values.now + mostAhead })

const poll = touches(
  command<{ hash: string; now: number; due: number; latest: number }>((table, v, _name, raw) =>
    table('device_codes')
      .where({ hash: v.hash })
      .where((due) =>
        due
          .whereNull('polled_at')
          .orWhere((later) =>
            later.where('polled_at', '<', v.now).where(raw('polled_at + poll_interval'), '<=', v.due),
          )
          .orWhere('polled_at', '>', v.latest),
      )
      .update({ polled_at: v.now }),
  ),
)

/** Lengthens the interval for this and all later polls (RFC 8628 §3.5). */
export const slowDownDevice = command<{ hash: string; now: number }>((table, v, _name, raw) =>
  table('device_codes')
    .where({ hash: v.hash })
    .update({ polled_at: v.now, poll_interval: raw(`poll_interval + ${slowDownSeconds}`) }),
)

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
