import type { AuthorizationServer } from '../authorization-server.ts'
import type { PageContext } from '../http/context.ts'
import { hostLogin } from './host-login.ts'
import type { ActiveLogin } from './login.ts'

/** Seconds after a sign-in in which developers may change their clients. */
const recent = 3600

/** Whether the user has signed in lately. An open session alone must not be enough for a new secret. */
export const isRecent = ({ now }: Pick<AuthorizationServer, 'now'>, { login }: ActiveLogin): boolean =>
  now() - login.authTime <= recent

/**
 * Whether the user has signed in so recently that they may get something that outlives the session. Another person may
 * have found an older session open. The time of a login of the host counts only if the host says it, and not that of the first visit.
 *
 * @param within seconds
 */
export const isFreshLogin = async (
  context: PageContext,
  { login }: ActiveLogin,
  within: number,
): Promise<boolean> => {
  if (context.server.now() - login.authTime > within) return false
  return !login.fromHost || (await hostLogin(context))?.authTime !== undefined
}
