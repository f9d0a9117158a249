import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { addressBehind, type Trusts } from './trust-proxy.ts'

/** The parts of a request that a guard reads. A request of Express has all of them. */
export interface ApiRequest {
  readonly method: string
  /** The target as the client sent it, with the query. */
  readonly originalUrl: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly ip?: string | undefined
  /** The connection; a web-standard request does not show it. */
  readonly socket?: Socket | undefined
  readonly app?: { get(setting: string): unknown } | undefined
  /** Takes headers of the answer. */
  readonly res?: { setHeader(name: string, value: string): unknown } | undefined
}

/** A request of Node: of `node:http`, Express or Koa (`ctx.req`), or the `raw` one of Fastify. */
export type NodeRequest = IncomingMessage

/** A web-standard `Request`, as Hono, Next.js and other frameworks have it. */
export interface WebRequest {
  readonly method: string
  /** The absolute URL. */
  readonly url: string
  readonly headers: {
    /** The value of a header; null if there is none. */
    get(name: string): string | null
    /** Calls back with the value and the name of each header. */
    forEach(callback: (value: string, name: string) => void): void
  }
}

type Target = Pick<ApiRequest, 'originalUrl' | 'path'>

const targetOf = (originalUrl: string): Target => ({
  originalUrl,
  path: /^[^?#]*/.exec(originalUrl)?.[0] ?? '',
})

const isWebRequest = (request: NodeRequest | WebRequest): request is WebRequest =>
  typeof request.headers.get === 'function'

const ofWeb = ({ method, url, headers }: WebRequest): ApiRequest => {
  const { pathname, search } = new URL(url)
  const all: Record<string, string> = {}
  headers.forEach((value, name) => {
    all[name] = value
  })
  return { method, ...targetOf(pathname + search), headers: all }
}

const ofNode = (request: NodeRequest & { readonly originalUrl?: string }, trusts: Trusts): ApiRequest => {
  const { method = 'GET', url = '/', originalUrl = url, headers, socket } = request
  return {
    method,
    ...targetOf(originalUrl),
    headers,
    socket,
    ip: addressBehind(trusts, socket.remoteAddress, headers['x-forwarded-for']),
    app: { get: () => trusts },
  }
}

/**
 * Reads a request of any framework.
 *
 * @param trusts which proxies are trusted, unless the request has an Express app with a setting of its own
 */
export const apiRequestOf = (request: NodeRequest | WebRequest, trusts: Trusts): ApiRequest => {
  if (isWebRequest(request)) return ofWeb(request)
  // Express has put its app on the request, and what follows from its settings.
  return 'app' in request ? (request as unknown as ApiRequest) : ofNode(request, trusts)
}

/** Whether the peer of the connection is a proxy that the app trusts, by Express's `trust proxy`. */
export const isFromTrustedProxy = ({ app, socket }: ApiRequest): boolean => {
  const trusts: unknown = app?.get('trust proxy fn')
  return typeof trusts === 'function' && trusts(socket?.remoteAddress, 0) === true
}
