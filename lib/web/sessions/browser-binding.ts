import { createSecret, hashAtIssuer, isSecretOf } from '../../keys/secrets.ts'
import type { Incoming } from '../http/context.ts'
import { cookieOfResponse, readCookie, setCookie } from '../http/cookies.ts'

/** The browser that a pending request is bound to, by a random cookie that does not depend on the host's session. */
export interface BoundBrowser {
  readonly secret: string
  /** As it is stored. */
  readonly hash: string
  /** Whether it got its cookie with this response: nothing is stored about it yet. */
  readonly isNew: boolean
}

const browserOf = (
  { issuer }: Pick<Incoming['server'], 'issuer'>,
  secret: string | undefined,
  isNew: boolean,
): BoundBrowser | undefined =>
  secret === undefined || !isSecretOf('browser', secret)
    ? undefined
    : { secret, hash: hashAtIssuer(issuer, secret), isNew }

/** The browser of this request, if it has our cookie. */
export const boundBrowser = ({ server, req }: Pick<Incoming, 'server' | 'req'>): BoundBrowser | undefined =>
  browserOf(server, readCookie(server, req, 'browser'), false)

/** The browser of this request; a new one gets its cookie with this response. */
export const bindBrowser = (context: Incoming): BoundBrowser => {
  const { server, res } = context
  const bound = boundBrowser(context) ?? browserOf(server, cookieOfResponse(server, res, 'browser'), true)
  if (bound) return bound
  const secret = createSecret('browser')
  setCookie(server, res, { purpose: 'browser', value: secret })
  return { secret, hash: hashAtIssuer(server.issuer, secret), isNew: true }
}
