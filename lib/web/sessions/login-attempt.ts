import type { LoginAttemptFields } from '../../events/event.ts'
import type { KnownDevice } from '../../limits/login-counters.ts'
import type { LoginOutcome } from '../../limits/login-throttle.ts'
import type { User } from '../../users/users.ts'
import type { Context, PageContext } from '../http/context.ts'
import { accountOf, deviceOf, rememberDevice } from './device-cookie.ts'
import { type ActiveLogin, type Authenticated, startLogin } from './login.ts'

/** A typed username and password, and the client that waits for the login, if any. */
export interface TypedCredentials {
  readonly username: string
  readonly password: string
  readonly clientId?: string | undefined
}

/** The fields that the events of a sign-in have in common. */
export const detailsOf = (
  { server }: Context,
  { username, clientId }: Pick<TypedCredentials, 'username' | 'clientId'>,
): LoginAttemptFields => {
  const account = accountOf(server, username)
  return clientId === undefined ? { account } : { clientId, account }
}

/** The names under which an attempt is announced and counted. */
export interface AttemptNames extends Pick<TypedCredentials, 'username' | 'clientId'> {
  /** The name under which failures are counted. @default {@link accountOf} the username */
  readonly account?: string
  readonly device: KnownDevice | undefined
}

/**
 * Authenticates a user unless a limit is reached, and announces why it failed. A success is not a login yet: see
 * {@link completeLogin}.
 *
 * @param authenticate returns undefined for wrong credentials; if it throws, the attempt does not count
 * @param announceFailure of wrong credentials
 */
export const limitedAttempt = async (
  context: Context,
  { account, device, ...names }: AttemptNames,
  authenticate: () => Promise<User | undefined>,
  announceFailure = (details: LoginAttemptFields): void =>
    context.server.events.announce('login.failed', context.info, details),
): Promise<LoginOutcome<User>> => {
  const { server, info } = context
  const details = detailsOf(context, names)
  const attempt = { account: account ?? details.account, address: info.address, device }
  const result = await server.throttle.login.attempt(attempt, authenticate)
  if (result.outcome === 'failed') {
    announceFailure(details)
    if (result.lockedFor !== undefined)
      server.events.announce('login.locked', info, { ...details, seconds: result.lockedFor })
  }
  if (result.outcome === 'refused')
    server.events.announce('login.refused', info, { ...details, seconds: result.retryAfter })
  const { retryAfter } = result.outcome === 'failed' ? result : {}
  return retryAfter === undefined ? result : { outcome: 'refused', retryAfter }
}

/**
 * Checks a password as {@link limitedAttempt}.
 *
 * @throws OAuthError `temporarily_unavailable` when the password could not be checked; that does not count as a failure
 */
export const attemptLogin = async (
  context: Context,
  { username, password, clientId }: TypedCredentials,
): Promise<LoginOutcome<User>> => {
  const { server, req } = context
  const device = deviceOf(context, username)
  return limitedAttempt(context, { username, clientId, device }, () =>
    server.users.authenticate(username, password, req, device !== undefined),
  )
}

/** A user who has completed every step of the sign-in. */
export interface CompletedLogin extends Pick<TypedCredentials, 'username' | 'clientId'>, Authenticated {}

/**
 * Records the login of a user who has proved everything that they must, and announces it.
 *
 * @returns undefined if everything of the user was ended since the attempt began; the user is then not logged in
 * @throws OAuthError `temporarily_unavailable` if it cannot be stored; the user is then not logged in
 */
export const completeLogin = async (
  context: PageContext,
  { username, clientId, ...authenticated }: CompletedLogin,
): Promise<ActiveLogin | undefined> => {
  const { server, info } = context
  const { user } = authenticated
  const active = await startLogin(context, authenticated)
  const details = detailsOf(context, { username, clientId })
  if (active === undefined) {
    server.events.announce('login.failed', info, details)
    return undefined
  }
  server.events.announce('login.succeeded', info, { ...details, subject: user.subject })
  if (server.throttle.login.isLimited) rememberDevice(context, username, user.subject)
  return active
}
