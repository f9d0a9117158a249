import type { NextFunction, Request, RequestHandler, Response } from 'express'
import type { ServerSetup } from './authorization-server.ts'
import { bearerToken, withBearerChallenge } from './http/bearer-token.ts'
import { errorRenderer, sendJsonError } from './http/errors.ts'
import { readyInTime } from './http/ready.ts'
import { createRequestInfo } from './http/request-info.ts'
import { assertKnownScopes } from './options/scopes.ts'
import { OAuthError } from './protocol/errors.ts'
import { parseScope } from './protocol/scope.ts'
import { type VerifiedToken, verifyAccessToken } from './tokens/access-token.ts'

/** A verified access token, as `req.auth` holds it. It is compatible with the type `AuthInfo` of the MCP SDK. */
export interface AuthInfo {
  /** The access token. */
  token: string
  clientId: string
  scopes: string[]
  /** Epoch seconds. */
  expiresAt: number
  /** The resource that the token is for (RFC 8707). */
  resource?: URL
  /** For data of the host's own. */
  extra?: Record<string, unknown>
  /** The user's id; undefined when the client acts for itself, which only a guard with `{ user: false }` lets pass. */
  subject?: string
  /** The organization that the user chose, if the option `organizations` is used. */
  organization?: string
  /** The token's claims with the names of RFC 7662 §2.2. */
  claims: Record<string, unknown>
}

/** A verified access token of a user. */
export interface UserAuthInfo extends AuthInfo {
  subject: string
}

export interface RequireTokenOptions {
  /** Whether the token must belong to a user. `false` also accepts a client's own token (`client_credentials`). @default true */
  user?: boolean
}

/** Middleware made by `requireToken()`. */
export interface TokenGuard<Auth extends AuthInfo = AuthInfo> {
  <P, ResBody, ReqBody, ReqQuery, Locals extends Record<string, unknown>>(
    req: Request<P, ResBody, ReqBody, ReqQuery, Locals>,
    res: Response<ResBody, Locals>,
    next: NextFunction,
  ): void
  /**
   * Returns `req.auth` with its type, for a handler that is registered apart from the guard.
   *
   * @throws Error if the guard did not run for this request
   * @example
   * const guard = oauth.requireToken('orders:read')
   * app.use('/api', guard)
   * app.get('/api/orders', (req, res) => res.json({ subject: guard.auth(req).subject }))
   */
  auth(req: Express.Request): Auth
}

/** Makes middleware that requires an access token: `oauth.requireToken('orders:read')`. */
export interface RequireToken {
  (scope?: string, options?: { user?: true }): TokenGuard<UserAuthInfo>
  (scope: string | undefined, options: RequireTokenOptions): TokenGuard
}

/** A request that may have passed a guard. */
export interface MaybeAuthorized {
  /** Set by `requireToken()`. */
  auth?: Partial<AuthInfo>
}

/** A handler behind a guard. */
export type GuardedHandler<Auth, P> = (
  req: Request<P> & { auth: Auth },
  res: Response,
  next: NextFunction,
) => unknown
type GuardedHandlers<Auth, P> = [GuardedHandler<Auth, P>, ...GuardedHandler<Auth, P>[]]

// Other packages declare `Request.auth` too: express-oauth2-jwt-bearer in this namespace, the MCP SDK in Express's
// module. A second declaration of the same property is a compile error, an inherited one is not: theirs replaces ours.
declare global {
  namespace Express {
    interface Request extends MaybeAuthorized {}
  }
}

// With these overloads handlers behind a guard have a typed `req.auth`, even if another package declares its own.
declare module 'express-serve-static-core' {
  interface IRouterMatcher<T> {
    <Route extends string, Auth extends AuthInfo>(
      path: Route,
      guard: TokenGuard<Auth>,
      ...handlers: GuardedHandlers<Auth, RouteParameters<Route>>
    ): T
    <Route extends string, Auth extends AuthInfo>(
      path: Route,
      first: RequestHandler<RouteParameters<Route>>,
      guard: TokenGuard<Auth>,
      ...handlers: GuardedHandlers<Auth, RouteParameters<Route>>
    ): T
  }
  interface IRouterHandler<T, Route> {
    <Auth extends AuthInfo>(
      guard: TokenGuard<Auth>,
      ...handlers: GuardedHandlers<Auth, RouteParameters<Route>>
    ): T
    <Auth extends AuthInfo>(
      first: RequestHandler<RouteParameters<Route>>,
      guard: TokenGuard<Auth>,
      ...handlers: GuardedHandlers<Auth, RouteParameters<Route>>
    ): T
  }
}

const authOf = (value: string, token: VerifiedToken, issuer: string): AuthInfo => {
  const { subject, clientId, scopes, organization, issuedAt, expiresAt } = token
  const claims = {
    iss: issuer,
    client_id: clientId,
    ...(scopes.length > 0 && { scope: scopes.join(' ') }),
    iat: issuedAt,
    exp: expiresAt,
    ...(subject !== undefined && { sub: subject }),
    ...(organization !== undefined && { org_id: organization }),
  }
  return {
    ...{ token: value, clientId, scopes: [...scopes], expiresAt },
    ...(subject !== undefined && { subject }),
    ...(organization !== undefined && { organization }),
    claims,
  }
}

/** @throws OAuthError `insufficient_scope` (RFC 6750 §3.1) */
const assertSufficient = (
  { scopes, subject }: Partial<AuthInfo>,
  needed: readonly string[],
  user: boolean,
): void => {
  const missing = needed.filter((name) => !scopes?.includes(name))
  if (missing.length > 0) {
    throw new OAuthError('insufficient_scope', `the access token lacks the scope ${missing.join(' ')}`)
  }
  if (user && subject === undefined) {
    throw new OAuthError('insufficient_scope', 'the access token does not belong to a user')
  }
}

/**
 * Makes middleware that accepts requests with a valid access token of a user that has all of these scopes (RFC 6750), and
 * sets `req.auth`. A token stops working as soon as its user is disabled, its consent is removed or its client is disabled.
 *
 * @param scope one scope, or several separated by spaces
 * @param options.user false also accepts tokens that a client requested for itself; by default a user is required
 * @returns middleware that answers 401 `invalid_token` or 403 `insufficient_scope` as JSON with a Bearer challenge
 * @throws OAuthError `invalid_scope` at once for a malformed scope, OptionsError for one that is not in the option `scopes`
 * @example app.get('/api/orders', oauth.requireToken('orders:read'), (req, res) => res.json({ subject: req.auth.subject }))
 */
export const requireTokenOf = (setup: ServerSetup): RequireToken => {
  const sendError = errorRenderer(sendJsonError)
  const requireToken = (scope?: string, { user = true }: RequireTokenOptions = {}): TokenGuard => {
    const needed = parseScope(scope)
    assertKnownScopes(`requireToken('${scope}')`, needed, setup.options)
    const check = async (req: Request): Promise<void> => {
      const value = bearerToken(req)
      const server = setup.current() ?? (await readyInTime(setup))
      const { token } = await verifyAccessToken(server, value)
      const auth = authOf(value, token, server.issuer)
      assertSufficient(auth, needed, user)
      req.auth = auth
    }
    const guard: RequestHandler = (req, res, next) => {
      check(req).then(
        () => next(),
        (error: unknown) => {
          const incoming = {
            server: setup,
            endpoint: { path: req.path },
            req,
            res,
            info: createRequestInfo(setup, req),
          }
          sendError(incoming, withBearerChallenge(error), next)
        },
      )
    }
    const auth = ({ auth }: Express.Request): AuthInfo => {
      if (auth?.claims === undefined) throw new Error('latchkey: requireToken() did not run for this request')
      assertSufficient(auth, needed, user)
      return auth as AuthInfo
    }
    return Object.assign(guard, { auth }) as TokenGuard
  }
  return requireToken as RequireToken
}
