import type { Context } from '../http/context.ts'
import type { LoginOutcome } from '../throttle/login-throttle.ts'
import type { User } from '../users/users.ts'
import { accountOf, deviceOf } from './device-cookie.ts'

/** A typed username and password, and the client that waits for the login, if any. */
export interface Credentials {
  readonly username: string
  readonly password: string
  readonly clientId?: string
}

/**
 * Checks a password as far as the limits allow, and announces the outcome.
 *
 * @throws OAuthError `temporarily_unavailable` when the password could not be checked; that does not count as a failure
 */
export const attemptLogin = async (
  context: Context,
  { username, password, clientId }: Credentials,
): Promise<LoginOutcome<User>> => {
  const { server, req, info } = context
  const account = accountOf(server, username)
  const device = deviceOf(context, username)
  const result = await server.throttle.login.attempt({ account, address: info.address, device }, () =>
    server.users.authenticate(username, password, req, device !== undefined),
  )
  const details = clientId === undefined ? { account } : { clientId, account }
  switch (result.outcome) {
    case 'succeeded':
      server.events.announce('login.succeeded', info, { ...details, subject: result.user.subject })
      break
    case 'failed':
      server.events.announce('login.failed', info, details)
      if (result.lockedFor !== undefined)
        server.events.announce('login.locked', info, { ...details, seconds: result.lockedFor })
      break
    case 'refused':
      server.events.announce('login.refused', info, { ...details, seconds: result.retryAfter })
  }
  return result
}
