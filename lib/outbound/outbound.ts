import { lookup } from 'node:dns'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { LookupFunction } from 'node:net'
import { checkedLookup, OutboundError, parseTarget, type Target } from './target.ts'

export { OutboundError } from './target.ts'

export interface OutboundRequest {
  /** Sent by POST as `application/x-www-form-urlencoded`. @default a GET request */
  readonly form?: Readonly<Record<string, string>>
  /** The value of the header `Authorization`. @default none */
  readonly authorization?: string
  /** Accepted media types. @default 'application/json' */
  readonly accept?: string
  /** The most bytes of the response's body. @default 65536 */
  readonly maxBytes?: number
}

export interface OutboundResponse {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
  /** The same as it was sent. */
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
   * @example const { status, body } = await server.outbound.request(client.metadata.jwks_uri)
   */
  request(url: string, init?: OutboundRequest): Promise<OutboundResponse>
}

export interface OutboundOptions {
  /** Origins that may use http and private addresses. */
  readonly allow: readonly string[]
  /** Resolves a host name. @default the system's resolver */
  readonly lookup?: LookupFunction
  /** Milliseconds for one request, with name resolution and body. @default 5000 */
  readonly timeout?: number
}

const largestBody = 64 * 1024

const readBody = async (response: IncomingMessage, origin: string, maxBytes: number): Promise<Buffer> => {
  const encoding = response.headers['content-encoding'] ?? 'identity'
  if (encoding !== 'identity') throw new OutboundError(`${origin}: the response has the encoding ${encoding}`)
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

const exchange = async (
  { url, allowed }: Target,
  { lookup: resolve = lookup, timeout = 5000 }: OutboundOptions,
  { form, authorization, accept = 'application/json', maxBytes = largestBody }: OutboundRequest,
): Promise<OutboundResponse> => {
  // An `import` would load Node's WebSocket and fetch as well: 13 MB.
  const { request } = process.getBuiltinModule(url.protocol === 'https:' ? 'node:https' : 'node:http')
  const content = form === undefined ? undefined : new URLSearchParams(form).toString()
  const signal = AbortSignal.timeout(timeout)
  const sent = request(url, {
    method: form === undefined ? 'GET' : 'POST',
    headers: {
      Accept: accept,
      'User-Agent': 'latchkey',
      'Accept-Encoding': 'identity',
      ...(authorization !== undefined && { Authorization: authorization }),
      ...(content !== undefined && {
        'Content-Type': 'application/x-www-form-urlencoded',
        'Content-Length': Buffer.byteLength(content),
      }),
    },
    // A pooled connection of the host could use an address that was not checked.
    agent: false,
    lookup: allowed ? resolve : checkedLookup(url.origin, resolve),
    signal,
  })
  try {
    const response = await new Promise<IncomingMessage>((resolved, rejected) => {
      sent.on('response', resolved).on('error', rejected).end(content)
    })
    const bytes = await readBody(response, url.origin, maxBytes)
    const { statusCode: status = 0, headers } = response
    return { status, headers, body: bytes.toString('utf8'), bytes }
  } catch (cause) {
    if (cause instanceof OutboundError) throw cause
    throw new OutboundError(`${url.origin}: ${signal.aborted ? 'timeout' : 'no response'}`, { cause })
  } finally {
    sent.destroy()
  }
}

/**
 * Creates an HTTP client for untrusted URLs: https only, public addresses only, no redirects, no cookies, no
 * credentials, 5 seconds, 64 kB by default. Concurrent identical GET requests are sent once.
 *
 * @example const outbound = createOutbound({ allow: ['http://127.0.0.1:4001'] })
 */
export const createOutbound = (options: OutboundOptions): Outbound => {
  const { allow } = options
  const underway = new Map<string, Promise<OutboundResponse>>()
  return {
    assertAllowed: (text) => void parseTarget(text, allow),
    request: async (text, init = {}) => {
      const target = parseTarget(text, allow)
      if (init.form !== undefined) return exchange(target, options, init)
      const key = JSON.stringify([target.url.href, init])
      const answer = underway.get(key) ?? exchange(target, options, init).finally(() => underway.delete(key))
      underway.set(key, answer)
      return answer
    },
  }
}
