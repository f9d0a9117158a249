import { json, number, numberOrNull, text } from '../database/row.ts'
import { command, query } from '../database/statement.ts'
import type { Database, Row } from '../database/types.ts'
import type { Login } from '../protocol/login.ts'

export interface LoginRecord extends Login {
  readonly expiresAt: number
}

/** Named, because a column that a newer version adds would break prepared `SELECT *` statements. */
export const loginColumns = ['sid', 'subject', 'auth_time', 'amr', 'expires_at']

export const loginOf = (row: Row): LoginRecord => ({
  sid: text(row, 'sid'),
  subject: text(row, 'subject'),
  authTime: number(row, 'auth_time'),
  amr: json<string[]>(row, 'amr'),
  expiresAt: number(row, 'expires_at'),
})

const activeBySid = query<{ sid: string; now: number }>((table, v) =>
  table('logins')
    .select(loginColumns)
    .where({ sid: v.sid })
    .whereNull('ended_at')
    .where('expires_at', '>', v.now),
)

/** The login with this sid, unless it has ended or expired. */
export const findLogin = async (
  db: Database,
  values: { sid: string; now: number },
): Promise<LoginRecord | undefined> => {
  const [row] = await activeBySid(db, values)
  return row && loginOf(row)
}

const insert = command<{ sid: string; subject: string; authTime: number; amr: string; expiresAt: number }>(
  (table, v) =>
    table('logins').insert({
      sid: v.sid,
      subject: v.subject,
      auth_time: v.authTime,
      amr: v.amr,
      expires_at: v.expiresAt,
    }),
)

export const createLogin = async (db: Database, login: LoginRecord): Promise<void> => {
  const { sid, subject, authTime, amr, expiresAt } = login
  await insert(db, { sid, subject, authTime, amr: JSON.stringify(amr), expiresAt })
}

const end = command<{ sid: string; now: number }>((table, v) =>
  table('logins').where({ sid: v.sid }).whereNull('ended_at').update({ ended_at: v.now }),
)

/**
 * Ends one login, and with it everything that was granted without `offline_access`.
 *
 * @returns whether this call ended it
 */
export const endLogin = async (db: Database, values: { sid: string; now: number }): Promise<boolean> =>
  (await end(db, values)) === 1

const ofSubject = query<{ subject: string; now: number }>((table, v) =>
  table('logins')
    .select('sid')
    .where({ subject: v.subject })
    .whereNull('ended_at')
    .where('expires_at', '>', v.now),
)

/** The sids of a user's active logins. */
export const listLogins = async (db: Database, values: { subject: string; now: number }): Promise<string[]> =>
  (await ofSubject(db, values)).map((row) => text(row, 'sid'))

/** A login, active or not. */
export interface LoginHistory extends LoginRecord {
  readonly endedAt: number | null
}

const everyOfSubject = query<{ subject: string }>((table, v) =>
  table('logins')
    .select([...loginColumns, 'ended_at'])
    .where({ subject: v.subject })
    .orderBy('auth_time'),
)

/** Every login of a user that is not pruned yet, oldest first. */
export const listLoginHistory = async (db: Database, values: { subject: string }): Promise<LoginHistory[]> =>
  (await everyOfSubject(db, values))
    .map((row) => ({ ...loginOf(row), endedAt: numberOrNull(row, 'ended_at') }))
    // MySQL before 8.0.17 ignores trailing spaces when it compares.
    .filter(({ subject }) => subject === values.subject)

const removeOfSubject = command<{ subject: string }>((table, v) =>
  table('logins').where({ subject: v.subject }).delete(),
)

/** Removes every login of a user, which ends everything granted under it without `offline_access`. */
export const removeLoginsOfSubject = async (db: Database, values: { subject: string }): Promise<void> => {
  await removeOfSubject(db, values)
}

const lock = command<{ sid: string; now: number }>((table, v) =>
  table('logins')
    .where({ sid: v.sid })
    .whereNull('ended_at')
    .where('expires_at', '>', v.now)
    .update({ ended_at: null }),
)

/**
 * Locks a login until the end of the transaction. Call it in a transaction that grants something that outlives the
 * login: if all logins of the user are ended at the same moment, that happens either before, and nothing is granted, or
 * after, and finds what was granted.
 *
 * @returns whether the login is active
 */
export const lockLogin = async (db: Database, values: { sid: string; now: number }): Promise<boolean> =>
  (await lock(db, values)) === 1
