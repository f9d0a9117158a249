import type { AuthorizationRequest } from '../../protocol/requests/authorization-request.ts'
import { ownPath } from '../../web/http/urls.ts'
import type { PageModels } from '../../web/pages/page-models.ts'
import type { ServerSetup } from '../authorization-server.ts'
import { requestParameter } from './pending-request.ts'

/** Names the login that the user of the form wants to replace. A sid is not secret. */
export const replacesParameter = 'replaces'

/**
 * The host's own page with `return_to`: a path when that page is on our origin, so that its check against open
 * redirects accepts it, else a URL.
 */
const hostPage = (
  server: ServerSetup,
  url: string,
  returnPath: string,
  parameters: Readonly<Record<string, string | undefined>>,
): string => {
  const { origin } = new URL(server.issuer)
  const page = new URL(url, origin)
  page.searchParams.set('return_to', page.origin === origin ? returnPath : `${origin}${returnPath}`)
  for (const [name, value] of Object.entries(parameters))
    if (value !== undefined) page.searchParams.set(name, value)
  return page.origin === origin ? `${page.pathname}${page.search}${page.hash}` : page.href
}

export interface LoginLocationOptions {
  /** Whether the browser has just got its cookie. The URL then names the client, in case cookies are blocked. @default false */
  readonly isFirstVisit?: boolean
  /** The login whose user is to be replaced: the form is shown to them nevertheless. */
  readonly replaces?: string
  /** Whether the page of the host must ask, although a user is signed in there. @default the request decides */
  readonly asksAgain?: boolean
}

/** The login page for a pending request: ours, or the host's with what it needs to know of the request. */
export const loginLocation = (
  server: ServerSetup,
  secret: string,
  request: AuthorizationRequest,
  { isFirstVisit = false, replaces, asksAgain = false }: LoginLocationOptions = {},
): string => {
  const named = { [requestParameter]: secret }
  const { url } = server.options.login
  if (url === undefined) {
    return ownPath(server, '/login', {
      ...named,
      ...(isFirstVisit && { client_id: request.clientId }),
      ...(replaces !== undefined && { [replacesParameter]: replaces }),
    })
  }
  const needsLogin = asksAgain || request.maxAge !== undefined || request.acrValues !== undefined
  const prompt = needsLogin ? [...new Set([...request.prompt, 'login'])] : request.prompt
  return hostPage(server, url, ownPath(server, '/login', named), {
    prompt: prompt.join(' ') || undefined,
    login_hint: request.loginHint,
    acr_values: request.acrValues?.join(' '),
    ui_locales: request.uiLocales?.join(' '),
  })
}

/**
 * Where the forms of a pending request may lead: to its redirect URI, or without one to the login page of the host.
 *
 * @param redirectUri of the request
 */
export const formTarget = ({ issuer, options }: ServerSetup, redirectUri?: string): string | undefined => {
  const { url } = options.login
  return redirectUri ?? (url === undefined ? undefined : new URL(url, issuer).href)
}

/** Set when the browser comes back from the host's own login page. */
export const returnedParameter = 'returned'

/**
 * The host's own page for a login without a client.
 *
 * @param page where it returns to: the list of connected apps, or another page
 * @param page.asksAgain whether a user who is signed in must sign in again
 */
export const accountLoginLocation = (
  server: ServerSetup,
  url: string,
  { path, query, asksAgain }: { path: string; query: Readonly<Record<string, string>>; asksAgain: boolean },
): string =>
  hostPage(server, url, ownPath(server, path, { ...query, [returnedParameter]: '1' }), {
    prompt: asksAgain ? 'login' : undefined,
  })

/**
 * The ways out of the login page beside its form: pages of the host, each with `return_to`, so that the user comes back to
 * this request.
 *
 * @param returnPath of our page that continues
 * @param username that is in the form, for the page that sets a new password
 */
export const loginWays = (
  server: ServerSetup,
  returnPath: string,
  username = '',
): Pick<PageModels['login'], 'links' | 'providers'> => {
  const { pages, login } = server.options
  const { forgotPassword, signUp } = pages.links
  const hint = { login_hint: username || undefined }
  return {
    links: {
      forgotPassword: forgotPassword && hostPage(server, forgotPassword, returnPath, hint),
      signUp: signUp && hostPage(server, signUp, returnPath, {}),
    },
    providers: (login.providers ?? []).map(({ name, url, icon }) => ({
      name,
      url: hostPage(server, url, returnPath, {}),
      icon: icon && server.views.picture(icon),
    })),
  }
}

/** Whether another user can sign in here while the present login stands. */
export const replacesLogins = ({ options: { login } }: ServerSetup): boolean =>
  login.url === undefined && (login.current === undefined || login.remember !== undefined)

/**
 * Where another user signs in, without a client. A login that only the host can replace ends first.
 *
 * @param sid of the login that is to be replaced
 */
export const anotherAccountLocation = (server: ServerSetup, sid: string): string =>
  replacesLogins(server)
    ? ownPath(server, '/account', { [replacesParameter]: sid })
    : ownPath(server, '/logout')
