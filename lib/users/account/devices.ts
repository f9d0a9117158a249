import type { AuthorizationServer } from '../../oauth/authorization-server.ts'
import type { RequestInfo } from '../../protocol/requests/request-info.ts'
import {
  findClientsOfLogin,
  type LoggedInClient,
  type LoginHistory,
  type LoginRecord,
  listActiveLogins,
  listLogins,
  listNewestLogins,
} from '../../storage/repositories/index.ts'
import { end } from '../../web/sessions/browser-logins.ts'
import { type DeviceName, deviceName } from './device-name.ts'

/** A browser in which a user is signed in. */
export interface Device extends DeviceName {
  /** The newest of its logins, which names it. */
  readonly sid: string
  /** Every active login of the user in it. */
  readonly sids: readonly string[]
  /** Epoch seconds of its first login that is still active. */
  readonly since: number
  /** Epoch seconds. */
  readonly lastUsed: number
  /** Whether it is the browser that asks. */
  readonly isHere: boolean
  /** Whether the host reports the login, and may do so again. */
  readonly isAtHost: boolean
}

/** Whether two logins are in one browser. */
const isSameBrowser = (
  one: Pick<LoginRecord, 'sid' | 'browserHash'>,
  other: Pick<LoginRecord, 'sid' | 'browserHash'>,
): boolean =>
  one.sid === other.sid || (one.browserHash !== undefined && one.browserHash === other.browserHash)

const deviceOf = (logins: readonly [LoginHistory, ...LoginHistory[]], current: LoginRecord): Device => ({
  ...deviceName(logins[0].userAgent),
  sid: logins[0].sid,
  sids: logins.map(({ sid }) => sid),
  since: Math.min(...logins.map(({ authTime }) => authTime)),
  lastUsed: Math.max(...logins.map(({ authTime, lastSeenAt }) => Math.max(authTime, lastSeenAt ?? 0))),
  isHere: logins.some((login) => isSameBrowser(login, current)),
  isAtHost: logins.some(({ fromHost }) => fromHost),
})

/**
 * The browsers in which a user is signed in, of the newest 200 logins: the one that asks first, then the last used first.
 *
 * @param current the login of the browser that asks
 */
export const listDevices = async (
  { database, now }: Pick<AuthorizationServer, 'database' | 'now'>,
  current: LoginRecord,
): Promise<Device[]> => {
  const devices = new Map<string, [LoginHistory, ...LoginHistory[]]>()
  for (const login of await listActiveLogins(database, { subject: current.subject, now: now() })) {
    const key = login.browserHash ?? login.sid
    const others = devices.get(key)
    if (others) others.push(login)
    else devices.set(key, [login])
  }
  return [...devices.values()]
    .map((logins) => deviceOf(logins, current))
    .sort((one, other) => Number(other.isHere) - Number(one.isHere) || other.lastUsed - one.lastUsed)
}

/** The clients that the user signed in to under any of these logins, each once. */
export const clientsOfLogins = async (
  { database }: Pick<AuthorizationServer, 'database'>,
  sids: readonly string[],
): Promise<LoggedInClient[]> => {
  const clients = new Map<string, LoggedInClient>()
  for (const sid of sids)
    for (const client of await findClientsOfLogin(database, { sid })) clients.set(client.clientId, client)
  return [...clients.values()]
}

/** Ends every login of a user on one device, with what was granted there without `offline_access`. */
export const endDevice = async (
  server: AuthorizationServer,
  subject: string,
  { sids }: Pick<Device, 'sids'>,
  info: RequestInfo,
): Promise<void> => {
  for (const sid of sids) await end(server, { sid, subject }, { info })
}

/**
 * Ends every login of a user that is not in the browser of this one.
 *
 * @param current the login of the browser that stays
 */
export const endOtherDevices = async (
  server: AuthorizationServer,
  current: LoginRecord,
  info: RequestInfo,
): Promise<void> => {
  const { subject } = current
  const here = (await listDevices(server, current)).find(({ isHere }) => isHere)
  const stays = [current.sid, ...(here?.sids ?? [])]
  const sids = await listLogins(server.database, { subject, now: server.now() })
  await endDevice(server, subject, { sids: sids.filter((sid) => !stays.includes(sid)) }, info)
}

/** A device on which a user was signed in until just now. */
export interface EndedDevice extends DeviceName {
  readonly sids: readonly string[]
}

/** The device of a login that has ended, with the logins that ended together; undefined if the user has no such login. */
export const findEndedDevice = async (
  { database }: Pick<AuthorizationServer, 'database'>,
  subject: string,
  sid: string,
): Promise<EndedDevice | undefined> => {
  const logins = await listNewestLogins(database, { subject })
  const ended = logins.find((login) => login.sid === sid)
  if (!ended || ended.endedAt === null) return undefined
  const since = ended.endedAt
  const together = logins.filter((login) => isSameBrowser(login, ended) && (login.endedAt ?? 0) >= since)
  return { ...deviceName(ended.userAgent), sids: together.map((login) => login.sid) }
}
