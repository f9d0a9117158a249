import type { AuthorizationServer } from '../authorization-server.ts'
import type { Context, PageContext } from '../http/context.ts'
import { authenticationCode, hashSecret, randomId } from '../keys/secrets.ts'
import type { SecondFactor } from '../options/options.ts'
import { OAuthError } from '../protocol/errors.ts'
import {
  consumePendingLogin,
  findPendingLogin,
  type PendingLogin,
  putPendingLogin,
  takeSend,
  takeTry,
} from '../repositories/index.ts'
import { callHost } from '../users/host-function.ts'
import type { User } from '../users/users.ts'
import { type Browser, bindBrowser, boundBrowser } from './browser-binding.ts'
import { accountOf, deviceOf } from './device-cookie.ts'
import { isRightCode } from './second-factor.ts'

// Between the right password and the right code there is no login. What there is stands in a row that only this browser
// can name, for one page: a pending request, or the account.

/** Seconds that a user has for the code. */
const lifetime = 600
/** Codes that are checked after one password. */
const maxTries = 5
/** Codes that are sent after one password. */
const maxSends = 3

const idOf = ({ secret }: Browser, about: string): string => hashSecret(`${secret} ${about}`)

/**
 * Keeps a sign-in whose password was right until its second factor is.
 *
 * @param about the id of the pending request, or the page of the account
 */
export const keepPendingLogin = async (
  context: PageContext,
  about: string,
  { username, subject }: { username: string; subject: string },
): Promise<PendingLogin> => {
  const { database, now } = context.server
  const id = idOf(bindBrowser(context), about)
  const pending = { id, attempt: randomId(), subject, username, expiresAt: now() + lifetime }
  await putPendingLogin(database, pending)
  return { ...pending, tries: 0, sends: 0 }
}

/** The sign-in of this browser that waits for its second factor. */
export const openPendingLogin = async (
  context: PageContext,
  about: string,
): Promise<PendingLogin | undefined> => {
  const { database, now } = context.server
  const browser = boundBrowser(context)
  return browser && findPendingLogin(database, { id: idOf(browser, about), now: now() })
}

/** Who tries codes. It is not the key of passwords: otherwise the next right password would forgive wrong codes. */
const codeAccount = ({ pairwiseSalt }: AuthorizationServer, subject: string): string =>
  authenticationCode(pairwiseSalt, 'second factor', [subject])

/** What a user typed, and how it is checked. */
export interface CodeAttempt {
  readonly user: User
  readonly factor: SecondFactor
  readonly code: string
  /** The client that waits for the login, if any. */
  readonly clientId?: string
}

/** `ended`: the user starts again with the password, at once or after so many seconds. */
export type CodeOutcome =
  | { readonly outcome: 'accepted' }
  | { readonly outcome: 'wrong'; readonly isLastTry: boolean }
  | { readonly outcome: 'ended'; readonly retryAfter?: number }

/**
 * Checks a code as far as the limits allow, and announces what failed. The right code ends the pending login; of any number
 * of calls at the same time one gets `accepted`.
 *
 * @throws OAuthError `temporarily_unavailable` when the code could not be checked
 */
export const attemptCode = async (
  context: Context,
  pending: PendingLogin,
  { user, factor, code, clientId }: CodeAttempt,
): Promise<CodeOutcome> => {
  const { server, info } = context
  const { database, throttle, events } = server
  const named = { id: pending.id, attempt: pending.attempt, now: server.now() }
  const end = async (retryAfter?: number): Promise<CodeOutcome> => {
    await consumePendingLogin(database, named)
    return { outcome: 'ended', retryAfter }
  }
  if (!(await takeTry(database, { ...named, max: maxTries }))) return end()

  const known = deviceOf(context, pending.username)
  const device = known && { ...known, id: `code:${known.id}` }
  const result = await throttle.login.attempt(
    { account: codeAccount(server, user.subject), address: info.address, device },
    async () => ((await isRightCode(server, user, factor, code)) ? user : undefined),
  )
  const account = accountOf(server, pending.username)
  const details = clientId === undefined ? { account } : { clientId, account }
  if (result.outcome === 'refused') {
    events.announce('login.refused', info, { ...details, seconds: result.retryAfter })
    return end(result.retryAfter)
  }
  if (result.outcome === 'failed') {
    events.announce('second_factor.failed', info, { ...details, subject: user.subject })
    const seconds = result.lockedFor
    if (seconds !== undefined) events.announce('login.locked', info, { ...details, seconds })
    const left = maxTries - pending.tries - 1
    if (seconds !== undefined || left <= 0) return end(seconds)
    return { outcome: 'wrong', isLastTry: left === 1 || result.isLastTry === true }
  }
  // Another request with a right code may have been faster, or the user's logins have just been ended.
  return (await consumePendingLogin(database, named)) ? { outcome: 'accepted' } : { outcome: 'ended' }
}

/**
 * Lets the host send a code. The number is limited for each password and for each user, so that who knows a password cannot
 * send messages without end.
 *
 * @returns false if the limits do not allow another one
 */
export const sendCode = async (
  { server }: Context,
  { id, attempt, subject }: PendingLogin,
  factor: SecondFactor,
): Promise<boolean> => {
  const { database, now, throttle } = server
  if (!(await takeSend(database, { id, attempt, max: maxSends, now: now() }))) return false
  try {
    await throttle.takeQuota([{ name: 'secondFactorSend', subject }])
  } catch (error) {
    if (error instanceof OAuthError && error.status === 429) return false
    throw error
  }
  await callHost('send of login.secondFactor', () => factor.send?.())
  return true
}
