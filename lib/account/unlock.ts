import type { AuthorizationServer } from '../authorization-server.ts'
import type { Events } from '../events/events.ts'
import type { RequestInfo } from '../protocol/requests/request-info.ts'
import { accountOf } from '../sessions/device-cookie.ts'

/** Who unlocks a login name, and for which user. */
interface UnlockedBy {
  readonly subject?: string | undefined
  /** The administrator and the request; absent if the host or a command does it. */
  readonly actor?: string | undefined
  readonly info?: RequestInfo | undefined
}

/**
 * Lets sign-ins under a login name go on, after wrong passwords have locked it. Limits of an address stay, because they
 * protect other accounts.
 *
 * @param username as it is typed, in any spelling; it need not exist
 * @returns whether it was locked
 * @throws Error if the store of the limits is unavailable
 * @example await unlockLoginName(server, 'mira', { info, actor })
 */
export const unlockLoginName = async (
  server: Pick<AuthorizationServer, 'pairwiseSalt' | 'throttle'> & {
    readonly events: Pick<Events, 'announce'>
  },
  username: string,
  { subject, actor, info }: UnlockedBy = {},
): Promise<boolean> => {
  const account = accountOf(server, username)
  const wasLocked = await server.throttle.login.unlock(account)
  if (wasLocked) {
    const by = { ...(subject !== undefined && { subject }), ...(actor !== undefined && { actor }) }
    server.events.announce('login.unlocked', info, { account, ...by })
  }
  return wasLocked
}
