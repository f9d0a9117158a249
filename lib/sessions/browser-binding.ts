import type { Request, Response } from 'express'
import type { AuthorizationServer } from '../authorization-server.ts'
import { readCookie, setCookie } from '../http/cookies.ts'
import { createSecret, hashSecret, isSecretOf } from '../keys/secrets.ts'

/** The browser that a waiting request is bound to: a random cookie of ours, whatever the host does to sessions. */
export interface Browser {
  readonly secret: string
  /** As it is stored. */
  readonly hash: string
}

const browserOf = (secret: string): Browser => ({ secret, hash: hashSecret(secret) })

/** The browser of this request, if it has been here before. */
export const boundBrowser = (server: AuthorizationServer, req: Request): Browser | undefined => {
  const value = readCookie(server, req, 'browser')
  return value !== undefined && isSecretOf('browser', value) ? browserOf(value) : undefined
}

/** The browser of this request; a new one gets its cookie with this response. */
export const bindBrowser = (server: AuthorizationServer, req: Request, res: Response): Browser => {
  const known = boundBrowser(server, req)
  if (known) return known
  const browser = browserOf(createSecret('browser'))
  setCookie(server, res, { purpose: 'browser', value: browser.secret })
  return browser
}
