import { json, number, numberOrNull, text } from '../database/row.ts'
import { command, query } from '../database/statement.ts'
import type { Database, Row } from '../database/types.ts'
import type { Login } from '../protocol/login.ts'

export interface LoginRecord extends Login {
  readonly expiresAt: number
}

/** Named, so that a column added later does not change what prepared statements of older processes return. */
export const loginColumns = ['sid', 'subject', 'auth_time', 'amr', 'expires_at']

export const loginOf = (row: Row): LoginRecord => ({
  sid: text(row, 'sid'),
  subject: text(row, 'subject'),
  authTime: number(row, 'auth_time'),
  amr: json<string[]>(row, 'amr'),
  expiresAt: number(row, 'expires_at'),
})

const standing = query<{ sid: string; now: number }>((table, v) =>
  table('logins')
    .select(loginColumns)
    .where({ sid: v.sid })
    .whereNull('ended_at')
    .where('expires_at', '>', v.now),
)

/** The login with this sid while it stands: neither ended nor expired. */
export const findLogin = async (
  db: Database,
  values: { sid: string; now: number },
): Promise<LoginRecord | undefined> => {
  const [row] = await standing(db, values)
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
 * @returns whether it was this call that ended it
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

/** The sids of a user's standing logins. */
export const listLogins = async (db: Database, values: { subject: string; now: number }): Promise<string[]> =>
  (await ofSubject(db, values)).map((row) => text(row, 'sid'))

/** A login as it is kept, standing or over. */
export interface LoginHistory extends LoginRecord {
  readonly endedAt: number | null
}

const everyOfSubject = query<{ subject: string }>((table, v) =>
  table('logins')
    .select([...loginColumns, 'ended_at'])
    .where({ subject: v.subject })
    .orderBy('auth_time'),
)

/** Every login of a user that is still kept, the oldest first. */
export const listLoginHistory = async (db: Database, values: { subject: string }): Promise<LoginHistory[]> =>
  (await everyOfSubject(db, values))
    .map((row) => ({ ...loginOf(row), endedAt: numberOrNull(row, 'ended_at') }))
    // MariaDB compares texts as if padded with spaces.
    .filter(({ subject }) => subject === values.subject)

const removeOfSubject = command<{ subject: string }>((table, v) =>
  table('logins').where({ subject: v.subject }).delete(),
)

/** Removes every login of a user; what hangs on one is dead without it. */
export const removeLoginsOfSubject = async (db: Database, values: { subject: string }): Promise<void> => {
  await removeOfSubject(db, values)
}

const hold = command<{ sid: string; now: number }>((table, v) =>
  table('logins')
    .where({ sid: v.sid })
    .whereNull('ended_at')
    .where('expires_at', '>', v.now)
    .update({ ended_at: null }),
)

/**
 * Takes the lock on a login that must still stand. In the transaction that grants what outlives the login, so that
 * ending all logins of a user at the same moment either comes before, and nothing is granted, or after, and finds
 * what was granted.
 *
 * @returns whether the login stands
 */
export const lockLogin = async (db: Database, values: { sid: string; now: number }): Promise<boolean> =>
  (await hold(db, values)) === 1
