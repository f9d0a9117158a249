import type { IncomingMessage, ServerResponse } from 'node:http'
import express, {
  type ErrorRequestHandler,
  type Request,
  type RequestHandler,
  type Response,
  type Router,
} from 'express'
import type { EventListeners } from './events/events.ts'
import { type ActiveFeature, definitionsOf, featuresOf } from './features/feature.ts'
import { requireTokenOf, type TokenVerifierMaker, tokenVerifierOf, verifyOf } from './guard/require-token.ts'
import type { RequireToken } from './guard/types.ts'
import type { VerifyRequest } from './guard/verify.ts'
import { type KeyAdministration, keyAdministration } from './keys/key-administration.ts'
import { clientPages } from './oauth/authorization/client-error.ts'
import { type Interactions, interactionPath, interactions } from './oauth/authorization/interaction.ts'
import { featureRequestKinds, requestOpeners } from './oauth/authorization/request-kind.ts'
import { createAuthorizationServer, type ServerSetup } from './oauth/authorization-server.ts'
import { clientSources } from './oauth/client-authentication/client-source.ts'
import { type ClientAdministration, clientAdministration } from './oauth/clients/administration.ts'
import { type Addition, addition, collected, metadataFields } from './oauth/extension-point.ts'
import { ownedClientObservers } from './oauth/grants/direct.ts'
import { featureGrants } from './oauth/grants/grant.ts'
import { accessRules } from './oauth/tokens/access-rules.ts'
import { featureTokenKinds } from './oauth/tokens/verified-token.ts'
import { refuse } from './options/check.ts'
import type { AddedBy, Feature, FeatureFor } from './options/features.ts'
import type { AuthRouterOptions, Options } from './options/options.ts'
import { resolveOptions } from './options/resolve.ts'
import type { HostUser } from './options/users.ts'
import { keepPruning, type PruningContext } from './storage/repositories/pruning/schedule.ts'
import { assertListed, expiredOf, migrationsOf } from './storage/schema.ts'
import { warnAtStart } from './tools/doctor/start.ts'
import { type OrganizationLifecycle, organizationLifecycle } from './users/account/organization-records.ts'
import {
  type AuthorizationAdministration,
  authorizationAdministration,
  type SessionAdministration,
  sessionAdministration,
} from './users/account/sessions-and-authorizations.ts'
import { type UserLifecycle, userLifecycle } from './users/account/user-lifecycle.ts'
import { accessEndpoint } from './web/endpoints/choices/access.ts'
import { thingsEndpoint } from './web/endpoints/choices/things.ts'
import { wellKnownNames } from './web/endpoints/discovery.ts'
import { healthEndpoint } from './web/endpoints/health.ts'
import { createEndpoints, type Endpoints } from './web/endpoints/index.ts'
import { apiKind, fileKind, pageKinds, proxyCheck, rootKind } from './web/endpoints/kinds.ts'
import { signInMethods, signInSteps } from './web/endpoints/login-form.ts'
import { featureUserSections } from './web/endpoints/operator-page.ts'
import {
  administeredPage,
  organizationEndpointOf,
  organizationPages,
} from './web/endpoints/organization-page.ts'
import { protectedResources } from './web/endpoints/protected-resources.ts'
import { featureAccountPages } from './web/http/account-page.ts'
import type { Incoming } from './web/http/context.ts'
import { oauthErrorOf } from './web/http/json-error.ts'
import { createRequestInfo, type EndpointKind, pathOf, route } from './web/http/route.ts'
import { runHandler } from './web/http/run-handler.ts'
import { sendEmpty } from './web/http/send.ts'
import { deliverToBrowser } from './web/http/send-page.ts'
import { trustsOf } from './web/http/trust-proxy.ts'

/**
 * Serves requests of `node:http`.
 *
 * @param next gets what is not served here; without it the answer is 404
 */
export type NodeHandler = (
  req: IncomingMessage,
  res: ServerResponse,
  next?: (error?: unknown) => void,
) => void

/** An Express router that is a whole authorization server, and what a host needs beside it. */
export interface AuthRouter<Kind extends string = string> extends Router {
  /** Discovery and the documents about resources, at the root (RFC 8414 §3.1, RFC 9728 §3): `app.use(oauth.wellKnown)`. */
  readonly wellKnown: Router
  /**
   * The whole server, the documents at the root included, for apps without Express: `createServer(oauth.handler)`. Give it
   * requests before anything reads their bodies, and with their paths unchanged.
   */
  readonly handler: NodeHandler
  /** Guards your own API by access token. */
  readonly requireToken: RequireToken<Kind>
  /** Verifies the access token of a request of any framework: `await oauth.verify(request, 'orders:read')`. */
  readonly verify: VerifyRequest<Kind>
  /** Verifies access tokens of a resource for the MCP SDK's `requireBearerAuth`. */
  readonly tokenVerifier: TokenVerifierMaker
  /**
   * The page that this request asks for, as a value, for your own front end (`pages.url`). It also takes a POST of the
   * form. `res` gets cookies; you answer the request, unless the result is undefined: docs/front-end.md.
   *
   * @example
   * app.get('/sign-in', async (req, res) => {
   *   const shown = await oauth.interaction(req, res)
   *   if (shown === undefined) return
   *   if ('redirectTo' in shown) return res.redirect(303, shown.redirectTo)
   *   res.status(shown.status).render(shown.page, shown.model)
   * })
   */
  readonly interaction: Interactions['interaction']
  /** Announces what happens, for audit logs and metrics: `oauth.events.on('login.failed', …)`. It never carries a secret. */
  readonly events: EventListeners
  /** Call it when something happens to a user: credentials revoked, logged out, erased. */
  readonly users: UserLifecycle
  /** Lists and ends the sessions of your users. */
  readonly sessions: SessionAdministration
  /** Lists and ends what users granted to clients. */
  readonly authorizations: AuthorizationAdministration
  /** Call it to export the data of an organization, and when one is gone. */
  readonly organizations: OrganizationLifecycle
  /** Registers, changes, disables and deletes clients. */
  readonly clients: ClientAdministration
  /** Lists the signing keys, and withdraws one that may be compromised. */
  readonly keys: KeyAdministration
  /** Answers 200 while schema and keys are available and the database reads and writes, else 503: `app.get('/healthz', oauth.health)`. */
  readonly health: RequestHandler
  /**
   * Resolves when schema and keys are loaded and the checks at the start are done; rejects with what is wrong. Requests do
   * not wait for the checks, and for the keys a few seconds.
   */
  ready(): Promise<void>
  /** Waits for the start and for background work, and closes the database pool if Latchkey opened it. */
  close(): Promise<void>
}

/**
 * Sends errors of Express itself to the renderer of a kind. A path that cannot be decoded, for example, matches no route,
 * and in development the host's own handler would show the stack. An error that our handlers could not answer goes to the host.
 */
const expressErrors =
  (server: ServerSetup, { renderError }: Pick<EndpointKind<Incoming>, 'renderError'>): ErrorRequestHandler =>
  (error, req, res, next) => {
    if (oauthErrorOf(error).status >= 500) return next(error)
    const incoming: Incoming = {
      server,
      endpoint: { path: req.path },
      req,
      res,
      info: createRequestInfo(server, req),
      deliver: deliverToBrowser,
    }
    runHandler(res, next, () => renderError(incoming, error))
  }

/** Mounts every endpoint. API routes stand first and outermost: they cost no session and the fewest steps. */
const mount = (
  server: ServerSetup,
  { api, pages, discovery, files, operators }: Endpoints,
): { readonly router: Router } & Pick<Interactions, 'interaction'> => {
  const router = express.Router()
  const checkProxy = proxyCheck(server)
  const forPrograms = apiKind(server, checkProxy)
  const { own: forBrowsers, frontEnd: forFrontEnds } = pageKinds(server, checkProxy)
  for (const endpoint of api) route(router, server, forPrograms, endpoint)
  for (const endpoint of discovery) route(router, server, forPrograms, endpoint)
  for (const endpoint of pages) route(router, server, forBrowsers, endpoint)
  const { endpoint, interaction } = interactions(server, forFrontEnds, pages)
  if (server.options.pages.url !== undefined) router.all(interactionPath, endpoint)
  for (const endpoint of files) route(router, server, fileKind, endpoint)
  for (const endpoint of operators) route(router, server, forPrograms, endpoint)
  router.use(expressErrors(server, forBrowsers))
  return { router, interaction }
}

/** The documents about resources. Their paths are the host's, and may contain what a pattern of Express would not match. */
const mountProtectedResources = (server: ServerSetup): Router => {
  const router = express.Router()
  const { has, endpoint } = protectedResources(server)
  router.use(({ path }, _res, next) => (has(path) ? next() : next('router')))
  route(router, server, rootKind(server), endpoint, /.*/)
  return router
}

const documentNames = [...wellKnownNames, 'oauth-protected-resource']

/** Observes requests for documents that are not served here, and leaves the answer to the host. */
const missingDocuments =
  (server: ServerSetup): RequestHandler =>
  (req, _res, next) => {
    if (documentNames.some((name) => req.path.startsWith(`/.well-known/${name}`))) {
      const info = createRequestInfo(server, req)
      server.observe?.({ kind: 'document', info, path: pathOf(req), isServed: false })
    }
    next()
  }

/**
 * Both discovery documents once more, at the root and with the issuer's path at the end (RFC 8414 §3.1), and the documents
 * about resources.
 */
const mountWellKnown = (server: ServerSetup, { discovery }: Endpoints): Router => {
  const router = express.Router()
  const kind = rootKind(server)
  for (const [index, endpoint] of discovery.entries()) {
    route(router, server, kind, endpoint, `/.well-known/${wellKnownNames[index]}${server.options.basePath}`)
  }
  const [, forClients] = discovery
  // Clients of MCP's revision 2025-03-26 that register themselves look there alone. Without them, the root may be another server's.
  if (forClients && server.has('registration')) {
    route(router, server, kind, forClients, `/.well-known/${wellKnownNames[1]}`)
  }
  router.use(mountProtectedResources(server))
  if (server.observe) router.use(missingDocuments(server))
  router.use(expressErrors(server, kind))
  return router
}

/**
 * Makes `oauth.handler`, with an Express app of its own.
 *
 * @example createServer((req, res) => oauth.handler(req, res, () => app(req, res)))
 */
const handlerOf = (
  { options, endpoints, warnOnce }: ServerSetup,
  router: Router,
  wellKnown: Router,
): NodeHandler => {
  const { basePath } = options
  const below = basePath === '' ? endpoints.map(({ path }) => `/${path.split('/')[1]}`) : [basePath]
  const own = [...below, ...documentNames.map((name) => `/.well-known/${name}`)]
  const isOwn = ({ url = '' }: IncomingMessage): boolean => {
    const [path = ''] = url.split('?', 1)
    return own.some((each) => path === each || path.startsWith(`${each}/`))
  }
  const app = express()
  app.disable('x-powered-by')
  app.set('trust proxy', trustsOf(options.trustProxy))
  app.use(basePath || '/', router)
  app.use(wellKnown)
  return (req, res, next) => {
    // Express would take away the prototype that has the URL, and find nothing.
    if (req.httpVersionMajor > 1) {
      if (!isOwn(req)) return next ? next() : sendEmpty(res, 404)
      warnOnce(
        'oauth.handler got a request over HTTP/2, which it cannot serve: let the proxy end HTTP/2, or use node:https instead of node:http2',
      )
      return sendEmpty(res, 505)
    }
    const given = [req, res].map((each) => [each, Object.getPrototypeOf(each)] as const)
    app(req as Request, res as Response, (error?: unknown) => {
      // Express has made them its own, and another framework goes on with them.
      for (const [each, prototype] of given) Object.setPrototypeOf(each, prototype)
      if (next) next(error)
      else if (res.headersSent) res.destroy()
      else sendEmpty(res, error === undefined ? 404 : 500)
    })
  }
}

// A registered symbol, because a test runner may load this file twice. Not enumerable, so that no log shows the secrets.
const serverOf = Symbol.for('latchkey.authorization-server')

/** The server behind a router, for `latchkey/testing` only; undefined for any other value. */
export const serverBehind = (oauth: AuthRouter): ServerSetup | undefined =>
  Reflect.get(Object(oauth), serverOf)

/** The features that are on. */
export const activeFeatures = (options: Options): ActiveFeature[] =>
  featuresOf(options).flatMap((feature) => {
    const active = feature.activate(options)
    return active === undefined ? [] : [active]
  })

/** The additions of a feature, each at the point where the server looks for it. */
const additionsOf = ({
  account,
  signIn,
  oauth,
  operators,
  organization,
  clientPageFor,
}: ActiveFeature): Addition[] => [
  addition(featureAccountPages, account),
  addition(signInMethods, signIn?.methods),
  addition(signInSteps, signIn?.steps),
  addition(featureGrants, oauth?.grants),
  addition(featureTokenKinds, oauth?.tokenKinds),
  addition(accessRules, oauth?.accessRules),
  addition(ownedClientObservers, oauth?.ownedClients),
  addition(featureRequestKinds, oauth?.requestKinds),
  addition(requestOpeners, [oauth?.openRequest]),
  addition(clientSources, [oauth?.clients]),
  addition(metadataFields, [oauth?.metadata]),
  addition(featureUserSections, operators?.userSections),
  addition(organizationPages, organization?.pages),
  addition(clientPages, [clientPageFor]),
]

/** The parts of the core that nothing needs without certain options or features. */
const partsOfCore = ({ choices }: Options, active: readonly ActiveFeature[]): ActiveFeature[] => {
  const pages = active.flatMap(({ organization }) => organization?.pages ?? [])
  const administration = {
    account: [administeredPage],
    endpoints: { browsers: pages.map(organizationEndpointOf) },
  }
  return [
    ...(choices.length > 0 ? [{ endpoints: { browsers: [thingsEndpoint, accessEndpoint] } }] : []),
    ...(pages.length > 0 ? [administration] : []),
  ]
}

/** Composes the server and its endpoints from the core and the features that are on. */
export const compose = (
  options: Options,
): {
  readonly server: ServerSetup
  readonly endpoints: Endpoints
  readonly features: readonly ActiveFeature[]
} => {
  const installed = definitionsOf(options)
  const active = activeFeatures(options)
  const parts = [...active, ...partsOfCore(options, active)]
  const endpoints = createEndpoints(parts)
  const server = createAuthorizationServer(options, {
    endpoints: Object.values(endpoints).flat(),
    installed,
    added: collected(parts.flatMap(additionsOf)),
    features: active,
    migrations: migrationsOf(installed),
    assertListed,
  })
  return { server, endpoints, features: active }
}

const pruningContext = (server: ServerSetup): PruningContext => {
  const { database, installed, options, closing, now, ready } = server
  const { logger, lifetimes } = options
  return {
    database,
    expired: expiredOf(installed),
    logger,
    refreshGracePeriod: lifetimes.refreshGracePeriod,
    signal: closing,
    now,
    ready,
  }
}

/**
 * The members that the features add to the router.
 *
 * @throws OptionsError if the router has one of the names already
 */
const addedTo = <Added extends object>(
  oauth: object,
  features: readonly ActiveFeature[],
  server: ServerSetup,
): Added => {
  const added = features.flatMap(({ api }) => Object.entries(api?.(server) ?? {}))
  const names = added.map(([name]) => name)
  const taken = names.find((name, place) => name in oauth || names.indexOf(name) !== place)
  if (taken !== undefined)
    refuse(`features: oauth.${taken} is there already`, 'a feature must add another name')
  return Object.fromEntries(added) as Added
}

/**
 * An OAuth 2.0 and OpenID Connect authorization server as an Express router.
 *
 * @typeParam User the host's type of a user, which follows from `users`: a row of its table, or what its functions return
 * @typeParam Features the list of features, which follows from `features`
 * @typeParam Kind the names of the option `choices`
 * @param options see {@link AuthRouterOptions}; in development every option has a default
 * @throws OptionsError at once when an option is wrong, or missing in production
 * @example
 * const oauth = authRouter({ issuer: 'https://app.example.com/oauth', database: knex, secrets: [secret], users })
 * app.use('/oauth', oauth)
 * app.use(oauth.wellKnown)
 */
export const authRouter = <
  User extends object = HostUser,
  const Features extends readonly FeatureFor<User>[] = readonly Feature[],
  Kind extends string = never,
>(
  options: AuthRouterOptions<User, Features, Kind> = {},
): AuthRouter<Kind> & AddedBy<Features> => {
  const resolved = resolveOptions(options as AuthRouterOptions)
  const { server, endpoints, features } = compose(resolved)
  const { router, interaction } = mount(server, endpoints)
  Object.defineProperty(router, serverOf, { value: server })
  const wellKnown = mountWellKnown(server, endpoints)
  const oauth = Object.assign(router, {
    wellKnown,
    handler: handlerOf(server, router, wellKnown),
    requireToken: requireTokenOf(server),
    verify: verifyOf(server),
    tokenVerifier: tokenVerifierOf(server),
    interaction,
    events: server.events.listeners,
    users: userLifecycle(server),
    sessions: sessionAdministration(server),
    authorizations: authorizationAdministration(server),
    organizations: organizationLifecycle(server),
    clients: clientAdministration({ ...server, logos: server }),
    keys: keyAdministration(server),
    health: healthEndpoint(server),
    ready: async () => {
      await server.ready()
      // The log has the reason if they fail.
      await checks.catch(() => {})
    },
    close: () => server.close(),
  })
  const whole = Object.assign(oauth, addedTo<AddedBy<Features>>(oauth, features, server))
  // Starts at once, so that the first request need not wait. A failure is logged here and reported to each request.
  server.ready().catch((error: unknown) => server.options.logger.error('latchkey: not ready', error))
  if (server.options.database.prune) server.runInBackground(keepPruning(pruningContext(server)))
  for (const { background } of features) if (background) server.runInBackground(background(server))
  const checks = warnAtStart(server)
  server.runInBackground(checks)
  return whole
}
