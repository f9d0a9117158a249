import { loginWays } from '../authorization/login-location.ts'
import type { PageContext } from '../http/context.ts'
import type { PageModels } from '../pages/page-models.ts'
import type { Parameters } from '../protocol/parameters.ts'
import { rememberDevice } from '../sessions/device-cookie.ts'
import { type ActiveLogin, startLogin } from '../sessions/login.ts'
import { attemptLogin } from '../sessions/login-attempt.ts'

/** Username and password are never trimmed. The body bounds them; a value too long to be right is simply wrong. */
const maxFieldLength = 16_384

/** The login form in one place: for a pending request, or for the user alone. */
export interface LoginPage {
  readonly form: Pick<PageModels['login'], 'action' | 'hidden' | 'client'>
  /** Where pages of the host send the browser when the user has signed in, signed up or set a new password there. */
  readonly returnPath: string
  /** Where the pending request will end. */
  readonly redirectUri?: string
  readonly clientId?: string
  /** Whether the browser is known to have no login of any user, which saves a statement. */
  readonly isFirstLogin?: boolean
  /** The account that must log in again, if it is fixed. */
  readonly account?: string
}

type Shown = Omit<PageModels['login'], 'action' | 'hidden' | 'client'>

const statuses = { credentials: 400, throttled: 429, unavailable: 503 }

/** Shows the form; after a failure with the error. */
export const showLogin = (
  context: PageContext,
  { form, redirectUri, returnPath }: LoginPage,
  shown: Shown,
): void => {
  const { server } = context
  const { error, retryAfter } = shown
  const status = error === undefined ? 200 : statuses[error]
  const headers: Record<string, string> =
    retryAfter === undefined ? {} : { 'Retry-After': String(retryAfter) }
  const { identifier } = server.options.login
  const ways = loginWays(server, returnPath, shown.username)
  context.send('login', { ...shown, ...form, ...ways, identifier }, { status, redirectUri, headers })
}

/**
 * Checks what the user typed and records the login, or shows the form again.
 *
 * @returns the login; undefined when the form has been shown
 */
export const logIn = async (
  context: PageContext,
  form: Parameters,
  page: LoginPage,
): Promise<ActiveLogin | undefined> => {
  const username = page.account ?? form.verbatim('username', maxFieldLength) ?? ''
  const password = form.verbatim('password', maxFieldLength) ?? ''
  const attempt = await attemptLogin(context, { username, password, clientId: page.clientId })
  const shown = { username, confirm: page.account !== undefined }
  if (attempt.outcome === 'failed') {
    showLogin(context, page, { ...shown, error: 'credentials', isLastTry: attempt.isLastTry })
    return undefined
  }
  if (attempt.outcome === 'refused') {
    showLogin(context, page, { ...shown, error: 'throttled', retryAfter: attempt.retryAfter })
    return undefined
  }
  const active = await startLogin(context, attempt.user, { isFirst: page.isFirstLogin })
  if (context.server.options.throttle) rememberDevice(context, username, active.user.subject)
  return active
}
