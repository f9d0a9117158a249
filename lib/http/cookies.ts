import { parse, serialize } from 'cookie'
import type { Request, Response } from 'express'
import type { AuthorizationServer } from '../authorization-server.ts'
import { cookieName, isSecure } from './urls.ts'

/** The value of a cookie of ours. */
export const readCookie = (server: AuthorizationServer, req: Request, purpose: string): string | undefined =>
  parse(req.headers.cookie ?? '')[cookieName(server, purpose)]

/**
 * Sets a cookie of ours: unseen by scripts, not sent with forms of other sites, Secure on https.
 *
 * @param maxAge seconds; without it the cookie goes with the browser
 */
export const setCookie = (
  server: AuthorizationServer,
  res: Response,
  { purpose, value, maxAge }: { purpose: string; value: string; maxAge?: number },
): void => {
  const attributes = { path: '/', httpOnly: true, sameSite: 'lax', secure: isSecure(server), maxAge } as const
  res.append('Set-Cookie', serialize(cookieName(server, purpose), value, attributes))
}
