import type { AuthorizationServer, ServerSetup } from '../../oauth/authorization-server.ts'
import type { Choices } from '../../protocol/choices.ts'
import {
  type AuthorizationRecord,
  findAuthorization,
  findLogin,
  type KeyPage,
  type LoginHistory,
  listAuthorizationsPage,
  listLoginsPage,
  loginClients,
  maxPage,
  revokeAuthorization,
} from '../../storage/repositories/index.ts'
import { end } from '../../web/sessions/browser-logins.ts'
import { givenId, isLookup } from '../users.ts'
import { isInUse, lastUse } from './connected-clients.ts'
import { deviceName } from './device-name.ts'

/** A page of a list of sessions or authorizations. */
export interface ListOptions {
  /** The user's id, as `users` finds it. It must not be undefined: that would list every user. @default every user */
  readonly user?: string | number | bigint
  /** A client's id. @default every client */
  readonly client?: string
  /** The id of an organization: only what was granted in it. @default every organization */
  readonly organization?: string
  /** `next` of the page before. @default the first page */
  readonly after?: string | undefined
  /** The most that the page has, from 1 to 100. @default 50 */
  readonly limit?: number
}

/** A page of a list. It can have fewer than `limit`, or none, although another one follows. */
export interface ListPage<Item> {
  readonly items: readonly Item[]
  /** Pass it as `after`; undefined on the last page. */
  readonly next?: string
}

/** A login of a user in a browser. Times are epoch seconds. */
export interface Session {
  /** It is not secret. Clients get a `sid` that is derived from it. */
  readonly id: string
  readonly subject: string
  readonly signedInAt: number
  readonly lastUsedAt: number
  readonly expiresAt: number
  /** Such as Chrome on macOS, as far as its browser said it. */
  readonly device: { readonly browser?: string | undefined; readonly system?: string | undefined }
  /** The IP address at the sign-in. */
  readonly address?: string
  /** Authentication methods (RFC 8176). */
  readonly amr: readonly string[]
  /** Authentication level. */
  readonly acr?: string
  /** The ids of the clients to which the user signed in under it. */
  readonly clients: readonly string[]
}

/** The authorization of a client by a user at one sign-in, whose tokens can still be used. Times are epoch seconds. */
export interface Authorization {
  /** Events know it as `authorizationId`. */
  readonly id: string
  readonly subject: string
  readonly clientId: string
  /** The id of the organization, if the user chose one. */
  readonly organization?: string
  readonly scopes: readonly string[]
  /** The things that the user chose, by kind; absent if its scopes are about none. */
  readonly choices?: Choices
  /** Resources (RFC 8707). */
  readonly resources: readonly string[]
  readonly createdAt: number
  /** The last sign-in or refresh. */
  readonly lastUsedAt: number
  readonly expiresAt: number
  /** Whether it outlives its session (`offline_access`). */
  readonly offline: boolean
  /** The id of its session, which may have ended. */
  readonly sessionId: string
}

/** Limits whose session or authorization may end. */
export interface EndOptions {
  /** The user's id, as `users` finds it. @default every user */
  readonly user?: string | number | bigint
}

/** Lists and ends the sessions of your users. */
export interface SessionAdministration {
  /**
   * Lists active sessions, ordered by id.
   *
   * @throws RangeError if `limit` is not an integer from 1 to 100 · TypeError if `user` is there, but no id
   * @example const { items, next } = await oauth.sessions.list({ user: user.id })
   */
  list(options?: ListOptions): Promise<ListPage<Session>>
  /**
   * Ends a session with everything granted under it without `offline_access`, and notifies clients (OIDC Back-Channel Logout).
   *
   * @param options.user the user's id, on a page for users: a session of anyone else stays
   * @returns whether it was active, and is the user's
   * @throws TypeError if the session or the user is not named by an id
   * @example await oauth.sessions.end(req.body.id, { user: req.user.id })
   */
  end(id: string, options?: EndOptions): Promise<boolean>
}

/** Lists and ends what users granted to clients. */
export interface AuthorizationAdministration {
  /**
   * Lists authorizations that can still be used, ordered by id.
   *
   * @throws RangeError if `limit` is not an integer from 1 to 100 · TypeError if `user` is there, but no id
   * @example const { items, next } = await oauth.authorizations.list({ client: 'shop', organization: 'acme' })
   */
  list(options?: ListOptions): Promise<ListPage<Authorization>>
  /**
   * Ends an authorization with all of its tokens. The consent stays: `oauth.users` and the page Connected apps remove it.
   *
   * @param options.user the user's id, on a page for users: an authorization of anyone else stays
   * @returns whether it was active, and is the user's
   * @throws TypeError if the authorization or the user is not named by an id
   * @example await oauth.authorizations.end(req.body.id, { user: req.user.id })
   */
  end(id: string, options?: EndOptions): Promise<boolean>
}

const usualLimit = 50

/** @throws RangeError · TypeError if the user is not named by an id */
const pageOf = (
  options: ListOptions,
  { call, now }: { readonly call: string; readonly now: number },
): (KeyPage & { readonly limit: number }) | undefined => {
  const { client, after = '', limit = usualLimit } = options
  if (!Number.isInteger(limit) || limit < 1 || limit > maxPage)
    throw new RangeError(`limit must be an integer from 1 to ${maxPage}`)
  const subject = 'user' in options ? givenId(options.user, call) : undefined
  const isPossible = [subject, client].every((each) => each === undefined || isLookup(each))
  return isPossible ? { subject, clientId: client, after, limit, now } : undefined
}

/** @param next the key of the last row that was looked at, if others may follow */
const listPage = <Item>(items: readonly Item[], next: string | undefined): ListPage<Item> => ({
  items,
  ...(next !== undefined && { next }),
})

const sessionOf = (login: LoginHistory, clients: readonly string[]): Session => ({
  id: login.sid,
  subject: login.subject,
  signedInAt: login.authTime,
  lastUsedAt: Math.max(login.authTime, login.lastSeenAt ?? 0),
  expiresAt: login.expiresAt,
  device: deviceName(login.userAgent),
  ...(login.address !== undefined && { address: login.address }),
  amr: login.amr,
  ...(login.acr !== undefined && { acr: login.acr }),
  clients,
})

const publicAuthorization = (record: AuthorizationRecord): Authorization => {
  const { organization, resources = {} } = record.details
  return {
    id: record.id,
    subject: record.subject,
    clientId: record.clientId,
    ...(organization !== undefined && { organization }),
    scopes: record.scopes,
    ...(record.choices && { choices: record.choices }),
    resources: Object.keys(resources),
    createdAt: record.createdAt,
    lastUsedAt: lastUse(record),
    expiresAt: record.expiresAt,
    offline: record.offline,
    sessionId: record.sid,
  }
}

/** The parts of the server that a list needs. */
type Readable = Pick<AuthorizationServer, 'database' | 'now'>

/** A page of active sessions. See {@link SessionAdministration.list}. */
export const listSessions = async (server: Readable, options: ListOptions): Promise<ListPage<Session>> => {
  const { database } = server
  const page = pageOf(options, { call: 'sessions.list()', now: server.now() })
  if (page === undefined) return { items: [] }
  const { rows, last } = await listLoginsPage(database, page)
  const logins = rows.slice(0, page.limit)
  const sids = logins.map(({ sid }) => sid)
  const granted = await loginClients(database, sids)
  const { organization } = options
  const items = logins
    .map((login) => ({ login, granted: granted.get(login.sid) ?? [] }))
    .filter(
      (each) => organization === undefined || each.granted.some((one) => one.organization === organization),
    )
    .map((each) => sessionOf(each.login, [...new Set(each.granted.map(({ clientId }) => clientId))]))
  return listPage(items, rows.length > page.limit ? sids.at(-1) : last)
}

/** A page of authorizations that can still be used. See {@link AuthorizationAdministration.list}. */
export const listAuthorizationPage = async (
  server: Readable,
  options: ListOptions,
): Promise<ListPage<Authorization>> => {
  const now = server.now()
  const page = pageOf(options, { call: 'authorizations.list()', now })
  if (page === undefined) return { items: [] }
  const { rows, last } = await listAuthorizationsPage(server.database, page)
  const records = rows.slice(0, page.limit)
  const { organization } = options
  const items = records
    .filter((record) => isInUse(record, now))
    .filter(({ details }) => organization === undefined || details.organization === organization)
    .map(publicAuthorization)
  return listPage(items, rows.length > page.limit ? records.at(-1)?.id : last)
}

/** @throws TypeError */
const assertText = (id: unknown, need: string): void => {
  if (typeof id !== 'string') throw new TypeError(`latchkey: ${need}, as a string`)
}

/** Whether something is of the user whom a call names, or of anyone if it names none. @throws TypeError */
const ownerCheck = (options: EndOptions = {}, call: string) => {
  const owner = 'user' in Object(options) ? givenId(options.user, call) : undefined
  return ({ subject }: { readonly subject: string }): boolean => owner === undefined || subject === owner
}

/** `oauth.sessions` */
export const sessionAdministration = (setup: ServerSetup): SessionAdministration => ({
  list: async (options = {}) => listSessions(await setup.ready(), options),
  end: async (id, options) => {
    assertText(id, 'sessions.end() needs the id of the session')
    const isTheirs = ownerCheck(options, 'sessions.end()')
    const server = await setup.ready()
    const login = isLookup(id) ? await findLogin(server.database, { sid: id, now: server.now() }) : undefined
    return login !== undefined && isTheirs(login) && end(server, login)
  },
})

/** `oauth.authorizations` */
export const authorizationAdministration = (setup: ServerSetup): AuthorizationAdministration => ({
  list: async (options = {}) => listAuthorizationPage(await setup.ready(), options),
  end: async (id, options) => {
    assertText(id, 'authorizations.end() needs the id of the authorization')
    const isTheirs = ownerCheck(options, 'authorizations.end()')
    const { database, events, now } = await setup.ready()
    const found = isLookup(id) ? await findAuthorization(database, { id }) : undefined
    if (found === undefined || !isTheirs(found)) return false
    const { clientId, subject } = found
    return events.change(database, async (tx, tell) => {
      if (!(await revokeAuthorization(tx, { id, now: now() }))) return false
      const about = { authorizationId: id, clientId, subject }
      await tell('authorization.revoked', undefined, { ...about, reason: 'revoked_by_host' })
      return true
    })
  },
})
