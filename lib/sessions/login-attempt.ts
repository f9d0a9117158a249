import type { Request } from 'express'
import type { AuthorizationServer } from '../authorization-server.ts'
import { requestInfo } from '../http/request-info.ts'
import type { LoginOutcome } from '../throttle/login-throttle.ts'
import type { User } from '../users/users.ts'
import { accountOf, deviceOf } from './device-cookie.ts'

/** What somebody typed, and for which client, if one waits for it. */
export interface Credentials {
  readonly username: string
  readonly password: string
  readonly clientId?: string
}

/**
 * Checks a password as far as the limits allow, and tells what became of it.
 *
 * @throws OAuthError `temporarily_unavailable` when it could not be checked; that counts as no failure
 */
export const attemptLogin = async (
  server: AuthorizationServer,
  req: Request,
  { username, password, clientId }: Credentials,
): Promise<LoginOutcome<User>> => {
  const account = accountOf(username)
  const info = requestInfo(req)
  const result = await server.throttle.login.attempt(
    { account, address: info.address, browser: deviceOf(server, req, account) },
    () => server.users.authenticate(username, password, req),
  )
  const told = clientId === undefined ? { account } : { clientId, account }
  switch (result.outcome) {
    case 'succeeded':
      server.events.announce('login.succeeded', info, { ...told, subject: result.user.subject })
      break
    case 'failed':
      server.events.announce('login.failed', info, told)
      if (result.lockedFor !== undefined)
        server.events.announce('login.locked', info, { ...told, seconds: result.lockedFor })
      break
    case 'refused':
      server.events.announce('login.refused', info, { ...told, seconds: result.retryAfter })
  }
  return result
}
