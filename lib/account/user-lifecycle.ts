import type { Request } from 'express'
import type { AuthorizationServer } from '../authorization-server.ts'
import { revokeAuthorizationsOfSubject } from '../repositories/index.ts'
import { endLoginsOf, hostSignedOut } from '../sessions/login.ts'
import { isLookup } from '../users/subject.ts'
import { eraseUser, exportUser, type UserExport } from './user-records.ts'

/** What the host tells the kit about its users. */
export interface UserLifecycle {
  /**
   * Ends all logins, codes and tokens of a user and notifies clients by back-channel logout. Call it after a password
   * change, or when you disable or delete a user.
   *
   * @param id the user's id, as `users` finds it
   * @param reason a short text for the event and the log, such as `'password changed'`
   * @example await oauth.users.revokeAll(user.id, 'password changed')
   */
  revokeAll(id: string | number, reason?: string): Promise<void>
  /**
   * Before the host destroys its own session: the login of this browser ends, and clients are told.
   *
   * @example app.post('/sign-out', async (req, res) => { await oauth.users.signedOut(req); req.session.destroy(…) })
   */
  signedOut(req: Request): Promise<void>
  /**
   * All that is kept about a user, as plain JSON: what they allow, what they were shown when they allowed it, what
   * clients were given, and when they signed in. Times are epoch seconds.
   *
   * @example res.json(await oauth.users.export(user.id))
   */
  export(id: string | number): Promise<UserExport>
  /**
   * Removes every row about a user, after disabling or deleting them in the host's own table, so that nothing new
   * begins meanwhile: logins, codes and tokens end at once, and clients that asked to hear of it are told. An account
   * in the kit's own table goes too. When it rejects, call it again: it goes on where it stopped.
   *
   * @example await oauth.users.erase(user.id)
   */
  erase(id: string | number): Promise<void>
}

export const userLifecycle = (server: AuthorizationServer): UserLifecycle => ({
  revokeAll: async (id, reason) => {
    await server.ready()
    const subject = String(id)
    if (!isLookup(subject)) return
    // Logins first, or one that still stands could be granted something more in between.
    await endLoginsOf(server, subject)
    await revokeAuthorizationsOfSubject(server.database, { subject, now: server.now() })
    server.events.announce('user.revoked', undefined, { subject, ...(reason !== undefined && { reason }) })
    const because = reason === undefined ? '' : `: ${reason}`
    server.options.logger.info(`latchkey: revoked all logins and tokens of user ${subject}${because}`)
  },
  signedOut: async (req) => {
    await server.ready()
    await hostSignedOut(server, req)
  },
  export: async (id) => {
    await server.ready()
    return exportUser(server, String(id))
  },
  erase: async (id) => {
    await server.ready()
    const subject = String(id)
    if (!isLookup(subject)) return
    await eraseUser(server, subject)
    server.events.announce('user.erased', undefined, { subject })
  },
})
