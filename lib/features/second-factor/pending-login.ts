import { hashSecret, randomId } from '../../keys/secrets.ts'
import { OAuthError } from '../../protocol/errors.ts'
import { callHost } from '../../users/host-function.ts'
import type { LoginPage, PasswordProved } from '../../web/endpoints/login-form.ts'
import type { Context, PageContext } from '../../web/http/context.ts'
import { ownPath } from '../../web/http/urls.ts'
import { type BoundBrowser, bindBrowser, boundBrowser } from '../../web/sessions/browser-binding.ts'
import { deviceOf } from '../../web/sessions/device-cookie.ts'
import { detailsOf } from '../../web/sessions/login-attempt.ts'
import { clearNotice, leaveNotice } from '../../web/sessions/notice.ts'
import { type CodeAttempt, checkCode, findSecondFactor } from './find.ts'
import type { SecondFactor, SecondFactorOption } from './option.ts'
import {
  consumePendingLogin,
  findPendingLogin,
  type PendingLogin,
  putPendingLogin,
  takeSend,
  takeTry,
} from './pending-logins-table.ts'

// Between the right password and the right code there is no login, only a row. Only this browser can name it, and only for
// one page: that of a pending request, or of the account.

/** The page that asks for the code. */
export const codePath = '/second-factor'

/** Seconds that a user has for the code. */
const lifetime = 600
/** Codes that are checked after one password. */
const maxTries = 5
/** Codes that are sent after one password. */
const maxSends = 3

const idOf = ({ secret }: BoundBrowser, about: string): string => hashSecret(`${secret} ${about}`)

/** The sign-in of this browser that waits for its second factor. */
export const openPendingLogin = async (
  context: PageContext,
  about: string,
): Promise<PendingLogin | undefined> => {
  const { database, now } = context.server
  const browser = boundBrowser(context)
  return browser && findPendingLogin(database, { id: idOf(browser, about), now: now() })
}

/** `ended`: the user starts again with the password, after `retryAfter` seconds if it is set. */
export type CodeOutcome =
  | { readonly outcome: 'accepted' }
  | { readonly outcome: 'wrong'; readonly isLastTry: boolean }
  | { readonly outcome: 'ended'; readonly retryAfter?: number }

/**
 * Checks a code unless a limit is reached, and announces what failed. The right code ends the pending login; only one of
 * several calls at the same time gets `accepted`.
 *
 * @throws OAuthError `temporarily_unavailable` when the code could not be checked
 */
export const attemptCode = async (
  context: Context,
  pending: PendingLogin,
  { user, factor, code, clientId }: Omit<CodeAttempt, 'username'>,
): Promise<CodeOutcome> => {
  const { server } = context
  const { database } = server
  const named = { id: pending.id, attempt: pending.attempt, now: server.now() }
  const end = async (retryAfter?: number): Promise<CodeOutcome> => {
    await consumePendingLogin(database, named)
    return { outcome: 'ended', retryAfter }
  }
  if (!(await takeTry(database, { ...named, max: maxTries }))) return end()

  const { username } = pending
  const result = await checkCode(context, { user, factor, code, username, clientId })
  if (result.outcome === 'refused') return end(result.retryAfter)
  if (result.outcome === 'failed') {
    const left = maxTries - pending.tries - 1
    if (result.lockedFor !== undefined || left <= 0) return end(result.lockedFor)
    return { outcome: 'wrong', isLastTry: left === 1 || result.isLastTry === true }
  }
  // Another request with a right code may have been faster, or the user's logins have just been ended.
  return (await consumePendingLogin(database, named)) ? { outcome: 'accepted' } : { outcome: 'ended' }
}

/**
 * Lets the host send a code. The number is limited for each password and for each user, so that someone who knows a password
 * cannot send endless messages. A browser in which the user has signed in before has its own number, so that others cannot
 * use it up.
 *
 * @returns false if a limit is reached
 */
export const sendCode = async (
  context: Context,
  { id, attempt, subject, username }: Pick<PendingLogin, 'id' | 'attempt' | 'subject' | 'username'>,
  factor: SecondFactor,
): Promise<boolean> => {
  const { database, now, throttle } = context.server
  const device = deviceOf(context, username)
  const counted = device?.isOf(subject) ? JSON.stringify([subject, device.id]) : subject
  if (!(await takeSend(database, { id, attempt, max: maxSends, now: now() }))) return false
  try {
    await throttle.takeQuota([{ name: 'secondFactorSend', subject: counted }])
  } catch (error) {
    if (error instanceof OAuthError && error.status === 429) return false
    throw error
  }
  await callHost('send of secondFactor({ find })', () => factor.send?.())
  return true
}

/** The key of notices on the page for a code. The form for recovery codes has notices of its own. */
export const codeNotices = (about: string, isRecovery = false): string =>
  `${isRecovery ? 'recovery-code' : 'second-factor'} ${about}`

/**
 * Begins the step between the right password and the login.
 *
 * @returns the URL of the page that asks for the code; undefined if the user has no second factor
 */
export const beginSecondFactor = async (
  context: PageContext,
  option: SecondFactorOption,
  { topic, acrValues = [], clientId, parameters }: LoginPage,
  { username, user, since }: PasswordProved,
): Promise<string | undefined> => {
  const { server, info } = context
  const factor = await findSecondFactor(context, option, user, acrValues)
  if (factor === undefined) return undefined
  const { subject } = user
  const id = idOf(bindBrowser(context), topic)
  const pending = { id, attempt: randomId(), subject, username, since, expiresAt: server.now() + lifetime }
  await putPendingLogin(server.database, pending)
  const details = detailsOf(context, { username, clientId })
  server.events.announce('second_factor.requested', info, { ...details, subject })
  if (factor.send && !(await sendCode(context, pending, factor)))
    leaveNotice(context, codeNotices(topic), { kind: 'not-sent' })
  else clearNotice(context)
  return ownPath(server, codePath, parameters)
}
