import type { Request, RequestHandler, Response } from 'express'
import { activeLogin } from '../authorization/context.ts'
import { returnedParameter } from '../authorization/login-location.ts'
import { type OpenPendingRequest, openPending, requestParameter } from '../authorization/pending-request.ts'
import type { AuthorizationServer } from '../authorization-server.ts'
import { formParameters, queryParameters } from '../http/form.ts'
import { languageOf } from '../http/language.ts'
import { clientCard, type Pages } from '../http/pages.ts'
import { sendRedirect } from '../http/send.ts'
import { ownPath } from '../http/urls.ts'
import { isUserMapping } from '../options/users.ts'
import type { PageModels } from '../pages/page-models.ts'
import type { Parameters } from '../protocol/parameters.ts'
import { assertCsrf, csrfToken } from '../sessions/csrf.ts'
import { accountOf, rememberDevice } from '../sessions/device-cookie.ts'
import { startLogin } from '../sessions/login.ts'
import { attemptLogin } from '../sessions/login-attempt.ts'
import { subjectFor } from '../tokens/subject.ts'

/** Taken as it came, never trimmed. The body bounds it; one too long to be right is answered as any wrong one. */
const maxFieldLength = 16_384

/** The sign-in page of one place: for a client, or for nobody but the user. */
export interface LoginPage {
  /** Where the form is posted to, of what, and who waits for it. */
  readonly form: Pick<PageModels['login'], 'action' | 'hidden' | 'client'>
  /** Where the waiting request will end. */
  readonly redirectUri?: string
}

type Shown = Omit<PageModels['login'], 'action' | 'hidden' | 'client'>

const statuses = { credentials: 400, throttled: 429, unavailable: 503 }

/** Shows the form, once more after a failure. */
export const showLogin = (
  pages: Pages,
  res: Response,
  { form, redirectUri }: LoginPage,
  shown: Shown,
): void => {
  const { error, retryAfter } = shown
  const status = error === undefined ? 200 : statuses[error]
  const headers: Record<string, string> =
    retryAfter === undefined ? {} : { 'Retry-After': String(retryAfter) }
  pages.send(res, 'login', { ...shown, ...form }, { status, redirectUri, headers })
}

/**
 * Checks what was typed and records the login, or shows the form again.
 *
 * @param account the account that must log in again, when it is fixed
 * @returns whether somebody is logged in now
 */
export const logIn = async (
  server: AuthorizationServer,
  pages: Pages,
  { req, res, form }: { req: Request; res: Response; form: Parameters },
  page: LoginPage & { readonly clientId?: string; readonly account?: string },
): Promise<boolean> => {
  const username = page.account ?? form.verbatim('username', maxFieldLength) ?? ''
  const password = form.verbatim('password', maxFieldLength) ?? ''
  const attempt = await attemptLogin(server, req, { username, password, clientId: page.clientId })
  const shown = { username, confirm: page.account !== undefined }
  if (attempt.outcome === 'failed') {
    showLogin(pages, res, page, { ...shown, error: 'credentials' })
    return false
  }
  if (attempt.outcome === 'refused') {
    showLogin(pages, res, page, { ...shown, error: 'throttled', retryAfter: attempt.retryAfter })
    return false
  }
  await startLogin(server, req, attempt.user)
  if (server.options.throttle) rememberDevice(server, req, res, accountOf(username))
  return true
}

const pageFor = (
  server: AuthorizationServer,
  req: Request,
  { client, request, id: pendingId, browser, secret }: OpenPendingRequest,
): LoginPage => ({
  form: {
    action: ownPath(server, '/login'),
    hidden: {
      [requestParameter]: secret,
      csrf_token: csrfToken(server, { action: 'login', pendingId, browser }),
    },
    client: clientCard(client, request.redirectUri, languageOf(server, req)),
  },
  redirectUri: request.redirectUri,
})

/**
 * The account to confirm, when a login has to be renewed and no other account was asked for. With users behind
 * functions the name that we show need not be the one they log in with, so it stays theirs to type.
 */
const accountToConfirm = async (
  server: AuthorizationServer,
  req: Request,
  waiting: OpenPendingRequest,
): Promise<string | undefined> => {
  const { users } = server.options
  if (waiting.request.prompt.includes('select_account') || (users && !isUserMapping(users))) return undefined
  const active = await activeLogin(server, req)
  if (active === undefined || active.login.sid !== waiting.sid) return undefined
  const { hintedSubject } = waiting.request
  const isSomebodyElse =
    hintedSubject !== undefined && hintedSubject !== subjectFor(server, waiting.client, active.user.subject)
  return isSomebodyElse ? undefined : active.user.username
}

/** The sign-in page; where the host has its own, the page on which that one's redirect ends. */
export const loginPageEndpoint =
  (server: AuthorizationServer, pages: Pages): RequestHandler =>
  async (req, res) => {
    const waiting = await openPending(server, req, queryParameters(req))
    if (server.options.login.url !== undefined) {
      const url = ownPath(server, '/authorize', {
        [requestParameter]: waiting.secret,
        [returnedParameter]: '1',
      })
      return pages.send(res, 'return', { url }, { redirectUri: waiting.request.redirectUri })
    }
    const account = await accountToConfirm(server, req, waiting)
    const username = account ?? waiting.request.loginHint ?? ''
    showLogin(pages, res, pageFor(server, req, waiting), { username, confirm: account !== undefined })
  }

/** Checks the password, records the login, and sends the browser back to the authorization endpoint. */
export const loginFormEndpoint =
  (server: AuthorizationServer, pages: Pages): RequestHandler =>
  async (req, res) => {
    const form = formParameters(req)
    const waiting = await openPending(server, req, form)
    assertCsrf(server, req, form, { action: 'login', pendingId: waiting.id, browser: waiting.browser })
    const account = await accountToConfirm(server, req, waiting)
    const page = { ...pageFor(server, req, waiting), clientId: waiting.client.clientId, account }
    if (await logIn(server, pages, { req, res, form }, page))
      sendRedirect(res, ownPath(server, '/authorize', { [requestParameter]: waiting.secret }))
  }
