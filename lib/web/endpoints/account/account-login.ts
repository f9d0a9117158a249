import {
  accountLoginLocation,
  replacesParameter,
  returnedParameter,
} from '../../../oauth/authorization/login-location.ts'
import type { AuthorizationServer } from '../../../oauth/authorization-server.ts'
import type { Parameters } from '../../../protocol/parameters.ts'
import { countRevocations } from '../../../storage/repositories/index.ts'
import { featureAccountPages } from '../../http/account-page.ts'
import type { PageContext } from '../../http/context.ts'
import { queryParameters } from '../../http/form.ts'
import { redirectToPage } from '../../http/redirect.ts'
import { ownPath } from '../../http/urls.ts'
import { type BoundBrowser, bindBrowser } from '../../sessions/browser-binding.ts'
import { formToken, submittedForm } from '../../sessions/csrf.ts'
import { type ActiveLogin, activeLogin } from '../../sessions/login.ts'
import { hasTypedNames, type LoginPage, logIn, loginPage, methodPrompts } from '../login-form.ts'
import { fieldsIn, type NamedParameters } from '../page-values.ts'

// No request is pending when a user logs in here. The form leads to this page and nowhere else, so no parameter can send
// the browser elsewhere. Its CSRF token contains the secret of this browser, so no other site can log it in. The login
// gives the session a new id, so a session that was planted before is worth nothing.

/** A page of the account, as a feature describes it. */
const accountPageAt = ({ added }: AuthorizationServer, path: string | undefined) =>
  added(featureAccountPages).find(({ endpoint }) => endpoint.path === path)

/** Names the page that a user signs in to, on other pages than that one. */
const pageParameter = 'page'

/** The page with a sign-in form that a URL or form names; by default the list of connected apps. */
export const namedAccountPage = (
  server: AuthorizationServer,
  parameters: Parameters,
): { path: string; query: NamedParameters } => {
  const named = parameters.optional(pageParameter)
  const page = server.endpoints.find(({ path, signInParameters }) => signInParameters && path === named)
  if (page === undefined) return { path: '/account', query: {} }
  return { path: page.path, query: fieldsIn(parameters, page.signInParameters ?? []) }
}

/** A sign-in to a page of the account, in URLs and forms, and with the levels that it should have. */
export const accountSignIn = (
  server: AuthorizationServer,
  path: string,
  query: NamedParameters = {},
): { topic: string; parameters: NamedParameters; acrValues: readonly string[] } => {
  if (path === '/account') return { topic: 'account', parameters: {}, acrValues: [] }
  // A credential that the user adds there signs in at every level.
  const isHighest = accountPageAt(server, path)?.needsEveryLevel
  const acrValues = isHighest ? server.options.acrValues : []
  return { topic: path, parameters: { [pageParameter]: path, ...query }, acrValues }
}

/** The topic of the sign-in form, on every page. */
const signInForm = ['sign in']

/** @param active the login that the user replaces on the page `/account`, or confirms on another */
const pageFor = (
  context: PageContext,
  path: string,
  browser: BoundBrowser,
  active: ActiveLogin | undefined,
  query: NamedParameters,
): LoginPage => {
  const { server } = context
  const url = ownPath(server, path, query)
  const { topic, parameters, acrValues } = accountSignIn(server, path, query)
  const isReplacing = path === '/account' && active !== undefined
  const replaces: Record<string, string> = isReplacing ? { [replacesParameter]: active.login.sid } : {}
  return {
    form: () => ({
      action: url,
      hidden: { ...replaces, csrf_token: formToken(context, signInForm) },
      ...(isReplacing && { signedIn: { username: active.user.username, url } }),
    }),
    browser,
    topic,
    acrValues,
    returnPath: url,
    parameters,
    url: ownPath(server, path, { ...query, ...replaces }),
    account: isReplacing || !hasTypedNames(server) ? undefined : active?.user,
  }
}

/**
 * Shows the sign-in form instead of an account page, or sends the browser to the login page of the host.
 *
 * @param active as for the form
 * @param needed the way to sign in that the user must use instead of the password
 */
export const showAccountLogin = async (
  context: PageContext,
  path: string,
  active?: ActiveLogin,
  query: NamedParameters = {},
  needed?: string,
): Promise<void> => {
  const { server, req } = context
  const { url } = server.options.login
  if (url === undefined) {
    const page = pageFor(context, path, bindBrowser(context), active, query)
    const methods = await methodPrompts(context, page)
    const offered = methods?.filter(({ method }) => needed === undefined || method === needed)
    const form = () => ({ ...page.form(), methods: offered, needed })
    return context.deliver(context, loginPage(context, { ...page, form }))
  }
  const asksAgain = path !== '/account' && active !== undefined
  const location = accountLoginLocation(server, url, { path, query, asksAgain })
  // A browser that comes back without a login is not redirected again.
  if (queryParameters(req).has(returnedParameter)) context.send('account-sign-in', { url: location })
  else redirectToPage(context, location)
}

/** Logs the user in, and shows the page. */
export const submitAccountLogin = async (
  context: PageContext,
  path: string,
  query: NamedParameters = {},
): Promise<void> => {
  const { server } = context
  const form = submittedForm(context, signInForm)
  const since = await countRevocations(context.server.database)
  const browser = bindBrowser(context)
  const page = pageFor(context, path, browser, await activeLogin(context), query)
  const result = await logIn(context, form, page, since)
  context.deliver(context, 'login' in result ? { redirectToPage: ownPath(server, path, query) } : result)
}
