import type { RequestHandler, Response } from 'express'
import type { AuthorizationServer } from '../authorization-server.ts'
import { assertCsrf, csrfToken } from '../http/csrf.ts'
import { formParameters, queryParameters } from '../http/form.ts'
import { accountOf, rememberBrowser } from '../http/known-browser.ts'
import { startLogin } from '../http/login.ts'
import { attemptLogin } from '../http/login-attempt.ts'
import { ownPath } from '../http/names.ts'
import { clientCard, type Pages } from '../http/pages.ts'
import { sendRedirect } from '../http/send.ts'
import { activeLogin } from '../http/situation.ts'
import { type OpenRequest, openRequest, requestParameter } from '../http/waiting-request.ts'
import { isUserMapping } from '../options/users.ts'
import { subjectFor } from '../tokens/subject.ts'
import { returnedParameter } from './authorize.ts'

/** Taken as it came, never trimmed. The body bounds it; one too long to be right is answered as any wrong one. */
const longestField = 16_384

interface Shown {
  readonly username: string
  /** The account that must log in again is fixed; somebody else has to cancel. */
  readonly confirm: boolean
  readonly error?: 'credentials' | 'throttled'
  /** Seconds, with `throttled`. */
  readonly retryAfter?: number
}

const statuses = { credentials: 400, throttled: 429 }

const show = (
  server: AuthorizationServer,
  pages: Pages,
  res: Response,
  waiting: OpenRequest,
  shown: Shown,
): void => {
  const { client, request, id: requestId, browser, secret } = waiting
  const model = {
    ...shown,
    action: ownPath(server, '/login'),
    hidden: {
      [requestParameter]: secret,
      csrf_token: csrfToken(server, { action: 'login', requestId, browser }),
    },
    client: clientCard(client, request.redirectUri),
  }
  const { error, retryAfter } = shown
  const status = error === undefined ? 200 : statuses[error]
  const headers: Record<string, string> =
    retryAfter === undefined ? {} : { 'Retry-After': String(retryAfter) }
  pages.send(res, 'login', model, { status, redirectUri: request.redirectUri, headers })
}

/**
 * The account to confirm, when a login has to be renewed and no other account was asked for. With users behind
 * functions the name that we show need not be the one they log in with, so it stays theirs to type.
 */
const accountToConfirm = async (
  server: AuthorizationServer,
  req: Parameters<RequestHandler>[0],
  waiting: OpenRequest,
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
    const waiting = await openRequest(server, req, queryParameters(req))
    if (server.options.login.url !== undefined) {
      const url = ownPath(server, '/authorize', {
        [requestParameter]: waiting.secret,
        [returnedParameter]: '1',
      })
      return pages.send(res, 'return', { url }, { redirectUri: waiting.request.redirectUri })
    }
    const account = await accountToConfirm(server, req, waiting)
    const username = account ?? waiting.request.loginHint ?? ''
    show(server, pages, res, waiting, { username, confirm: account !== undefined })
  }

/** Checks the password, records the login, and sends the browser back to the authorization endpoint. */
export const loginFormEndpoint =
  (server: AuthorizationServer, pages: Pages): RequestHandler =>
  async (req, res) => {
    const form = formParameters(req)
    const waiting = await openRequest(server, req, form)
    assertCsrf(server, req, form, { action: 'login', requestId: waiting.id, browser: waiting.browser })
    const account = await accountToConfirm(server, req, waiting)
    const username = account ?? form.verbatim('username', longestField) ?? ''
    const password = form.verbatim('password', longestField) ?? ''
    const attempt = await attemptLogin(server, req, { username, password, clientId: waiting.client.clientId })
    const shown = { username, confirm: account !== undefined }
    if (attempt.outcome === 'failed')
      return show(server, pages, res, waiting, { ...shown, error: 'credentials' })
    if (attempt.outcome === 'refused') {
      const { retryAfter } = attempt
      return show(server, pages, res, waiting, { ...shown, error: 'throttled', retryAfter })
    }
    await startLogin(server, req, attempt.user)
    if (server.options.throttle) rememberBrowser(server, req, res, accountOf(username))
    sendRedirect(res, ownPath(server, '/authorize', { [requestParameter]: waiting.secret }))
  }
