import type { AuthorizationServer } from '../authorization-server.ts'
import { ownPath } from '../http/urls.ts'
import type { AuthorizationRequest } from '../protocol/authorization-request.ts'
import { requestParameter } from './pending-request.ts'

/**
 * The host's own page, and where it shall send the browser afterwards: a path of ours when that page is on the same
 * origin, so that its open-redirect check lets it pass.
 */
const hostPage = (
  server: AuthorizationServer,
  url: string,
  returnPath: string,
  parameters: Readonly<Record<string, string | undefined>>,
): string => {
  const { origin } = new URL(server.issuer)
  const page = new URL(url, origin)
  page.searchParams.set('return_to', page.origin === origin ? returnPath : `${origin}${returnPath}`)
  for (const [name, value] of Object.entries(parameters))
    if (value !== undefined) page.searchParams.set(name, value)
  return page.origin === origin ? `${page.pathname}${page.search}` : page.href
}

/** Where the browser logs in for a client: our page, or the host's own with `return_to`, `prompt` and `login_hint`. */
export const loginLocation = (
  server: AuthorizationServer,
  secret: string,
  request: AuthorizationRequest,
): string => {
  const path = ownPath(server, '/login', { [requestParameter]: secret })
  const { url } = server.options.login
  if (url === undefined) return path
  const prompt = request.maxAge === undefined ? request.prompt : [...new Set([...request.prompt, 'login'])]
  const asked = prompt.length > 0 ? prompt.join(' ') : undefined
  return hostPage(server, url, path, {
    prompt: asked,
    login_hint: request.loginHint,
    ui_locales: request.uiLocales?.join(' '),
  })
}

/** Set by the hop back from the host's own login page. */
export const returnedParameter = 'returned'

/** The host's own page, for somebody whom no client sent; it ends at our list of connected apps. */
export const accountLoginLocation = (server: AuthorizationServer, url: string): string =>
  hostPage(server, url, ownPath(server, '/account', { [returnedParameter]: '1' }), {})
