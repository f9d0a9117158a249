import type { Request, RequestHandler, Response } from 'express'
import { activeLogin } from '../authorization/context.ts'
import type { AuthorizationServer } from '../authorization-server.ts'
import { formParameters, queryParameters } from '../http/form.ts'
import { askedLanguages, languageOf } from '../http/language.ts'
import type { Pages } from '../http/pages.ts'
import { sendRedirect } from '../http/send.ts'
import { ownPath } from '../http/urls.ts'
import { type Client, clientName } from '../protocol/client.ts'
import { OAuthError } from '../protocol/errors.ts'
import type { Login } from '../protocol/login.ts'
import { assertPostLogoutRedirectUri } from '../protocol/logout-request.ts'
import type { Parameters } from '../protocol/parameters.ts'
import { findClient } from '../repositories/index.ts'
import { bindBrowser, boundBrowser } from '../sessions/browser-binding.ts'
import { assertCsrf, csrfToken } from '../sessions/csrf.ts'
import { endLogin } from '../sessions/login.ts'
import { type IdTokenHint, readIdTokenHint } from '../tokens/id-token-hint.ts'
import { subjectFor } from '../tokens/subject.ts'

/** Whether a POST is the confirmation of our own page; any other comes from a client, perhaps of another site. */
export const isLogoutConfirmation = (req: Request): boolean =>
  req.method === 'POST' && formParameters(req).has('csrf_token')

/** A logout request (RP-Initiated Logout §2) whose every part has been checked. */
interface LogoutRequest {
  readonly client: Client | undefined
  readonly hint: IdTokenHint | undefined
  /** Where the browser goes afterwards, with `state`; registered for this very client. */
  readonly location: string | undefined
}

const logoutRequest = async (server: AuthorizationServer, parameters: Parameters): Promise<LogoutRequest> => {
  parameters.assertEachOnce()
  const sentHint = parameters.optional('id_token_hint')
  const hint = sentHint === undefined ? undefined : await readIdTokenHint(server, sentHint)
  const sentId = parameters.optional('client_id')
  if (hint && sentId !== undefined && sentId !== hint.clientId) {
    throw new OAuthError('invalid_request', 'client_id is not the client of the id_token_hint')
  }
  const clientId = sentId ?? hint?.clientId
  const found =
    clientId === undefined ? undefined : await findClient(server.database, { clientId, now: server.now() })
  // One that is switched off is neither named nor linked, as if it were not registered.
  const client = found?.disabledAt === null ? found : undefined
  const redirectUri = parameters.optional('post_logout_redirect_uri')
  if (redirectUri === undefined) return { client, hint, location: undefined }
  assertPostLogoutRedirectUri(redirectUri, client)
  const state = parameters.optional('state')
  const query =
    state === undefined ? '' : `${redirectUri.includes('?') ? '&' : '?'}${new URLSearchParams({ state })}`
  return { client, hint, location: `${redirectUri}${query}` }
}

/** What a confirmation carries on from the request it confirms; everything is checked again. */
const carried = ['client_id', 'post_logout_redirect_uri', 'state', 'id_token_hint']

const purpose = (parameters: Parameters): string =>
  JSON.stringify(carried.map((name) => parameters.optional(name) ?? ''))

/** An ID token of the very user who is signed in, as its client knows them, vouches for the client. */
const isVouchedFor = (server: AuthorizationServer, { client, hint }: LogoutRequest, login: Login): boolean =>
  client !== undefined && hint?.subject === subjectFor(server, client, login.subject)

const finish = async (
  server: AuthorizationServer,
  pages: Pages,
  req: Request,
  res: Response,
  { client, location }: LogoutRequest,
): Promise<void> => {
  await endLogin(server, req)
  if (location !== undefined) return sendRedirect(res, location)
  const uri = client?.metadata.client_uri
  pages.send(
    res,
    'signed-out',
    client && uri !== undefined ? { client: { name: clientName(client, languageOf(server, req)), uri } } : {},
  )
}

/**
 * RP-Initiated Logout: at once when an ID token of the very user who is signed in vouches for the client,
 * after a confirmation otherwise. Nothing that is not registered is ever redirected to.
 */
export const logoutEndpoint =
  (server: AuthorizationServer, pages: Pages): RequestHandler =>
  async (req, res) => {
    const parameters = queryParameters(req)
    const request = await logoutRequest(server, parameters)
    const active = await activeLogin(server, req)
    if (active === undefined || isVouchedFor(server, request, active.login)) {
      return finish(server, pages, req, res, request)
    }
    const browser = bindBrowser(server, req, res)
    const fields = carried.flatMap((name) => {
      const value = parameters.optional(name)
      return value === undefined ? [] : [[name, value]]
    })
    const token = csrfToken(server, { action: 'logout', pendingId: purpose(parameters), browser })
    const uiLocales = askedLanguages(req).join(' ')
    const model = {
      action: ownPath(server, '/logout', uiLocales === '' ? {} : { ui_locales: uiLocales }),
      hidden: { ...Object.fromEntries(fields), csrf_token: token },
      client: request.client && clientName(request.client, languageOf(server, req)),
      username: active.user.username,
    }
    pages.send(res, 'sign-out', model, { redirectUri: request.location })
  }

/** The confirmation of our page; or a client's form, which comes again by GET because it carries no Lax cookie. */
export const logoutFormEndpoint =
  (server: AuthorizationServer, pages: Pages): RequestHandler =>
  async (req, res) => {
    const form = formParameters(req)
    if (!isLogoutConfirmation(req)) {
      return sendRedirect(res, `${ownPath(server, '/logout')}?${new URLSearchParams(form.pairs())}`)
    }
    // A form of another site brings no cookie; to give it one would replace the browser's own, and with it end what waits.
    const browser = boundBrowser(server, req)
    assertCsrf(server, req, form, browser && { action: 'logout', pendingId: purpose(form), browser })
    await finish(server, pages, req, res, await logoutRequest(server, form))
  }
