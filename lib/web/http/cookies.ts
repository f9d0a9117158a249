import { parse, serialize } from 'cookie'
import type { Request, Response } from 'express'
import type { ServerSetup } from '../../oauth/authorization-server.ts'

/** Whether cookies are Secure: the issuer decides, never the request. */
export const isSecure = (server: ServerSetup): boolean => server.issuer.startsWith('https:')

/** The name of a cookie; `__Host-` makes the browser insist on Secure, Path=/ and no Domain. */
export const cookieName = (server: ServerSetup, purpose: string): string =>
  `${isSecure(server) ? '__Host-' : ''}latchkey_${server.fingerprint}_${purpose}`

/** The key of our data in a session. */
export const sessionKey = (server: ServerSetup): string => `latchkey:${server.fingerprint}`

/** The value of one of our cookies. */
export const readCookie = (server: ServerSetup, req: Request, purpose: string): string | undefined => {
  const { cookie = '' } = req.headers
  const name = cookieName(server, purpose)
  // Most requests have only a few of them.
  return cookie.includes(name) ? parse(cookie)[name] : undefined
}

/** The value of one of our cookies that this response sets already. */
export const cookieOfResponse = (server: ServerSetup, res: Response, purpose: string): string | undefined => {
  const name = cookieName(server, purpose)
  const lines = [res.getHeader('Set-Cookie') ?? []].flat().map(String)
  return lines.map((line) => parse(line)[name]).findLast((value) => value !== undefined)
}

/**
 * Sets one of our cookies: HttpOnly, SameSite=Lax, and Secure under an https issuer.
 *
 * @param cookie.maxAge seconds; without it the cookie ends with the browser session
 */
export const setCookie = (
  server: ServerSetup,
  res: Response,
  { purpose, value, maxAge }: { purpose: string; value: string; maxAge?: number },
): void => {
  const attributes = { path: '/', httpOnly: true, sameSite: 'lax', secure: isSecure(server), maxAge } as const
  res.append('Set-Cookie', serialize(cookieName(server, purpose), value, attributes))
}
