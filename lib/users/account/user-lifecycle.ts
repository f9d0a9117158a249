import type { Request } from 'express'
import type { Tell } from '../../events/events.ts'
import type { AuthorizationServer, ServerSetup } from '../../oauth/authorization-server.ts'
import { announceLogout } from '../../oauth/tokens/back-channel-logout.ts'
import type { RequestInfo } from '../../protocol/requests/request-info.ts'
import type { Write } from '../../storage/database/statement.ts'
import { accountOf } from '../../web/sessions/device-cookie.ts'
import { hostSignedOut } from '../../web/sessions/login.ts'
import { givenId, isLookup } from '../users.ts'
import { endAllOf } from './end-all.ts'
import { unlockLoginName } from './unlock.ts'
import { eraseUser, exportUser, type UserExport } from './user-records.ts'

/** Reports about your users. */
export interface UserLifecycle {
  /**
   * Ends all logins, codes and tokens of a user, also personal access tokens and sign-ins that are not complete, and
   * notifies clients by back-channel logout. Call it after a password change, or when you disable or delete a user.
   *
   * @param id the user's id, as `users` finds it
   * @param reason a short text for the event and the log, such as `'password changed'`
   * @throws TypeError if the id is neither a string nor a whole number, such as the row of the user
   * @example await oauth.users.revokeAll(user.id, 'password changed')
   */
  revokeAll(id: string | number | bigint, reason?: string): Promise<void>
  /**
   * Ends the login of this browser and notifies clients. Call it before you destroy your own session.
   *
   * @example app.post('/sign-out', async (req, res) => { await oauth.users.signedOut(req); req.session.destroy(…) })
   */
  signedOut(req: Request): Promise<void>
  /**
   * Returns everything that is stored about a user, as plain JSON: consents, what the consent page showed, authorizations
   * and logins. Times are epoch seconds.
   *
   * @throws TypeError if the id is neither a string nor a whole number
   * @example res.json(await oauth.users.export(user.id))
   */
  export(id: string | number | bigint): Promise<UserExport>
  /**
   * Removes every row about a user. Logins, codes and tokens end at once, and clients are notified by back-channel
   * logout. First disable or delete the user in your own table, so that nothing new is issued meanwhile; an account in
   * Latchkey's own table is removed here. Clients that the user registered stay, disabled and without an owner. If it
   * rejects, call it again: it continues where it stopped.
   *
   * @throws TypeError if the id is neither a string nor a whole number
   * @example await oauth.users.erase(user.id)
   */
  erase(id: string | number | bigint): Promise<void>
  /**
   * Lets sign-ins under a login name go on, after wrong passwords have locked it, or wrong codes the second factor of its
   * user. It need not be an account. With `limits.store: 'memory'` it unlocks in this process only.
   *
   * @param options.user the user's id, if `users` are functions, which do not say whose name it is
   * @returns whether anything was locked
   * @throws Error if the store of the limits is unavailable
   * @example await oauth.users.unlock('ada@example.com')
   */
  unlock(username: string, options?: { readonly user?: string | number | bigint }): Promise<boolean>
  /**
   * Returns what events have as `account` for a login name, however it is spelt. It is a hash with a key of your database.
   *
   * @example const account = await oauth.users.accountOf('ada@example.com')
   */
  accountOf(username: string): Promise<string>
}

/** The reason for ending everything of a user, and the operator who does it. */
export interface Revocation {
  readonly reason?: string | undefined
  /** The administrator, and the request; absent if the host calls it. */
  readonly actor?: string | undefined
  readonly info?: RequestInfo
  /** Writes that end more, such as a way to sign in: nothing that begins meanwhile can use it. */
  readonly writes?: readonly Write[]
  /** Tells what these have ended, by the number of rows that each of them touched. */
  readonly tellOf?: (tell: Tell, counts: readonly number[]) => Promise<void>
}

/**
 * Ends all logins, codes and tokens of a user, and announces it.
 *
 * @param subject the user, who need not exist any more
 * @returns the number of rows that each of the writes touched
 */
export const revokeAllOf = async (
  server: AuthorizationServer,
  subject: string,
  { reason, actor, info, writes, tellOf }: Revocation = {},
): Promise<readonly number[]> => {
  const { sids, counts } = await server.events.change(server.database, async (tx, tell) => {
    const ended = await endAllOf({ ...server, database: tx }, subject, writes)
    for (const _ of ended.sids) await tell('login.ended', info, { subject, actor })
    await tell('user.revoked', info, {
      subject,
      // Whatever the host passes, the event must not keep everything from ending.
      reason: reason === undefined ? undefined : String(reason),
      actor,
    })
    await tellOf?.(tell, ended.counts)
    return ended
  })
  for (const sid of sids) announceLogout(server, { sid, subject })
  const because = reason === undefined ? '' : `: ${reason}`
  server.options.logger.info(`latchkey: revoked all logins and tokens of user ${subject}${because}`)
  return counts
}

export const userLifecycle = (setup: ServerSetup): UserLifecycle => ({
  revokeAll: async (id, reason) => {
    const subject = givenId(id, 'users.revokeAll()')
    const server = await setup.ready()
    if (!isLookup(subject)) return
    await revokeAllOf(server, subject, { reason })
  },
  signedOut: async (req) => {
    const server = await setup.ready()
    await hostSignedOut(server, req)
  },
  export: async (id) => {
    const subject = givenId(id, 'users.export()')
    return exportUser(await setup.ready(), subject)
  },
  erase: async (id) => {
    const subject = givenId(id, 'users.erase()')
    const server = await setup.ready()
    if (!isLookup(subject)) return
    await eraseUser(server, subject)
  },
  unlock: async (username, options = {}) => {
    const subject = 'user' in options ? givenId(options.user, 'users.unlock()') : undefined
    return unlockLoginName(await setup.ready(), username, { subject })
  },
  accountOf: async (username) => accountOf(await setup.ready(), username),
})
