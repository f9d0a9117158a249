import { isIP } from 'node:net'
import type { IRouter, Request, Response } from 'express'
import { type ActiveTracing, inSpan, type Span, type SpanDescription } from '../../events/tracing.ts'
import { createRequestId } from '../../keys/secrets.ts'
import { plainAddress } from '../../limits/network.ts'
import type { ServerSetup } from '../../oauth/authorization-server.ts'
import { refusal } from '../../protocol/refusal.ts'
import type { RequestInfo } from '../../protocol/requests/request-info.ts'
import type { ApiRequest } from './api-request.ts'
import type { Incoming } from './context.ts'
import type { Endpoint, Handler, Method } from './endpoint.ts'
import { runHandler } from './run-handler.ts'
import { sendEmpty } from './send.ts'
import { deliverToBrowser } from './send-page.ts'

/** The frame of the endpoints of one kind: the steps before the handler, and the form of errors. */
export interface EndpointKind<C extends Incoming> {
  /** Prepares the context of the handler; undefined when the request has been answered. */
  open(incoming: Incoming, endpoint: Endpoint<C>): C | undefined | Promise<C | undefined>
  /** Rejects with what could not be rendered, for {@link runHandler}. */
  renderError(incoming: Incoming, error: unknown): Promise<void>
}

/** A name of a header (RFC 9110 §5.1), without `*`, which would allow every header. */
const headerName = /^[\w!#$%&'+.^`|~-]{1,100}$/
const maxHeaderNames = 50

/**
 * The headers that a script may send: all that it asks for, because no endpoint with CORS reads a cookie and credentials of a
 * browser are never allowed. Only a proxy says which certificate a client has.
 */
const allowedHeaders = (
  { headers }: ApiRequest,
  { mutualTls }: ServerSetup['options']['protocol'],
): string => {
  const asked = String(headers['access-control-request-headers'] ?? '').toLowerCase()
  const names = asked.split(',', maxHeaderNames).map((name) => name.trim())
  const allowed = names.filter((name) => headerName.test(name) && name !== mutualTls?.header?.toLowerCase())
  return [...new Set(['authorization', 'content-type', ...allowed])].join(', ')
}

const preflight = (
  allow: string,
  req: ApiRequest,
  { protocol }: ServerSetup['options'],
): Readonly<Record<string, string>> => ({
  'Access-Control-Allow-Methods': allow,
  'Access-Control-Allow-Headers': allowedHeaders(req, protocol),
  'Access-Control-Max-Age': '600',
})

const methodsOf = ({ methods }: Pick<Endpoint<never>, 'methods'>): string =>
  Object.keys(methods).join(', ').replace('GET', 'GET, HEAD')

/** @throws OAuthError `invalid_request` with status 405 and `Allow` */
const handlerOf = <C extends Incoming>(endpoint: Endpoint<C>, req: Request): Handler<C> => {
  const method = req.method === 'HEAD' ? 'GET' : req.method
  const handler = Object.hasOwn(endpoint.methods, method) ? endpoint.methods[method as Method] : undefined
  if (handler) return handler
  const allow = methodsOf(endpoint)
  const explanation = { expected: allow, received: req.method.slice(0, 20) }
  const options = { status: 405, headers: { Allow: allow }, explanation }
  throw refusal('method_not_allowed', options)
}

/**
 * Runs an endpoint: what comes before its handler, then the handler.
 *
 * @throws what both throw, for the renderer of the kind
 */
export const serve = async <C extends Incoming>(
  kind: EndpointKind<C>,
  endpoint: Endpoint<C>,
  incoming: Incoming,
): Promise<void> => {
  const handler = handlerOf(endpoint, incoming.req)
  const context = await kind.open(incoming, endpoint)
  if (context) await handler(context)
}

/** The span of a request, below that of the host if it has one. */
const spanOf = ({ server, endpoint, req }: Incoming, hasParent: boolean): SpanDescription => {
  const route = `${server.options.basePath}${endpoint.path}`
  return {
    name: `${req.method} ${route}`,
    kind: hasParent ? 'internal' : 'server',
    attributes: { 'http.request.method': req.method, 'http.route': route },
  }
}

/**
 * Mounts an endpoint: answers preflights, refuses other methods with 405 and `Allow`, and sends every error, also that
 * of a rejected promise, to the renderer of its kind.
 *
 * @example route(router, server, apiEndpoint, tokenEndpoint)
 */
export const route = <C extends Incoming>(
  router: IRouter,
  server: ServerSetup,
  kind: EndpointKind<C>,
  endpoint: Endpoint<C>,
  path: string | RegExp = endpoint.path,
): void => {
  const allow = methodsOf(endpoint)

  // Scripts read the error of a challenge, and the nonce for their next DPoP proof.
  const exposed = `WWW-Authenticate${server.options.protocol.dpop ? ', DPoP-Nonce' : ''}`

  const answer = async (incoming: Incoming, span?: Span): Promise<void> => {
    await serve(kind, endpoint, incoming).catch((error: unknown) => kind.renderError(incoming, error))
    const { statusCode } = incoming.res
    span?.setAttribute('http.response.status_code', statusCode)
    if (statusCode >= 500) span?.setAttribute('error.type', String(statusCode))
  }

  const handle = async (req: Request, res: Response): Promise<void> => {
    if (endpoint.cors) {
      res.setHeader('Access-Control-Allow-Origin', '*')
      if (req.method === 'OPTIONS') return sendEmpty(res, 204, preflight(allow, req, server.options))
      res.setHeader('Access-Control-Expose-Headers', exposed)
    }
    const info = createRequestInfo(server, req)
    const incoming = { server, endpoint, req, res, info, deliver: deliverToBrowser }
    const describe = (active: ActiveTracing) => spanOf(incoming, active.hasParent())
    await inSpan(server.tracing, describe, (span) => answer(incoming, span))
  }

  router.all(path, (req, res, next) => runHandler(res, next, () => handle(req, res)))
}

/** Some proxies write `203.0.113.7:51004` and `[2001:db8::7]:51004` into X-Forwarded-For. */
const withoutPort = (address: string): string =>
  /^\[([^\]]+)\](?::[0-9]+)?$/.exec(address)?.[1] ?? /^([0-9.]+):[0-9]+$/.exec(address)?.[1] ?? address

/** The IP address of a request, as Express sees it behind trusted proxies; `unknown` if it is not an IP address, or if the request
 * does not show its connection. */
const addressOf = (server: ServerSetup, { ip = '', socket }: ApiRequest): string => {
  if (socket === undefined) return 'unknown'
  if (isIP(ip) !== 0) return plainAddress(ip)
  const address = withoutPort(ip)
  if (isIP(address) === 0) {
    server.warnOnce(
      'a request has no IP address, and limits count all such requests as one; compare trust proxy with the X-Forwarded-For that your proxy sends',
    )
    return 'unknown'
  }
  server.warnOnce(
    'the proxy sends addresses with a port in X-Forwarded-For; Latchkey removes the port, other software may not',
  )
  return plainAddress(address)
}

const maxAgent = 60

/** The first product of the header User-Agent (RFC 9110 §10.1.5); undefined for browsers, which all begin alike. */
const agentOf = ({ headers: { 'user-agent': header = '' } }: ApiRequest): string | undefined => {
  const product = /^[\w.@-]{1,40}(\/[\w.+-]{1,20})?/.exec(header)?.[0].slice(0, maxAgent)
  return product?.startsWith('Mozilla/') ? undefined : product
}

/** The path that the client called, without the query. Within a mount, Express has taken the beginning off `req.path`. */
export const pathOf = ({ originalUrl }: Pick<ApiRequest, 'originalUrl'>): string =>
  /^[^?#]*/.exec(originalUrl)?.[0] ?? ''

/** A new id and the address of a request. Call it once per request. */
export const createRequestInfo = (server: ServerSetup, req: ApiRequest): RequestInfo => {
  const agent = server.observe && agentOf(req)
  return {
    requestId: createRequestId(),
    address: addressOf(server, req),
    ...(agent !== undefined && { agent }),
  }
}
