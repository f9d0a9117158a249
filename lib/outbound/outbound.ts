import type { LookupAddress } from 'node:dns'
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { RequestOptions } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import type { Span, SpanDescription, Tracing } from '../events/tracing.ts'
import { OAuthError } from '../protocol/errors.ts'
import { refusal } from '../protocol/refusal.ts'
import { type ResolveName, resolveByDns, resolveBySystem } from './resolve-name.ts'
import { assertPublic, OutboundError, type OutboundTarget, parseTarget } from './target.ts'
import { openTunnel, ProxyError } from './tunnel.ts'
import { type AtOnce, beforeEnd, createTurns } from './turns.ts'

export { OutboundError } from './target.ts'

export interface OutboundRequest {
  /** Sent by POST as `application/x-www-form-urlencoded`. @default a GET request */
  readonly form?: Readonly<Record<string, string>>
  /** Sent by POST as `application/json`, instead of a form. */
  readonly json?: string
  /** Further headers. @default none */
  readonly headers?: Readonly<Record<string, string>>
  /** The value of the header `Authorization`. @default none */
  readonly authorization?: string
  /** Accepted media types. @default 'application/json' */
  readonly accept?: string
  /** The most bytes of the response's body. @default 65536 */
  readonly maxBytes?: number
  /** Whose share it takes: requests with another cause do not wait for it. @default all without one share theirs */
  readonly cause?: string
}

export interface OutboundResponse {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
  /** The body as it was sent. */
  readonly bytes: Buffer
}

/** Latchkey's only HTTP client. Its URLs come from client metadata. */
export interface Outbound {
  /**
   * Checks a URL before it is stored, as far as that needs no name resolution.
   *
   * @throws OutboundError refused
   */
  assertAllowed(url: string): void
  /**
   * Sends one request. Every status is a valid result; redirects are not followed.
   *
   * @throws OutboundError if the address is refused, or the response is not complete before the timeout
   * @example const { status, body } = await reachOf(server, client).outbound.request(client.metadata.jwks_uri)
   */
  request(url: string, init?: OutboundRequest): Promise<OutboundResponse>
}

export interface OutboundOptions {
  /** Origins that may use http and private addresses. */
  readonly allow: readonly string[]
  /**
   * The URL of a proxy for all other origins. It resolves their names, so that only the names can be checked here.
   * @default requests go straight to the servers
   */
  readonly proxy?: string | undefined
  /**
   * Resolves every host name.
   * @default the system's resolver for the origins in `allow`, DNS alone for all others
   */
  readonly resolve?: ResolveName
  /** Milliseconds until a request must have its turn, and from then on until it must be complete. @default 5000 */
  readonly timeout?: number
  /** The most requests at one time; the others wait for their turn. @default no limit */
  readonly atOnce?: AtOnce
  /** Spans of requests. @default none */
  readonly tracing?: Tracing
  /**
   * Counts a request to a host.
   *
   * @throws OAuthError if there were too many of this cause
   */
  count?(host: string, cause: string): Promise<void>
}

/** Whether a request was not sent because of this server's own limits, which says nothing about the other server. */
export const isOwnLimit = (error: unknown): error is OutboundError & { readonly cause: OAuthError } =>
  error instanceof OutboundError && error.cause instanceof OAuthError

const largestBody = 64 * 1024

const readBody = async (response: IncomingMessage, origin: string, maxBytes: number): Promise<Buffer> => {
  const encoding = response.headers['content-encoding'] ?? 'identity'
  if (encoding.toLowerCase() !== 'identity') throw new OutboundError(`${origin}: the response is compressed`)
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response) {
    size += chunk.length
    if (size > maxBytes) {
      throw new OutboundError(`${origin}: the response is larger than ${Math.floor(maxBytes / 1024)} kB`)
    }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** The addresses of a target, or none if it is an address itself, which {@link parseTarget} has checked. */
const addressesOf = async (
  { url, allowed }: OutboundTarget,
  { resolve = allowed ? resolveBySystem : resolveByDns }: OutboundOptions,
  signal: AbortSignal,
): Promise<readonly LookupAddress[]> => {
  if (isIP(url.hostname.replace(/^\[|\]$/g, '')) !== 0) return []
  const addresses = await resolve(url.hostname, signal)
  if (!allowed) assertPublic(url.origin, addresses)
  return addresses
}

/** The socket connects to the addresses that were checked. The name is not resolved again, which prevents DNS rebinding. */
const knownAddresses =
  (addresses: readonly LookupAddress[]): LookupFunction =>
  (hostname, options, callback) => {
    const [first] = addresses
    if (first === undefined) callback(new Error(`${hostname} has no address`), '')
    else if (options.all) callback(null, [...addresses])
    else callback(null, first.address, first.family)
  }

/** Straight to the addresses of the server. */
const directly = async (
  target: OutboundTarget,
  options: OutboundOptions,
  signal: AbortSignal,
): Promise<RequestOptions> => ({
  // A pooled connection of the host could use an address that was not checked.
  agent: false,
  lookup: knownAddresses(await addressesOf(target, options, signal)),
})

/** Through a proxy. TLS goes from here to the server, so the proxy sees its name only. */
const throughProxy = async (
  proxy: string,
  { url }: OutboundTarget,
  signal: AbortSignal,
): Promise<RequestOptions> => {
  const socket = await openTunnel(proxy, url, signal)
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const { connect } = process.getBuiltinModule('node:tls')
  const createConnection = () => connect({ socket, host, servername: isIP(host) ? '' : host })
  return { createConnection, defaultPort: 443 }
}

/** The body of a request, and its media type; undefined for a GET request. */
const contentOf = ({ form, json }: OutboundRequest): { text: string; type: string } | undefined => {
  if (json !== undefined) return { text: json, type: 'application/json' }
  if (form === undefined) return undefined
  return { text: new URLSearchParams(form).toString(), type: 'application/x-www-form-urlencoded' }
}

/** Settles whatever a server sends: also a change of protocol, after which neither a response nor an error comes. */
const responseTo = (sent: ClientRequest, content: string | undefined): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    sent
      .on('response', resolve)
      .on('error', reject)
      .on('upgrade', (_response, socket) => socket.destroy())
      .on('close', () => reject(new Error('the connection was closed')))
      .end(content)
  })

const exchange = async (
  target: OutboundTarget,
  options: OutboundOptions,
  init: OutboundRequest,
  signal: AbortSignal,
): Promise<OutboundResponse> => {
  const { url } = target
  const { authorization, accept = 'application/json', maxBytes = largestBody } = init
  const content = contentOf(init)
  const { proxy } = options
  const way = await (proxy === undefined || target.allowed
    ? directly(target, options, signal)
    : throughProxy(proxy, target, signal))
  signal.throwIfAborted()
  // An `import` would load Node's WebSocket and fetch as well: 13 MB.
  const { request } = process.getBuiltinModule(url.protocol === 'https:' ? 'node:https' : 'node:http')
  const sent = request(url, {
    ...way,
    method: content === undefined ? 'GET' : 'POST',
    headers: {
      ...init.headers,
      Accept: accept,
      'User-Agent': 'latchkey',
      'Accept-Encoding': 'identity',
      ...(authorization !== undefined && { Authorization: authorization }),
      ...(content !== undefined && {
        'Content-Type': content.type,
        'Content-Length': Buffer.byteLength(content.text),
      }),
    },
    signal,
  })
  try {
    const response = await responseTo(sent, content?.text)
    const bytes = await readBody(response, url.origin, maxBytes)
    const { statusCode: status = 0, headers } = response
    return { status, headers, body: bytes.toString('utf8'), bytes }
  } finally {
    sent.destroy()
  }
}

/** The span of a request: neither path nor query, which may hold a secret. */
const spanOf = ({ url }: OutboundTarget, init: OutboundRequest): SpanDescription => {
  const method = contentOf(init) === undefined ? 'GET' : 'POST'
  const isTls = url.protocol === 'https:'
  return {
    name: method,
    kind: 'client',
    attributes: {
      'http.request.method': method,
      'url.scheme': isTls ? 'https' : 'http',
      'server.address': url.hostname,
      'server.port': Number(url.port || (isTls ? 443 : 80)),
    },
  }
}

/** No turn came in time. */
const busy = (): OAuthError =>
  refusal('outbound_too_many', {
    status: 503,
    headers: { 'Retry-After': '5' },
  })

/**
 * Creates an HTTP client for untrusted URLs: https only, public addresses only, no redirects, no cookies, no
 * credentials, 5 seconds, 64 kB by default. Concurrent identical GET requests of one cause are sent once.
 *
 * @example const outbound = createOutbound({ allow: ['http://127.0.0.1:4001'] })
 */
export const createOutbound = (options: OutboundOptions): Outbound => {
  const { allow, timeout = 5000, atOnce, count } = options
  const underway = new Map<string, Promise<OutboundResponse>>()
  const takeTurn = atOnce && createTurns(atOnce)

  /** From its turn on. The deadline alone ends it: no step waits for an event that may never come. */
  const exchanged = async (target: OutboundTarget, init: OutboundRequest): Promise<OutboundResponse> => {
    const { origin } = target.url
    const signal = AbortSignal.timeout(timeout)
    try {
      return await beforeEnd(signal, exchange(target, options, init, signal))
    } catch (cause) {
      if (cause instanceof OutboundError) throw cause
      // The words of the proxy about one server could show strangers its network.
      const isTold = cause instanceof ProxyError && cause.isOwnFault
      const reason = isTold ? cause.message : 'no response'
      throw new OutboundError(`${origin}: ${signal.aborted ? 'timeout' : reason}`, { cause })
    }
  }

  const sendInTurn = async (target: OutboundTarget, init: OutboundRequest): Promise<OutboundResponse> => {
    if (count === undefined && takeTurn === undefined) return exchanged(target, init)
    const { origin, hostname } = target.url
    const { cause: by = '' } = init
    const patience = AbortSignal.timeout(timeout)
    try {
      await beforeEnd(patience, Promise.resolve(count?.(hostname, by)))
      const work = () => exchanged(target, init)
      return await (takeTurn?.({ host: hostname, cause: by }, patience, work) ?? work())
    } catch (error) {
      if (error instanceof OutboundError) throw error
      const cause = error === patience.reason ? busy() : error
      const reason = cause instanceof OAuthError ? cause.message : 'no response'
      throw new OutboundError(`${origin}: ${reason}`, { cause })
    }
  }

  const send = (target: OutboundTarget, init: OutboundRequest): Promise<OutboundResponse> => {
    const traced = async (span?: Span): Promise<OutboundResponse> => {
      const response = await sendInTurn(target, init)
      span?.setAttribute('http.response.status_code', response.status)
      return response
    }
    const spans = options.tracing?.active()
    return spans === undefined ? traced() : spans.inSpan(spanOf(target, init), traced)
  }

  return {
    assertAllowed: (text) => void parseTarget(text, allow),
    request: async (text, init = {}) => {
      const target = parseTarget(text, allow)
      if (contentOf(init) !== undefined) return send(target, init)
      const key = JSON.stringify([target.url.href, init])
      const answer = underway.get(key) ?? send(target, init).finally(() => underway.delete(key))
      underway.set(key, answer)
      return answer
    },
  }
}
