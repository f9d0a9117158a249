import type { NextFunction, Request, Response } from 'express'
import type { Chosen } from '../protocol/choices.ts'
import type { AuthorizationDetail } from '../protocol/requests/authorization-details.ts'
import type { KeyBinding } from '../protocol/tokens/token-binding.ts'

/**
 * A verified access token, as `req.auth` holds it. It is compatible with the type `AuthInfo` of the MCP SDK.
 *
 * @typeParam Kind the names of the option `choices`
 */
export interface AuthInfo<Kind extends string = string> {
  /** The access token. */
  token: string
  /** The client that the token was issued to; for a personal access token `personal:` with its id. */
  clientId: string
  /** The scopes of the token, as they were granted. */
  scopes: string[]
  /** Epoch seconds. */
  expiresAt: number
  /** The resource that the token is for (RFC 8707). */
  resource?: URL
  /** The URL of the document about that resource (RFC 9728), which challenges of the MCP SDK name. */
  resourceMetadataUrl?: string
  /** For data of the host's own. */
  extra?: Record<string, unknown>
  /** The user's id; undefined when the client acts for itself, which only a guard with `{ user: false }` lets pass. */
  subject?: string
  /** The organization that the user chose, if the option `organizations` is used. */
  organization?: string
  /** The key or certificate that the token is bound to, which the request has proved to have; absent for a bearer token. */
  binding?: KeyBinding
  /** Authorization details of the token (RFC 9396). */
  authorizationDetails?: AuthorizationDetail[]
  /** The actor, if the token comes from a token exchange (RFC 8693 §4.1). */
  actor?: Actor
  /** Set if the user made the token themselves: its id and the name that they gave it. */
  personalToken?: { id: string; name: string }
  /** The token's claims with the names of RFC 7662 §2.2. */
  claims: Record<string, unknown>
  /**
   * The things of a kind that the user chose for the client: `'all'`, or their ids. Without the option `choices` there is no
   * such function.
   *
   * @throws TypeError for a kind that is not in the option `choices`
   * @example const projects = req.auth.chosen('project')
   */
  chosen(kind: Kind): Chosen
}

/** A client or another user who acts for the user of a token. */
export interface Actor {
  /** Set if a client acts. */
  clientId?: string
  /** Set if another user acts: their id. */
  subject?: string
  /** The actor before this one. */
  actor?: Actor
}

/** A verified access token of a user. */
export interface UserAuthInfo<Kind extends string = string> extends AuthInfo<Kind> {
  /** The user's id. */
  subject: string
}

/** The ids of things that a call is about. A call about none is refused. */
export type ThingIds = string | readonly string[] | undefined

/** Requirements of a guard beside scopes. */
export interface RequireTokenOptions<Kind extends string = string> {
  /** Whether the token must belong to a user. `false` also accepts a client's own token (`client_credentials`). @default true */
  user?: boolean
  /**
   * More scopes for the challenge of a request without a valid token, separated by spaces. Many MCP clients ask the user once,
   * for the scopes of that challenge; the guard does not require these. @default none
   */
  ask?: string
  /**
   * Authentication levels, separated by spaces; the user's login must have one of them (RFC 9470). @default any
   */
  acr?: string
  /** The most seconds since the user's login (RFC 9470). @default any time */
  maxAge?: number
  /** The token must have an object of this type in `authorization_details` (RFC 9396). @default none */
  authorizationDetails?: string
  /**
   * The things that the call is about, by kind; the user must have chosen them for the client:
   * `{ project: (req) => req.params.id }`. @default none
   */
  choice?: { readonly [Name in Kind]?: ThingIds | ((req: Request) => ThingIds) }
  /** The resource that the token must be for (RFC 8707). @default the token must be for no resource */
  resource?: string
  /** A limit on the calls of one client or user; more are answered with 429. @default no limit */
  limit?: CallLimitOptions
}

/** A limit on the calls behind a guard. */
export interface CallLimitOptions {
  /** The most calls in a period. */
  max: number
  /** The length of a period, which begins with the first call. */
  seconds: number
  /** Whose calls count together. A client that acts for itself counts as a client in both cases. */
  by: 'client' | 'user'
  /**
   * A name of at most 40 letters, digits, `-` and `_`. Guards with the same name count together, and `RateLimit` shows it.
   * @default the value of `by`; guards with the same scope, resource and limit count together
   */
  name?: string
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
export interface RequireToken<Kind extends string = string> {
  (scope?: string, options?: RequireTokenOptions<Kind> & { user?: true }): TokenGuard<UserAuthInfo<Kind>>
  (scope: string | undefined, options: RequireTokenOptions<Kind>): TokenGuard<AuthInfo<Kind>>
}

/** A request that may have passed a guard. */
export interface MaybeAuthorized {
  /** Set by `requireToken()`. Its type is the host's to declare; behind a guard it is an {@link AuthInfo}. */
  auth?: unknown
}

/** A handler behind a guard. */
export type GuardedHandler<Auth, P> = (
  req: Request<P> & { auth: Auth },
  res: Response,
  next: NextFunction,
) => unknown
type GuardedHandlers<Auth, P> = [GuardedHandler<Auth, P>, ...GuardedHandler<Auth, P>[]]

// Hosts and other packages declare `Request.auth` too: express-oauth2-jwt-bearer in this namespace, the MCP SDK in Express's
// module. A second declaration of the same property is a compile error. An inherited one is not, if theirs extends it, as
// every type extends `unknown`: theirs replaces ours.
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
    <Auth extends AuthInfo>(
      path: PathParams,
      guard: TokenGuard<Auth>,
      ...handlers: GuardedHandlers<Auth, ParamsDictionary>
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
