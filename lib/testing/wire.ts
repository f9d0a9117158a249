import { type IncomingHttpHeaders, type IncomingMessage, request as overHttp } from 'node:http'
import { request as overHttps } from 'node:https'

/** One answer, as it came. */
export interface Answer {
  readonly status: number
  /** What was asked for, as an address bar would show it. */
  readonly url: URL
  readonly headers: IncomingHttpHeaders
  /** Each Set-Cookie header. */
  readonly setCookies: readonly string[]
  readonly body: string
  /** Where a redirect leads, absolute; undefined without one, or with one that no browser could follow. */
  readonly location: URL | undefined
}

/** A request, every byte of it chosen. */
export interface RawRequest {
  readonly method: string
  /** Path and query as they shall stand on the wire: dots, backslashes and all. */
  readonly path: string
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
  /** Milliseconds to wait for the answer. @default 10,000 */
  readonly timeoutMs?: number | undefined
}

/** Characters; no answer of an authorization server is longer. */
const maxBodyLength = 1_000_000

const textOf = async (message: IncomingMessage): Promise<string> => {
  let text = ''
  message.setEncoding('utf8')
  for await (const chunk of message) {
    text += chunk
    if (text.length > maxBodyLength)
      message.destroy(new Error('the answer is longer than a million characters'))
  }
  return text
}

const locationOf = ({ location }: IncomingHttpHeaders, url: URL): URL | undefined =>
  location !== undefined && URL.canParse(location, url.href) ? new URL(location, url) : undefined

/**
 * One request and its answer: no redirect is followed, nothing is normalised, no connection is kept.
 *
 * @param base where the app listens
 * @param url what the request is for in the browser's eyes
 */
export const exchange = (
  base: URL,
  url: URL,
  { method, path, headers, body, timeoutMs = 10_000 }: RawRequest,
): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const send = base.protocol === 'https:' ? overHttps : overHttp
    const fail = (cause: unknown): void => {
      clearTimeout(timer)
      reject(new Error(`${method} ${path.slice(0, 200)} got no answer: ${cause}`, { cause }))
    }
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
    const request = send({
      hostname: base.hostname.replace(/^\[|\]$/g, ''),
      port: base.port,
      method,
      path,
      headers: { ...length, ...headers },
      agent: false,
    })
    const timer = setTimeout(() => request.destroy(new Error(`none within ${timeoutMs} ms`)), timeoutMs)
    request.on('error', fail)
    request.on('response', (message) => {
      const { statusCode: status = 0, headers: received } = message
      textOf(message).then((text) => {
        clearTimeout(timer)
        resolve({
          status,
          url,
          headers: received,
          setCookies: received['set-cookie'] ?? [],
          body: text,
          location: locationOf(received, url),
        })
      }, fail)
    })
    request.end(body)
  })
