import type { Login } from '../../protocol/requests/login.ts'
import { RolledBack } from '../database/in-transaction.ts'
import {
  command,
  insertInto,
  json,
  numberOf,
  numberOrNull,
  query,
  textOf,
  textOrNull,
  type Write,
} from '../database/statement.ts'
import { transaction, writeIf } from '../database/transaction.ts'
import type { Database, Row } from '../database/types.ts'
import { maxNewest } from './authorization-records.ts'
import { type AttemptStart, unlessRevoked } from './revocations.ts'
import { findAll, findOne, touches } from './statements.ts'

export interface LoginRecord extends Login {
  readonly expiresAt: number
  /** Hash of the cookie of the browser in which the user logged in. */
  readonly browserHash?: string
  /** When its session ends without a further visit; undefined if it has never had one. */
  readonly idleEndsAt?: number
  /** When its session was last used, in epoch seconds, to within a minute. */
  readonly lastSeenAt?: number
}

/** The facts by which people recognize a login. */
export interface LoginPlace {
  /** The header `User-Agent`, as long as it is stored. */
  readonly userAgent?: string
  readonly address?: string
}

/** Named, because a column that a newer version adds would break prepared `SELECT *` statements. */
export const loginColumns = [
  'sid',
  'subject',
  'auth_time',
  'amr',
  'acr',
  'expires_at',
  'browser_hash',
  'host_login_hash',
  'idle_ends_at',
  'last_seen_at',
]

export const loginOf = (row: Row): LoginRecord => ({
  sid: textOf(row, 'sid'),
  subject: textOf(row, 'subject'),
  authTime: numberOf(row, 'auth_time'),
  amr: json<string[]>(row, 'amr'),
  acr: textOrNull(row, 'acr') ?? undefined,
  fromHost: textOrNull(row, 'host_login_hash') !== null,
  expiresAt: numberOf(row, 'expires_at'),
  browserHash: textOrNull(row, 'browser_hash') ?? undefined,
  idleEndsAt: numberOrNull(row, 'idle_ends_at') ?? undefined,
  lastSeenAt: numberOrNull(row, 'last_seen_at') ?? undefined,
})

/** The login with this sid, unless it has ended or expired. */
export const findLogin = findOne(
  query<{ sid: string; now: number }>((table, v) =>
    table('logins')
      .select(loginColumns)
      .where({ sid: v.sid })
      .whereNull('ended_at')
      .where('expires_at', '>', v.now),
  ),
  loginOf,
)

/** The login of a session, unless the login has ended or expired, or the session was idle for too long. */
export const findSessionLogin = findOne(
  query<{ sessionHash: string; now: number }>((table, v) =>
    table('logins')
      .select(loginColumns)
      .where({ session_hash: v.sessionHash })
      .whereNull('ended_at')
      .where('expires_at', '>', v.now)
      .where('idle_ends_at', '>', v.now),
  ),
  loginOf,
)

/** Notes a visit of a login, and postpones the idle end of its session. */
export const postponeIdleEnd = command<{ sid: string; idleEndsAt: number; now: number }>((table, v) =>
  table('logins')
    .where({ sid: v.sid })
    .whereNull('ended_at')
    .update({ idle_ends_at: v.idleEndsAt, last_seen_at: v.now }),
)

/** Takes a login out of its session, which a newer login takes over. The old secret is worthless from then on. */
export const releaseSession = command<{ sid: string }>((table, v) =>
  table('logins').where({ sid: v.sid }).update({ session_hash: null }),
)

const insert = insertInto('logins')

/** A login that is about to be stored. */
export interface NewLoginRecord extends LoginRecord, LoginPlace {
  /** Hash of what the session of its browser will hold. */
  readonly sessionHash?: string
}

/** Characters that the columns hold. */
const maxUserAgent = 255
const maxAddress = 45

const storing = (login: NewLoginRecord & { readonly hostLoginHash?: string }): Write =>
  insert.with({
    sid: login.sid,
    subject: login.subject,
    auth_time: login.authTime,
    amr: JSON.stringify(login.amr),
    acr: login.acr ?? null,
    expires_at: login.expiresAt,
    browser_hash: login.browserHash ?? null,
    host_login_hash: login.hostLoginHash ?? null,
    session_hash: login.sessionHash ?? null,
    idle_ends_at: login.idleEndsAt ?? null,
    user_agent: login.userAgent?.slice(0, maxUserAgent) ?? null,
    address: login.address?.slice(0, maxAddress) ?? null,
    last_seen_at: login.lastSeenAt ?? null,
  })

/** Stores a login that no attempt of its user led to. */
export const createLogin = (db: Database, login: Parameters<typeof storing>[0]): Promise<number> =>
  storing(login).run(db)

/** When the attempt began that leads to the login, and now, in epoch seconds. */
interface Begun extends Pick<AttemptStart, 'since'> {
  readonly now: number
}

/**
 * Stores a login unless everything of its user was ended since the attempt began.
 *
 * @returns whether it is stored
 */
export const beginLogin = async (
  db: Database,
  { login, since, now }: Begun & { readonly login: NewLoginRecord },
): Promise<boolean> => {
  const stands = unlessRevoked({ subject: login.subject, since, now })
  return (await writeIf(db, [['revoked', stands]], [storing(login)])) === undefined
}

const ofHost = query<{ hostLoginHash: string; now: number }>((table, v) =>
  table('logins')
    .select(loginColumns)
    .where({ host_login_hash: v.hostLoginHash })
    .whereNull('ended_at')
    .where('expires_at', '>', v.now),
)
const releaseHash = command<{ hostLoginHash: string; now: number }>((table, v) =>
  table('logins')
    .where({ host_login_hash: v.hostLoginHash })
    .where('expires_at', '<=', v.now)
    .update({ host_login_hash: null }),
)

/**
 * Stores a login that the host reports, unless a parallel request has just stored it, or everything of the user was ended
 * since the host was asked.
 *
 * @param hostLoginHash equal for requests that report the same login of the host
 * @returns the login that is stored; undefined if the user's logins were ended
 */
export const beginHostLogin = (
  db: Database,
  { login, hostLoginHash, since, now }: Begun & { login: NewLoginRecord; hostLoginHash: string },
): Promise<LoginRecord | undefined> =>
  transaction<LoginRecord | undefined>(db, async (tx) => {
    // It locks the user's row, so parallel requests with this login come one after the other.
    if ((await unlessRevoked({ subject: login.subject, since, now }).run(tx)) === 0)
      return new RolledBack<LoginRecord | undefined>(undefined)
    const [row] = await ofHost(tx, { hostLoginHash, now })
    if (row) return loginOf(row)
    // The stored one has expired, and the host's login has outlived it.
    await releaseHash(tx, { hostLoginHash, now })
    await createLogin(tx, { ...login, hostLoginHash })
    return { ...login, fromHost: true }
  })

/** Ends one login, and with it everything that was granted without `offline_access`. */
export const endLogin = touches(
  command<{ sid: string; now: number }>((table, v) =>
    table('logins')
      .where({ sid: v.sid })
      .whereNull('ended_at')
      .update({ ended_at: v.now, host_login_hash: null, session_hash: null }),
  ),
)

/** The sids of a user's active logins. */
export const listLogins = findAll(
  query<{ subject: string; now: number }>((table, v) =>
    table('logins')
      .select('sid')
      .where({ subject: v.subject })
      .whereNull('ended_at')
      .where('expires_at', '>', v.now),
  ),
  (row) => textOf(row, 'sid'),
)

const ofBrowsers = query<{ one: string; other: string; now: number }>((table, v) =>
  table('logins')
    .select(loginColumns)
    .whereIn('browser_hash', [v.one, v.other])
    .whereNull('ended_at')
    .where('expires_at', '>', v.now)
    .orderBy('expires_at', 'desc'),
)

/**
 * The active logins of a browser, the newest first.
 *
 * @param hashes of its cookie; two if the browser lost the cookie that it had before
 */
export const listLoginsOfBrowser = async (
  db: Database,
  { hashes: [one, other = one], now }: { hashes: readonly [string, string?]; now: number },
): Promise<LoginRecord[]> => (await ofBrowsers(db, { one, other, now })).map(loginOf)

/** Moves a user's logins to the new cookie of their browser. */
export const moveLogins = command<{ from: string; to: string; subject: string }>((table, v) =>
  table('logins')
    .where({ browser_hash: v.from, subject: v.subject })
    .whereNull('ended_at')
    .update({ browser_hash: v.to }),
)

/** The most active logins that are listed at once. */
const maxActive = 200

/** A login, active or not. */
export interface LoginHistory extends LoginRecord, LoginPlace {
  readonly endedAt: number | null
}

export const historyColumns = [...loginColumns, 'user_agent', 'address', 'ended_at']

export const historyOf = (row: Row): LoginHistory => ({
  ...loginOf(row),
  userAgent: textOrNull(row, 'user_agent') ?? undefined,
  address: textOrNull(row, 'address') ?? undefined,
  endedAt: numberOrNull(row, 'ended_at'),
})

/** The newest 200 active logins of a user, the last one first. */
export const listActiveLogins = findAll(
  query<{ subject: string; now: number }>((table, v) =>
    table('logins')
      .select(historyColumns)
      .where({ subject: v.subject })
      .whereNull('ended_at')
      .where('expires_at', '>', v.now)
      .orderBy('auth_time', 'desc')
      .limit(maxActive, { skipBinding: true }),
  ),
  historyOf,
)

/** Every login of a user that is not pruned yet, oldest first. */
export const listLoginHistory = findAll(
  query<{ subject: string }>((table, v) =>
    table('logins').select(historyColumns).where({ subject: v.subject }).orderBy('auth_time'),
  ),
  historyOf,
)

/** The newest 50 logins of a user, the last one first. */
export const listNewestLogins = findAll(
  query<{ subject: string }>((table, v) =>
    table('logins')
      .select(historyColumns)
      .where({ subject: v.subject })
      .orderBy('auth_time', 'desc')
      .limit(maxNewest, { skipBinding: true }),
  ),
  historyOf,
)

/** Removes every login of a user, which ends everything granted under it without `offline_access`. */
export const removeLoginsOfSubject = command<{ subject: string }>((table, v) =>
  table('logins').where({ subject: v.subject }).delete(),
)

/**
 * Locks a login until the end of the transaction. Use it in a transaction that grants something that outlives the
 * login: if all logins of the user are ended at the same moment, that happens either before, and nothing is granted, or
 * after, and finds what was granted.
 */
export const lockLogin = command<{ sid: string; now: number }>((table, v) =>
  table('logins')
    .where({ sid: v.sid })
    .whereNull('ended_at')
    .where('expires_at', '>', v.now)
    .update({ ended_at: null }),
).with
