import type { Request } from 'express'
import type { AuthorizationServer } from '../authorization-server.ts'
import { requestInfo } from '../http/request-info.ts'
import { sessionKey } from '../http/urls.ts'
import { randomId } from '../keys/secrets.ts'
import type { HostLogin } from '../options/options.ts'
import type { Login } from '../protocol/login.ts'
import type { RequestInfo } from '../protocol/request-info.ts'
import { createLogin, endLogin as endStoredLogin, findLogin, listLogins } from '../repositories/index.ts'
import { announceLogout, type EndedLogin } from '../tokens/back-channel-logout.ts'
import { callHost } from '../users/host-function.ts'
import type { User } from '../users/users.ts'
import { hostSessionOf, regenerateSession, saveSession, sessionOf } from './session.ts'

/** The sids that this browser's session remembers, the current one first. */
const rememberedSids = (server: AuthorizationServer, req: Request): string[] => sidsIn(server, sessionOf(req))

const sidsIn = (server: AuthorizationServer, session: Readonly<Record<string, unknown>>): string[] => {
  const data = session[sessionKey(server)]
  const sids: unknown = typeof data === 'object' && data !== null && 'sids' in data ? data.sids : []
  return Array.isArray(sids) ? sids.filter((sid) => typeof sid === 'string') : []
}

// However often one user signs in again, the session stays small.
const maxSids = 20

/**
 * A session goes on to a new login. When the same user has only signed in again, the clients of the earlier login
 * are still to hear of the sign-out, so it is remembered too; another user's logins end here.
 */
const goOn = async (
  server: AuthorizationServer,
  req: Request,
  { earlier, login }: { earlier: readonly string[]; login: Login },
): Promise<void> => {
  const [sid] = earlier
  const known = sid === undefined ? undefined : await findLogin(server.database, { sid, now: server.now() })
  const isRenewal = known?.subject === login.subject
  const sids = isRenewal ? [login.sid, ...earlier].slice(0, maxSids) : [login.sid]
  Object.assign(sessionOf(req), { [sessionKey(server)]: { sids } })
  await saveSession(req)
  if (!isRenewal) await endRemembered(server, req, earlier)
}

const record = async (
  server: AuthorizationServer,
  { subject, authTime, amr }: Omit<Login, 'sid'>,
): Promise<Login> => {
  const login = { sid: randomId(), subject, authTime, amr }
  const expiresAt = server.now() + server.options.lifetimes.sessionAbsolute
  await createLogin(server.database, { ...login, expiresAt })
  return login
}

// Any time in seconds is below this for three thousand years; milliseconds are far above.
const latestTime = 100_000_000_000

/** What the host says of its own login. */
const hostLogin = async (server: AuthorizationServer, req: Request): Promise<HostLogin | undefined> => {
  const login = (await callHost('login.current', () => server.options.login.current?.(req))) || undefined
  if (login && !(Number.isFinite(login.authTime) && login.authTime < latestTime)) {
    throw new Error('latchkey: login.current must return authTime in epoch seconds')
  }
  return login
}

/** Whether the host's word is final: it has its own page, or it is told of logins on ours. */
const hostDecides = ({ options: { login } }: AuthorizationServer): boolean =>
  login.current !== undefined && (login.url !== undefined || login.remember !== undefined)

/** The login that this browser's session remembers, whether or not it still stands. */
export const rememberedSid = (server: AuthorizationServer, req: Request): string | undefined =>
  rememberedSids(server, req)[0]

/**
 * Who is logged in in this browser, by our login or by the host's; undefined when nobody, or no longer.
 *
 * @param read the remembered login where it has been read already, undefined in it when it does not stand
 */
export const currentLogin = async (
  server: AuthorizationServer,
  req: Request,
  read?: { readonly login: Login | undefined },
): Promise<Login | undefined> => {
  const sids = rememberedSids(server, req)
  const [sid] = sids
  const find = (): Promise<Login | undefined> | undefined =>
    sid === undefined ? undefined : findLogin(server.database, { sid, now: server.now() })
  const known = read ? read.login : await find()
  const host = await hostLogin(server, req)
  if (host === undefined) {
    if (!known || !hostDecides(server)) return known
    // Signed out at the host: what hangs on that login ends too.
    await endRemembered(server, req, sids)
    return undefined
  }
  const subject = String(host.subject)
  const authTime = Math.floor(host.authTime)
  if (known?.subject === subject && known.authTime === authTime) return known
  const login = await record(server, { subject, authTime, amr: host.amr ?? ['pwd'] })
  await goOn(server, req, { earlier: sids, login })
  return login
}

/**
 * Records that a user has just proven who they are, under a new session id.
 *
 * @throws OAuthError `temporarily_unavailable` when session or database cannot keep it: then nobody is logged in
 */
export const startLogin = async (server: AuthorizationServer, req: Request, user: User): Promise<Login> => {
  const earlier = rememberedSids(server, req)
  await regenerateSession(req)
  await callHost('login.remember', () => server.options.login.remember?.(req, user.record))
  const host = await hostLogin(server, req)
  const authTime = host && String(host.subject) === user.subject ? Math.floor(host.authTime) : server.now()
  const login = await record(server, { subject: user.subject, authTime, amr: ['pwd'] })
  await goOn(server, req, { earlier, login })
  return login
}

/** Ends a login; whoever ends it first tells the clients. */
const end = async (server: AuthorizationServer, login: EndedLogin, info?: RequestInfo): Promise<void> => {
  if (!(await endStoredLogin(server.database, { sid: login.sid, now: server.now() }))) return
  server.events.announce('login.ended', info, { subject: login.subject })
  announceLogout(server, login)
}

const endRemembered = async (
  server: AuthorizationServer,
  req: Request,
  sids: readonly string[],
): Promise<void> => {
  for (const sid of sids) {
    const login = await findLogin(server.database, { sid, now: server.now() })
    if (login) await end(server, login, requestInfo(req))
  }
}

/** Signs the user out in this browser; everything granted without `offline_access` ends with it, and clients are told. */
export const endLogin = async (server: AuthorizationServer, req: Request): Promise<void> => {
  const sids = rememberedSids(server, req)
  // A session in which nobody has signed in here is the host's own: no link of another site may end it.
  if (sids.length === 0) return
  await endRemembered(server, req, sids)
  await regenerateSession(req)
  await saveSession(req)
}

/** The host is about to sign a user out of its own session: what hangs on the login ends with it. */
export const hostSignedOut = (server: AuthorizationServer, req: Request): Promise<void> =>
  endRemembered(server, req, sidsIn(server, hostSessionOf(req)))

/** Ends every login of a user. */
export const endLoginsOf = async (server: AuthorizationServer, subject: string): Promise<void> => {
  const sids = await listLogins(server.database, { subject, now: server.now() })
  for (const sid of sids) await end(server, { sid, subject })
}
