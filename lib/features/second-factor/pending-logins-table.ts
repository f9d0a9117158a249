import { command, numberOf, query, textOf } from '../../storage/database/statement.ts'
import { findOne, touches } from '../../storage/repositories/statements.ts'

/** A sign-in whose password was right, and whose second factor is missing. */
export interface PendingLogin {
  /** Hash of the browser's secret and of what it signs in for: a browser has one of them for each page. */
  readonly id: string
  /** Random for each password that was right, so that the form of an earlier one is not mistaken for this one's. */
  readonly attempt: string
  readonly subject: string
  /** As it was typed. */
  readonly username: string
  /** The number of revocations when the attempt began. */
  readonly since: number
  /** Codes that were tried. */
  readonly tries: number
  /** Codes that were sent. */
  readonly sends: number
  readonly expiresAt: number
}

/** Stores a pending login. It replaces an earlier one of the same browser for the same page. */
export const putPendingLogin = command<Omit<PendingLogin, 'tries' | 'sends'>>((table, v) =>
  table('pending_logins')
    .insert({
      id: v.id,
      attempt: v.attempt,
      subject: v.subject,
      username: v.username,
      since: v.since,
      tries: 0,
      sends: 0,
      expires_at: v.expiresAt,
    })
    .onConflict('id')
    .merge(['attempt', 'subject', 'username', 'since', 'tries', 'sends', 'expires_at']),
)

const columns = ['id', 'attempt', 'subject', 'username', 'since', 'tries', 'sends', 'expires_at']

/** The pending login with this id, unless it has expired. */
export const findPendingLogin = findOne(
  query<{ id: string; now: number }>((table, v) =>
    table('pending_logins').select(columns).where({ id: v.id }).where('expires_at', '>', v.now),
  ),
  (row): PendingLogin => ({
    id: textOf(row, 'id'),
    attempt: textOf(row, 'attempt'),
    subject: textOf(row, 'subject'),
    username: textOf(row, 'username'),
    since: numberOf(row, 'since'),
    tries: numberOf(row, 'tries'),
    sends: numberOf(row, 'sends'),
    expiresAt: numberOf(row, 'expires_at'),
  }),
)

/** Names one attempt, while it lasts. */
interface Attempt {
  readonly id: string
  readonly attempt: string
  readonly now: number
}

const countUnder = (column: 'tries' | 'sends') =>
  touches(
    command<Attempt & { max: number }>((table, v) =>
      table('pending_logins')
        .where({ id: v.id, attempt: v.attempt })
        .where(column, '<', v.max)
        .where('expires_at', '>', v.now)
        .increment(column, 1),
    ),
  )

/** Counts a try before the code is checked. @returns false if there were as many as are allowed */
export const takeTry = countUnder('tries')

/** Counts a code that is to be sent. @returns false if there were as many as are allowed */
export const takeSend = countUnder('sends')

/** Ends a pending login, because its code was right or because it failed too often. @returns whether this call ended it */
export const consumePendingLogin = touches(
  command<Attempt>((table, v) =>
    table('pending_logins').where({ id: v.id, attempt: v.attempt }).where('expires_at', '>', v.now).delete(),
  ),
)

/** Ends every pending login of a user. */
export const removePendingLoginsOfSubject = command<{ subject: string }>((table, v) =>
  table('pending_logins').where({ subject: v.subject }).delete(),
)
