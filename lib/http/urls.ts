import { createHash } from 'node:crypto'
import type { AuthorizationServer } from '../authorization-server.ts'

/** Short and the same for one issuer: two routers in one process, or on one host, do not meet in cookies or sessions. */
const fingerprint = (issuer: string): string => createHash('sha256').update(issuer).digest('hex').slice(0, 8)

/** Whether cookies are Secure: the issuer decides, never the request. */
export const isSecure = (server: AuthorizationServer): boolean => server.issuer.startsWith('https:')

/** A cookie name of ours; `__Host-` makes the browser insist on Secure, Path=/ and no Domain. */
export const cookieName = (server: AuthorizationServer, purpose: string): string =>
  `${isSecure(server) ? '__Host-' : ''}latchkey_${fingerprint(server.issuer)}_${purpose}`

/** Under which name our data lies in a session. */
export const sessionKey = (server: AuthorizationServer): string => `latchkey:${fingerprint(server.issuer)}`

/** A path of ours as a browser sees it. */
export const ownPath = (
  server: AuthorizationServer,
  path: string,
  query: Readonly<Record<string, string>> = {},
): string => {
  const search = new URLSearchParams(query).toString()
  return `${server.options.basePath}${path}${search === '' ? '' : `?${search}`}`
}
