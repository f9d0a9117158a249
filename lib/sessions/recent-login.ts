import type { AuthorizationServer } from '../authorization-server.ts'
import type { ActiveLogin } from './login.ts'

/** Seconds after a sign-in in which developers may change their clients. */
const recent = 3600

/** Whether the user has signed in lately. An open session alone must not be enough for a new secret. */
export const isRecent = ({ now }: Pick<AuthorizationServer, 'now'>, { login }: ActiveLogin): boolean =>
  now() - login.authTime <= recent
