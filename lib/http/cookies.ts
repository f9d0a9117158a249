import { parse, serialize } from 'cookie'
import type { Request, Response } from 'express'
import type { ServerSetup } from '../authorization-server.ts'
import { isReadOnly } from './read-only.ts'
import { cookieName, isSecure } from './urls.ts'

/** The value of one of our cookies. */
export const readCookie = (server: ServerSetup, req: Request, purpose: string): string | undefined =>
  parse(req.headers.cookie ?? '')[cookieName(server, purpose)]

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
  if (isReadOnly(res.req)) return
  const attributes = { path: '/', httpOnly: true, sameSite: 'lax', secure: isSecure(server), maxAge } as const
  res.append('Set-Cookie', serialize(cookieName(server, purpose), value, attributes))
}
