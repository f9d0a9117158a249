import type { ServerSetup } from '../authorization-server.ts'
import { hostLink } from '../protocol/links.ts'

/** Whether cookies are Secure: the issuer decides, never the request. */
export const isSecure = (server: ServerSetup): boolean => server.issuer.startsWith('https:')

/** The name of a cookie; `__Host-` makes the browser insist on Secure, Path=/ and no Domain. */
export const cookieName = (server: ServerSetup, purpose: string): string =>
  `${isSecure(server) ? '__Host-' : ''}latchkey_${server.fingerprint}_${purpose}`

/** The key of our data in a session. */
export const sessionKey = (server: ServerSetup): string => `latchkey:${server.fingerprint}`

/** The path of an endpoint as a browser sees it, with a query. */
export const ownPath = (
  server: ServerSetup,
  path: string,
  query: Readonly<Record<string, string>> = {},
): string => {
  const search = new URLSearchParams(query).toString()
  return `${server.options.basePath}${path}${search === '' ? '' : `?${search}`}`
}

/** Where a page leads that has no other way on: the product's home page, or the user's connected apps. */
export const homeUrl = (server: ServerSetup): string =>
  hostLink(server.options.branding.home) ?? ownPath(server, '/account')
