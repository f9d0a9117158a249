import type { Request } from 'express'
import type { AuthorizationServer } from '../authorization-server.ts'
import type { Context, PageContext } from '../http/context.ts'
import { createRequestInfo } from '../http/request-info.ts'
import { sessionKey } from '../http/urls.ts'
import { randomId } from '../keys/secrets.ts'
import type { HostLogin } from '../options/options.ts'
import type { Login } from '../protocol/login.ts'
import type { RequestInfo } from '../protocol/request-info.ts'
import { createLogin, endLogin as endStoredLogin, findLogin, listLogins } from '../repositories/index.ts'
import { announceLogout, type EndedLogin } from '../tokens/back-channel-logout.ts'
import { callHost } from '../users/host-function.ts'
import type { User } from '../users/users.ts'
import { hostSessionData } from './session.ts'

/** A login and its user, as the host's table has them now. */
export interface ActiveLogin {
  readonly login: Login
  readonly user: User
}

const sidsIn = (server: AuthorizationServer, session: Readonly<Record<string, unknown>>): string[] => {
  const data = session[sessionKey(server)]
  const sids: unknown = typeof data === 'object' && data !== null && 'sids' in data ? data.sids : []
  return Array.isArray(sids) ? sids.filter((sid) => typeof sid === 'string') : []
}

/** The logins that the session of this browser remembers, the current one first. */
const rememberedSids = ({ server, session }: PageContext): string[] => sidsIn(server, session.data())

/** The login that the session of this browser remembers, valid or not. */
export const rememberedSid = (context: PageContext): string | undefined => rememberedSids(context)[0]

// Bounds the size of a session however often a user logs in.
const maxSids = 20

/**
 * Stores a new login and moves the session on to it, both at once: without the login, the session names none that is
 * valid. If the same user has logged in again, the earlier login is remembered too, so that its clients hear of the
 * logout. Logins of another user end here.
 */
const storeLogin = async (
  context: PageContext,
  earlier: readonly string[],
  { subject, authTime, amr }: Omit<Login, 'sid'>,
): Promise<Login> => {
  const { server, session, info } = context
  const now = server.now()
  const [sid] = earlier
  const known = sid === undefined ? undefined : await findLogin(server.database, { sid, now })
  const login = { sid: randomId(), subject, authTime, amr }
  const isRenewal = known?.subject === subject
  const sids = isRenewal ? [login.sid, ...earlier].slice(0, maxSids) : [login.sid]
  Object.assign(session.data(), { [sessionKey(server)]: { sids } })
  const expiresAt = now + server.options.lifetimes.sessionAbsolute
  await Promise.all([createLogin(server.database, { ...login, expiresAt }), session.save()])
  if (!isRenewal) await endLogins(server, earlier, info)
  return login
}

// Every time in seconds is below this for three thousand years; every time in milliseconds is above it.
const maxTime = 100_000_000_000

/** Who is logged in at the host, by the option `login.current`. */
const hostLogin = async ({ server, req }: Context): Promise<HostLogin | undefined> => {
  const { current } = server.options.login
  if (current === undefined) return undefined
  const login = (await callHost('login.current', () => current(req))) || undefined
  if (login && !isTime(login.authTime ?? server.now())) {
    throw new Error('latchkey: login.current must return authTime in epoch seconds, or leave it out')
  }
  return login
}

const isTime = (seconds: number): boolean => Number.isFinite(seconds) && seconds > 0 && seconds < maxTime

/** Whether no login of the host means no login at all: the host has its own page, or learns of logins on ours. */
const hostDecides = ({ options: { login } }: AuthorizationServer): boolean =>
  login.current !== undefined && (login.url !== undefined || login.remember !== undefined)

/**
 * The current login of this browser, by our login or by the host's.
 *
 * @param read the remembered login if it has been read already; it holds undefined if that login is not valid
 */
export const currentLogin = async (
  context: PageContext,
  read?: { readonly login: Login | undefined },
): Promise<Login | undefined> => {
  const { server, info } = context
  const sids = rememberedSids(context)
  const [sid] = sids
  const find = (): Promise<Login | undefined> | undefined =>
    sid === undefined ? undefined : findLogin(server.database, { sid, now: server.now() })
  const known = read ? read.login : await find()
  const host = await hostLogin(context)
  if (host === undefined) {
    if (!known || !hostDecides(server)) return known
    // The user has logged out at the host.
    await endLogins(server, sids, info)
    return undefined
  }
  const subject = String(host.subject)
  const earlier = known?.subject === subject ? known : undefined
  // A host that does not know the time: that of the first request in which we saw this login.
  const authTime = Math.floor(host.authTime ?? earlier?.authTime ?? server.now())
  if (earlier?.authTime === authTime) return earlier
  return storeLogin(context, sids, { subject, authTime, amr: host.amr ?? ['pwd'] })
}

/** The current login with its user; a disabled user is not logged in. */
export const activeLogin = async (
  context: PageContext,
  read?: { readonly login: Login | undefined },
): Promise<ActiveLogin | undefined> => {
  const login = await currentLogin(context, read)
  const user = login && (await context.server.users.find(login.subject))
  return login && user && { login, user }
}

/**
 * Records that a user has just authenticated, under a new session id.
 *
 * @throws OAuthError `temporarily_unavailable` if session or database cannot store it; the user is then not logged in
 */
export const startLogin = async (context: PageContext, user: User): Promise<ActiveLogin> => {
  const { server, session, req } = context
  const earlier = rememberedSids(context)
  await session.regenerate()
  await callHost('login.remember', () => server.options.login.remember?.(req, user.record))
  const host = await hostLogin(context)
  const hostTime = host && String(host.subject) === user.subject ? host.authTime : undefined
  const authTime = Math.floor(hostTime ?? server.now())
  const login = await storeLogin(context, earlier, { subject: user.subject, authTime, amr: ['pwd'] })
  return { login, user }
}

/** Ends a login; the process that ends it first notifies the clients. */
const end = async (server: AuthorizationServer, login: EndedLogin, info?: RequestInfo): Promise<void> => {
  if (!(await endStoredLogin(server.database, { sid: login.sid, now: server.now() }))) return
  server.events.announce('login.ended', info, { subject: login.subject })
  announceLogout(server, login)
}

const endLogins = async (
  server: AuthorizationServer,
  sids: readonly string[],
  info: RequestInfo,
): Promise<void> => {
  for (const sid of sids) {
    const login = await findLogin(server.database, { sid, now: server.now() })
    if (login) await end(server, login, info)
  }
}

/** Logs the user out in this browser. What was granted without `offline_access` ends with it, and clients are notified. */
export const endLogin = async (context: PageContext): Promise<void> => {
  const { server, session, info } = context
  const sids = rememberedSids(context)
  // A session without our login belongs to the host only: a link of another site must not end it.
  if (sids.length === 0) return
  await endLogins(server, sids, info)
  await session.regenerate()
  await session.save()
}

/** Ends the login of this browser, on a route of the host that is about to end its own session. */
export const hostSignedOut = (server: AuthorizationServer, req: Request): Promise<void> =>
  endLogins(server, sidsIn(server, hostSessionData(req)), createRequestInfo(req))

/** Ends every login of a user. */
export const endLoginsOf = async (server: AuthorizationServer, subject: string): Promise<void> => {
  const sids = await listLogins(server.database, { subject, now: server.now() })
  for (const sid of sids) await end(server, { sid, subject })
}
