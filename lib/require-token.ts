import type { Request, RequestHandler } from 'express'
import { type AuthorizationServer, readyInTime } from './authorization-server.ts'
import { bearerToken, withBearerChallenge } from './http/bearer-token.ts'
import { errorHandler } from './http/errors.ts'
import { assertKnownScopes } from './options/scopes.ts'
import { OAuthError } from './protocol/errors.ts'
import { parseScope } from './protocol/scope.ts'
import { type VerifiedToken, verifyAccessToken } from './tokens/access-token.ts'

/** A request that passed the guard. */
export interface TokenRequestFields<Token extends VerifiedToken = VerifiedToken> {
  token: Token
}

/** A token that speaks for a user. */
export interface UserToken extends VerifiedToken {
  readonly subject: string
}

declare global {
  namespace Express {
    interface Request {
      /** What the access token says; set by `requireToken()`. */
      token: import('./tokens/access-token.ts').VerifiedToken
    }
  }
}

export interface RequireTokenOptions {
  /** Refuses tokens that a client got for itself (`client_credentials`). @default false */
  user?: boolean
}

/** A guard for the host's own API: `requireToken('orders:read')`. */
export type RequireToken = (scope?: string, options?: RequireTokenOptions) => RequestHandler

/**
 * Lets a request pass that carries a valid access token with all of these scopes (RFC 6750), and tells in
 * `req.token` whom it speaks for. A user who is disabled, a consent that is removed, a client that is switched off:
 * refused from that moment.
 *
 * @param scope one scope, or several separated by spaces
 * @returns middleware answering 401 `invalid_token` or 403 `insufficient_scope` as JSON with a Bearer challenge
 * @throws OAuthError `invalid_scope` at once when the scope itself is malformed, OptionsError when the option `scopes`
 *   does not name it
 * @example app.get('/api/orders', oauth.requireToken('orders:read'), (req, res) => res.json({ subject: req.token.subject }))
 */
export const requireTokenOf =
  (server: AuthorizationServer): RequireToken =>
  (scope, { user: asksForUser = false } = {}) => {
    const needed = parseScope(scope)
    assertKnownScopes(`requireToken('${scope}')`, needed, server.options)
    const sendError = errorHandler(server)
    const check = async (req: Request): Promise<void> => {
      const value = bearerToken(req)
      if (!server.isReady()) await readyInTime(server)
      const { token } = await verifyAccessToken(server, value)
      const missing = needed.filter((name) => !token.scopes.includes(name))
      if (missing.length > 0) {
        throw new OAuthError('insufficient_scope', `the access token lacks the scope ${missing.join(' ')}`)
      }
      if (asksForUser && token.subject === undefined) {
        throw new OAuthError('insufficient_scope', 'the access token does not speak for a user')
      }
      req.token = token
    }
    return (req, res, next) => {
      check(req).then(
        () => next(),
        (error: unknown) => sendError(withBearerChallenge(error), req, res, next),
      )
    }
  }
