import type { Request, RequestHandler, Response } from 'express'
import { activeLogin } from '../authorization/context.ts'
import { loginLocation } from '../authorization/login-location.ts'
import { type OpenPendingRequest, openPending, requestParameter } from '../authorization/pending-request.ts'
import type { AuthorizationServer } from '../authorization-server.ts'
import { formParameters, queryParameters } from '../http/form.ts'
import { languageOf } from '../http/language.ts'
import { clientCard, type Pages } from '../http/pages.ts'
import { sendRedirect } from '../http/send.ts'
import { ownPath } from '../http/urls.ts'
import { OAuthError } from '../protocol/errors.ts'
import { selectLogin } from '../repositories/index.ts'
import { assertCsrf, csrfToken } from '../sessions/csrf.ts'

/** Which login the page named: its account is the one that "Continue" means. A sid is no secret. */
const shownLogin = 'login'

const show = async (
  server: AuthorizationServer,
  pages: Pages,
  req: Request,
  res: Response,
  waiting: OpenPendingRequest,
): Promise<void> => {
  const { client, request, id: pendingId, browser, secret } = waiting
  const active = await activeLogin(server, req)
  if (active === undefined) return sendRedirect(res, loginLocation(server, secret, request))
  const model = {
    action: ownPath(server, '/select-account'),
    hidden: {
      [requestParameter]: secret,
      [shownLogin]: active.login.sid,
      csrf_token: csrfToken(server, { action: 'select-account', pendingId, browser }),
    },
    client: clientCard(client, request.redirectUri, languageOf(server, req)),
    username: active.user.username,
  }
  pages.send(res, 'select-account', model, { redirectUri: request.redirectUri })
}

/** Asks which account it shall be (`prompt=select_account`, OIDC Core §3.1.2.1). */
export const selectAccountPageEndpoint =
  (server: AuthorizationServer, pages: Pages): RequestHandler =>
  async (req, res) =>
    show(server, pages, req, res, await openPending(server, req, queryParameters(req)))

/** Records the choice for this request alone. Another account ends nothing before it has signed in. */
export const selectAccountFormEndpoint =
  (server: AuthorizationServer, pages: Pages): RequestHandler =>
  async (req, res) => {
    const form = formParameters(req)
    const waiting = await openPending(server, req, form)
    const { id: pendingId, browser, secret, request } = waiting
    assertCsrf(server, req, form, { action: 'select-account', pendingId, browser })
    const choice = form.required('decision')
    if (choice === 'another') return sendRedirect(res, loginLocation(server, secret, request))
    if (choice !== 'continue') throw new OAuthError('invalid_request', 'decision must be continue or another')
    const active = await activeLogin(server, req)
    // Somebody else has signed in since, in another tab: nobody goes on as an account that they did not see.
    if (active?.login.sid !== form.optional(shownLogin)) return show(server, pages, req, res, waiting)
    if (active) await selectLogin(server.database, { id: pendingId, sid: active.login.sid })
    sendRedirect(res, ownPath(server, '/authorize', { [requestParameter]: secret }))
  }
