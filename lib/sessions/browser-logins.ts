import type { AuthorizationServer } from '../authorization-server.ts'
import type { PageContext } from '../http/context.ts'
import { sessionKey } from '../http/cookies.ts'
import { randomId } from '../keys/secrets.ts'
import type { Login } from '../protocol/login.ts'
import type { RequestInfo } from '../protocol/request-info.ts'
import {
  createHostLogin,
  createLogin,
  endLogin,
  type LoginRecord,
  listLoginsOfBrowser,
  moveLogins,
} from '../repositories/index.ts'
import { announceLogout, type EndedLogin } from '../tokens/back-channel-logout.ts'
import { type Browser, bindBrowser } from './browser-binding.ts'

/** The request that ends a login, and the administrator, if one does. */
export interface EndedBy {
  readonly info?: RequestInfo | undefined
  readonly actor?: string | undefined
}

/** Ends a login; the process that ends it first notifies the clients. */
export const end = async (
  server: AuthorizationServer,
  login: EndedLogin,
  { info, actor }: EndedBy = {},
): Promise<void> => {
  if (!(await endLogin(server.database, { sid: login.sid, now: server.now() }))) return
  const { subject } = login
  server.events.announce('login.ended', info, { subject, ...(actor !== undefined && { actor }) })
  announceLogout(server, login)
}

/**
 * The active logins of one browser, the newest first.
 *
 * @param known the login that its session names; it may have begun under an earlier cookie
 * @param browser undefined if it sent no cookie
 */
export const loginsOf = async (
  { database, now }: AuthorizationServer,
  known: LoginRecord | undefined,
  browser: Pick<Browser, 'hash'> | undefined,
): Promise<LoginRecord[]> => {
  const [one, other] = [known?.browserHash, browser?.hash].filter((hash) => hash !== undefined)
  const found =
    one === undefined ? [] : await listLoginsOfBrowser(database, { hashes: [one, other], now: now() })
  const isListed = found.some(({ sid }) => sid === known?.sid)
  return known && !isListed ? [known, ...found] : found
}

/** Ends every login of one browser, and returns them. */
export const endLoginsOfBrowser = async (
  server: AuthorizationServer,
  known: LoginRecord | undefined,
  browser: Pick<Browser, 'hash'> | undefined,
  info: RequestInfo,
): Promise<readonly LoginRecord[]> => {
  const logins = await loginsOf(server, known, browser)
  for (const login of logins) await end(server, login, { info })
  return logins
}

/** The most logins of a user in one browser. Each `prompt=login` adds one; the oldest ends then. */
const maxLogins = 20

/**
 * Settles what else is logged in in the browser of a new login. Earlier logins of the same user stay, so that their
 * clients hear of the logout; logins of another user end, and the oldest that are too many.
 */
const settleOthers = async (
  { server, info }: PageContext,
  login: LoginRecord,
  known: LoginRecord | undefined,
  browser: Browser,
): Promise<void> => {
  const others = (await loginsOf(server, known, browser)).filter(({ sid }) => sid !== login.sid)
  const { subject } = login
  const earlier = others.filter((other) => other.subject === subject)
  const ended = [...others.filter((other) => other.subject !== subject), ...earlier.slice(maxLogins - 1)]
  for (const other of ended) await end(server, other, { info })
  const from = known?.browserHash
  if (from !== undefined && from !== browser.hash && known?.subject === subject)
    await moveLogins(server.database, { from, to: browser.hash, subject })
}

interface NewLogin extends Omit<Login, 'sid' | 'fromHost'> {
  /** Of a login that the host reports. */
  readonly hostLoginHash?: string
}

interface StoreLoginOptions {
  readonly known: LoginRecord | undefined
  readonly isFirst?: boolean
  readonly alsoRead?: (() => void) | undefined
}

/**
 * Stores a new login and moves the session on to it. A session without a stored login names none that is valid.
 *
 * @param known the login that the session named before, if it is valid
 * @param isFirst whether the browser is known to have no other login
 * @param alsoRead starts a read that PostgreSQL gets together with what is written
 * @returns the login; for a login of the host the one that a parallel request has just stored
 */
export const storeLogin = async (
  context: PageContext,
  { hostLoginHash, ...details }: NewLogin,
  { known, isFirst = false, alsoRead }: StoreLoginOptions,
): Promise<LoginRecord> => {
  const { server, session } = context
  const { database, options } = server
  const now = server.now()
  const browser = bindBrowser(context)
  const expiresAt = now + options.lifetimes.sessionAbsolute
  const created = { sid: randomId(), ...details, expiresAt, browserHash: browser.hash }
  const login =
    hostLoginHash === undefined
      ? created
      : await createHostLogin(database, { login: created, hostLoginHash, now })
  Object.assign(session.data(), { [sessionKey(server)]: { sid: login.sid } })
  alsoRead?.()
  await Promise.all([hostLoginHash === undefined && createLogin(database, created), session.save()])
  if (known || !(isFirst || browser.isNew)) await settleOthers(context, login, known, browser)
  return login
}
