import express, { type Request, type RequestHandler, type Router } from 'express'
import { type UserLifecycle, userLifecycle } from './account/user-lifecycle.ts'
import { type AuthorizationServer, createAuthorizationServer, readyInTime } from './authorization-server.ts'
import { type ClientAdministration, clientAdministration } from './clients/administration.ts'
import { accountFormEndpoint, accountPageEndpoint } from './endpoints/account.ts'
import { assetsEndpoint } from './endpoints/assets.ts'
import { authorizeEndpoint, authorizeFormEndpoint } from './endpoints/authorize.ts'
import { consentFormEndpoint, consentPageEndpoint } from './endpoints/consent.ts'
import { discoveryEndpoint } from './endpoints/discovery.ts'
import { healthEndpoint } from './endpoints/health.ts'
import { introspectEndpoint } from './endpoints/introspect.ts'
import { jwksEndpoint } from './endpoints/jwks.ts'
import { loginFormEndpoint, loginPageEndpoint } from './endpoints/login.ts'
import { isLogoutConfirmation, logoutEndpoint, logoutFormEndpoint } from './endpoints/logout.ts'
import { revokeEndpoint } from './endpoints/revoke.ts'
import { selectAccountFormEndpoint, selectAccountPageEndpoint } from './endpoints/select-account.ts'
import { tokenEndpoint } from './endpoints/token.ts'
import { userinfoEndpoint } from './endpoints/userinfo.ts'
import type { EventListeners } from './events/events.ts'
import { errorHandler } from './http/errors.ts'
import { formBody } from './http/form.ts'
import { issuerCheck, secureCheck } from './http/issuer-check.ts'
import { languageChoice } from './http/language-choice.ts'
import { createPages } from './http/pages.ts'
import { type Route, route } from './http/route.ts'
import type { AuthRouterOptions } from './options/options.ts'
import { resolveOptions } from './options/resolve.ts'
import { keepPruning, type PruningContext } from './repositories/pruning/schedule.ts'
import { type RequireToken, requireTokenOf } from './require-token.ts'
import { sessionMiddleware } from './sessions/session.ts'

/** An Express router that is a whole authorization server, and what a host needs beside it. */
export interface AuthRouter extends Router {
  /** Discovery at the root, where RFC 8414 §3.1 clients look for it: `app.use(oauth.wellKnown)`. */
  readonly wellKnown: Router
  /** Guards the host's own API by access token. */
  readonly requireToken: RequireToken
  /** Tells what happens, for audit trails and metrics: `oauth.events.on('login.failed', …)`; never a secret. */
  readonly events: EventListeners
  /** What the host tells about its users: changed, signed out. */
  readonly users: UserLifecycle
  /** Registers, changes, disables and deletes clients. */
  readonly clients: ClientAdministration
  /** Answers 200 while schema, keys and database are there, else 503: `app.get('/healthz', oauth.health)`. */
  readonly health: RequestHandler
  /** Settles when schema and keys are there; rejects with what is wrong. Requests before that wait for it, a few seconds. */
  ready(): Promise<void>
  /** Closes the database pool, if the kit opened it. */
  close(): Promise<void>
}

/**
 * Before every endpoint: the request came where the issuer is, and schema and keys are there. Until they are the answer
 * is 503, and each request tries again.
 */
const guard = (server: AuthorizationServer): RequestHandler => {
  const [assertSecure, assertIssuer] = [secureCheck(server), issuerCheck(server)]
  return (req, _res, next) => {
    assertSecure(req)
    assertIssuer(req)
    if (server.isReady()) return next()
    readyInTime(server).then(() => next(), next)
  }
}

/** The API side: no session, no cookie, JSON errors. */
const apiRoutes = (server: AuthorizationServer): Router => {
  const router = express.Router()
  const read = [guard(server)]
  const write = [...read, formBody(65_536)]
  const discovery: Route = { get: discoveryEndpoint(server), head: true, cors: true, before: read }
  const userinfo = userinfoEndpoint(server)
  route(router, '/token', { post: tokenEndpoint(server), cors: true, before: write })
  route(router, '/userinfo', { get: userinfo, post: userinfo, cors: true, before: write })
  route(router, '/introspect', { post: introspectEndpoint(server), before: write })
  route(router, '/revoke', { post: revokeEndpoint(server), cors: true, before: write })
  route(router, '/jwks', { get: jwksEndpoint(server), head: true, cors: true, before: read })
  route(router, '/.well-known/openid-configuration', discovery)
  route(router, '/.well-known/oauth-authorization-server', discovery)
  router.use(errorHandler(server))
  return router
}

/** The browser side: session, cookies, pages. */
const browserRoutes = (server: AuthorizationServer): Router => {
  const router = express.Router()
  const pages = createPages(server)
  const stateless = [guard(server), formBody(16_384)]
  const session = sessionMiddleware(server)
  const beforePage = (path: string): RequestHandler[] => [...stateless, languageChoice(server, path), session]
  const authorize = authorizeEndpoint(server, pages)
  // A form of another site carries no Lax cookie: it neither reads nor sets a session.
  const sessionWhen = (
    isResumed: (req: Request) => boolean,
    ...between: RequestHandler[]
  ): RequestHandler[] => [
    ...stateless,
    ...between,
    (req, res, next) => (req.method === 'GET' || isResumed(req) ? session(req, res, next) : next()),
  ]
  route(router, '/authorize', {
    get: authorize,
    post: authorizeFormEndpoint(server),
    before: sessionWhen(() => false),
  })
  route(router, '/login', {
    get: loginPageEndpoint(server, pages),
    post: loginFormEndpoint(server, pages),
    before: beforePage('/login'),
  })
  route(router, '/select-account', {
    get: selectAccountPageEndpoint(server, pages),
    post: selectAccountFormEndpoint(server, pages),
    before: beforePage('/select-account'),
  })
  route(router, '/consent', {
    get: consentPageEndpoint(server, pages),
    post: consentFormEndpoint(server, pages),
    before: beforePage('/consent'),
  })
  route(router, '/account', {
    get: accountPageEndpoint(server, pages),
    post: accountFormEndpoint(server, pages),
    before: beforePage('/account'),
  })
  route(router, '/logout', {
    get: logoutEndpoint(server, pages),
    post: logoutFormEndpoint(server, pages),
    before: sessionWhen(isLogoutConfirmation, languageChoice(server, '/logout')),
  })
  route(router, '/assets/:name', { get: assetsEndpoint(pages), head: true })
  // A path that cannot be decoded matches no route; the host's own handler would show the stack in development.
  router.use(errorHandler(server, pages))
  return router
}

/** Both discovery documents once more, at the root and under the issuer's path (RFC 8414 §3.1). */
const wellKnownRoutes = (server: AuthorizationServer): Router => {
  const router = express.Router()
  const assertSecure = secureCheck(server)
  const discovery: Route = {
    get: discoveryEndpoint(server),
    head: true,
    cors: true,
    before: [
      (req, _res, next) => {
        assertSecure(req)
        next()
      },
    ],
  }
  for (const name of ['oauth-authorization-server', 'openid-configuration']) {
    route(router, `/.well-known/${name}${server.options.basePath}`, discovery)
  }
  router.use(errorHandler(server))
  return router
}

// A registered symbol, for a test runner may load this file twice; not enumerable, so that no log shows the secrets.
const behind = Symbol.for('latchkey.authorization-server')

/** The server behind a router, for `latchkey/testing` alone; undefined for any other value. */
export const serverBehind = (oauth: AuthRouter): AuthorizationServer | undefined =>
  Reflect.get(Object(oauth), behind)

const pruningContext = (server: AuthorizationServer): PruningContext => {
  const { database, options, closing, now, ready } = server
  const { logger, refreshTokenGracePeriod } = options
  return { database, logger, refreshTokenGracePeriod, signal: closing, now, ready }
}

/**
 * An OAuth 2.0 and OpenID Connect authorization server as an Express router.
 *
 * @param options see {@link AuthRouterOptions}; every one has a default in development
 * @throws OptionsError at once when an option is wrong, or missing in production
 * @example
 * const oauth = authRouter({ issuer: 'https://app.example.com/oauth', database: knex, secrets: [secret], users })
 * app.use('/oauth', oauth)
 * app.use(oauth.wellKnown)
 */
export const authRouter = (options: AuthRouterOptions = {}): AuthRouter => {
  const server = createAuthorizationServer(resolveOptions(options))
  const router = apiRoutes(server)
  router.use(browserRoutes(server))
  // Begins at once, so that the first request need not wait; a failure is told here and again to whoever asks.
  server.ready().catch((error: unknown) => server.options.logger.error('latchkey: not ready', error))
  if (server.options.prune) server.runInBackground(keepPruning(pruningContext(server)))
  Object.defineProperty(router, behind, { value: server })
  return Object.assign(router, {
    wellKnown: wellKnownRoutes(server),
    requireToken: requireTokenOf(server),
    events: server.events.listeners,
    users: userLifecycle(server),
    clients: clientAdministration(server),
    health: healthEndpoint(server),
    ready: () => server.ready(),
    close: () => server.close(),
  })
}
