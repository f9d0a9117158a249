import { loginWays } from '../authorization/login-location.ts'
import type { AuthorizationServer } from '../authorization-server.ts'
import type { PageContext } from '../http/context.ts'
import { reportServerError } from '../http/errors.ts'
import { redirectToPage } from '../http/send.ts'
import type { SecondFactor } from '../options/options.ts'
import { isUserMapping } from '../options/users.ts'
import type { PageModels } from '../pages/page-models.ts'
import { OAuthError } from '../protocol/errors.ts'
import type { Parameters } from '../protocol/parameters.ts'
import type { Browser } from '../sessions/browser-binding.ts'
import type { ActiveLogin, Proof } from '../sessions/login.ts'
import { announceSecondFactor, attemptLogin, completeLogin } from '../sessions/login-attempt.ts'
import { clearNotice, leaveNotice, type Notice, readNotice } from '../sessions/notice.ts'
import { attemptPasskey } from '../sessions/passkey-attempt.ts'
import { keepPendingLogin, sendCode } from '../sessions/pending-login.ts'
import { findSecondFactor } from '../sessions/second-factor.ts'
import type { User } from '../users/users.ts'

/** The password is never trimmed. The body bounds both fields; a value too long to be right is simply wrong. */
const maxFieldLength = 16_384

/**
 * Whether the displayed name is the one that the user types. With users behind functions it need not be, so the field
 * stays open.
 */
export const hasTypedNames = ({ options: { users } }: AuthorizationServer): boolean =>
  users === undefined || isUserMapping(users)

/** The login form in one place: for a pending request, or for the user alone. */
export interface LoginPage {
  /** Makes what only the form shows. */
  form(): Pick<PageModels['login'], 'action' | 'hidden' | 'client' | 'switchUrl' | 'signedIn' | 'passkey'>
  readonly browser: Browser
  /** What notices for this page are about: the id of the pending request, or `account`. */
  readonly about: string
  /** Shows the form by GET, also to a user who is signed in. */
  readonly url: string
  /** Where pages of the host send the browser when the user has signed in, signed up or set a new password there. */
  readonly returnPath: string
  /** The page that asks for a second factor. */
  readonly codeUrl: string
  /** The login needs one of these levels. @default [] */
  readonly acrValues?: readonly string[]
  /** Where the pending request will end. */
  readonly redirectUri?: string
  readonly clientId?: string
  /** The account that must log in again, if it is fixed. */
  readonly account?: Pick<User, 'username' | 'subject'> | undefined
}

const statuses = { credentials: 400, passkey: 400, throttled: 429, unavailable: 503 }

type Said = Pick<PageModels['login'], 'error' | 'errorId' | 'isLastTry' | 'notice' | 'retryAfter'>

/** What the page says about what happened before it. A lock that is over is not mentioned. */
const saidBy = (notice: Notice | undefined, now: number): Said => {
  if (notice?.kind === 'signed-out' || notice?.kind === 'start-again') return { notice: notice.kind }
  if (notice?.kind === 'passkey') return { error: notice.kind }
  if (notice?.kind === 'credentials') return { error: notice.kind, isLastTry: notice.isLastTry }
  if (notice?.kind === 'unavailable') return { error: notice.kind, errorId: notice.errorId }
  const retryAfter = notice?.kind === 'throttled' ? (notice.retryAt ?? now) - now : 0
  return retryAfter > 0 ? { error: 'throttled', retryAfter } : {}
}

/**
 * Shows the form, with the error of the last attempt. Its status is that of the attempt, so that password managers and
 * logs can see the failure.
 *
 * @param username filled in unless another name was typed before
 */
export const showLogin = (context: PageContext, page: LoginPage, username = ''): void => {
  const { server } = context
  const { about, redirectUri, account } = page
  const notice = readNotice(context, about)
  const said = saidBy(notice, server.now())
  const { error } = said
  const retryAfter = error === 'unavailable' ? 1 : said.retryAfter
  const name = account?.username ?? (error && notice?.username) ?? username
  const model = {
    ...{ ...page.form(), ...said, username: name, confirm: account !== undefined },
    ...loginWays(server, page.returnPath, name),
    identifier: server.options.login.identifier,
  }
  context.send('login', model, {
    status: error === undefined ? 200 : statuses[error],
    redirectUri,
    headers: retryAfter === undefined ? {} : { 'Retry-After': String(retryAfter) },
  })
}

/** Redirects to the form, which then says why the attempt did not succeed. */
const refuse = (context: PageContext, { about, url }: LoginPage, notice: Notice): undefined => {
  leaveNotice(context, about, notice)
  redirectToPage(context.res, url)
}

/** What the notices of the page for a second factor are about. Those of its form for recovery codes are their own. */
export const codeNotices = (about: string, isRecovery = false): string =>
  `${isRecovery ? 'recovery-code' : 'second-factor'} ${about}`

/** A user who has proved who they are. */
interface Proven {
  readonly user: User
  /** Without it, by the password alone. */
  readonly proof?: Proof
}

/** Checks the password. */
const attemptByPassword = async (
  context: PageContext,
  { clientId }: LoginPage,
  { username, password }: { username: string; password: string },
): Promise<Proven | Notice> => {
  const result = await attemptLogin(context, { username, password, clientId })
  if (result.outcome === 'succeeded') return { user: result.user }
  return result.outcome === 'failed'
    ? { kind: 'credentials', username, isLastTry: result.isLastTry }
    : { kind: 'throttled', username, retryAt: context.server.now() + result.retryAfter }
}

/** Asks a user whose password is right for the second factor. */
const askForCode = async (
  context: PageContext,
  { about, clientId, codeUrl }: LoginPage,
  { username, user, factor }: { username: string; user: User; factor: SecondFactor },
): Promise<undefined> => {
  const pending = await keepPendingLogin(context, about, { username, subject: user.subject })
  announceSecondFactor(context, { username, clientId, subject: user.subject })
  if (factor.send && !(await sendCode(context, pending, factor)))
    leaveNotice(context, codeNotices(about), { kind: 'not-sent' })
  else clearNotice(context)
  redirectToPage(context.res, codeUrl)
}

/** Checks a passkey, which needs no further factor. */
const attemptByPasskey = async (
  context: PageContext,
  { about, browser, account, clientId }: LoginPage,
  response: string,
): Promise<Proven | Notice> => {
  const { server } = context
  const purpose = { action: 'sign in', about, browser } as const
  const result = await attemptPasskey(context, { response, purpose, subject: account?.subject, clientId })
  if (result.outcome === 'failed') return { kind: 'passkey' }
  if (result.outcome === 'refused') return { kind: 'throttled', retryAt: server.now() + result.retryAfter }
  return { user: result.user, proof: { amr: result.amr, acr: server.options.passkeys?.acr } }
}

/**
 * Checks what the user typed, or the passkey that the browser used instead, and records the login, or redirects to the form
 * or to that for a second factor. Spaces around the username are ignored,
 * because some keyboards add one; those around a password are part of it.
 *
 * @returns the login; undefined when the request has been answered
 */
export const logIn = async (
  context: PageContext,
  form: Parameters,
  page: LoginPage,
): Promise<ActiveLogin | undefined> => {
  const username = page.account?.username ?? form.verbatim('username', maxFieldLength)?.trim() ?? ''
  const password = form.verbatim('password', maxFieldLength) ?? ''
  const passkey = context.server.passkeys && form.verbatim('passkey', maxFieldLength)
  try {
    const result = passkey
      ? await attemptByPasskey(context, page, passkey)
      : await attemptByPassword(context, page, { username, password })
    if ('kind' in result) return refuse(context, page, result)
    const { user, proof } = result
    const factor = proof ? undefined : await findSecondFactor(context, user, page.acrValues ?? [])
    if (factor) return await askForCode(context, page, { username, user, factor })
    const name = proof ? user.username : username
    const active = await completeLogin(context, { username: name, clientId: page.clientId, user, proof })
    clearNotice(context)
    return active
  } catch (error) {
    if (!(error instanceof OAuthError) || error.status !== 503) throw error
    reportServerError(context, error)
    return refuse(context, page, { kind: 'unavailable', username, errorId: context.info.requestId })
  }
}
