import type { Request } from 'express'
import type { AuthorizationServer } from '../../oauth/authorization-server.ts'
import type { HostLogin } from '../../options/login.ts'
import { isSince, provenTime, unknownTime } from '../../protocol/requests/login.ts'
import {
  countRevocations,
  findSessionLogin,
  isRevoked,
  type LoginRecord,
} from '../../storage/repositories/index.ts'
import { callHost } from '../../users/host-function.ts'
import type { User } from '../../users/users.ts'
import type { PageContext } from '../http/context.ts'
import { createRequestInfo } from '../http/route.ts'
import { boundBrowser } from './browser-binding.ts'
import { endLoginsOfBrowser, loginsOf, noteVisit, storeLogin } from './browser-logins.ts'
import { forgetHostLogin, hostDecides, hostLogin, hostLoginHash } from './host-login.ts'
import { sessionHashOf } from './session.ts'

/** A login and its user, as the host's table has them now. */
export interface ActiveLogin {
  readonly login: LoginRecord
  readonly user: User
}

// A session has the current login only. Which logins began in a browser stands in the database, under the cookie of that
// browser, because hosts regenerate and destroy their sessions.

/** The login of a session. @param sessionHash of what the session holds; undefined if it holds nothing */
const loginOfSession = async (
  { database, now }: AuthorizationServer,
  sessionHash: string | undefined,
): Promise<LoginRecord | undefined> =>
  sessionHash === undefined ? undefined : findSessionLogin(database, { sessionHash, now: now() })

/** A request whose login was read together with it. */
interface ReadTogether {
  readonly knownLogin: { readonly login: LoginRecord } | undefined
}

/** Ends every login of this browser. */
const endHere = (context: PageContext, current: LoginRecord | undefined): Promise<readonly LoginRecord[]> =>
  endLoginsOfBrowser(context.server, current, boundBrowser(context), context.info)

/**
 * Whether the user has authenticated on our page after the login that the host reports. The level of that login then says
 * nothing about ours. A login without a time may be the same as ours if `login.remember` has told the host about it.
 */
const isBeforeOurs = (
  { options: { login } }: AuthorizationServer,
  { authTime }: HostLogin,
  current: LoginRecord,
): boolean =>
  !current.fromHost &&
  (authTime === undefined ? login.remember === undefined : !isSince(authTime, current.authTime))

/**
 * The current login of this browser, by our login or by the host's.
 *
 * @param request if the login of the session was read together with it
 */
const currentLogin = async (
  context: PageContext,
  request?: ReadTogether,
): Promise<LoginRecord | undefined> => {
  const { server, session } = context
  const current = request ? request.knownLogin?.login : await loginOfSession(server, session.secretHash())
  if (current) noteVisit(server, current)
  const reportsLogins = server.options.login.current !== undefined
  if (!reportsLogins && !current?.fromHost) return current
  const since = await countRevocations(server.database)
  const host = await hostLogin(context)
  if (host === undefined) {
    if (!hostDecides(server) && !current?.fromHost) return current
    // The user has logged out at the host, or the host's login is that of another browser.
    await endHere(context, current)
    return undefined
  }
  const subject = String(host.subject)
  if (current?.subject === subject && isBeforeOurs(server, host, current)) return current
  // With another level the user has authenticated again, or no longer counts as having done so.
  const isSameLevel = current?.acr === host.acr || (host.acr === undefined && !current?.fromHost)
  const earlier = current?.subject === subject && isSameLevel ? current : undefined
  // A host that does not know the time: that of the first request with this login.
  const authTime = Math.floor(host.authTime ?? earlier?.authTime ?? server.now())
  // On our own page the user may have logged in after the host's login.
  if (earlier && !earlier.fromHost && earlier.authTime >= authTime) return earlier
  const lacksTime = host.authTime === undefined
  if (earlier?.fromHost && earlier.authTime === authTime) return { ...earlier, lacksTime }
  const { amr = ['pwd'], acr } = host
  const login = { subject, authTime, amr, acr, since, hostLoginHash: hostLoginHash(context, host) }
  const stored = await storeLogin(context, login, current)
  return stored && { ...stored, lacksTime }
}

/** The current login with its user; a disabled user is not logged in. */
export const activeLogin = async (
  context: PageContext,
  request?: ReadTogether,
): Promise<ActiveLogin | undefined> => {
  const login = await currentLogin(context, request)
  const user = login && (await context.server.users.find(login.subject))
  return login && user && { login, user }
}

/**
 * The login, if the user has signed in recently. What a user adds to the account outlives the session, and another person
 * may find an older session open.
 *
 * @param active undefined if no user is signed in
 * @param within seconds
 */
export const recentLogin = (
  { server }: PageContext,
  active: ActiveLogin | undefined,
  within: number,
): ActiveLogin | undefined =>
  active && server.now() - provenTime(active.login) <= within ? active : undefined

/** The active logins of a user in this browser: the current one, and those before it. */
export const loginsHere = async (context: PageContext, current: LoginRecord): Promise<LoginRecord[]> => {
  const logins = await loginsOf(context.server, current, boundBrowser(context))
  return logins.filter(({ subject }) => subject === current.subject)
}

/** A user who has just authenticated on our page. */
export interface Authenticated {
  readonly user: User
  /** How; by default with the password alone. */
  readonly proof?: Proof | undefined
  /** The number of revocations when the attempt began. */
  readonly since: number
}

/** How a user has authenticated on our page. */
export interface Proof {
  /** Authentication methods (RFC 8176). */
  readonly amr: readonly string[]
  /** Authentication level, if it has one of the option `acrValues`. */
  readonly acr?: string | undefined
}

/**
 * Stores the login of a user who has just authenticated, in a new session.
 *
 * @returns undefined if everything of the user was ended since the attempt began; the user is then not logged in
 * @throws OAuthError `temporarily_unavailable` if session or database cannot store it; the user is then not logged in
 */
export const startLogin = async (
  context: PageContext,
  { user, proof, since }: Authenticated,
): Promise<ActiveLogin | undefined> => {
  const { server, session, req, res } = context
  const { login: options } = server.options
  const { subject } = user
  const { amr, acr } = proof ?? { amr: ['pwd'], acr: options.acr }
  const current = await loginOfSession(server, session.secretHash())
  const now = server.now()
  // A login that the host has remembered can only be undone if the host says how.
  if (options.remember && (await isRevoked(server.database, { subject, since }))) return undefined
  const previousSession = await session.renew()
  await callHost('login.remember', () =>
    options.remember?.(user.record, { req, res, amr, acr, previousSession }),
  )
  const host = await hostLogin(context)
  const theirs = host && String(host.subject) === subject ? host : undefined
  // The host may remember an earlier time, but the password was checked now.
  const authTime = Math.max(Math.floor(theirs?.authTime ?? 0), server.now())
  // An earlier login at the host can have reached a level that this one has not.
  const level = isSince(theirs?.authTime ?? unknownTime, now) ? theirs?.acr : undefined
  const login = await storeLogin(context, { subject, authTime, amr, acr: level ?? acr, since }, current)
  if (login) return { login, user }
  await forgetHostLogin(context)
  await session.end()
  return undefined
}

/** The logins that have ended, and whether the host still reports one to this request. */
export interface SignedOut {
  readonly ended: readonly LoginRecord[]
  readonly isAtHost: boolean
}

/**
 * Ends what is left of logins in a browser in which no user is signed in, such as that of a disabled user. The session of the
 * host stays: any site can link to the sign-out.
 */
export const endRest = async (context: PageContext): Promise<SignedOut> => {
  const { server, session } = context
  const ended = await endHere(context, await loginOfSession(server, session.secretHash()))
  return { ended, isAtHost: (await hostLogin(context)) !== undefined }
}

/**
 * Logs the user out in this browser, and at the host if it says how (`login.forget`). What was granted without
 * `offline_access` ends with it, and clients are notified.
 */
export const signOut = async (context: PageContext): Promise<SignedOut> => {
  const { server, session } = context
  const nothing = { ended: [], isAtHost: false }
  const current = await loginOfSession(server, session.secretHash())
  // A session without our login belongs to the host only: a link of another site must not end it.
  if (current === undefined && !(await hostLogin(context))) return nothing
  await forgetHostLogin(context)
  const ended = await endHere(context, current)
  await session.end()
  return { ended, isAtHost: (await hostLogin(context)) !== undefined }
}

/** Ends the logins of this browser, on a route of the host that is about to end its own session. */
export const hostSignedOut = async (server: AuthorizationServer, req: Request): Promise<void> => {
  const current = await loginOfSession(server, sessionHashOf(server, req))
  await endLoginsOfBrowser(server, current, boundBrowser({ server, req }), createRequestInfo(server, req))
}
