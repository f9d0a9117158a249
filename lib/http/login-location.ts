import type { AuthorizationServer } from '../authorization-server.ts'
import type { AuthorizationRequest } from '../protocol/authorization-request.ts'
import { ownPath } from './names.ts'
import { requestParameter } from './waiting-request.ts'

/**
 * Where the browser logs in: our page, or the host's own with `return_to`, `prompt` and `login_hint`.
 * `return_to` is a path when the host's page is on the same origin, so that its open-redirect check lets it pass.
 */
export const loginLocation = (
  server: AuthorizationServer,
  secret: string,
  request: AuthorizationRequest,
): string => {
  const path = ownPath(server, '/login', { [requestParameter]: secret })
  const { url } = server.options.login
  if (url === undefined) return path
  const { origin } = new URL(server.issuer)
  const page = new URL(url, origin)
  page.searchParams.set('return_to', page.origin === origin ? path : `${origin}${path}`)
  const prompt = request.maxAge === undefined ? request.prompt : [...new Set([...request.prompt, 'login'])]
  if (prompt.length > 0) page.searchParams.set('prompt', prompt.join(' '))
  if (request.loginHint !== undefined) page.searchParams.set('login_hint', request.loginHint)
  return page.origin === origin ? `${page.pathname}${page.search}` : page.href
}
