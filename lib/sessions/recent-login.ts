import type { PageContext } from '../http/context.ts'
import { hostLogin } from './host-login.ts'
import type { ActiveLogin } from './login.ts'

/** Seconds after a sign-in in which a user may add a passkey, a second factor or a token. */
const tenMinutes = 600

/**
 * The login, if the user has signed in lately. What a user adds to the account outlives the session, and another person
 * may find an older session open. The time of a login of the host counts only if the host says it, and not that of the
 * first visit.
 *
 * @param active undefined if no user is signed in
 * @param within seconds
 */
export const recentLogin = async (
  context: PageContext,
  active: ActiveLogin | undefined,
  within = tenMinutes,
): Promise<ActiveLogin | undefined> => {
  if (active === undefined || context.server.now() - active.login.authTime > within) return undefined
  const isTimeKnown = !active.login.fromHost || (await hostLogin(context))?.authTime !== undefined
  return isTimeKnown ? active : undefined
}
