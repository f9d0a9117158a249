import { createSecret, derivedSecret, hashAtIssuer, randomId } from '../../keys/secrets.ts'
import type { AuthorizationServer } from '../../oauth/authorization-server.ts'
import { announceLogout, type EndedLogin } from '../../oauth/tokens/back-channel-logout.ts'
import type { Login } from '../../protocol/requests/login.ts'
import type { RequestInfo } from '../../protocol/requests/request-info.ts'
import {
  beginHostLogin,
  beginLogin,
  endLogin,
  type LoginRecord,
  listLoginsOfBrowser,
  moveLogins,
  postponeIdleEnd,
  releaseSession,
} from '../../storage/repositories/index.ts'
import type { PageContext } from '../http/context.ts'
import { type BoundBrowser, bindBrowser } from './browser-binding.ts'
import { isOwnSession } from './session.ts'

/** The request that ends a login, and the administrator, if one does. */
export interface EndedBy {
  readonly info?: RequestInfo | undefined
  readonly actor?: string | undefined
}

/** Ends a login; the process that ends it first notifies the clients. @returns whether this call ended it */
export const end = async (
  server: AuthorizationServer,
  login: EndedLogin,
  { info, actor }: EndedBy = {},
): Promise<boolean> => {
  const { sid, subject } = login
  const isEnded = await server.events.change(server.database, async (tx, tell) => {
    if (!(await endLogin(tx, { sid, now: server.now() }))) return false
    await tell('login.ended', info, { subject, actor })
    return true
  })
  if (isEnded) announceLogout(server, login)
  return isEnded
}

/**
 * The active logins of one browser, the newest first.
 *
 * @param sessionLogin the login of its session; it may have begun under an earlier cookie
 * @param browser undefined if it sent no cookie
 */
export const loginsOf = async (
  { database, now }: AuthorizationServer,
  sessionLogin: LoginRecord | undefined,
  browser: Pick<BoundBrowser, 'hash'> | undefined,
): Promise<LoginRecord[]> => {
  const [one, other] = [sessionLogin?.browserHash, browser?.hash].filter((hash) => hash !== undefined)
  const found =
    one === undefined ? [] : await listLoginsOfBrowser(database, { hashes: [one, other], now: now() })
  const isListed = found.some(({ sid }) => sid === sessionLogin?.sid)
  return sessionLogin && !isListed ? [sessionLogin, ...found] : found
}

/** Ends every login of one browser, and returns them. */
export const endLoginsOfBrowser = async (
  server: AuthorizationServer,
  sessionLogin: LoginRecord | undefined,
  browser: Pick<BoundBrowser, 'hash'> | undefined,
  info: RequestInfo,
): Promise<readonly LoginRecord[]> => {
  const logins = await loginsOf(server, sessionLogin, browser)
  for (const login of logins) await end(server, login, { info })
  return logins
}

/** The most logins of a user in one browser. Each `prompt=login` adds one; the oldest ends then. */
const maxLogins = 20

/**
 * Decides what happens to the other logins in the browser of a new one. Earlier logins of the same user stay, so that
 * their clients hear of the logout. Logins of another user end, and so do the oldest beyond the limit.
 */
const settleOthers = async (
  { server, info }: PageContext,
  login: LoginRecord,
  sessionLogin: LoginRecord | undefined,
  browser: BoundBrowser,
): Promise<void> => {
  const others = (await loginsOf(server, sessionLogin, browser)).filter(({ sid }) => sid !== login.sid)
  const { subject } = login
  const earlier = others.filter((other) => other.subject === subject)
  const ended = [...others.filter((other) => other.subject !== subject), ...earlier.slice(maxLogins - 1)]
  for (const other of ended) await end(server, other, { info })
  const from = sessionLogin?.browserHash
  if (from !== undefined && from !== browser.hash && sessionLogin?.subject === subject)
    await moveLogins(server.database, { from, to: browser.hash, subject })
}

/** A visit is written only after this share of the idle lifetime: one minute of half an hour. */
const share = 1 / 30

/** When a session ends without another visit, in epoch seconds. A session of the host has its own idle timeout. */
const idleEnd = (server: AuthorizationServer, expiresAt: number): number =>
  isOwnSession(server) ? server.now() + server.options.lifetimes.sessionIdle : expiresAt

/** Postpones the idle end of a login's session at a visit, in the background. A failure is only logged. */
export const noteVisit = (server: AuthorizationServer, login: LoginRecord): void => {
  const { database, options, runInBackground } = server
  const { sid, authTime, expiresAt, lastSeenAt, idleEndsAt: before = 0 } = login
  const now = server.now()
  const idleEndsAt = idleEnd(server, expiresAt)
  // The idle end of a session of the host never moves.
  const isDue = Math.max(idleEndsAt - before, now - (lastSeenAt ?? authTime))
  if (isDue < options.lifetimes.sessionIdle * share) return
  const written = postponeIdleEnd(database, { sid, idleEndsAt, now })
  runInBackground(
    written.catch((error: unknown) =>
      options.logger.warn('latchkey: a session could not be extended', error),
    ),
  )
}

/**
 * The secret of a new session. Parallel requests can find the same login of the host, and each sets the cookie, so its
 * secret follows from the sid. The host still confirms such a login at each request.
 */
const sessionSecret = ({ options }: AuthorizationServer, sid: string, isOfHost: boolean): string =>
  isOfHost ? derivedSecret('session', options.secrets[0], [sid]) : createSecret('session')

interface StartedLogin extends Omit<Login, 'sid' | 'fromHost'> {
  /** The number of revocations when the attempt began. */
  readonly since: number
  /** Of a login that the host reports. */
  readonly hostLoginHash?: string
}

/**
 * Stores a new login, and hands the session over to it.
 *
 * @param sessionLogin the login that the session had before, if it is valid
 * @returns the login; for a login of the host the one that a parallel request has just stored. Undefined if everything of the
 *   user was ended meanwhile
 */
export const storeLogin = async (
  context: PageContext,
  { hostLoginHash, since, ...details }: StartedLogin,
  sessionLogin: LoginRecord | undefined,
): Promise<LoginRecord | undefined> => {
  const { server, session } = context
  const { database } = server
  const now = server.now()
  const browser = bindBrowser(context)
  const sid = randomId()
  const isOfHost = hostLoginHash !== undefined
  const secret = sessionSecret(server, sid, isOfHost)
  const expiresAt = now + server.options.lifetimes.sessionAbsolute
  const created = {
    sid,
    ...details,
    expiresAt,
    browserHash: browser.hash,
    sessionHash: hashAtIssuer(server.issuer, secret),
    idleEndsAt: idleEnd(server, expiresAt),
    lastSeenAt: now,
    userAgent: context.req.get('user-agent'),
    address: context.info.address,
  }
  const begun = { login: created, since, now }
  const isStored = isOfHost || (await beginLogin(database, begun))
  const login = isOfHost ? await beginHostLogin(database, { ...begun, hostLoginHash }) : created
  if (!isStored || login === undefined) return undefined
  // The session comes last: a user who is told that it did not work is not signed in either.
  if (sessionLogin || !browser.isNew) await settleOthers(context, login, sessionLogin, browser)
  if (sessionLogin) await releaseSession(database, { sid: sessionLogin.sid })
  await session.begin(login.sid === sid ? secret : sessionSecret(server, login.sid, isOfHost))
  return login
}
