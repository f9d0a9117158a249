import type { AuthorizationServer } from '../authorization-server.ts'
import type { PageContext } from '../http/context.ts'
import { formParameters, queryParameters } from '../http/form.ts'
import { uiLocalesOf } from '../http/language.ts'
import type { Endpoint } from '../http/route.ts'
import { redirectToPage, sendRedirect } from '../http/send.ts'
import { ownPath } from '../http/urls.ts'
import { type Client, clientName } from '../protocol/client.ts'
import { OAuthError } from '../protocol/errors.ts'
import type { Login } from '../protocol/login.ts'
import { assertPostLogoutRedirectUri } from '../protocol/logout-request.ts'
import type { Parameters } from '../protocol/parameters.ts'
import { findClient } from '../repositories/index.ts'
import { bindBrowser, boundBrowser } from '../sessions/browser-binding.ts'
import { assertCsrf, csrfToken } from '../sessions/csrf.ts'
import { activeLogin, endLogin } from '../sessions/login.ts'
import { type IdTokenHint, readIdTokenHint } from '../tokens/id-token-hint.ts'
import { subjectFor } from '../tokens/subject.ts'

/** A checked logout request (RP-Initiated Logout §2). */
interface LogoutRequest {
  readonly client: Client | undefined
  readonly hint: IdTokenHint | undefined
  /** Where the browser goes afterwards, with `state`; registered for this client. */
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
  // A disabled client is neither named nor linked, as if it were not registered.
  const client = found?.disabledAt === null ? found : undefined
  const redirectUri = parameters.optional('post_logout_redirect_uri')
  if (redirectUri === undefined) return { client, hint, location: undefined }
  assertPostLogoutRedirectUri(redirectUri, client)
  const state = parameters.optional('state')
  const query =
    state === undefined ? '' : `${redirectUri.includes('?') ? '&' : '?'}${new URLSearchParams({ state })}`
  return { client, hint, location: `${redirectUri}${query}` }
}

/** Parameters that the confirmation form repeats; they are checked again. */
const carriedParameters = ['client_id', 'post_logout_redirect_uri', 'state', 'id_token_hint']

const purpose = (parameters: Parameters): string =>
  JSON.stringify(carriedParameters.map((name) => parameters.optional(name) ?? ''))

/** Whether an ID token of the user who is logged in vouches for the client. */
const isVouchedFor = (server: AuthorizationServer, { client, hint }: LogoutRequest, login: Login): boolean =>
  client !== undefined && hint?.subject === subjectFor(server, client, login.subject)

const finish = async (context: PageContext, { client, location }: LogoutRequest): Promise<void> => {
  await endLogin(context)
  if (location !== undefined) return sendRedirect(context.res, location)
  const uri = client?.metadata.client_uri
  const link =
    client && uri !== undefined ? { client: { name: clientName(client, context.language), uri } } : {}
  context.send('signed-out', link)
}

/**
 * Logs out at once if an ID token of the user who is logged in vouches for the client, and asks otherwise
 * (RP-Initiated Logout §2). It redirects to registered URIs only.
 */
const logout = async (context: PageContext): Promise<void> => {
  const { server, req, language } = context
  const parameters = queryParameters(req)
  const request = await logoutRequest(server, parameters)
  const active = await activeLogin(context)
  if (active === undefined || isVouchedFor(server, request, active.login)) return finish(context, request)
  const fields = carriedParameters.flatMap((name) => {
    const value = parameters.optional(name)
    return value === undefined ? [] : [[name, value]]
  })
  const browser = bindBrowser(context)
  const token = csrfToken(server, { action: 'logout', about: purpose(parameters), browser })
  const uiLocales = uiLocalesOf(req).join(' ')
  const model = {
    action: ownPath(server, '/logout', uiLocales === '' ? {} : { ui_locales: uiLocales }),
    hidden: { ...Object.fromEntries(fields), csrf_token: token },
    client: request.client && clientName(request.client, language),
    username: active.user.username,
  }
  context.send('sign-out', model, { redirectUri: request.location })
}

/** Whether a POST is the confirmation of our own page. Any other comes from a client, perhaps of another site. */
const isConfirmation = (form: Parameters): boolean => form.has('csrf_token')

/** The confirmation, or a client's form: that comes again by GET, because it carries no Lax cookie. */
const submit = async (context: PageContext): Promise<void> => {
  const { server, req, res } = context
  const form = formParameters(req)
  if (!isConfirmation(form)) {
    return redirectToPage(res, `${ownPath(server, '/logout')}?${new URLSearchParams(form.pairs())}`)
  }
  // A form of another site carries no cookie. A new one would replace the browser's own and end its pending requests.
  const browser = boundBrowser(context)
  assertCsrf(context, form, browser && { action: 'logout', about: purpose(form), browser })
  await finish(context, await logoutRequest(server, form))
}

/** RP-Initiated Logout. */
export const logoutEndpoint: Endpoint<PageContext> = {
  path: '/logout',
  metadataName: 'end_session_endpoint',
  methods: { GET: logout, POST: submit },
  usesSession: (req) => req.method !== 'POST' || isConfirmation(formParameters(req)),
}
