import type { Events } from '../../events/events.ts'
import type { AuthorizationServer } from '../../oauth/authorization-server.ts'
import type { RequestInfo } from '../../protocol/requests/request-info.ts'
import { accountOf } from '../../web/sessions/device-cookie.ts'
import { type Counting, countersOf, type Salted } from '../answer-counters.ts'
import type { Users } from '../users.ts'

/** Who unlocks a login name, and for which user. */
interface UnlockedBy {
  /** The user; absent if the name says who it is. */
  readonly subject?: string | undefined
  /** The administrator and the request; absent if the host or a command does it. */
  readonly actor?: string | undefined
  readonly info?: RequestInfo | undefined
}

/** The parts of the server that {@link unlockLoginName} needs. */
export interface Unlocking extends Salted, Pick<AuthorizationServer, 'throttle'> {
  readonly events: Pick<Events, 'announce'>
  readonly users: Pick<Users, 'findByUsername'>
  readonly installed: Counting
}

/**
 * Lets sign-ins under a login name go on, after wrong passwords have locked it, or wrong answers of its user another step.
 * Limits of an address stay, because they protect other accounts.
 *
 * @param username as it is typed, in any spelling; it need not exist
 * @returns whether anything was locked
 * @throws Error if the store of the limits is unavailable
 * @example await unlockLoginName(server, 'mira', { info, actor })
 */
export const unlockLoginName = async (
  server: Unlocking,
  username: string,
  { subject: given, actor, info }: UnlockedBy = {},
): Promise<boolean> => {
  const account = accountOf(server, username)
  let wasLocked = await server.throttle.login.unlock(account)
  const subject = given ?? (await server.users.findByUsername?.(username))?.subject
  for (const counter of subject === undefined ? [] : countersOf(server, subject))
    wasLocked = (await server.throttle.login.unlock(counter.account)) || wasLocked
  if (wasLocked) {
    server.events.announce('login.unlocked', info, { account, subject, actor })
  }
  return wasLocked
}
