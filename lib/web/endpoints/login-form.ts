import { loginWays } from '../../oauth/authorization/login-location.ts'
import type { AuthorizationServer } from '../../oauth/authorization-server.ts'
import { extensionPoint } from '../../oauth/extension-point.ts'
import { identifierOf } from '../../options/login.ts'
import { isUserMapping } from '../../options/users.ts'
import { OAuthError } from '../../protocol/errors.ts'
import { sizes } from '../../protocol/lengths.ts'
import type { Parameters } from '../../protocol/parameters.ts'
import type { User } from '../../users/users.ts'
import type { Outcome, PageContext } from '../http/context.ts'
import { reportServerError } from '../http/errors.ts'
import type { PageModels } from '../pages/page-models.ts'
import type { BoundBrowser } from '../sessions/browser-binding.ts'
import type { ActiveLogin, Proof } from '../sessions/login.ts'
import { attemptLogin, completeLogin } from '../sessions/login-attempt.ts'
import { clearNotice, leaveNotice, type Notice, readNotice } from '../sessions/notice.ts'

/** The password is never trimmed. The body bounds both fields; a value too long to be right is simply wrong. */
const maxFieldLength = sizes.pageForm

/**
 * Whether the displayed name is the one that the user types. With users behind functions it need not be, so the field
 * stays open.
 */
export const hasTypedNames = ({ options: { users } }: AuthorizationServer): boolean =>
  users === undefined || isUserMapping(users)

/** Where the login form stands: at a pending request, or on a page of the account. */
export interface LoginPage {
  /** Makes what only the form shows. */
  form(): Pick<
    PageModels['login'],
    'action' | 'hidden' | 'client' | 'switchUrl' | 'signedIn' | 'methods' | 'needed'
  >
  readonly browser: BoundBrowser
  /** The topic of notices for this page: the id of the pending request, or `account`. */
  readonly topic: string
  /** Shows the form by GET, also to a user who is signed in. */
  readonly url: string
  /** Where pages of the host send the browser when the user has signed in, signed up or set a new password there. */
  readonly returnPath: string
  /** Names what the user signs in for, in the URLs and forms of a further step. */
  readonly parameters: Readonly<Record<string, string>>
  /** The login needs one of these levels. @default [] */
  readonly acrValues?: readonly string[]
  /** Where the pending request will end. */
  readonly redirectUri?: string
  readonly clientId?: string
  /** The account that must log in again, if it is fixed. */
  readonly account?: Pick<User, 'username' | 'subject'> | undefined
}

/** A user who has proved who they are, and how. */
export interface ProvenUser {
  readonly user: User
  /** Without it, by the password alone. */
  readonly proof?: Proof
}

/** A way to sign in beside the password: a button on the login page. */
export interface SignInMethod {
  /** Its name: the field of the login form that it fills in, its partial template, and `login.<name>` in its texts. */
  readonly field: string
  /** An addition to the `autocomplete` of the field before it, such as `webauthn`. */
  readonly autocomplete?: string
  /** Input for the script of the template; undefined if this account cannot use the method. */
  prompt(context: PageContext, page: LoginPage): Promise<string | undefined>
  /** Whether a user could use it at this sign-in. The text `login.<name>.needed` says that the password alone is not enough. */
  isSetUp(context: PageContext, user: User, at: SignInMoment): Promise<boolean>
  /** Finds the user whom the value of the field proves, or says why there is none. */
  attempt(context: PageContext, page: LoginPage, value: string): Promise<ProvenUser | Notice>
}

export const signInMethods = extensionPoint<SignInMethod>('signIn.methods')

/** A step after the password, before the login. */
export interface SignInStep {
  /** Whether a user needed the step at this sign-in. */
  isNeeded(context: PageContext, user: User, at: SignInMoment): Promise<boolean>
  /**
   * Begins the step if this user needs it.
   *
   * @param page the login page, which names the levels that the request asks for
   * @returns the URL of the page that goes on; undefined if the password is enough
   */
  begin(context: PageContext, page: LoginPage, attempt: PasswordProved): Promise<string | undefined>
}

export const signInSteps = extensionPoint<SignInStep>('signIn.steps')

/** The ways to sign in other than the password, for the form. */
export const methodPrompts = async (
  context: PageContext,
  page: LoginPage,
): Promise<PageModels['login']['methods']> => {
  const prompts: NonNullable<PageModels['login']['methods']>[number][] = []
  for (const method of context.server.added(signInMethods)) {
    const { field, autocomplete } = method
    const prompt = await method.prompt(context, page)
    if (prompt !== undefined) prompts.push({ method: field, prompt, autocomplete })
  }
  return prompts
}

const statuses = { credentials: 400, method: 400, throttled: 429, unavailable: 503 }

type Said = Pick<
  PageModels['login'],
  'error' | 'errorId' | 'failedMethod' | 'isLastTry' | 'notice' | 'retryAfter'
>

/** The words about the last attempt. A lock that is over is not mentioned. */
const saidBy = (notice: Notice | undefined, now: number): Said => {
  if (notice?.kind === 'signed-out' || notice?.kind === 'start-again') return { notice: notice.kind }
  if (notice?.kind === 'method') return { error: notice.kind, failedMethod: notice.about }
  if (notice?.kind === 'credentials') return { error: notice.kind, isLastTry: notice.isLastTry }
  if (notice?.kind === 'unavailable') return { error: notice.kind, errorId: notice.errorId }
  const retryAfter = notice?.kind === 'throttled' ? (notice.retryAt ?? now) - now : 0
  return retryAfter > 0 ? { error: 'throttled', failedMethod: notice?.about, retryAfter } : {}
}

/**
 * The page with the form, and with the error of the last attempt. Its status is that of the attempt, so that password managers and
 * logs can see the failure.
 *
 * @param username filled in unless another name was typed before
 */
export const loginPage = (context: PageContext, page: LoginPage, username = ''): Outcome => {
  const { server } = context
  const { topic, redirectUri, account } = page
  const notice = readNotice(context, topic)
  const said = saidBy(notice, server.now())
  const { error } = said
  const retryAfter = error === 'unavailable' ? 1 : said.retryAfter
  const name = account?.username ?? (error && notice?.username) ?? username
  const model = {
    ...page.form(),
    ...said,
    username: name,
    confirm: account !== undefined,
    ...loginWays(server, page.returnPath, name),
    identifier: identifierOf(server.options),
    providersFirst: server.options.login.providersFirst,
  }
  return context.page('login', model, {
    status: error === undefined ? 200 : statuses[error],
    redirectUri,
    headers: retryAfter === undefined ? {} : { 'Retry-After': String(retryAfter) },
  })
}

/** Leads to the form, which then says why the attempt did not succeed. */
const refuse = (context: PageContext, { topic, url }: LoginPage, notice: Notice): Outcome => {
  leaveNotice(context, topic, notice)
  return { redirectToPage: url }
}

/** A sign-in, as what the user had set up before it sees it. */
export interface SignInMoment {
  /** Epoch seconds. */
  readonly time: number
  /** The login should have one of these levels. */
  readonly acrValues: readonly string[]
}

/**
 * How a user could prove more than the password at a sign-in: by a further step after it, or by a way to sign in that they
 * had set up.
 *
 * @returns undefined if they had nothing but the password
 */
export const strongerProof = async (
  context: PageContext,
  user: User,
  at: SignInMoment,
): Promise<'step' | { readonly method: string } | undefined> => {
  for (const step of context.server.added(signInSteps))
    if (await step.isNeeded(context, user, at)) return 'step'
  for (const method of context.server.added(signInMethods))
    if (await method.isSetUp(context, user, at)) return { method: method.field }
  return undefined
}

/** Checks the password. */
const attemptByPassword = async (
  context: PageContext,
  { clientId }: LoginPage,
  { username, password }: { username: string; password: string },
): Promise<ProvenUser | Notice> => {
  const result = await attemptLogin(context, { username, password, clientId })
  if (result.outcome === 'succeeded') return { user: result.user }
  return result.outcome === 'failed'
    ? { kind: 'credentials', username, isLastTry: result.isLastTry }
    : { kind: 'throttled', username, retryAt: context.server.now() + result.retryAfter }
}

/** Tries the way to sign in that the browser used instead of the password. @returns undefined if it used none */
const attemptByMethod = async (
  context: PageContext,
  page: LoginPage,
  form: Parameters,
): Promise<ProvenUser | Notice | undefined> => {
  for (const method of context.server.added(signInMethods)) {
    const value = form.verbatim(method.field, maxFieldLength)
    if (value) return method.attempt(context, page, value)
  }
  return undefined
}

/** A user whose password was right. */
export interface PasswordProved {
  /** As it was typed. */
  readonly username: string
  readonly user: User
  /** The number of revocations when the attempt began. */
  readonly since: number
}

/** Begins the step that a user needs after the password. @returns the URL of its page; undefined if the password is enough */
const beginStep = async (
  context: PageContext,
  page: LoginPage,
  attempt: PasswordProved,
): Promise<string | undefined> => {
  for (const step of context.server.added(signInSteps)) {
    const url = await step.begin(context, page, attempt)
    if (url !== undefined) return url
  }
  return undefined
}

/**
 * Checks what the user typed, or what the browser used instead, and records the login, or leads to the form or to a
 * further step. Spaces around the username are ignored, because some keyboards add one; those around a password are part of
 * it.
 *
 * @param since how many revocations there were when the attempt began
 * @returns the login, or the answer if the user is not signed in yet
 */
export const logIn = async (
  context: PageContext,
  form: Parameters,
  page: LoginPage,
  since: number,
): Promise<ActiveLogin | Outcome> => {
  const username = page.account?.username ?? form.verbatim('username', maxFieldLength)?.trim() ?? ''
  const password = form.verbatim('password', maxFieldLength) ?? ''
  try {
    const result =
      (await attemptByMethod(context, page, form)) ??
      (await attemptByPassword(context, page, { username, password }))
    if ('kind' in result) return refuse(context, page, result)
    const { user, proof } = result
    const next = proof ? undefined : await beginStep(context, page, { username, user, since })
    if (next !== undefined) return { redirectToPage: next }
    const name = proof ? user.username : username
    const { clientId } = page
    const active = await completeLogin(context, { username: name, clientId, user, proof, since })
    if (active === undefined) return refuse(context, page, { kind: 'start-again', username })
    clearNotice(context)
    return active
  } catch (error) {
    if (!(error instanceof OAuthError) || error.status !== 503) throw error
    reportServerError(context, error)
    return refuse(context, page, { kind: 'unavailable', username, errorId: context.info.requestId })
  }
}
